"""From a program to callable native code: the kernel function and the helpers it needs, compiled or taken from the store."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import platform
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim.engine.analysis.special_registers import special_registers
from ptxsim.engine.compiled.codegen.operands import CLOCKS, Options
from ptxsim.engine.compiled.runtime import support
from ptxsim.engine.compiled.runtime.abi import WarpLayout
from ptxsim.engine.compiled.runtime.addresses import in_space, look_up, space_of
from ptxsim.engine.compiled.runtime.events import event, mark
from ptxsim.engine.program.identity import identity
from ptxsim.engine.program.operation import Program, fact, sites_of
from ptxsim.jit.compiler import ATTRIBUTES, Jit, Refused, shared
from ptxsim.jit.crash import CrashHandler
from ptxsim.jit.export import export
from ptxsim.machine.records import aligned
from ptxsim.machine.special import _SCALARS, _VECTORS

if TYPE_CHECKING:
    from ptxsim.engine.compiled.codegen.kernel import KernelWriter

LONG = 300  # operations from which on it may be better that the interpreter begins: LLVM takes 0.1 to 0.6 ms for one
OPTIMIZED = 400_000  # characters of IR up to which code is generated with more care: it takes LLVM twice as long
# Bodies that come together: their module, imported when a program needs them.
FAMILIES = {
    "splits": "ptxsim.engine.splits",
    "warpgroups": "ptxsim.engine.compiled.runtime.warpgroups",
    "cluster barrier": "ptxsim.engine.compiled.runtime.cluster_lanes",
    "mbarriers": "ptxsim.engine.compiled.runtime.mbarrier_lanes",
    "lane copies": "ptxsim.engine.compiled.runtime.copy_lanes",
    "bulk copies": "ptxsim.engine.compiled.runtime.bulk_lanes",
    "lane work": "ptxsim.engine.compiled.runtime.work_lanes",
}
_ATTRIBUTES = f"attributes #0 = {ATTRIBUTES}\n"


class Wish:
    """For the function of a program, which may be there already: its name in the store, and who prints it."""

    def __init__(self, key: str, program: Program, options: Options, make: Callable[[], KernelWriter]):
        self.key, self.program, self.options, self._make = key, program, options, make

    @cached_property
    def writer(self) -> KernelWriter:
        return self._make()


@dataclass
class Printed:
    """What printing blocks of a program has shown: of each, whether it is known how often its operations take the slow path; which
    operations do, by site, and why. Written down for programs of which no code is made, so that their blocks are printed once."""

    blocks: dict[int, bool] = field(default_factory=dict)
    slow_path: dict[int, str] = field(default_factory=dict)
    written: int = 0  # blocks that the store knows

    @classmethod
    def read(cls, data: bytes | None) -> Printed:
        if data is None:
            return cls()
        blocks, slow_path = ({int(n): what for n, what in part} for part in json.loads(data))
        return cls(blocks, slow_path, len(blocks))

    def text(self) -> bytes:
        return json.dumps([list(self.blocks.items()), list(self.slow_path.items())]).encode()


def _writer(*given: Any) -> KernelWriter:
    from ptxsim.engine.compiled.codegen.kernel import KernelWriter  # not needed for what the store knows

    return KernelWriter(*given)


class Library:
    """Compiled helpers of one CPU, loaded when first needed, and kernels."""

    def __init__(self, jit: Jit):
        self.jit = jit
        self.prefix = "ptxsim_" + hashlib.blake2b(f"{jit.cpu} {jit.features}".encode(), digest_size=4).hexdigest() + "_"
        x86 = platform.machine().lower() in ("x86_64", "amd64")
        text = support.text(self.prefix, x86)
        jit.load(jit.key("runtime", text), lambda: text + _ATTRIBUTES)
        for name in support.NAMES:
            self._publish(self.prefix + name)
        export(jit, self.prefix, look_up, space_of, in_space, event, mark)
        pointer = ctypes.c_void_p
        self.enter = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer)(jit.address(self.prefix + "enter"))
        self.crash = CrashHandler(jit)
        self._lock = threading.RLock()
        self._tables: dict[str, object] = {}
        self._kernels: dict[str, tuple[int, dict[int, str]]] = {}
        self._printed: dict[str, Printed] = {}
        self._waits: dict[str, int] = {}  # operations that the interpreter may execute until code is made, by key

    @cached_property
    def scheduler(self) -> dict[str, int]:
        """Addresses of the functions of the native scheduler."""
        from ptxsim.engine.compiled.runtime import scheduler
        from ptxsim.engine.compiled.runtime.clusters import clusters, slices

        export(self.jit, self.prefix, clusters, slices, scheduler.turn, scheduler.stay, scheduler.execute)
        names = ("clusters", "slices", "turn", "stay", "execute")
        return {name: self.jit.address(self.prefix + name) for name in names}

    def _publish(self, name: str) -> None:
        address = self.jit.address(name)
        self.jit.helpers[name] = address
        self.jit.publish(name, address)

    def bodies(self, family: str) -> None:
        """Make sure that the bodies of a family exist."""
        export(self.jit, self.prefix, *importlib.import_module(FAMILIES[family]).EXPORTS)

    def provide(self, helpers: Mapping[str, Sequence[Any]]) -> None:
        """Make sure that the helpers of these names and descriptions exist."""
        for name, description in helpers.items():
            if description[0] in FAMILIES:
                self.bodies(description[0])
            elif name not in self.jit.helpers:
                key = self.jit.key("helper", name)
                self.jit.load(key, partial(self._helper_text, name, tuple(description)), level=2)
                self._publish(name)

    def _helper_text(self, name: str, description: tuple[Any, ...]) -> str:
        from ptxsim.engine.compiled.ir.module import Module
        from ptxsim.engine.compiled.runtime.access import AccessHelper
        from ptxsim.engine.compiled.tensor import tensor_memory_product, warp_product, warpgroup_product

        module = Module(self.jit.abilities)
        match description[0]:
            case "product":
                text = warp_product.text(name, description, module)
            case "warpgroup":
                text = warpgroup_product.text(name, description, module)
            case "tensor memory":
                text = tensor_memory_product.text(name, description, module)
            case _:
                what, space, size, count, cluster = description
                events = name.endswith("_events")
                helper = AccessHelper(module, self.prefix, name, what, space, size, count, events, cluster)
                text = helper.text()
        return module.text() + text + _ATTRIBUTES

    def kernel(self, wanted: Wish) -> tuple[int, dict[int, str]]:
        """Address of a program's function, and why each operation on the slow path is there, by site."""
        with self._lock:
            return self._kernels.get(wanted.key) or self._first(wanted)

    def patience(self, wanted: Wish) -> int:
        """Operations that the interpreter had better execute before code is made: as many as a long program has, less those that
        it has executed in this process."""
        key = wanted.key
        if key in self._kernels:
            return 0
        if key not in self._waits:
            length = sites_of(wanted.program)
            self._waits[key] = 0 if length < LONG or self.jit.store.get(key) is not None else length
        return self._waits[key]

    def can_wait(self, wanted: Wish, number: int) -> bool:
        """Whether the interpreter had better execute a block, for which code would be wanted."""
        left = self.patience(wanted)
        if left == 0:
            return False
        self._waits[wanted.key] = max(0, left - len(wanted.program.blocks[number]))
        return self._is_known(wanted, number)

    def _is_known(self, wanted: Wish, number: int) -> bool:
        """Whether it is known, without native code, how often operations of a block take the slow path."""
        printed = self.printed(wanted)
        if number not in printed.blocks:
            printed.blocks[number] = wanted.writer.print_block(number)
            printed.slow_path.update(wanted.writer.slow_path)
        return printed.blocks[number]

    def printed(self, wanted: Wish) -> Printed:
        """What is known of the blocks of a program that the interpreter has executed."""
        key = wanted.key
        if key not in self._printed:
            self._printed[key] = Printed.read(self.jit.store.get(key + ".printed"))
        return self._printed[key]

    def write_printed(self, wanted: Wish) -> None:
        """Let other processes know that, too, as long as there is no code."""
        printed = self._printed.get(wanted.key)
        if printed is not None and len(printed.blocks) > printed.written and wanted.key not in self._kernels:
            printed.written = len(printed.blocks)
            self.jit.store.put(wanted.key + ".printed", printed.text())

    def wish(self, program: Program, places: WarpLayout, options: Options) -> Wish:
        """For the function of a program."""
        key = self.jit.key("kernel", str(options), identity(program))
        make = partial(_writer, program, places, self.prefix, options, self.jit.abilities)
        return Wish(key, program, options, make)

    def _first(self, wanted: Wish) -> tuple[int, dict[int, str]]:
        program = wanted.program
        mark = self.mark(program)
        if mark is not None and mark.exists():
            raise Refused(f"native code of {program.name} has crashed; delete {mark} to try again")
        found = self._kernels[wanted.key] = self._load(wanted)
        return found

    def mark(self, program: Program) -> Path | None:
        """The file that says that native code of a program has crashed."""
        folder = self.jit.store.folder
        return None if folder is None else folder / f"{self.jit.key('crash', identity(program))}.crashed"

    def _load(self, wanted: Wish) -> tuple[int, dict[int, str]]:
        key = wanted.key
        notes = self.jit.store.get(key + ".notes")
        writer, text = None, ""
        name = f"kernel_{key}"
        content = json.loads(notes) if notes is not None else None
        if content is None or self.jit.store.get(key) is None or not self._provide_tables(content["tables"]):
            writer = wanted.writer
            text = writer.text(name)
            tables = writer.module.tables
            for table, values in tables.items():
                self.jit.store.put(table, values.tobytes())
            self._provide_tables(tables)
            content = {"helpers": writer.helpers, "slow path": writer.slow_path, "tables": list(tables)}
        self.provide(content["helpers"])
        level = 0 if writer is None or wanted.options.keep or len(text) > OPTIMIZED else 1
        self.jit.load(key, lambda: text, level=level)
        if writer is not None:
            self.jit.store.put(key + ".notes", json.dumps(content).encode())
        return self.jit.address(name), {int(site): reason for site, reason in content["slow path"].items()}

    def _provide_tables(self, names: Iterable[str]) -> bool:
        """Make constant tables known by their symbols; False if one is not in the store."""
        for name in names:
            if name not in self._tables:
                data = self.jit.store.get(name)
                if data is None:
                    return False
                memory = self._tables[name] = aligned(len(data))
                memory[:] = np.frombuffer(data, np.uint8)
                self.jit.publish(name, memory.ctypes.data, memory)
        return True


@cache
def library(cpu: str | None = None, features: str | None = None) -> Library:
    """The library for a CPU: the one PTXSIM_CPU names ("haswell", "x86-64"), by default this machine's."""
    return Library(shared(cpu, features))


@fact
def specials_of(program: Program) -> list[str]:
    """Special registers that a program reads and that stay the same while a warp lives."""
    return [name for name in special_registers(program) if _is_fixed(name)]


def _is_fixed(name: str) -> bool:
    if name == "WARP_SZ":
        return True
    base, _, component = name[1:].partition(".")
    if component:
        return base == "tid" or base in _VECTORS
    return base == "laneid" or base.startswith("lanemask_") or (base in _SCALARS and base not in CLOCKS)

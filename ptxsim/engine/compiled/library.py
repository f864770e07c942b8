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
from typing import TYPE_CHECKING, Any, TypedDict
from weakref import WeakValueDictionary

import numpy as np

from ptxsim.engine.analysis.special_registers import special_registers
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.runtime import support
from ptxsim.engine.compiled.runtime.abi import WarpLayout
from ptxsim.engine.compiled.runtime.addresses import in_space, look_up, space_of
from ptxsim.engine.compiled.runtime.events import event, mark
from ptxsim.engine.program.identity import identity
from ptxsim.engine.program.operation import Program, fact, lengths_of, sites_of
from ptxsim.isa.special_registers import CLOCKS
from ptxsim.jit.compiler import ATTRIBUTES, Jit, Refused, shared
from ptxsim.jit.crash import CrashHandler
from ptxsim.jit.export import export
from ptxsim.machine.records import aligned
from ptxsim.machine.special import _SCALARS, _VECTORS

if TYPE_CHECKING:
    from ptxsim.engine.compiled.codegen.kernel import KernelWriter

LONG = 300  # operations from which on it may be better that the interpreter begins: LLVM takes 0.1 to 0.6 ms for one
LATER = 4  # one in so many of as many for each part of the code but the first
PARTS = 3  # in which code of a program is made at most, the last one of all that is left
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


class Part(TypedDict):
    """Of a program's code: its blocks; the helpers that they call; why operations take the slow path, by site; constant tables."""

    blocks: list[int]
    helpers: Mapping[str, Sequence[Any]]
    slow_path: dict[str, str]
    tables: list[str]


@dataclass
class Code:
    """Native code of a program of `count` blocks. `places`: the function that each block is in, as far as there is one; `slow_path`: why
    operations are there, by site."""

    count: int
    places: dict[int, int] = field(default_factory=dict)
    slow_path: dict[int, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return len(self.places) == self.count

    @property
    def missing(self) -> list[int]:
        return [number for number in range(self.count) if number not in self.places]

    def add(self, part: Part, address: int) -> None:
        """There is code of a part, too."""
        self.parts.append(part)
        self.places.update(dict.fromkeys(part["blocks"], address))
        self.slow_path.update({int(site): reason for site, reason in part["slow_path"].items()})


def _symbol(key: str, blocks: list[int]) -> str:
    """The function of some blocks."""
    return f"kernel_{key}_{hashlib.blake2b(json.dumps(blocks).encode(), digest_size=8).hexdigest()}"


def _part(key: str, part: Part) -> str:
    """The name of a part in the store."""
    return _symbol(key, part["blocks"])


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
        self._kernels: dict[str, Code] = {}
        self._wishes: WeakValueDictionary[str, Wish] = WeakValueDictionary()  # what one has printed others need not
        self._asked: set[str] = set()  # keys of which the store may have code
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

    def kernel(self, wanted: Wish, block: int | None = None, whole: bool = True) -> Code:
        """Code of a program: all of it if `whole`, or what there is. If there is none, or a block that is wanted is not in it, there will be more: a
        part of those blocks that the interpreter has been asked for, if it has been, or all others."""
        with self._lock:
            code = self._kernels.get(wanted.key) or self._first(wanted)
            while not code.is_whole and (whole or not code.places or (block is not None and block not in code.places)):
                self._make(wanted, code, code.missing if whole else self._next(wanted, code, block))
            self._kernels[wanted.key] = code
            return code

    def _next(self, wanted: Wish, code: Code, block: int | None) -> list[int]:
        """The blocks of the next part."""
        asked = {number for number in self.printed(wanted).blocks if number not in code.places}
        if not asked or len(code.parts) + 1 >= PARTS:
            return code.missing
        return sorted(asked if block is None else asked | {block})

    def has_some(self, wanted: Wish) -> bool:
        """Whether there is code of a program, of some blocks at least, here or in the store, which is asked once."""
        key = wanted.key
        if key not in self._kernels and key not in self._asked:
            self._asked.add(key)
            parts = self._parts(key)
            return bool(parts) and self.jit.store.get(_part(key, parts[0])) is not None
        return key in self._kernels

    def patience(self, wanted: Wish) -> int:
        """Operations that the interpreter had better execute before code is made: as many as a long program has, less those that
        it has executed in this process. LATER says how many more, once there is code, but not of all blocks."""
        key = wanted.key
        code = self._kernels.get(key)
        if code is not None and code.is_whole:
            return 0
        if key not in self._waits:
            length = sites_of(wanted.program)
            self._waits[key] = 0 if length < LONG else length if code is None else length // LATER
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
        with self._lock:  # launches of several threads have one writer
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
        if (known := self._wishes.get(key)) is not None:
            return known
        make = partial(_writer, program, places, self.prefix, options, self.jit.abilities)
        wish = self._wishes[key] = Wish(key, program, options, make)
        return wish

    def _first(self, wanted: Wish) -> Code:
        """What the store has."""
        mark = self.mark(wanted.program)
        if mark is not None and mark.exists():
            raise Refused(f"native code of {wanted.program.name} has crashed; delete {mark} to try again")
        code = Code(len(lengths_of(wanted.program)))
        for part in self._parts(wanted.key):
            if self.jit.store.get(_part(wanted.key, part)) is None or not self._provide_tables(part["tables"]):
                break
            self._take(wanted, code, part, None)
        return code

    def mark(self, program: Program) -> Path | None:
        """The file that says that native code of a program has crashed."""
        folder = self.jit.store.folder
        return None if folder is None else folder / f"{self.jit.key('crash', identity(program))}.crashed"

    def _parts(self, key: str) -> list[Part]:
        """What the store says of the parts in which a program has been compiled."""
        notes = self.jit.store.get(key + ".notes")
        return json.loads(notes) if notes is not None else []

    def _make(self, wanted: Wish, code: Code, blocks: list[int]) -> None:
        """Add code of some blocks."""
        writer = wanted.writer
        text = writer.text(_symbol(wanted.key, blocks), blocks)
        tables = writer.module.tables
        for table, values in tables.items():
            self.jit.store.put(table, values.tobytes())
        self._provide_tables(tables)
        slow_path = {str(site): reason for site, reason in writer.slow_path.items()}
        part: Part = {"blocks": blocks, "helpers": writer.helpers, "slow_path": slow_path, "tables": list(tables)}
        self._take(wanted, code, part, text)
        self.jit.store.put(wanted.key + ".notes", json.dumps(code.parts).encode())
        if wanted.key in self._waits:
            self._waits[wanted.key] = sites_of(wanted.program) // LATER

    def _take(self, wanted: Wish, code: Code, part: Part, text: str | None) -> None:
        """Load a part, from the store if it is not made of a text."""
        self.provide(part["helpers"])
        level = 0 if text is None or wanted.options.keep or len(text) > OPTIMIZED else 1
        self.jit.load(_part(wanted.key, part), lambda: text or "", level=level)
        code.add(part, self.jit.address(_symbol(wanted.key, part["blocks"])))

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
    return base == "laneid" or base.startswith("lanemask_") or (base in _SCALARS and f"%{base}" not in CLOCKS)

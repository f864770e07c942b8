"""LLVM at work: IR text to machine code in this process, with compiled objects kept on disk."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, NamedTuple

from ptxsim.jit.address_space import side_by_side
from ptxsim.jit.callbacks import interruptible
from ptxsim.jit.store import ObjectStore

# Vectors travel in the same registers whichever module a function comes from.
ATTRIBUTES = '{ nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }'


# Instead of LLVM's level 1: a third of its time, code as fast within a few per cent (tools/bench/one_body.py, replay.py).
_TIDY = ("sroa", "simplify_cfg", "instruction_combine")
PASSES = ("always_inliner", *_TIDY, "loop_rotate", "loop_unroll", *_TIDY)
# With level 0: a seventh of the time again, code that takes 1.7 times as long.
FEW_PASSES = ("always_inliner", "sroa", "simplify_cfg")


_LLVM = threading.Lock()  # all modules share a context, which is for one thread at a time, an interrupted one's too
_PUBLISHED: list[tuple[Jit, object]] = []  # symbols are the process's: what they lead to lives as long as it does


class Abilities(NamedTuple):
    """What a CPU does by itself, and native code does in several steps elsewhere."""

    half_conversion: bool = True  # between f16 and f32
    rounds_to_zero: bool = False  # in single instructions (AVX-512)
    holds_pairs: bool = False  # registers have room for two sums of 32 lanes, and what is added to them


class Refused(Exception):
    """LLVM takes no such code on this machine, or this code has crashed before."""


def full_name(function: Callable[..., Any]) -> str:
    """A function's module and name, for keys."""
    module = inspect.getmodule(function)
    return f"{module.__name__ if module else ''}.{function.__qualname__}"


class Jit:
    """Compiles IR for one CPU and keeps the code for the life of the process.

    `cpu` and `features` default to this machine's. Functions of different modules call each other by name, so names must be
    unique; `prefix` is put before the names of helpers.
    """

    def __init__(self, cpu: str | None = None, features: str | None = None, store: ObjectStore | None = None):
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.cpu = cpu or llvm.get_host_cpu_name()
        host = llvm.get_host_cpu_features()
        self.features = features if features is not None else (host.flatten() if cpu is None else "")
        self.store = store if store is not None else ObjectStore()
        self._target = llvm.Target.from_default_triple()
        self._machines: dict[int, Any] = {}
        self._engines: list[Any] = []  # of each object
        self._addresses: dict[str, int] = {}
        self._lock = threading.Lock()
        self.helpers: dict[str, int] = {}
        self.compiled = 0  # modules that were not found in the store

    @property
    def abilities(self) -> Abilities:
        known = ("haswell", "skylake", "znver", "x86-64-v3", "x86-64-v4", "apple")
        features = self.features.split(",")
        is_wide = "+avx512f" in features
        return Abilities("+f16c" in features or self.cpu.startswith(known), is_wide, is_wide)

    def _machine_for(self, level: int, fresh: bool = False) -> Any:
        if fresh or level not in self._machines:
            machine = self._target.create_target_machine(
                cpu=self.cpu, features=self.features, opt=level, reloc="pic", jit=True, codemodel="default"
            )
            if fresh:
                return machine
            self._machines[level] = machine
        return self._machines[level]

    def key(self, *parts: str) -> str:
        """A name for what is compiled from these texts on this CPU."""
        digest = hashlib.blake2b(digest_size=20)
        version = ".".join(map(str, self.llvm.llvm_version_info))
        for part in (version, self.cpu, self.features, package_digest(), *parts):
            digest.update(part.encode())
            digest.update(b"\0")
        return digest.hexdigest()

    def load(self, key: str, make: Callable[[], str], level: int = 1, passes: Sequence[str] = ()) -> int:
        """Make the functions of a module callable: from the store, or compiled from the IR text that `make()` gives.

        passes: of LLVM, that work on the IR first; for kernels they cost more than they save. Returns the bytes of the object.
        """
        with self._lock:
            data = self.store.get(key)
            if data is None:
                with interruptible():
                    text = make()
                    dump(key, text)
                    data = _in_a_thread(lambda: self._compile(text, level, passes))
                self.store.put(key, data)
                self.compiled += 1
            # An engine of its own: one that had others before would put sections where those lie.
            with _LLVM:
                engine = self.llvm.create_mcjit_compiler(self.llvm.parse_assembly(""), self._machine_for(1, fresh=True))
                with side_by_side():
                    engine.add_object_file(self.llvm.ObjectFileRef.from_data(data))
                    engine.finalize_object()
            self._engines.append(engine)
        return len(data)

    def _compile(self, text: str, level: int, passes: Sequence[str]) -> bytes:
        machine = self._machine_for(level)
        try:
            module = self.llvm.parse_assembly(text)
            if passes:
                module.triple, module.data_layout = self._target.triple, str(machine.target_data)
                builder = self.llvm.create_pass_builder(machine, self.llvm.create_pipeline_tuning_options())
                manager = self.llvm.create_new_module_pass_manager()
                for name in passes:
                    getattr(manager, f"add_{name}_pass")()
                manager.run(module, builder)
            return bytes(machine.emit_object(module))
        except RuntimeError as error:
            raise Refused(f"LLVM: {error}") from error

    def address(self, name: str) -> int:
        if name not in self._addresses:
            found = (int(engine.get_function_address(name)) for engine in reversed(self._engines))
            self._addresses[name] = next(address for address in found if address)
        return self._addresses[name]

    def publish(self, name: str, address: int, memory: object = None) -> None:
        """Let modules compiled from now on, in all of the process, use `name`. `memory`: what must live as long for that."""
        self.llvm.add_symbol(name, address)
        _PUBLISHED.append((self, memory))


def _in_a_thread(work: Callable[[], bytes]) -> bytes:
    """What `work` gives. Ctrl-C comes through while it goes on: LLVM takes seconds, and hears nothing meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        with _LLVM:
            return work()
    made: Future[bytes] = Future()

    def run() -> None:
        try:
            with _LLVM:
                made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return made.result()


@cache
def shared(cpu: str | None = None, features: str | None = None) -> Jit:
    """This process's compiler for a CPU: the one PTXSIM_CPU names ("haswell", "x86-64"), by default this machine's."""
    return Jit(cpu or os.environ.get("PTXSIM_CPU"), features)


@cache
def package_digest() -> str:
    """A hash over every source file of ptxsim, so that nothing old is ever used by a newer version."""
    digest = hashlib.blake2b(digest_size=16)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, files in sorted(os.walk(root)):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", ".npz")):
                path = os.path.join(folder, name)
                digest.update(name.encode())
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def dump(key: str, text: str) -> None:
    """PTXSIM_DUMP=ir prints every module that is compiled to standard error."""
    if os.environ.get("PTXSIM_DUMP") == "ir":
        sys.stderr.write(f"; module {key}\n{text}\n")

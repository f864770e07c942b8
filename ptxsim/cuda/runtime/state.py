"""The state of the runtime in one process: the device, what the program has registered, the last error."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, NoReturn, Protocol

from ptxsim.checks.in_flight import Streams
from ptxsim.cuda.runtime.arena import Arena
from ptxsim.cuda.runtime.binaries import Binaries, Loaded, NoImage
from ptxsim.cuda.runtime.functions import CudaError, Function, NotModeled, say
from ptxsim.cuda.runtime.steps import Capture, Graph
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run
from ptxsim.types import Target

FIRST_SPECIFIC = 90  # the first architecture with code that runs on no other
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, NO_KERNEL_IMAGE, INVALID_PTX = 1, 2, 101, 209, 218
# Errors that say that a call is wrong: a value, memory that there is not, symbols, device pointers, handles.
_WRONGLY_CALLED = {INVALID_VALUE, OUT_OF_MEMORY, 12, 13, 17, 21, 400}
_ASKS = re.compile("Get|Query|Can|Export|Import")  # functions that programs call to know whether they may
CONTEXT = 1  # the handle of the one context there is
# Functions of the runtime that ask or choose, and do not make the device's primary context the current one.
_BEFORE_CONTEXT = {
    "cudaChooseDevice", "cudaDeviceCanAccessPeer", "cudaDeviceGetAttribute", "cudaDeviceGetByPCIBusId",
    "cudaDeviceGetP2PAttribute", "cudaDeviceGetPCIBusId", "cudaDriverGetVersion", "cudaGetDevice", "cudaGetDeviceCount",
    "cudaGetDeviceFlags", "cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion", "cudaGetLastError", "cudaRuntimeGetVersion", "cudaSetDeviceFlags",
    "cudaSetValidDevices",
}  # fmt: skip


class Collector(Protocol):
    """Where launches go, and what comes of them is told."""

    @property
    def target(self) -> Target | None:
        """The machine that was asked for."""

    def copied(self, host: int, device: int, size: int) -> None:
        """Bytes of device memory have been copied to the host's."""

    def launch(self, kernel: Kernel, args: Sequence[bytes], options: LaunchOptions, *, again: Any = None) -> Run | None:
        """Run a kernel, or pass over it; again: who may know what it gives. Raises PtxError where it cannot start."""

    def refuse(self, error: PtxError) -> None:
        """A module or a launch is wrong."""

    def finish(self, remarks: Sequence[str]) -> None:
        """The program exits. remarks: what may have kept launches away, for the user of a program in which nothing was found."""


@dataclass
class Runtime:
    """One process's runtime. `version` is the runtime's major version; `sticky` the error that a launch has left behind."""

    version: int
    binaries: Binaries
    collector: Collector
    last: int = 0
    sticky: int = 0
    microseconds: float = 0.0  # predicted time of all launches
    contexts: list[int] = field(default_factory=list)  # of the driver, the current one last
    is_begun: bool = False  # whether a function of the runtime has made the primary context the current one
    predicted: dict[Any, float] = field(default_factory=dict)  # microseconds of a launch, by kernel and shapes
    times: bool = False  # whether the program has recorded an event that measures time
    captures: dict[int, Capture] = field(default_factory=dict)  # by handle of the stream
    graphs: dict[int, Graph] = field(default_factory=dict)  # by handle
    executables: dict[int, Graph] = field(default_factory=dict)  # the nodes of each have the handles of its graph's
    user_objects: dict[int, Any] = field(default_factory=dict)  # ptxsim.cuda.runtime.user_objects.UserObject, by handle
    # Addresses that nodes of graphs allocate: they stay, so that a graph may be launched again.
    graph_memory: set[int] = field(default_factory=set)
    pools: Any = None  # ptxsim.cuda.runtime.pools.Pools, once the program asks for one
    virtual_memory: Any = None  # ptxsim.cuda.runtime.virtual_memory.VirtualMemory, once the program asks for it
    streams: dict[int, int] = field(default_factory=dict)  # flags, by handle
    priorities: dict[int, int] = field(default_factory=dict)  # of streams, by handle
    events: dict[int, float | None] = field(default_factory=dict)  # when they were recorded, by handle
    untimed: set[int] = field(default_factory=set)  # events that measure no time
    limits: dict[int, int] = field(default_factory=dict)  # that the program has set, by cudaLimit
    registered: dict[int, bool] = field(
        default_factory=dict
    )  # memory of the host's by address: whether kernels reach it
    registers: dict[int, int] = field(default_factory=dict)  # of a thread, by the kernel's address
    # Dynamic shared memory allowed, by the kernel's address.
    shared_limits: dict[int, int] = field(default_factory=dict)
    large_clusters: dict[int, int] = field(
        default_factory=dict
    )  # kernels that may have more than 8 blocks in a cluster
    addresses: dict[str, int] = field(default_factory=dict)  # of functions, by name
    missing: set[bytes] = field(default_factory=set)  # functions that were called and are not here
    told: set[str] = field(default_factory=set)  # why calls have failed
    remarks: list[str] = field(default_factory=list)  # for the end of the program
    texts: dict[tuple[int, int], Any] = field(default_factory=dict)  # of errors, as C strings
    kept: list[Any] = field(default_factory=list)  # what addresses were given of
    around: Callable[[], AbstractContextManager[Any]] = (
        nullcontext  # of a launch: memory of the host's that goes in and comes out
    )
    in_flight: Streams = field(default_factory=Streams)  # what may still run, by handle of the stream
    repeats: Any = None  # ptxsim.cuda.runtime.repeats.Repeats, in programs whose kernels print through Output
    lock: threading.RLock = field(default_factory=threading.RLock)

    @functools.cached_property
    def arena(self) -> Arena:
        return Arena()

    @functools.cached_property
    def target(self) -> Target:
        """The machine: the one that was asked for, or the newest that the program has PTX for. A GPU of sm_90 runs code for sm_90a."""
        found = self.collector.target or self.binaries.newest()
        return Target(found.number, "a") if found.number >= FIRST_SPECIFIC and not found.suffix else found

    def loaded(self, handle: int) -> Loaded:
        """The module of a registered binary. Raises CudaError."""
        return self.binaries.load(handle, self.arena, self.target)

    def handle(self) -> int:
        """A number that no other stream, event or pool has."""
        cell = ctypes.create_string_buffer(8)
        self.kept.append(cell)
        return ctypes.addressof(cell)

    def check_device(self, number: int) -> None:
        """Raise CudaError for any device but 0: there is one."""
        if number != 0:
            raise CudaError(INVALID_DEVICE)

    def fail(self, code: int) -> int:
        """Remember an error, and give it back."""
        if code:
            self.last = code
        return code

    def entry(self, function: Function) -> Callable[..., Any]:
        """What the library's table holds for a function: never raises."""

        def call(*args: Any) -> Any:
            with self.lock:
                try:
                    if function.is_plain:
                        return function.body(self, *args)
                    self._begin(function.name)
                    return self.fail(self.sticky or function.body(self, *args) or 0)
                except CudaError as error:
                    self._tell(function.name, error)
                    return self.fail(error.code)
                except PtxError as error:
                    self.collector.refuse(error)
                    return self.fail(NO_KERNEL_IMAGE if isinstance(error, NoImage) else INVALID_PTX)
                except MemoryError:
                    return self.fail(OUT_OF_MEMORY)
                except ValueError as error:  # ctypes, of a null pointer where an answer is to be written
                    if "NULL pointer" not in str(error):
                        self._defect(function)
                    return self.fail(INVALID_VALUE)
                except OSError as error:
                    say(f"{error.strerror or error}")
                    sys.stdout.flush()
                    os._exit(2)
                except BaseException:
                    self._defect(function)

        return call

    def _tell(self, name: str, error: CudaError) -> None:
        """The program's author is told why a call fails; what only has asked a question is not."""
        if isinstance(error, NotModeled):
            self.collector.refuse(PtxError(Finding("not-modeled", error.why)))
            return
        is_call = error.code in _WRONGLY_CALLED and not _ASKS.search(name)
        title, meaning, *_ = (text.decode() for text in errors()[error.code])
        why = f"{name.lstrip('_')} fails with {title} ({meaning}){f': {error.why}' if error.why else ''}"
        if (error.why or is_call) and why not in self.told:
            self.told.add(why)
            say(why)

    def _begin(self, name: str) -> None:
        """A function is called: the runtime's first one that needs a context makes the primary one current."""
        if not self.is_begun and name.startswith("cuda") and name not in _BEFORE_CONTEXT:
            self.is_begun = True
            self.contexts = self.contexts or [CONTEXT]

    def _defect(self, function: Function) -> NoReturn:
        """The program cannot go on: nothing that follows could be trusted."""
        traceback.print_exc()
        say(f"{function.name} failed inside ptxsim: this is a defect, please report it")
        sys.stdout.flush()
        os._exit(4)


@functools.cache
def errors() -> dict[int, tuple[bytes, ...]]:
    """Name, text and, where the driver has the error too, its name there, by number. CUDA Runtime API, "Data types used by CUDA
    Runtime", cudaError; CUDA Driver API, "Data types used by CUDA driver", CUresult."""
    text = resources.files("ptxsim.cuda.runtime").joinpath("errors.tsv").read_text()
    rows = (line.split("\t") for line in text.splitlines())
    return {int(number): tuple(map(str.encode, texts)) for number, *texts in rows}

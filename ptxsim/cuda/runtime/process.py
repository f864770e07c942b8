"""What the library starts in the program's process: the functions go into its table."""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Callable
from typing import Any

from ptxsim.cuda.runtime.binaries import Binaries, path_at
from ptxsim.cuda.runtime.repeats import Repeats
from ptxsim.cuda.runtime.state import Collector, Runtime
from ptxsim.cuda.runtime.stubs import functions

_LIVES: list[Any] = []  # what native code holds addresses of
STARTED: dict[int, Runtime] = {}  # by the version of the library
WHEN_STARTED: list[Callable[[Runtime], None]] = []  # of a Python program: what has to do with its memory


class Output:
    """Standard output through C's, so that what kernels print and what the host prints come in their order."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._stream = ctypes.c_void_p.in_dll(self._libc, "stdout")
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        data = text.encode("utf-8", "surrogateescape")
        self._libc.fwrite(data, 1, len(data), self._stream)
        return len(text)

    def flush(self) -> None:
        self._libc.fflush(self._stream)


def start(collector: Collector, table: int, registered: int, version: int, is_python: bool) -> None:
    """Fill the library's table. version: the runtime's (12 or 13); is_python: the program is a Python program, whose standard
    output stays as it is."""
    STARTED[version] = runtime = Runtime(version, Binaries(registered), collector)
    if is_python:
        atexit.register(lambda: collector.finish(runtime.remarks))
        for prepare in WHEN_STARTED:
            prepare(runtime)
    else:
        sys.stdout = output = Output()
        runtime.repeats = Repeats(lambda: runtime.arena.memory, lambda: output.writes)
    library = ctypes.CDLL(path_at(table))
    for i, function in enumerate(functions()):
        entry = function.c_type(runtime.entry(function))
        address = ctypes.cast(entry, ctypes.c_void_p).value or 0
        ctypes.c_void_p.from_address(table + 8 * i).value = address
        # Programs are given the library's own: those know when the interpreter is gone.
        if hasattr(library, function.name):
            runtime.addresses[function.name] = ctypes.cast(getattr(library, function.name), ctypes.c_void_p).value or 0
        _LIVES.append(entry)

"""When native code crashes: say which kernel it was, and leave a mark so that the next run keeps to the interpreter.

A crash still ends the process with its signal: what native code has left of memory cannot be trusted. The handler is native
itself, because Python cannot run where the process stands then.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim.jit.compiler import ATTRIBUTES, Jit

SIGNALS = tuple(getattr(signal, name) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE") if hasattr(signal, name))

# The state: how many threads run native code, the message and its length, the mark's path, then the handlers of before by number.
INSIDE, MESSAGE, LENGTH, PATH, BEFORE = range(5)

TEXT = """
@ptxsim_crash_state = external global [{size} x i64]
declare i64 @write(i32, ptr, i64)
declare i32 @creat(ptr, i32)
declare ptr @signal(i32, ptr)
define void @ptxsim_crash(i32 %signal) #0 {{
entry:
  %inside = load i64, ptr @ptxsim_crash_state
  %other = icmp eq i64 %inside, 0
  br i1 %other, label %again, label %tell
tell:
  %message.at = getelementptr i64, ptr @ptxsim_crash_state, i64 {message}
  %message = load ptr, ptr %message.at
  %length.at = getelementptr i64, ptr @ptxsim_crash_state, i64 {length}
  %length = load i64, ptr %length.at
  %written = call i64 @write(i32 2, ptr %message, i64 %length)
  %path.at = getelementptr i64, ptr @ptxsim_crash_state, i64 {path}
  %path = load ptr, ptr %path.at
  %without = icmp eq ptr %path, null
  br i1 %without, label %again, label %mark
mark:
  %file = call i32 @creat(ptr %path, i32 384)
  br label %again
again:
  ; The instruction is tried again under the handler of before, which by default ends the process.
  %number = add i32 %signal, {before}
  %before.at = getelementptr i64, ptr @ptxsim_crash_state, i32 %number
  %before = load ptr, ptr %before.at
  %mine = call ptr @signal(i32 %signal, ptr %before)
  ret void
}}
attributes #0 = {attributes}
"""


class CrashHandler:
    """The process's handler for crashes of native code. Does nothing where signals are not POSIX's."""

    def __init__(self, jit: Jit):
        size = BEFORE + 1 + max(SIGNALS, default=0)
        self.state = np.zeros(size, np.int64)
        self._kept: dict[str, tuple[Any, ...]] = {}
        self._lock = threading.Lock()
        if os.name != "posix":
            return
        text = TEXT.format(
            size=size, message=MESSAGE, length=LENGTH, path=PATH, before=BEFORE, attributes=ATTRIBUTES
        )  # fmt: skip
        jit.publish("ptxsim_crash_state", self.state.ctypes.data, self.state)
        jit.load(jit.key("crash", text), lambda: text)
        install = ctypes.CDLL(None).signal
        install.argtypes, install.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
        for number in SIGNALS:
            self.state[BEFORE + number] = install(number, jit.address("ptxsim_crash")) or 0

    def enter(self, name: str, mark: Path | None) -> None:
        """Native code of kernel `name` runs from now on; a crash leaves a file at `mark`."""
        known = self._kept.get(name)
        if known is None or known[0] is not mark:
            if known is None or known[0] != mark:
                known = self._said(name, mark)
            known = self._kept[name] = (mark, *known[1:])
        with self._lock:
            self.state[MESSAGE], self.state[LENGTH], self.state[PATH] = known[1]
            self.state[INSIDE] += 1

    @staticmethod
    def _said(name: str, mark: Path | None) -> tuple[Any, ...]:
        """What is said of a kernel: the mark, words for the state, and what these point to."""
        message = ctypes.create_string_buffer(
            f"\nptxsim: native code of kernel {name} crashed; nothing of this run holds. "
            f"Use --engine interpreter (engine='interpreter'), and please report the kernel.\n".encode()
        )
        path = ctypes.create_string_buffer(os.fsencode(mark)) if mark is not None else None
        words = ctypes.addressof(message), len(message) - 1, ctypes.addressof(path) if path is not None else 0
        return mark, words, message, path

    def leave(self) -> None:
        """Native code has come back."""
        with self._lock:
            self.state[INSIDE] -= 1

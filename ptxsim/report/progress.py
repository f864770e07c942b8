"""A progress line on standard error while a long kernel runs; only where a person watches a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

_FIRST = 1.0  # seconds before anything is shown
_BETWEEN = 0.2


class Progress:
    """Called by the engine with the number of CTAs done and of all; as a context manager it clears its line at the end."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic):
        self.stream = stream or sys.stderr
        self.clock = clock
        self.is_shown = bool(getattr(self.stream, "isatty", lambda: False)())
        self._start = clock()
        self._last = self._start + _FIRST - _BETWEEN
        self._width = 0

    def __enter__(self) -> Progress | None:
        return self if self.is_shown else None

    def __exit__(self, *_: Any) -> None:
        if self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()

    def __call__(self, done: int, total: int) -> None:
        now = self.clock()
        if now - self._last < _BETWEEN:
            return
        self._last = now
        filled = 30 * done // max(1, total)
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {done} of {total} CTAs, {now - self._start:.0f} s"
        self.stream.write("\r" + line.ljust(self._width))
        self.stream.flush()
        self._width = max(self._width, len(line))

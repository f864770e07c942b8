"""A progress line on standard error while something takes long; only where a person watches a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

_FIRST = 1.0  # seconds before anything is shown
_BETWEEN = 0.2
_QUIET = 2.0  # seconds without news of CTAs after which the line says that work goes on


class Progress:
    """Called by the engine with the number of CTAs done and of all; as a context manager it clears its line at the end.

    `doing` is what takes time where no CTA runs, or says what: the line has it, with the seconds, once that has taken long enough.
    """

    def __init__(
        self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic,
        doing: str | Callable[[], str] = "reading, compiling",
    ):  # fmt: skip
        self.stream = stream or sys.stderr
        self.clock = clock
        self.doing = doing
        self.is_shown = bool(getattr(self.stream, "isatty", lambda: False)())
        self._start = clock()
        self._last = self._start + _FIRST - _BETWEEN
        self._width = 0
        self._over = threading.Event()
        self._writes = threading.Lock()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress | None:
        if not self.is_shown:
            return None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()

    def __call__(self, done: int, total: int) -> None:
        now = self.clock()
        if now - self._last < _BETWEEN:
            return
        self._last = now
        self.doing = "finishing"
        filled = 30 * done // max(1, total)
        self._show(f"[{'#' * filled}{'.' * (30 - filled)}] {done} of {total} CTAs, {now - self._start:.0f} s")

    def beat(self) -> None:
        """Say that work goes on, if nothing else has been said for a while."""
        now = self.clock()
        if now - max(self._last, self._start) >= _QUIET:
            doing = self.doing if isinstance(self.doing, str) else self.doing()
            self._show(f"{doing}, {now - self._start:.0f} s")

    def _watch(self) -> None:
        while not self._over.wait(_BETWEEN):
            self.beat()

    def _show(self, line: str) -> None:
        with self._writes:
            self.stream.write("\r" + line.ljust(self._width))
            self.stream.flush()
            self._width = max(self._width, len(line))

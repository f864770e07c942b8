"""Python functions that machine code calls."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_waiting = False  # in the main thread, within `interruptible`


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, Ctrl-C is raised at once in the main thread, in a callback, too (which keeps it): for what may take seconds."""
    global _waiting
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _waiting = _waiting, True
    try:
        yield
    finally:
        _waiting = before


class Callbacks:
    """Functions at addresses, for as long as it lives. What one raises is kept, and comes out of `check`."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._kept: list[Any] = []  # and their types, which have to live as long
        self._listens = False
        self._stop: Callable[[], object] | None = None  # of what runs, where Ctrl-C must not be raised

    def address(self, function: Callable[..., Any], *types: Any) -> int:
        """Where a function can be called; `types` are its result and its arguments. If it raises, its result counts as 0."""

        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:
                self.error = self.error or error
                return 0

        made = ctypes.CFUNCTYPE(*types)(guarded)
        self._kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value or 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within, `hearing` has nothing to prepare: for who calls machine code thousands of times. Python itself is interrupted as
        it always is."""
        usual = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
            yield
            return

        def keep(number: int, frame: Any) -> None:
            if self._stop is not None:
                self.error = self.error or KeyboardInterrupt()
                self._stop()
            if self._stop is None or _waiting:
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, keep)
        self._listens = True
        try:
            yield
        finally:
            self._listens = False
            signal.signal(signal.SIGINT, usual)

    def hearing(self, stop: Callable[[], object]) -> Hearing:
        """Within, Ctrl-C calls `stop` and comes out of `check`. As an exception it may arise where a callback begins or ends, outside of
        what keeps it, and ctypes would drop it."""
        return Hearing(self, stop)

    def check(self) -> None:
        """Raise what a function has raised since this was last asked."""
        error, self.error = self.error, None
        if error is not None:
            raise error


class Hearing:
    """See Callbacks.hearing. It is entered each time that machine code is, for some microseconds at times: as a generator it would take as long."""

    def __init__(self, callbacks: Callbacks, stop: Callable[[], object]):
        self.callbacks, self.stop = callbacks, stop
        self.listening = None if callbacks._listens else callbacks.listening()

    def __enter__(self) -> None:
        if self.listening is not None:
            self.listening.__enter__()
        self.before, self.callbacks._stop = self.callbacks._stop, self.stop

    def __exit__(self, *raised: Any) -> None:
        self.callbacks._stop = self.before
        if self.listening is not None:
            self.listening.__exit__(*raised)

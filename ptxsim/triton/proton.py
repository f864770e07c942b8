"""Triton's profiler (`triton.profiler`, Proton), which listens to the GPU by CUPTI: here it is told predicted times.

Its library keeps scopes, metrics and files as ever. Sessions that ask for CUPTI have the backend that asks no device for anything, and
each launch is a scope with the metrics that CUPTI gives: `time (ns)`, `count`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ptxsim.triton.timing import Clock

_CUPTI, _WITHOUT_A_DEVICE = "cupti", ("instrumentation", "cuda")  # backend and mode


class Proton:
    """The library's functions that ask for a GPU, and what tells it of launches."""

    def __init__(self, clock: Clock):
        self.clock = clock
        self.sessions: set[int] = set()  # with predicted times
        self.library: Any = None

    def start(self, name: str, context: str, data: str, backend: str, mode: str = "") -> int:
        """A session. Its program measures from now on."""
        if backend != _CUPTI:
            return int(self._start(name, context, data, backend, mode))
        session = int(self._start(name, context, data, *_WITHOUT_A_DEVICE))
        self.clock.measuring += not self.sessions
        self.sessions.add(session)
        self.clock.say_predicted("Proton")
        return session

    def finalize(self, session: int, *given: Any) -> None:
        self._finalize(session, *given)
        self._end({session})

    def finalize_all(self, *given: Any) -> None:
        self._finalize_all(*given)
        self._end(self.sessions)

    def _end(self, sessions: set[int]) -> None:
        self.clock.measuring -= bool(self.sessions) and self.sessions <= sessions
        self.sessions = self.sessions - sessions

    def add(self, kernel: str, milliseconds: float) -> None:
        """A launch is over."""
        if self.sessions:
            scope = self.library.record_scope()
            self.library.enter_scope(scope, kernel)
            self.library.add_metrics(scope, {"time (ns)": milliseconds * 1e6, "count": 1})
            self.library.exit_scope(scope, kernel)

    def install(self) -> Callable[[], None]:
        """Let Triton's profiler have it; what is returned takes it back."""
        try:
            library = importlib.import_module("triton._C.libproton").proton
        except (ImportError, AttributeError):
            return lambda: None
        self.library = library
        self._start, self._finalize, self._finalize_all = library.start, library.finalize, library.finalize_all
        ours = {
            "start": self.start, "finalize": self.finalize, "finalize_all": self.finalize_all,
            "set_metric_kernels": lambda *given, **more: None,  # which copy metrics from tensors of a GPU
        }  # fmt: skip
        before = {name: getattr(library, name) for name in ours if hasattr(library, name)}
        for name in before:
            setattr(library, name, ours[name])

        def undo() -> None:
            for name, function in before.items():
                setattr(library, name, function)

        return undo

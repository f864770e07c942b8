"""Python functions that machine code calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


class Callbacks:
    """Functions at addresses, for as long as it lives. What one raises is kept, and comes out of `check`."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._kept: list[Any] = []  # and their types, which have to live as long

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

    def check(self) -> None:
        """Raise what a function has raised since this was last asked."""
        error, self.error = self.error, None
        if error is not None:
            raise error

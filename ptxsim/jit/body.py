"""`@body`: a function over arrays that runs as it is, and compiled."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from ptxsim.jit.native import Compiled

Array: TypeAlias = np.ndarray[Any, Any]  # in the signatures of bodies
Numbers: TypeAlias = Array | list[int]  # a row of ints, or scratch
P = ParamSpec("P")
R = TypeVar("R")


def record(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """A structured dtype whose elements have their fields as attributes too: `a[i].name`. Raises ValueError for names numpy has."""
    for name, *_ in fields:
        if hasattr(np.record, name):
            raise ValueError(f"every record has an attribute {name!r} already")
    return np.dtype((np.record, list(fields)))


class Body(Generic[P, R]):
    """A function of the language of bodies. A call runs it in Python; `compiled` and `checked` are called like it.

    With `chooses` a call is one step of `form`.
    """

    def __init__(self, function: Callable[P, R], enough: int, chooses: bool, worth: int = 0):
        functools.update_wrapper(self, function)
        self.function, self.chooses = function, chooses
        self.enough, self.worth, self.asked = enough, worth, 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return (self.form(1) if self.chooses else self.function)(*args, **kwargs)

    @cached_property
    def compiled(self) -> Compiled[P, R]:
        """The same as machine code, from the store or made at the first call (some tenths of a second)."""
        return self._compiled(checked=False)

    def form(self, size: int) -> Callable[P, R]:
        """Which form to call for `size` more steps: Python, from `enough` steps of this process on machine code; in the first process
        that has so many, from `worth` steps on, as code takes as long to make as those take.

        PTXSIM_BODIES=python or native decides for all bodies.
        """
        self.asked += size
        wish = os.environ.get("PTXSIM_BODIES")
        is_native = wish == "native" or (
            wish != "python" and self.asked >= self.enough and (self.asked >= self.worth or not self._is_first)
        )
        return self.compiled if is_native else self.function

    @cached_property
    def _is_first(self) -> bool:
        """Whether no process before has asked for enough; from now on one has."""
        from ptxsim.jit.native import asks_first

        return asks_first(self.function)

    @cached_property
    def checked(self) -> Compiled[P, R]:
        """As compiled, but indices, divisors and shift counts are checked: raises IndexError. For tests."""
        return self._compiled(checked=True)

    def _compiled(self, checked: bool) -> Compiled[P, R]:
        from ptxsim.jit.native import Compiled  # small runs come without

        return Compiled(self.function, checked)


@overload
def body(function: Callable[P, R]) -> Body[P, R]: ...
@overload
def body(*, enough: int, chooses: bool = ..., worth: int = ...) -> Callable[[Callable[P, R]], Body[P, R]]: ...
def body(function: Any = None, *, enough: int = 1000, chooses: bool = False, worth: int = 0) -> Any:
    """Make a function a body: what it may do is in the package's documentation. enough, worth: see `Body.form`; chooses: see Body."""
    return Body(function, enough, chooses) if function is not None else lambda f: Body(f, enough, chooses, worth)

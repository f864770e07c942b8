"""The host's floating-point modes: results must not depend on what else runs in the process."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV of glibc and musl
_ROOM = 64  # bytes, more than any fenv_t


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The C library with fegetenv and fesetenv, where the default environment is known."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "fesetenv") else None


@contextmanager
def ieee() -> Iterator[None]:
    """IEEE arithmetic in this thread: round to nearest, subnormal numbers kept; the previous modes are restored afterwards.

    Libraries built for speed switch subnormal numbers off for the whole process (FTZ and DAZ of MXCSR).
    """
    library = _library()
    if library is None:
        yield
        return
    modes = ctypes.create_string_buffer(_ROOM)
    library.fegetenv(modes)
    library.fesetenv(_DEFAULT)
    try:
        yield
    finally:
        library.fesetenv(modes)


# Variables, so that Python does not compute with them before the program runs.
_tiny, _least_normal, _half, _one, _tenth, _fifth = 5e-324, 2.2250738585072014e-308, 0.5, 1.0, 0.1, 0.2


def _is_ieee() -> bool:
    """Whether arithmetic is IEEE as it is: subnormal operands and results stay, and sums are rounded to nearest.

    The sum is above 3/10 only if rounded to nearest or up, and that of its negative is below -3/10 only to nearest or down.
    """
    kept = _tiny * _one != 0.0 and _least_normal * _half != 0.0
    return kept and _tenth + _fifth == 0.30000000000000004 and -_tenth - _fifth == -0.30000000000000004


def with_ieee(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, run under `ieee` unless the modes are IEEE already: testing the arithmetic is cheaper than a C call."""

    @functools.wraps(function)
    def run(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        __tracebackhide__ = True  # pytest shows the function's caller and not this wrapper
        if _is_ieee():
            return function(*arguments, **options)
        with ieee():
            return function(*arguments, **options)

    return run

"""The host's floating-point modes: results must not depend on what else runs in the process."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)

_DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV of glibc and musl
_ROOM = 64  # bytes, more than any fenv_t


@functools.cache
def _library():
    """The C library with fegetenv and fesetenv, where the default environment is known."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "fesetenv") else None


@contextmanager
def ieee() -> Iterator[None]:
    """IEEE arithmetic in this thread: round to nearest, subnormal numbers kept; afterwards the modes are as before.

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


def with_ieee(function: Function) -> Function:
    """The function, run under `ieee`."""

    @functools.wraps(function)
    def run(*arguments, **options):
        with ieee():
            return function(*arguments, **options)

    return run  # type: ignore[return-value]

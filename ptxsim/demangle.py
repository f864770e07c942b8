"""Names as C++ has them, of names as a compiler mangles them."""

from __future__ import annotations

from functools import cache


@cache
def demangle(name: str) -> str:
    """`scale<float>(float*, float, int)` for `_Z5scaleIfEvPT_S0_i`; any other name as it is.

    Where the C++ runtime library, which does it, is not installed, every name stays as it is.
    """
    if not name.startswith("_Z"):
        return name
    try:
        from cxxfilt import InvalidName, LibraryNotFound
        from cxxfilt import demangle as readable
    except (ImportError, OSError):
        return name
    try:
        found: str = readable(name)
    except (InvalidName, LibraryNotFound):
        return name
    return found.removeprefix("void ")


def local_name(name: str) -> str:
    """Of a variable inside of a function, its name there: `tile` for `_ZZ4gemmPfE4tile`."""
    found = demangle(name)
    return found.rpartition("::")[2] if name.startswith("_ZZ") and "(" not in found.rpartition("::")[2] else found


def is_named(name: str, wanted: str) -> bool:
    """Whether somebody who writes `wanted` means the function of a mangled name: that name, or all or the first part of the readable one."""
    readable = demangle(name)
    without_arguments = readable.partition("(")[0]
    return wanted in (name, readable, without_arguments, without_arguments.partition("<")[0])


def is_part(name: str, wanted: str) -> bool:
    """Whether `wanted` is a part of a name, mangled or readable, without regard to spaces."""
    return wanted in name or wanted.replace(" ", "") in demangle(name).replace(" ", "")

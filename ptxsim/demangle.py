"""Names as C++ has them, of names as a compiler mangles them."""

from __future__ import annotations

import re
from functools import cache


@cache
def demangle(name: str) -> str:
    """`scale<float>(float*, float, int)` for `_Z5scaleIfEvPT_S0_i`; any other name as it is.

    Where the C++ runtime library, which does it, is not installed, every name stays as it is.
    """
    name = of_static(name)
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


def of_static(name: str) -> str:
    """The name of a static kernel without that of its file, of which nvcc -rdc=true writes the length and itself before it."""
    found = _STATIC.match(name)
    return name[found.end() + int(found[1]) + 1 :] if found else name


WIDTH = 100  # characters of a name in a line of a report


def short_name(name: str, width: int = WIDTH) -> str:
    """The readable name of a kernel, with as much of it left out as it takes to fit into a line, if it can: parameters first, then
    versions of libraries, then arguments of templates within others, then the end; … stands for it."""
    name = of_static(name)
    readable = _TAGS.sub("", demangle(name))
    if readable == name:
        readable = _beginning(name)
    if len(readable) <= width or not name.startswith("_Z"):
        return readable
    found = without_parameters(readable)
    if len(found) > width:
        found = _VERSION.sub("", found)
    for depth in (3, 2):
        if len(found) <= width:
            break
        found = _without_arguments(found, depth)
    return found if len(found) <= width else found[: width - 1] + "…"


def _beginning(name: str) -> str:
    """Of a mangled name that the C++ runtime library cannot read (some of CUTLASS's), what is plain: `cutlass::device_kernel<…>`."""
    at, parts = 3 if name.startswith("_ZN") else 2, []
    while name.startswith("_Z") and (length := _LENGTH.match(name, at)):
        at = length.end() + int(length[0])
        parts.append(name[length.end() : at])
    return "::".join(parts) + "<…>" * name.startswith("I", at) if parts else name


_STATIC = re.compile(r"__nv_static_(\d+)_")
_LENGTH = re.compile(r"\d+")
_TAGS = re.compile(r"\[abi:\w+\]")  # numba-cuda's names have them: a number, and what the kernel was compiled with
_VERSION = re.compile(r"\b(?:__\d+|[A-Z]+_\d+_SM_\w+?)::")  # namespaces of versions, as libraries of CUDA have them


def without_parameters(name: str) -> str:
    """A readable name up to the parenthesis of its parameters."""
    if not name.endswith(")"):
        return name
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at]
    return name


def _without_arguments(name: str, most: int) -> str:
    """With arguments of templates that lie in `most` others, or more, left out."""
    depth, found = 0, []
    for at, letter in enumerate(name):
        if letter == ">" and name[at - 1] != "-":
            depth -= 1
        if depth < most:
            found.append(letter)
        if letter == "<":
            depth += 1
            if depth == most:
                found.append("…")
    return "".join(found) if depth == 0 else name


def local_name(name: str) -> str:
    """Of a variable inside of a function, its name there: `tile` for `_ZZ4gemmPfE4tile`."""
    found = demangle(name)
    return found.rpartition("::")[2] if name.startswith("_ZZ") and "(" not in found.rpartition("::")[2] else found


def is_named(name: str, wanted: str) -> bool:
    """Whether `wanted`, as typed, means the function of a mangled name: that name, or all or the first part of the readable one."""
    readable = demangle(name)
    without_arguments = readable.partition("(")[0]
    return wanted in (name, readable, without_arguments, without_arguments.partition("<")[0])


def is_part(name: str, wanted: str) -> bool:
    """Whether `wanted` is a part of a name, mangled or readable, without regard to spaces."""
    return wanted in name or wanted.replace(" ", "") in demangle(name).replace(" ", "")

"""How many bytes variables take and where they lie, one after the other. PTX ISA, "Variables": alignment, arrays, vectors."""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.syntax import ast
from ptxsim.types import TYPES


def size_of(variable: ast.Variable) -> int:
    """Bytes of a variable; an array without a bound, or with one of 0, has none of its own unless its initialiser gives them."""
    size = TYPES[variable.type].bytes * variable.vector
    for extent in variable.shape:
        size *= extent or _initializer_length(variable)
    return size


def _initializer_length(variable: ast.Variable) -> int:
    value = variable.initializer
    return len(value) if isinstance(value, tuple) else 0


def align_of(variable: ast.Variable) -> int:
    """What its address is a multiple of."""
    return variable.align or TYPES[variable.type].bytes * variable.vector


def align(offset: int, alignment: int) -> int:
    """The next multiple of `alignment`."""
    return -(-offset // alignment) * alignment


def lay_out(variables: Iterable[ast.Variable], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets of variables one after the other with their alignment, and the end."""
    offsets = {}
    for variable in variables:
        start = align(start, align_of(variable))
        offsets[variable.name] = start
        start += size_of(variable)
    return offsets, start

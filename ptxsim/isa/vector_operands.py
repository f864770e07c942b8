"""Which operands stand together in one pair of braces. PTX ISA, "Vectors as Operands", "Operand Type Checking"."""

from __future__ import annotations

from ptxsim.isa.names import Names
from ptxsim.syntax import ast
from ptxsim.types import TYPES


def check_mixture(vector: ast.Vector, names: Names) -> str | None:
    """What is wrong with elements that do not stand together: of other sizes or kinds, untyped bits apart; sinks alone."""
    # The first element that says more than its size: its kind, and how it is called.
    first: tuple[str, str] | None = None
    size = None
    for element in vector.elements:
        kind, called = _kind_of(element, names)
        if called in TYPES:
            if size is not None and TYPES[called].bits != TYPES[size].bits:
                return f"mixes registers of type {size} and {called} in braces"
            size = called
        if kind is None or (first is not None and kind == first[0]):
            continue
        if first is not None:
            return f"mixes {first[1]} and {called} in braces"
        first = kind, called
    if vector.elements and all(isinstance(element, ast.Sink) for element in vector.elements):
        return "needs a register beside the sinks"
    return None


def _kind_of(element: ast.Operand, names: Names) -> tuple[str | None, str]:
    """What must agree among the elements of a vector (None: fits all), and how messages call the element."""
    if isinstance(element, ast.Integer):
        return "integer", "an integer literal"
    if isinstance(element, ast.Float):
        return "float", "a floating literal"
    declared = names.register_type(element.name) if isinstance(element, ast.Name) else None
    if declared is None:
        return None, ""
    t = TYPES[declared]
    return (None if t.kind == "bits" else "integer" if t.is_integer else t.kind), declared

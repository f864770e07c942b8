"""What vector registers are made of. PTX ISA, "Vectors as Operands", "Special Registers"."""

from __future__ import annotations

from ptxsim.syntax.ast import Variable
from ptxsim.syntax.special_names import COMPONENT_REGISTERS

# How the elements of a vector register are called.
COMPONENTS = (("x", "y", "z", "w"), ("r", "g", "b", "a"))
SPECIAL_VECTORS = {name: tuple(f"{name}.{component}" for component in COMPONENTS[0]) for name in COMPONENT_REGISTERS}


def registers_of(variable: Variable) -> tuple[str, ...]:
    """The names of the registers that a declaration of a single name makes: itself, or the elements of a vector."""
    if variable.vector == 1:
        return (variable.name,)
    return tuple(f"{variable.name}.{component}" for component in COMPONENTS[0][: variable.vector])

"""What the static rules of operands ask about the names of a function."""

from typing import Protocol


class Names(Protocol):
    """What the checks ask about names."""

    def register_type(self, name: str) -> str | None:
        """The declared type of a register, or None if the name is no register."""

    def variable_space(self, name: str) -> str | None:
        """The state space of a variable (shared, global, param, ...), its type if that is opaque (texref, samplerref,
        surfref), "label", "func", "branchtargets", "calltargets", "callprototype", or None if undeclared."""

    def parameter_role(self, name: str) -> str | None:
        """What a .param variable is: of an "entry", "input" or "result" of a function, of a "call"; else None."""

"""Addresses of shared memory by the variables that they lie in."""

from __future__ import annotations

Variables = dict[str, tuple[int, int]]  # address and bytes of the static ones of shared memory, by name


def shared_variable(variables: Variables, address: int) -> str:
    """The variable of shared memory that an address lies in; nothing for what is not static."""
    return next((name for name, (first, size) in variables.items() if first <= address < first + size), "")


def shared_name(variables: Variables, address: int) -> str:
    """An address of shared memory by the variable that it lies in: `full+8 (0x408)`."""
    if name := shared_variable(variables, address):
        first = variables[name][0]
        return f"{name}+{address - first} ({address:#x})" if address > first else f"{name} ({address:#x})"
    return f"{address:#x}"

"""Addresses of shared memory by the variables that they lie in."""

from __future__ import annotations

from ptxsim.machine.memory import RANK_SHIFT

OFFSET = (1 << RANK_SHIFT) - 1
Variables = dict[str, tuple[int, int]]  # address and bytes of the static ones of shared memory, by name


def shared_variable(variables: Variables, address: int) -> str:
    """The variable of shared memory that an address lies in; nothing for what is not static."""
    address &= OFFSET
    return next((name for name, (first, size) in variables.items() if first <= address < first + size), "")


def shared_name(variables: Variables, address: int) -> str:
    """An address of shared memory by the variable that it lies in: `full+8 (0x408)`, with its CTA's rank where that is not 0."""
    rank, offset = address >> RANK_SHIFT, address & OFFSET
    whose = f" of CTA {rank} of the cluster" if rank else ""
    if name := shared_variable(variables, address):
        first = variables[name][0]
        return (f"{name}+{offset - first} ({offset:#x})" if offset > first else f"{name} ({offset:#x})") + whose
    return f"{offset:#x}{whose}"

"""Who calls whom in a decoded program."""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.closure import closure
from ptxsim.engine.program.operation import Program, fact


@fact
def blocks_of(program: Program) -> dict[str, range]:
    """The blocks of the kernel and of each function that it may call, by name."""
    entries = sorted({code.entry: code.name for code in program.functions.values()}.items())
    ends = [*(entry for entry, _ in entries[1:]), len(program.blocks)]
    return {name: range(entry, end) for (entry, name), end in zip(entries, ends, strict=True)}


def callees(program: Program, blocks: Iterable[int]) -> set[str]:
    """The names of the functions that blocks call: all whose addresses are known where one is called by address."""
    sites = [op.call for number in blocks for op in program.blocks[number] if op.call is not None]
    names = {site.name for site in sites if site.name is not None}
    if any(site.name is None for site in sites):
        names |= program.called_by_address
    return {program.functions[name].name for name in names if name in program.functions}


def reached(program: Program, blocks: Iterable[int]) -> set[str]:
    """The names of the functions that blocks call, directly or through others."""
    return closure(callees(program, blocks), lambda name: callees(program, blocks_of(program)[name]))

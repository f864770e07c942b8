"""One cause, one problem: what goes wrong between the instructions of two stretches has one remedy.

A stretch is code without a branch, a label that a branch goes to, or a synchronisation of threads in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.diagnostic import lines_of
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Role

Key = tuple[int, int, int]  # what goes wrong, site, other site


@fact
def stretch_of(program: Program) -> tuple[int, ...]:
    """The number of the stretch of every operation."""
    targets = {target for op in program.ops for target in op.targets}
    found, stretch = [0] * len(program.ops), 0
    for number, block in enumerate(program.blocks):
        stretch += number in targets
        for op in block:
            orders = _orders_threads(op)
            stretch += orders
            found[op.site] = stretch
            stretch += bool(op.control) or orders
    return tuple(found)


def _orders_threads(op: Op) -> bool:
    """Whether what comes before an operation may be in order with what comes after it."""
    return op.synchronises is not None and op.synchronises.role not in (Role.COMMIT, Role.COUNT)


def by_cause(program: Program, keys: Iterable[Key]) -> list[list[Key]]:
    """Problems that are alike, between the same two stretches; the first in the order of the sites stands for them."""
    stretches, groups = stretch_of(program), dict[Key, list[Key]]()
    for what, site, other in sorted(keys):
        groups.setdefault((what, stretches[site], stretches[other]), []).append((what, site, other))
    return list(groups.values())


def note_of_others(program: Program, keys: list[Key]) -> tuple[str, ...]:
    """What else has the cause of the first problem."""
    first, found = keys[0], []
    for which, text in ((1, "the same at"), (2, "and with")):
        lines = sorted({program.ops[key[which]].line for key in keys} - {program.ops[first[which]].line})
        if lines:
            found.append(f"{text} {lines_of(lines)}")
    return (", ".join(found),) if found else ()

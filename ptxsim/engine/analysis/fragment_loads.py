"""Which loads fill the registers of the factors of products, as they are: ldmatrix, and ordinary loads of 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.engine.analysis.copied_loads import ORDINARY
from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Op, Program, fact

FACTORS = ("a", "b")
_WORD = 32  # bits of a register of a factor


@dataclass(frozen=True, slots=True)
class Filled:
    """The registers of a factor: for each the sites that fill it, and which of their registers it is there."""

    product: int  # site
    factor: str
    registers: tuple[frozenset[tuple[int, int]], ...]


@fact
def filled_factors(program: Program) -> tuple[Filled, ...]:
    """The factors of products that loads fill, in the order of the program."""
    found, filled = def_use(program), []
    for op in program.ops:
        for factor in FACTORS if op.facts.product is not None and op.site in found.reads else ():
            operand = op.source(factor)
            if isinstance(operand, Vector):
                start = len(slots_of(op.sources[: op.sources.index(operand)]))
                slots = found.reads[op.site][start : start + len(slots_of([operand]))]
                filled.append(Filled(op.site, factor, tuple(_fillers(found, slot) for slot in slots)))
    return tuple(each for each in filled if any(each.registers))


def _fillers(found: DefUse, slot: int) -> frozenset[tuple[int, int]]:
    """The loads that fill a register, through copies of it."""
    loads, seen, queue = set[tuple[int, int]](), {slot}, [slot]
    while queue:
        value = queue.pop()
        for site in found.definers[value]:
            op = found.program.ops[site]
            if _fills_fragments(op):
                loads.add((site, found.writes[site].index(value)))
            elif op.facts.copies:
                sources = found.reads[site][: len(slots_of(op.sources))]
                queue += [each for each in sources if each not in seen]
                seen.update(sources)
    return frozenset(loads)


def _fills_fragments(op: Op) -> bool:
    if op.family == "ldmatrix":
        return True
    return (
        op.family == "load"
        and op.words["type"].bits == _WORD
        and all(access.space in ORDINARY for access in op.accesses)
    )

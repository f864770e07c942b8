"""Sums of a warp that all its lanes have, up to a rounding, and all store to one place.

Compilers of programs that have one thread in mind (Triton) let lanes exchange their values in a butterfly, and each add what it gets.
Sums of two numbers are the same whichever of them comes first, so all lanes have the same bits in the end, unless the first sum
is fused with the product before it: a * a + b * b is rounded at a * a in one lane of a pair, at b * b in the other. What each
lane computes from such sums differs as little.
"""

from __future__ import annotations

from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.program.operand import Address, Constant, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import EVERY, LANES


def is_sum_of_warp(program: Program, store: Op) -> bool:
    """Whether what a store writes is, in each lane, made of sums of one value of every lane of the warp, and of nothing else that
    lanes have of their own."""
    makers: dict[int, list[Op]] = {}
    for op in program.ops:
        for slot in writes(op):
            makers.setdefault(slot, []).append(op)
    values = [source for source in store.sources if not isinstance(source, Address)]
    each = [element for value in values for element in (value.elements if isinstance(value, Vector) else [value])]
    known: dict[int, bool] = {}
    return bool(each) and all(_is_of_sums(makers, value, known) for value in each)


def _is_of_sums(makers: dict[int, list[Op]], value: Operand | None, known: dict[int, bool]) -> bool:
    """Whether a number is such a sum, or is computed from them by steps that are the same in all lanes. known: of slots."""
    if isinstance(value, Constant):
        return True
    op = _maker(makers, value)
    if op is None or not isinstance(value, Register) or value.type.kind == "predicate":
        return False
    if value.slot not in known:
        known[value.slot] = False  # what depends on itself is none
        if _is_sum(makers, value) or (op.accesses and all(access.space == "param" for access in op.accesses)):
            known[value.slot] = True
        elif op.sources and not (op.accesses or op.facts.reads_lanes):
            known[value.slot] = all(_is_of_sums(makers, source, known) for source in op.sources)
    return known[value.slot]


def _is_sum(makers: dict[int, list[Op]], value: Operand | None) -> bool:
    steps: set[int] = set()
    while value is not None and sum(steps) != LANES - 1:
        value, step = _one_step(makers, value)
        if step in steps:
            return False
        steps.add(step)
    return sum(steps) == LANES - 1


def _one_step(makers: dict[int, list[Op]], value: Operand | None) -> tuple[Operand | None, int]:
    """What a sum adds to the same of another lane, and the distance of that lane; (None, 0) if it is no such sum."""
    op = _maker(makers, value)
    if op is None:
        return None, 0
    if op.facts.formula == "a + b":
        for mine, other in (op.sources[:2], op.sources[1::-1]):
            exchange = _maker(makers, other)
            if exchange is not None and _is_same(exchange.sources[0], mine):
                return mine, _distance(exchange)
    elif op.facts.formula == "a * b + c":
        exchange = _maker(makers, op.sources[2])
        product = _maker(makers, exchange.sources[0]) if exchange is not None else None
        if product is not None and product.facts.formula == "a * b":
            if all(map(_is_same, product.sources[:2], op.sources[:2])):
                return exchange.sources[0] if exchange is not None else None, _distance(exchange)
    return None, 0


def _maker(makers: dict[int, list[Op]], value: Operand | None) -> Op | None:
    """The one instruction that writes a register, in all lanes."""
    if not isinstance(value, Register) or value.negated:
        return None
    found = makers.get(value.slot, [])
    return found[0] if len(found) == 1 and found[0].guard is None else None


def _is_same(one: Operand | None, other: Operand | None) -> bool:
    return (
        isinstance(one, Register)
        and isinstance(other, Register)
        and (one.slot, one.negated) == (other.slot, other.negated)
    )


def _distance(op: Op | None) -> int:
    """How far, by exclusive or, the lanes of a whole warp exchange values; 0 if they do not."""
    if op is None or not (op.facts.reads_lanes and op.facts.copies) or op.words.get("mode") != "bfly":
        return 0
    numbers = [source.value if isinstance(source, Constant) else 0 for source in op.sources[1:4]]
    distance, rest, mask = (*numbers, 0, 0, 0)[:3]
    is_whole = rest == LANES - 1 and mask & EVERY == EVERY and distance & distance - 1 == 0
    return distance if is_whole else 0

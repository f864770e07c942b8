"""Sums over lanes that all these lanes have, up to a rounding, and all store to one place.

Compilers of programs that have one thread in mind (Triton) let lanes exchange their values in a butterfly, and each add what it gets.
Sums of two numbers are the same whichever of them comes first, so all lanes have the same bits in the end, unless the first sum
is fused with the product before it: a * a + b * b is rounded at a * a in one lane of a pair, at b * b in the other. What each
lane computes from such sums differs as little.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.program.operand import Address, Constant, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import EVERY, LANES

Makers = dict[int, list[Op]]  # of slots


def joined_by_sums(program: Program, store: Op) -> int:
    """Bits of the numbers of lanes: lanes that differ in these alone store the same, up to a rounding, as each has the sum over all of them."""
    makers: Makers = {}
    for op in program.ops:
        for slot in writes(op):
            makers.setdefault(slot, []).append(op)
    joined: dict[int, int] = {}
    for op in program.ops:
        if op.site < store.site:
            joined.update(dict.fromkeys(writes(op), _joined(makers, op, joined)))
    values = [source for source in store.sources if not isinstance(source, Address)]
    each = [element for value in values for element in (value.elements if isinstance(value, Vector) else [value])]
    return _common(makers, each, joined)


def _joined(makers: Makers, op: Op, joined: dict[int, int]) -> int:
    """Lanes that have the same result of an instruction."""
    if op.accesses:
        return LANES - 1 if all(access.space == "param" for access in op.accesses) else 0
    if op.facts.reads_lanes or not op.sources:
        return 0
    added, distance = _added(makers, op)
    return distance | _common(makers, [added] if distance else op.sources, joined)


def _common(makers: Makers, values: Sequence[Operand | None], joined: dict[int, int]) -> int:
    """Lanes that have the same of each of these."""
    return reduce(and_, (_of(makers, value, joined) for value in values), LANES - 1)


def _of(makers: Makers, value: Operand | None, joined: dict[int, int]) -> int:
    if isinstance(value, Constant):
        return LANES - 1
    if not isinstance(value, Register) or value.type.kind == "predicate" or _maker(makers, value) is None:
        return 0
    return joined.get(value.slot, 0)


def _added(makers: Makers, op: Op) -> tuple[Operand | None, int]:
    """What a sum adds to the same of another lane, and the distance of that lane; (None, 0) if it is no such sum."""
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


def _maker(makers: Makers, value: Operand | None) -> Op | None:
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

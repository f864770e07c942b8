"""The assembler's contraction: a product that only sums use is computed inside them, with one rounding.

Read from the machine code of ptxas 13.0 for sm_90: mul without rounding modifier, saturation or guard, whose result is used by
add and sub without rounding modifier alone (same type, same .ftz, the product in one operand), all in one stretch of
straight-line code, disappears into them. A sum of two products takes the first operand's, but one that is used once goes
before one that is used often. ptxsim keeps the multiplication itself, so that counts stay those of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.analysis.liveness import kills, live_out, uses
from ptxsim.engine.program.operand import Operand, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions.contraction import FUSED
from ptxsim.isa.facts import Facts
from ptxsim.isa.registry import Definition


def contract(program: Program) -> None:
    """Replace add and sub operations of the program that ptxas would fuse with a multiplication."""
    products = {id(op) for op in program.ops if _is_product(op)}
    if not products:
        return
    live = live_out(program)
    for blocks in _stretches(program):
        ops = [op for number in blocks for op in program.blocks[number]]
        after = live[blocks[-1]] if live is not None else None
        _contract_stretch(ops, products, after)


def _stretches(program: Program) -> Iterator[list[int]]:
    """Runs of blocks that are entered at the top and left at the bottom only."""
    joins = control_flow(program).joins
    run: list[int] = []
    for number, block in enumerate(program.blocks):
        if run and number in joins:
            yield run
            run = []
        run.append(number)
        if block and block[-1].control is not None:
            yield run
            run = []
    if run:
        yield run


def _is_product(op: Op) -> bool:
    return _is_loose(op, "*") and not op.bound.modifiers.get("sat") and op.guard is None


def _is_loose(op: Op, *operators: str) -> bool:
    """Whether a floating operation is made with one of these operators and leaves the rounding to the assembler."""
    words = op.bound.modifiers
    if not op.definition.modeled or str(words.get("type")) not in FUSED or words.get("rounding"):
        return False
    return len(op.facts.operators) == 1 and op.facts.operators[0] in operators


def _slot(operand: Operand | None) -> int | None:
    return operand.slot if isinstance(operand, Register) and not operand.sink else None


def _contract_stretch(ops: list[Op], products: set[int], live: set[int] | None) -> None:
    uses = {}
    for index, op in enumerate(ops):
        if id(op) in products:
            found = _uses(ops, index, live)
            if found is not None:
                uses[index] = found
    _fuse(ops, uses)


def _uses(ops: list[Op], index: int, live: set[int] | None) -> list[int] | None:
    """Where a product is used, if all of these are sums that can take it; None if it has to be computed."""
    product = ops[index]
    slot = _slot(product.destinations[0])
    factors = {s for s in map(_slot, product.sources) if s is not None}
    places, changed = [], False
    for place in range(index + 1, len(ops)):
        op = ops[place]
        if slot in uses(op):
            if changed or not _takes(op, product, slot):
                return None
            places.append(place)
        written = set(slots_of(op.destinations))
        if slot in written:
            return places if places and slot in kills(op) else None
        changed = changed or bool(factors & written)
    dead = live is not None and slot not in live
    return places if places and dead else None


def _takes(op: Op, product: Op, slot: int) -> bool:
    """Whether a sum has the product in exactly one operand, of the same type and flushing."""
    mine, its = op.bound.modifiers, product.bound.modifiers
    return (
        _is_loose(op, "+", "-")
        and [_slot(source) for source in op.sources].count(slot) == 1
        and (op.guard is None or op.guard[0] != slot)
        and mine.get("type") == its.get("type")
        and bool(mine.get("ftz")) == bool(its.get("ftz"))
    )


def _fuse(ops: list[Op], uses: dict[int, list[int]]) -> None:
    """Sums take products that are used once, the first operand's before the second's; then those used often, if all agree."""
    taken: set[int] = set()
    once: dict[int, list[int]] = {places[0]: [] for places in uses.values() if len(places) == 1}
    for index, places in uses.items():
        if len(places) == 1:
            once[places[0]].append(index)
    for place, indices in once.items():
        order = [_slot(source) for source in ops[place].sources]
        indices.sort(key=lambda index: order.index(_slot(ops[index].destinations[0])))
        _replace(ops[place], ops[indices[0]])
        taken.add(place)
    for index, places in uses.items():
        if len(places) > 1 and not taken & set(places):
            for place in places:
                _replace(ops[place], ops[index])
            taken.update(places)


def _replace(op: Op, product: Op) -> None:
    """Make a sum fused: a * b + c, a * b - c or c - a * b."""
    first = _slot(op.sources[0]) == _slot(product.destinations[0])
    kind = 0 if op.facts.operators == ("+",) else 1 if first else 2
    definition = _fused(FUSED[str(op.bound.modifiers["type"])][kind], op.facts)
    rest = op.sources[1] if first else op.sources[0]
    op.wants = {name: op.bound.modifiers.get(name) for name in definition.wants}
    op.definition, op.sources = definition, (*product.sources, rest)


@cache
def _fused(effect: Callable[..., object], facts: Facts) -> Definition:
    return Definition(effect, facts)

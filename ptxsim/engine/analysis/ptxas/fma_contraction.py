"""The assembler's contraction: a product that only sums use is computed inside them, with one rounding.

Read from the machine code of ptxas 13.0 for sm_90, and judged by the bits of an H200 (tools/data/programs): mul without rounding modifier,
saturation or guard, whose result is used by add and sub without rounding modifier alone (same type, same .ftz, the product in one
operand), all in one stretch of straight-line code, disappears into them; so does the product with the reciprocal that div.approx and
div.full end with. What ptxas makes branches of (facts.branches) ends a stretch. Products with a constant go further
(engine.analysis.ptxas.constant_products). Copies (engine.analysis.ptxas.copies), neg and abs of a square are looked through, what nobody
uses is no use, and values count, not registers: a factor may be overwritten before the sum. A sum of two products takes the first operand's, but one that is used once goes
before one that is used often. ptxsim keeps the multiplication itself, so that counts stay those of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import has_effect, slots_of
from ptxsim.engine.analysis.liveness import kills, live_before, live_out, uses
from ptxsim.engine.analysis.ptxas.constant_products import loop_of, on_every_way, with_constants
from ptxsim.engine.analysis.ptxas.product_values import Copy, Multiplied, Sum, copied, is_kept, is_settled, slot_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions.contraction import FUSED
from ptxsim.types import TYPES


def contract(program: Program) -> None:
    """Replace add and sub operations of the program that ptxas would fuse with a multiplication."""
    products = {id(op): op for op in program.ops if _is_product(op)}
    if not products:
        return
    sinking = with_constants(program, products.values())
    found = [(blocks, [op for number in blocks for op in program.blocks[number]]) for blocks in _runs(program)]
    if not sinking:
        found = [(blocks, ops) for blocks, ops in found if _may_fuse(ops, products)]
    if not found:
        return
    live = live_out(program, of_others=False)
    # Where nothing is stored, registers are what is wanted (snippets).
    stores = any(access.writes for op in program.ops for access in op.accesses)
    stretches = {}
    for blocks, ops in found:
        after = live[blocks[-1]]
        stretches[blocks[0]] = _Stretch(blocks[-1], _wanted(ops, after) if stores else ops, after)
    values = _values(program, live, stretches, products, sinking)
    _fuse(program, [value for value in values if value.sums and not value.is_computed])


def _runs(program: Program) -> Iterator[list[int]]:
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


def _may_fuse(ops: list[Op], products: Collection[int]) -> bool:
    """Whether a sum comes after a product of its type: all else is not worth looking at."""
    multiplied = set[object]()
    for op in ops:
        if id(op) in products:
            multiplied.add(op.bound.modifiers.get("type"))
        elif multiplied and op.bound.modifiers.get("type") in multiplied and _is_loose(op, "+", "-"):
            return True
    return False


def _is_product(op: Op) -> bool:
    words = op.bound.modifiers
    return op.facts.factors is not None and op.guard is None and not words.get("sat") and not words.get("rounding")


def _is_loose(op: Op, *operators: str) -> bool:
    """Whether a floating operation is made with one of these operators and leaves the rounding to the assembler."""
    words = op.bound.modifiers
    if not op.definition.modeled or str(words.get("type")) not in FUSED or words.get("rounding"):
        return False
    return len(op.facts.operators) == 1 and op.facts.operators[0] in operators


def _wanted(ops: list[Op], after: set[int]) -> list[Op]:
    """Operations without those of which nothing is wanted: ptxas has removed them by then. `after`: registers wanted after them."""
    found, wanted = [], set(after)
    for op in reversed(ops):
        if not wanted.isdisjoint(slots_of(op.destinations)) or has_effect(op):
            found.append(op)
            wanted.difference_update(kills(op))
            wanted.update(uses(op))
    return found[::-1]


@dataclass(slots=True)
class _Stretch:
    """Straight-line code: its last block, its operations, registers wanted after it."""

    last: int
    ops: list[Op]
    after: set[int]


def _values(
    program: Program,
    live: list[set[int]],
    stretches: Mapping[int, _Stretch],
    products: Collection[int],
    sinking: Iterable[Op],
) -> list[Multiplied]:
    """The products with what becomes of them.

    live: registers live after each block; stretches: by the block that each begins with; sinking: products with a constant.
    """
    sunk = _sunk(program, sinking)
    come = _coming(program, stretches, products, sunk) if sunk else {}
    for value in sunk.values():
        value.sums, value.is_computed = [], False
    found = list(sunk.values())
    for begin, stretch in stretches.items():
        walk = _Walk(stretch.ops, products, sunk, dict(come.get(begin, {})))
        found += walk.values
        lost = stretch.after - _handed_on(program, live, stretch.last, walk.held, come) if sunk else stretch.after
        for slot, copy in walk.held.items():
            copy.value.stands_apart |= copy.is_flushed and slot in lost
        for slot, value in walk.all():
            value.is_computed |= slot in lost and not (slot in walk.held and walk.held[slot].is_flushed)
    for value in found:
        value.is_computed |= value.is_added and value.stands_apart
    return found


def _sunk(program: Program, sinking: Iterable[Op]) -> dict[int, Multiplied]:
    chosen = {id(op) for op in sinking}
    graph, found = control_flow(program), dict[int, Multiplied]()
    for number, block in enumerate(program.blocks):
        here = [op for op in block if id(op) in chosen]
        loop = loop_of(graph, number) if here else None
        found |= {id(op): Multiplied(op, goes_on=True, loop=loop) for op in here}
    return found


Coming = dict[int, dict[int, Copy]]  # by block and register


def _coming(
    program: Program, stretches: Mapping[int, _Stretch], products: Collection[int], sunk: Mapping[int, Multiplied]
) -> Coming:
    """The copies of products with constants that are there where stretches begin, whichever way led there."""

    def pass_through(begin: int, held: dict[int, Copy]) -> dict[int, Copy]:
        walk = _Walk(stretches[begin].ops, products, sunk, held)
        return {slot: copy for slot, copy in walk.held.items() if copy.value.goes_on}

    def may_enter(copy: Copy, block: int) -> bool:
        return copy.value.loop is None or block in copy.value.loop

    return on_every_way(program, {begin: s.last for begin, s in stretches.items()}, pass_through, may_enter)


def _handed_on(program: Program, live: list[set[int]], last: int, held: Mapping[int, Copy], come: Coming) -> set[int]:
    """Registers whose products all blocks that may follow the last one of a stretch have of it, if they want them."""
    found = {slot for slot in held if held[slot].value.goes_on}
    if not found:
        return found
    for block in control_flow(program).successors[last]:
        wanted = (live_before(program.blocks[block], live[block], set()) or [live[block]])[0]
        found -= {slot for slot in found & wanted if come.get(block, {}).get(slot) != held[slot]}
    return found


class _Walk:
    """Products on the way through straight-line code. held: the copies that are there at its beginning, then those at its end."""

    def __init__(
        self, ops: Iterable[Op], products: Collection[int], sunk: Mapping[int, Multiplied], held: dict[int, Copy]
    ):
        self.values: list[Multiplied] = []  # of products without a constant
        self.held = held
        self._lost: dict[int, Multiplied] = {}  # registers with products from before a branch of the assembler's own
        self._sunk = sunk
        self._written = Counter[int]()
        for op in ops:
            is_product = id(op) in products
            if is_product or self.held or self._lost:
                self._execute(op, is_product)

    def all(self) -> Iterator[tuple[int, Multiplied]]:
        """Registers with the products that they have."""
        yield from self._lost.items()
        for slot, copy in self.held.items():
            yield slot, copy.value

    def _execute(self, op: Op, is_product: bool) -> None:
        if is_kept(op):
            return
        used = set() if is_settled(op) else set(uses(op))
        copy = copied(op, self.held) if not used.isdisjoint(self.held) else None
        if copy is None:
            self._use(op, used)
        factors = {slot: self._written[slot] for slot in slots_of(op.sources)} if is_product else {}
        for slot in slots_of(op.destinations):
            self._written[slot] += 1
            if slot in self.held:
                self._let_go(self.held.pop(slot), slot in kills(op))
            self._lost.pop(slot, None)
        if op.facts.branches is not None and op.facts.branches(op.words):
            self._lost.update((slot, value) for slot, value in self.all() if not value.goes_on)
            self.held = {slot: copy for slot, copy in self.held.items() if copy.value.goes_on}
        into = slot_of(op.destinations[0]) if op.destinations else None
        if into is not None and copy is not None:
            self.held[into] = copy
        elif into is not None and is_product:
            self.held[into] = Copy(self._made(op, factors))

    def _let_go(self, copy: Copy, is_killed: bool) -> None:
        """Something else is written to a register, in some lanes or all."""
        copy.value.stands_apart |= copy.is_flushed and not is_killed
        copy.value.is_computed |= not copy.is_flushed and not is_killed

    def _made(self, op: Op, factors: dict[int, int]) -> Multiplied:
        value = self._sunk.get(id(op))
        if value is None:
            value = Multiplied(op, outlives_factors=op.facts.operators != ("*",))
            self.values.append(value)
        value.factors, value.home = factors, self
        return value

    def _use(self, op: Op, used: set[int]) -> None:
        for slot in used & self._lost.keys():
            self._lost[slot].is_computed = True
        if used.isdisjoint(self.held):
            return
        operands = [slot_of(source) for source in op.sources]
        copies = [self.held[slot] for slot in used if slot in self.held]
        for copy in copies:
            value = copy.value
            mine = [n for n, slot in enumerate(operands) if slot in self.held and self.held[slot].value is value]
            takes = _takes(op, value.product, self.held)
            if copy.is_flushed and takes and op.facts.operators == ("-",) and 1 in mine:
                value.stands_apart = True
                mine.remove(1)
            if not takes or len(mine) != 1:
                value.stands_apart |= copy.is_flushed
                value.is_computed |= not copy.is_flushed
                continue
            value.is_added |= not copy.is_flushed
            value.sums.append(Sum(op, mine[0], copy.is_negated))
            value.outlives_factors |= value.home is not self or any(
                self._written[factor] > count for factor, count in value.factors.items()
            )


def _takes(op: Op, product: Op, held: Collection[int]) -> bool:
    """Whether an operation is a sum of the product's type and flushing, which is executed whatever the product is."""
    mine, its = op.bound.modifiers, product.bound.modifiers
    return (
        _is_loose(op, "+", "-")
        and (op.guard is None or op.guard[0] not in held)
        and mine.get("type") == its.get("type")
        and bool(mine.get("ftz")) == bool(its.get("ftz"))
    )


def _fuse(program: Program, values: list[Multiplied]) -> None:
    """Sums take products that are used once, the first operand's before the second's; then those used often that none of their sums
    has left for one of these. Where values are packed, both kinds in the order of the text."""
    packed = [value for value in values if _is_packed(value.type)]
    if packed:
        _fuse_in_order(program, packed)
        values = [value for value in values if not _is_packed(value.type)]
    once: dict[int, list[Multiplied]] = {value.sums[0].op.site: [] for value in values if len(value.sums) == 1}
    for value in values:
        if len(value.sums) == 1:
            once[value.sums[0].op.site].append(value)
    for candidates in once.values():
        first = min(candidates, key=lambda value: value.sums[0].operand)
        first.fuse(program, first.sums)
    often = [value for value in values if len(value.sums) > 1 and not any(use.op.site in once for use in value.sums)]
    _fuse_in_order(program, often)


def _is_packed(type: str) -> bool:
    return TYPES[type].element is not None


def _fuse_in_order(program: Program, values: list[Multiplied]) -> None:
    """Sums take theirs in the order of the text: a product is fused until a sum takes another one, and needs it rounded."""
    uses = sorted(
        (use.op.site, len(value.sums) > 1, use.operand, n) for n, value in enumerate(values) for use in value.sums
    )
    chosen: list[list[Sum]] = [[] for _ in values]
    rounded, taken = set[int](), set[int]()
    for site, _, operand, n in uses:
        if site in taken:
            rounded.add(n)
        elif n not in rounded:
            taken.add(site)
            chosen[n] += [use for use in values[n].sums if use.op.site == site and use.operand == operand]
    for value, sums in zip(values, chosen, strict=True):
        if sums:
            value.fuse(program, sums)

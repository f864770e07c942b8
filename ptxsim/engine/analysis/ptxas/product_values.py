"""What products are on the way to the sums that they disappear into: values in registers, and copies of these. For `fma_contraction`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from ptxsim.engine.program.operand import Operand, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions import assembled
from ptxsim.instructions.contraction import FUSED
from ptxsim.isa.facts import Facts
from ptxsim.isa.registry import Definition
from ptxsim.types import TYPES

_SETTLED = frozenset(("lt", "gt", "ne", "leu", "geu", "equ"))  # false, or true, of a number and itself, whatever it is


def slot_of(operand: Operand | None) -> int | None:
    return operand.slot if isinstance(operand, Register) and not operand.sink else None


@dataclass(slots=True)
class Sum:
    """A sum that uses a product, or a copy of it, as one of its operands."""

    op: Op
    operand: int
    is_negated: bool  # by neg, before


@dataclass(slots=True, eq=False)
class Multiplied:
    """What a product leaves in its register, and in copies of it, until other values are there."""

    product: Op
    goes_on: bool = False  # whether it is the same wherever it is used, a product with a constant
    loop: set[int] | None = None  # where it goes on to, if not everywhere
    factors: dict[int, int] = field(default_factory=dict)  # registers, and how often each had been written by then
    home: object = None  # the walk through the stretch that it is in
    sums: list[Sum] = field(default_factory=list)
    is_computed: bool = False  # something else needs the rounded product
    is_added: bool = False  # a sum uses it as it is, and not a flushed copy
    stands_apart: bool = False  # something else needs a flushed copy
    outlives_factors: bool = False  # a factor is overwritten before the last sum, or no register of the program has it

    @property
    def type(self) -> str:
        return str(self.product.bound.modifiers["type"])

    def fuse(self, program: Program, sums: Iterable[Sum]) -> None:
        """Make sums of it those of the product itself."""
        product = self.product
        factors = _keep_factors(program, product) if self.outlives_factors else product.sources
        for use in sums:
            op = use.op
            is_difference = op.facts.operators == ("-",)
            signs = use.is_negated ^ (is_difference and use.operand == 1), is_difference and use.operand == 0
            definition = with_effect(FUSED[str(op.bound.modifiers["type"])][signs], op.facts)
            op.wants = {name: op.bound.modifiers.get(name) for name in definition.wants}
            op.definition, op.sources = definition, (*factors, op.sources[1 - use.operand])


@dataclass(frozen=True, slots=True)
class Copy:
    """A register that holds a product, or its negative."""

    value: Multiplied
    is_negated: bool = False
    # By an addition of -0 with .ftz, which sums look through, and which is one of its own for others: copies of it, too.
    is_flushed: bool = False


def copied(op: Op, held: dict[int, Copy]) -> Copy | None:
    """The product that an operation copies: ptxas looks through these."""
    formula, effect = op.facts.formula, op.definition.effect
    if formula not in ("a", "-a", "abs(a)") and effect not in (*assembled.PLAIN_COPIES, assembled.flushed):
        return None
    into, source = op.destinations[0], op.sources[0]
    if not isinstance(into, Register) or not isinstance(source, Register) or source.slot not in held:
        return None
    if op.guard is not None:
        return None
    known = held[source.slot]
    if into.declared.bits != source.declared.bits:
        return None
    if effect in assembled.PLAIN_COPIES or formula == "a":
        return known
    if known.is_flushed:
        return None
    mine, product = op.bound.modifiers, known.value.product
    its, type, flushes = product.bound.modifiers, str(mine.get("type")), bool(mine.get("ftz"))
    if mine.get("type") != its.get("type") or flushes > bool(its.get("ftz")):
        return None
    if effect is assembled.flushed:
        return replace(known, is_flushed=True)
    if formula == "abs(a)":
        if type != "f32" or known.is_negated or not _is_square(product):
            return None
        return replace(known, is_flushed=flushes)
    if type == "bf16x2" or (flushes and type != "f32"):  # an addition or a product with zero
        return None
    return Copy(known.value, not known.is_negated, flushes)


def is_kept(op: Op) -> bool:
    """Whether an operation leaves its register as it is, in whichever lanes."""
    return op.definition.effect in assembled.PLAIN_COPIES and slot_of(op.destinations[0]) == slot_of(op.sources[0])


def is_settled(op: Op) -> bool:
    """Whether an operation compares a number with itself and may only come out one way: nothing is used there."""
    type, cmp = str(op.bound.modifiers.get("type") or op.bound.modifiers.get("stype")), op.bound.modifiers.get("cmp")
    return cmp in _SETTLED and type in FUSED and TYPES[type].element is None and are_equal(op)


def are_equal(op: Op) -> bool:
    """Whether the first two operands of an operation are one register."""
    first, second, *_ = (*op.sources, None, None)
    return isinstance(first, Register) and isinstance(second, Register) and first.slot == second.slot


def _is_square(product: Op) -> bool:
    a, b = (slot_of(source) for source in product.sources[:2])
    return product.facts.operators == ("*",) and a is not None and a == b


def _keep_factors(program: Program, product: Op) -> tuple[Operand, ...]:
    """Let a product leave its factors in registers of their own."""
    assert product.facts.factors is not None
    type = TYPES[str(product.bound.modifiers["type"])]
    kept = []
    for name in product.definition.sources:
        kept.append(Register(len(program.slots), type, type))
        program.slots.append(type)
        program.slot_names.append(f"factor {name}")
    product.destinations += tuple(kept)
    product.definition = with_effect(product.facts.factors, product.facts)
    return tuple(kept)


@cache
def with_effect(effect: Callable[..., object], facts: Facts) -> Definition:
    """What an operation of these facts is when the assembler has given it another effect."""
    return Definition(effect, facts)


def effects_of(facts: Facts) -> Iterator[Callable[..., object]]:
    """The effects that the assembler may give an operation."""
    if facts.factors is not None:
        yield facts.factors
    for by_signs in FUSED.values():
        yield from by_signs.values()
    yield from assembled.EFFECTS

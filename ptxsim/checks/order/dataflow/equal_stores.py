"""Values that are equal in all lanes but for rounding, stored by all of them to one place.

Compilers of programs that have one thread in mind (Triton) let lanes exchange their values in a butterfly, and each combine what it
gets with what it has. In the end all have the same but for rounding: of a * a + b * b, where the sum is fused with a product,
a * a is rounded in one lane of a pair, b * b in the other; Welford's mean is computed from either side of the pair.

Whether they differ by rounding alone is tried where there is none: among the integers modulo a prime. Each address has a random
one, which is loaded there; lanes that come to the same number compute the same function of what all of them have (two different
polynomials agree at a random place with a chance of their degree in the prime: Schwartz and Zippel).
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.program.operand import Address, Constant, Operand, Register, Special, Vector, broadcast
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.instructions.assembled import FORMULAS
from ptxsim.isa.facts import Access, Scope
from ptxsim.isa.formula import evaluate
from ptxsim.lanes import EVERY, LANES
from ptxsim.types import ScalarType

PRIME = (1 << 31) - 1  # products of two residues are 64-bit integers


@dataclass(frozen=True, slots=True)
class Residues:
    """An integer modulo the prime in each lane."""

    lanes: np.ndarray

    def __add__(self, other: Residues) -> Residues:
        return Residues((self.lanes + other.lanes) % PRIME)

    def __sub__(self, other: Residues) -> Residues:
        return Residues((self.lanes - other.lanes) % PRIME)

    def __mul__(self, other: Residues) -> Residues:
        return Residues(self.lanes * other.lanes % PRIME)

    def __truediv__(self, other: Residues) -> Residues:
        """x / 0 is 0."""
        return self * other.power(PRIME - 2)  # Fermat

    def __neg__(self) -> Residues:
        return Residues(-self.lanes % PRIME)

    # What follows is exact of small numbers, as those of lanes are; of others it is some function, the same in all lanes.

    def __and__(self, other: Residues) -> Residues:
        return Residues(self.lanes & other.lanes)

    def __or__(self, other: Residues) -> Residues:
        return Residues((self.lanes | other.lanes) % PRIME)

    def __xor__(self, other: Residues) -> Residues:
        return Residues((self.lanes ^ other.lanes) % PRIME)

    def __lshift__(self, other: Residues) -> Residues:
        return Residues((self.lanes << other.lanes % 32) % PRIME)

    def __rshift__(self, other: Residues) -> Residues:
        return Residues(self.lanes >> other.lanes % 32)

    def power(self, exponent: int) -> Residues:
        found, square = Residues(np.ones(LANES, np.int64)), self
        while exponent:
            if exponent & 1:
                found = found * square
            exponent, square = exponent >> 1, square * square
        return found


Values = dict[int, "Residues | Constant"]  # of slots; a constant is a number once an instruction says of which type


def lanes_alike(program: Program, store: Op) -> int:
    """Bits of the numbers of lanes: lanes that differ in these alone store the same, up to rounding."""
    values = _values(program)
    fresh = np.random.default_rng(store.site)
    stored = [
        _value(values, source, fresh).lanes for source in _elements(store.sources) if not isinstance(source, Address)
    ]
    bits = (1 << n for n in range(LANES.bit_length() - 1))
    return sum(bit for bit in bits if all((each == each[np.arange(LANES) ^ bit]).all() for each in stored))


@fact
def _values(program: Program) -> Values:
    """What registers hold: what was computed, of those that one instruction writes, in all lanes; of others any numbers."""
    makers = Counter(slot for op in program.ops for slot in writes(op))
    values: Values = {}
    fresh = np.random.default_rng(0)
    for op in program.ops:
        slots = writes(op)
        is_known = op.guard is None and all(makers[slot] == 1 for slot in slots)
        found = _results(values, op, len(slots), fresh) if is_known and slots else []
        values.update(zip(slots, found or [_any(fresh) for _ in slots]))
    return values


def _results(values: Values, op: Op, count: int, fresh: np.random.Generator) -> list[Residues | Constant]:
    """What an operation leaves in the registers that it writes; nothing where that may be anything."""
    if op.call is not None or not op.sources:
        return []
    if op.accesses:
        place = op.sources[0]
        if (
            not isinstance(place, Address)
            or place.extra
            or op.facts.scope is not Scope.LANE
            or not all(map(_is_load, op.accesses))
        ):
            return []
        address = [] if place.base is None else [_value(values, place.base, fresh)]
        return [_opaque(f"{n} of line {op.site}", address) for n in range(count)]
    given = _read(values, op.sources[0], fresh)
    if op.facts.reads_lanes:
        distance = _distance(op)
        if isinstance(given, Constant) or not distance:
            return [given] if distance else []
        return [Residues(given.lanes[np.arange(LANES) ^ distance]), _any(fresh)]
    if op.facts.formula == "a" and isinstance(given, Constant):
        return [given]
    sources = [_value(values, source, fresh) for source in _elements(op.sources)]
    first = _first(op, sources)
    if op.facts.factors is not None and count > 1:  # for sums that it is fused into: any two factors that make it
        return [first, first, Residues(np.ones(LANES, np.int64))]
    return [first, *(_opaque(f"{n} of {op.opcode}", sources) for n in range(1, count))]


def _is_load(access: Access) -> bool:
    """Whether lanes that name one place get one value."""
    return not access.writes and access.space in ("param", "const", "shared", "global")


def _first(op: Op, sources: list[Residues]) -> Residues:
    """The result, or the first of several."""
    functions: dict[str, Callable[..., Residues]] = {
        "min": lambda a, b: Residues(np.minimum(a.lanes, b.lanes)),
        "max": lambda a, b: Residues(np.maximum(a.lanes, b.lanes)),
        "abs": lambda a: _opaque("abs", [a * a]),
        "convert": lambda a: a,
        "select": lambda a, b, c: Residues(np.where(c.lanes, a.lanes, b.lanes)),
    }  # fmt: skip
    if op.words.get("cmp") in ("eq", "ne") and not op.words.get("boolop"):
        functions["compare"] = lambda a, b: Residues(
            ((a.lanes == b.lanes) == (op.words["cmp"] == "eq")).astype(np.int64)
        )
    try:
        formula = FORMULAS.get(op.definition.effect, op.facts.formula)
        found: Residues = evaluate(formula, dict(zip("abc", sources)), functions)
    except (SyntaxError, TypeError, KeyError):  # made with what residues do not have
        found = _opaque(op.opcode, sources)
    return found


def _opaque(name: str, sources: Sequence[Residues]) -> Residues:
    """A function of which nothing is known but that it comes to the same with the same."""
    factors = np.random.default_rng(zlib.crc32(name.encode())).integers(1, PRIME, len(sources) + 1)
    total = sum(source.lanes * factor % PRIME for source, factor in zip(sources, factors)) + factors[-1]
    return Residues(np.asarray(total, np.int64) % PRIME).power(3)


def _any(fresh: np.random.Generator) -> Residues:
    return Residues(fresh.integers(PRIME, size=LANES))


def _elements(operands: Sequence[Operand | None]) -> list[Operand]:
    found: list[Operand] = []
    for operand in operands:
        found += _elements(operand.elements) if isinstance(operand, Vector) else [] if operand is None else [operand]
    return found


def _read(values: Values, operand: Operand | None, fresh: np.random.Generator) -> Residues | Constant:
    if isinstance(operand, Constant):
        return operand
    if isinstance(operand, Register):  # of one that the text writes further down, the same for all who read it before
        if operand.slot not in values:
            values[operand.slot] = _any(fresh)
        return values[operand.slot]
    if isinstance(operand, Special) and operand.name in ("%tid.x", "%laneid"):
        return Residues(np.arange(LANES))
    return _any(fresh)


def _value(values: Values, operand: Operand, fresh: np.random.Generator) -> Residues:
    found = _read(values, operand, fresh)
    if isinstance(found, Constant):
        assert isinstance(operand, Constant | Register)
        found = _number(found.value, operand.type)
    is_negated = isinstance(operand, Register) and operand.negated  # a predicate: 0 or 1
    return Residues(1 - found.lanes) if is_negated else found


def _number(value: int, type: ScalarType) -> Residues:
    """What a pattern of bits is as a type."""
    exact = Fraction(value)
    if type.is_float or type.is_integer:
        one = broadcast(value, type)[0].item()
        exact = Fraction(one) if math.isfinite(one) else exact
    residue = exact.numerator * pow(exact.denominator, PRIME - 2, PRIME) % PRIME
    return Residues(np.full(LANES, residue, np.int64))


def _distance(op: Op) -> int:
    """How far, by exclusive or, the lanes of a whole warp exchange values; 0 if they do not."""
    if not op.facts.copies or op.words.get("mode") != "bfly":
        return 0
    numbers = [source.value if isinstance(source, Constant) else 0 for source in op.sources[1:4]]
    distance, rest, mask = (*numbers, 0, 0, 0)[:3]
    is_whole = rest == LANES - 1 and mask & EVERY == EVERY and distance & distance - 1 == 0
    return distance if is_whole else 0

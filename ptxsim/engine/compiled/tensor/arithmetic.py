"""What a native dot product computes, and how its operands lie: panels of numbers and exponents.

A vector is one register of the accumulators. Its lanes go along two axes: four lanes next to each other share the place on
the slow axis (the rows of most shapes), lanes four apart that on the fast one. For every k the slow panel has 32 numbers,
each four times, and the fast panel four, which a broadcast repeats. Exponents follow the numbers. In tensor memory a vector is 32
rows of one column: the slow panel has 32 different numbers for every k, the fast panel one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import spread
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.lanes import LANES
from ptxsim.numerics.fused import KEPT_BITS, ZERO

QUAD = 4
ABSENT = ZERO - 1  # the exponent of what sparsity leaves out
ENTRY = 7  # i32 in a table's entry: slow, fast and fast record, C twice, D twice; all in bytes


@dataclass(frozen=True)
class Arithmetic:
    """What is computed: `blocks` are the k of every block; see numerics.parameters.Rule for the rest. `c` and `d` are
    the element types of the accumulators, `sparse` says that the slow operand has elements that are not there."""

    algorithm: str
    k: int
    blocks: tuple[tuple[int, ...], ...]
    fraction: int
    zero_exponent: int
    accumulator: str
    c: str
    d: str
    sparse: bool = False
    saturate: bool = False
    columns: int = QUAD  # of a vector: 1 in tensor memory, where every accumulator has a word to itself

    @property
    def upright(self) -> bool:
        """Whether a vector is one column, of which a mask says what is written."""
        return self.columns == 1

    @property
    def floats(self) -> bool:
        return self.algorithm != "integer"

    @property
    def fits(self) -> bool:
        """Whether a whole block's terms, cut to the fraction, fit an i32."""
        return self.fraction <= 13

    @property
    def narrow(self) -> bool:
        """Whether the accumulators are f16."""
        return self.accumulator == "f16"

    @property
    def smallest(self) -> int:
        """Exponent of the accumulators' smallest normal number."""
        return -14 if self.narrow else -126

    @property
    def kept(self) -> int:
        """Fraction bits of the accumulators."""
        return KEPT_BITS[self.accumulator]

    @property
    def kept_half(self) -> Arithmetic:
        """For records of what a sparse operand keeps."""
        return replace(self, k=self.k // 2)

    def record_bytes(self, width: int) -> int:
        """Size of a panel's record: `width` numbers for every k, then their exponents (i16)."""
        return self.k * width * (6 if self.floats else 4)

    @property
    def slow_bytes(self) -> int:
        return self.record_bytes(LANES)

    @property
    def fast_bytes(self) -> int:
        return self.record_bytes(self.columns)

    def describe(self) -> tuple[Any, ...]:
        return astuple(self)

    @classmethod
    def of(cls, description: Sequence[Any]) -> Arithmetic:
        """From what `describe` gave, lists in place of tuples."""
        algorithm, k, blocks, *rest = description
        return cls(algorithm, k, tuple(map(tuple, blocks)), *rest)


def repeated(e: Emitter, at: str, kind: str, count: int) -> Value:
    """The numbers (or exponents) that a fast record has for one k, over and over: four or one."""
    t = element_type(kind)
    if count == 1:
        return spread(e, e.let(f"load {t}, ptr {at}, align 2"), kind)
    four = e.let(f"load <4 x {t}>, ptr {at}, align 2")
    order = ", ".join(f"i32 {lane % QUAD}" for lane in range(LANES))
    return Value(e, e.let(f"shufflevector <4 x {t}> {four}, <4 x {t}> poison, <32 x i32> <{order}>"), kind)


def constant_table(module: Module, values: Sequence[int]) -> str:
    """A constant table of i32 in a module."""
    content = ", ".join(f"i32 {v}" for v in values)
    known = module.globals
    if content not in known:
        known[content] = f"@table{len(known)} = private constant [{len(values)} x i32] [{content}], align 64"
    return known[content].partition(" ")[0]

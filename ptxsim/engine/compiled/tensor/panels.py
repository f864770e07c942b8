"""Operands of matrix products as panels (engine.compiled.tensor.dot): element codes to numbers and exponents, lanes in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.tensor.arithmetic import ABSENT, QUAD, Arithmetic
from ptxsim.lanes import LANES
from ptxsim.layout.sparsity import Sparsity
from ptxsim.numerics import narrow
from ptxsim.numerics.fused import SPECIAL, ZERO
from ptxsim.types import TYPES

Pair = tuple[Value, Value | None]  # numbers and exponents

TYPES_OF_FACTORS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "s4", "u4")


def numbers(e: Emitter, codes: Value, name: str, negate: bool = False) -> Value:
    """Element codes (u32 lane values, nothing above the element's bits) as f32 numbers."""
    kind = TYPES[name]
    if kind.is_float:
        value = _floats(e, codes, name)
        return -value if negate else value
    if kind.is_signed:
        low = 32 - kind.bits
        return e.convert(Value(e, (codes << low).text, "s32") >> low, "f32")
    return e.convert(Value(e, codes.text, "s32"), "f32")


def _floats(e: Emitter, codes: Value, name: str) -> Value:
    if name == "tf32":
        return e.bits(codes & 0xFFFFE000, "f32")
    if name == "bf16":
        return e.bits(codes << 16, "f32")
    if name == "f16":
        return e.convert(Value(e, e.convert(codes, "u16").text, "f16"), "f32")
    decoded: Value = narrow.decode(codes, TYPES[name])
    return decoded


def exponents(e: Emitter, number: Value, name: str) -> Value:
    """Exponents as the fused dot product wants them (i16): at least that of the smallest normal number."""
    word = e.bits(number, "u32")
    field = word >> 23 & 255
    exponent = e.maximum(e.bits(field, "s32") - 127, 1 - TYPES[name].bias)
    exponent = e.where((word & 0x7FFFFFFF) == 0, ZERO, exponent)
    return e.convert(e.where(field == 255, SPECIAL, exponent), "s16")


def chosen(e: Emitter, value: Value, lanes: Iterable[Any]) -> str:
    """The text of a vector of these lanes of a value, with its type."""
    numbers = [int(lane) for lane in lanes]
    t = element_type(value.kind)
    order = ", ".join(f"i32 {number}" for number in numbers)
    name = e.pure(
        f"shufflevector {value.type} {value.text}, {value.type} poison, <{len(numbers)} x i32> <{order}>", "any"
    )
    return f"<{len(numbers)} x {t}> {name.text}"


@dataclass(frozen=True)
class Places:
    """Where a fragment keeps an operand: for every place on its axis and every k the word and lane, and the bit it starts
    at. `maps` are the axis's places of each vector's 32 (slow) or 4 (fast) lanes, once for every different one."""

    word: np.ndarray  # (places, k)
    lane: np.ndarray
    shift: np.ndarray
    maps: tuple[tuple[int, ...], ...]

    def describe(self) -> list[Any]:
        return [self.word.tolist(), self.lane.tolist(), self.shift.tolist(), self.maps]

    @classmethod
    def of(cls, description: Sequence[Any]) -> Places:
        word, lane, shift, maps = description
        return cls(np.array(word), np.array(lane), np.array(shift), tuple(map(tuple, maps)))


class FragmentPanel:
    """Writes a panel from the words of a fragment, uint32 (words, 32 lanes) in memory at `source`."""

    def __init__(self, e: Emitter, source: str, name: str, rule: Arithmetic, negate: bool = False):
        self.e, self.source, self.name, self.rule, self.negate = e, source, name, rule, negate
        self._elements: dict[tuple[int, int], Pair] = {}

    def element(self, word: int, shift: int) -> Pair:
        """All lanes' numbers at one bit position of one word, and their exponents."""
        key = (int(word), int(shift))
        if key not in self._elements:
            e, bits = self.e, TYPES[self.name].bits
            at = e.let(f"getelementptr i8, ptr {self.source}, i64 {128 * key[0]}")
            codes = Value(e, e.let(f"load <32 x i32>, ptr {at}, align 4"), "u32")
            if bits < 32:
                codes = (codes >> key[1] if key[1] else codes) & (1 << bits) - 1
            number = numbers(e, codes, self.name, self.negate)
            name = "f16" if self.rule.algorithm == "halves" else self.name
            self._elements[key] = number, exponents(e, number, name) if self.rule.floats else None
        return self._elements[key]

    def write_fast(self, places: Places, panel: str) -> None:
        """Records of all maps, one after the other."""
        rule = self.rule
        for number, lanes in enumerate(places.maps):
            for k in range(places.word.shape[1]):
                for exponent, value in enumerate(self._at(places, lanes, k)):
                    if value is not None:
                        vector = chosen(self.e, value, places.lane[list(lanes), k])
                        put(self.e, rule, vector, panel, number * rule.fast_bytes, k, False, bool(exponent))

    def slow(self, places: Places, lanes: Sequence[int]) -> list[Pair]:
        """For every k the vectors of a map, numbers and exponents."""
        found = []
        for k in range(places.word.shape[1]):
            wanted = places.lane[list(lanes), k]
            value, exponent = self._at(places, lanes, k)
            found.append(
                (self.e.permute(value, wanted), None if exponent is None else self.e.permute(exponent, wanted))
            )
        return found

    def _at(self, places: Places, lanes: Sequence[int], k: int) -> Pair:
        return self.element(places.word[lanes[0], k], places.shift[lanes[0], k])


def write_slow(e: Emitter, rule: Arithmetic, vectors: list[Pair], panel: str, number: int) -> None:
    """The record of a dense map: `vectors` are what it holds for every k."""
    for k, pair in enumerate(vectors):
        for exponent, value in enumerate(pair):
            if value is not None:
                put(e, rule, f"{value.type} {value.text}", panel, number * rule.slow_bytes, k, True, bool(exponent))


def put(e: Emitter, rule: Arithmetic, vector: str, panel: str, start: int, k: int, slow: bool, exponent: bool) -> None:
    """Store what a record holds for one k. `vector` is a typed operand, `start` where the record begins."""
    width = LANES if slow else QUAD
    offset = rule.k * width * 4 + k * width * 2 if exponent else k * width * 4
    at = e.let(f"getelementptr i8, ptr {panel}, i64 {start + offset}")
    e.line(f"  store {vector}, ptr {at}, align 2")


@dataclass(frozen=True)
class Metadata:
    """Where the nibble of every row and group lies: lane and shift (rows, groups); groups as in layout.sparsity."""

    lane: np.ndarray
    shift: np.ndarray
    group: int
    run: int
    ordered: bool

    @classmethod
    def of(cls, sparsity: Sparsity, selector: int, ordered: bool, lanes: int = LANES) -> Metadata:
        """Found by asking for every nibble of every lane, alone, where it counts."""
        shape = sparsity.rows_of(np.zeros(lanes, np.uint32), selector).shape
        lane, shift = np.full(shape, -1), np.zeros(shape, int)
        for number in range(lanes):
            for position in range(8):
                words = np.zeros(lanes, np.uint32)
                words[number] = np.uint32(15 << 4 * position)
                found = sparsity.rows_of(words, selector) == 15
                lane[found], shift[found] = number, 4 * position
        return cls(lane, shift, sparsity.group, sparsity.run, ordered)

    def describe(self) -> list[Any]:
        return [self.lane.tolist(), self.shift.tolist(), self.group, self.run, self.ordered]

    @classmethod
    def described(cls, description: Sequence[Any]) -> Metadata:
        lane, shift, *rest = description
        return cls(np.array(lane), np.array(shift), *rest)


def write_sparse(
    e: Emitter, rule: Arithmetic, vectors: list[Pair], panel: str, number: int, metadata: Metadata, rows: list[int], words: Value
) -> None:  # fmt: skip
    """The record of a sparse map: the dense k, with ABSENT where nothing is kept. `rows` are those of the 32 lanes, `words`
    the metadata."""
    group, run = metadata.group, metadata.run
    for g in range(rule.k // group):
        nibble = _nibble(e, metadata, rows, g, words)
        kept = vectors[g * (group // 2) : (g + 1) * (group // 2)]
        indices = [nibble & 3, nibble >> 2] if group > 2 else [(nibble & 3) >> 1]
        for j in range(group):
            value = exponent = None
            for i, (x, xe) in enumerate(kept):
                if i % run == j % run:
                    here = indices[i // run] == j // run
                    value = e.where(here, x, 0.0 if value is None else value)
                    if xe is not None:
                        exponent = e.where(here, xe, ABSENT if exponent is None else exponent)
            for which, vector in ((False, value), (True, exponent)):
                if vector is not None:
                    text = f"{vector.type} {vector.text}"
                    put(e, rule, text, panel, number * rule.slow_bytes, g * group + j, True, which)


def meaningless(e: Emitter, metadata: Metadata, rows: list[int], words: Value) -> Value:
    """A predicate of the lanes whose rows' metadata means nothing."""
    groups = range(metadata.lane.shape[1])
    return reduce(or_, (_wrong(_nibble(e, metadata, rows, group, words), metadata) for group in groups))


def _nibble(e: Emitter, metadata: Metadata, rows: list[int], group: int, words: Value) -> Value:
    shift = int(metadata.shift[rows[0], group])
    moved = e.permute(words, metadata.lane[rows, group])
    return (moved >> shift if shift else moved) & 15


def _wrong(nibble: Value, metadata: Metadata) -> Value:
    if metadata.group == 2:
        return (nibble != 4) & (nibble != 14)
    first, second = nibble & 3, nibble >> 2
    return first >= second if metadata.ordered else first == second

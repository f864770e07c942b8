"""Operands of matrix products as panels (engine.compiled.tensor.dot): element codes to numbers and exponents, lanes in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.pieces import Loop, spread
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.tensor.arithmetic import ABSENT, Arithmetic, constant_table
from ptxsim.lanes import LANES
from ptxsim.layout.sparsity import Sparsity
from ptxsim.numerics import narrow
from ptxsim.numerics.fused import SPECIAL, ZERO
from ptxsim.types import TYPES

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


def write_fragment(
    e: Emitter, source: str, name: str, places: Places, rule: Arithmetic, panel: str, negate: bool = False
) -> None:
    """Write a panel, the records of all maps one after the other, from the words of a fragment, uint32 (words, 32 lanes) in memory
    at `source`. Each element is decoded once in all lanes; what the records have of it are orders of its lanes, the same ones for
    most elements, which are therefore a loop."""
    bits = TYPES[name].bits
    for orders, elements in _alike(places, bits).items():
        table = [
            [element, *(n for use in uses for n in _offsets(rule, len(places.maps[0]), *use))]
            for element, uses in elements
        ]
        entries = constant_table(e.module, [n for row in table for n in row])
        loop = Loop(e, len(table))
        row = e.let(f"getelementptr [{len(table[0])} x i32], ptr {entries}, i64 {loop.number}")
        number = numbers(e, _codes(e, source, bits, e.entry(row, 0)), name, negate)
        values = [number]
        if rule.floats:
            values.append(exponents(e, number, "f16" if rule.algorithm == "halves" else name))
        for use, lanes in enumerate(orders):
            order = ", ".join(f"i32 {lane}" for lane in lanes)
            for kind, value in enumerate(values):
                found = e.let(
                    f"shufflevector {value.type} {value.text}, {value.type} poison, <{len(lanes)} x i32> <{order}>"
                )
                at = e.at(panel, e.entry(row, 1 + len(values) * use + kind))
                e.line(f"  store <{len(lanes)} x {element_type(value.kind)}> {found}, ptr {at}, align 2")
        loop.end()


Use = tuple[int, int]  # the record and the k that have an order of an element's lanes


def _alike(places: Places, bits: int) -> dict[tuple[tuple[int, ...], ...], list[tuple[int, list[Use]]]]:
    """By the orders of lanes in which the records have an element of a fragment, the elements with their uses in that order."""
    known: dict[int, list[tuple[tuple[int, ...], Use]]] = {}
    for number, lanes in enumerate(places.maps):
        rows = list(lanes)
        for k, element in enumerate((places.word[rows[0]] * 32 + places.shift[rows[0]]) // bits):
            known.setdefault(int(element), []).append((tuple(places.lane[rows, k].tolist()), (number, k)))
    found: dict[tuple[tuple[int, ...], ...], list[tuple[int, list[Use]]]] = {}
    for element, pairs in known.items():
        pairs.sort()
        found.setdefault(tuple(order for order, _ in pairs), []).append((element, [use for _, use in pairs]))
    return found


def _offsets(rule: Arithmetic, width: int, number: int, k: int) -> list[int]:
    """Bytes from a panel's start to what a record has for a k: its numbers, and its exponents where the arithmetic has them."""
    start = number * rule.record_bytes(width)
    return [start + 4 * k * width, start + 4 * rule.k * width + 2 * k * width][: len(kinds(rule))]


def _codes(e: Emitter, source: str, bits: int, element: str) -> Value:
    """An element of all lanes, of the words at `source`."""
    bit = e.let(f"mul i64 {element}, {bits}")
    at = e.let(f"getelementptr <32 x i32>, ptr {source}, i64 {e.let(f'lshr i64 {bit}, 5')}")
    codes = Value(e, e.let(f"load <32 x i32>, ptr {at}, align 4"), "u32")
    shift = spread(e, e.let(f"trunc i64 {e.let(f'and i64 {bit}, 31')} to i32"), "u32")
    return e.pure(f"lshr {codes.type} {codes.text}, {shift.text}", "u32") & (1 << bits) - 1


def kinds(rule: Arithmetic) -> tuple[str, ...]:
    """What a record holds, one after the other: numbers, and exponents where the arithmetic has them."""
    return ("f32", "s16") if rule.floats else ("f32",)


def record(e: Emitter, rule: Arithmetic, panel: str, number: int | str, width: int, lane: str = "0") -> dict[str, str]:
    """Where a record's numbers begin, and its exponents, from a lane on; `width` for every k."""
    start = e.let(f"mul i64 {number}, {rule.record_bytes(width)}")
    places = (start, e.let(f"add i64 {start}, {rule.k * width * 4}"))
    found = {}
    for kind, place in zip(kinds(rule), places):
        at = e.at(panel, place)
        found[kind] = at if lane == "0" else e.at(at, lane, element_type(kind))
    return found


def store(e: Emitter, vector: str, start: str, number: int | str, width: int = 0) -> None:
    """Store a vector, an operand with its type, as one of a row of such vectors, or of wider ones."""
    t = vector[: vector.index(">") + 1]
    if width:
        step = e.let(f"mul i64 {number}, {width}")
        place = e.at(start, step, t[t.index("x") + 2 : -1])
        e.line(f"  store {vector}, ptr {place}, align 2")
        return
    e.line(f"  store {vector}, ptr {e.at(start, number, t)}, align 2")


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
        lane, shift = np.zeros((2, *shape), int)
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
    e: Emitter, rule: Arithmetic, kept: str, panel: str, number: int, metadata: Metadata, rows: list[int], words: Value
) -> None:  # fmt: skip
    """The record of a sparse map: the dense k, with ABSENT where nothing is kept. `kept` is a panel of what is, `rows` are
    those of the 32 lanes, `words` the metadata."""
    group, run = metadata.group, metadata.run
    nibbles = e.stack_slot(f"[{rule.k // group} x <32 x i32>]")
    for g in range(rule.k // group):
        store(e, f"<32 x i32> {_nibble(e, metadata, rows, g, words).text}", nibbles, g)
    source, to = (record(e, r, p, number, LANES) for r, p in ((rule.kept_half, kept), (rule, panel)))
    loop = Loop(e, rule.k // group)
    nibble = _loaded(e, "u32", nibbles, loop.number, 0, 1)
    indices = [nibble & 3, nibble >> 2] if group > 2 else [(nibble & 3) >> 1]
    for kind, absent in zip(to, (0.0, ABSENT)):
        vectors = [_loaded(e, kind, source[kind], loop.number, i, group // 2) for i in range(group // 2)]
        for j in range(group):
            value: Any = absent
            for i, x in enumerate(vectors):
                if i % run == j % run:
                    value = e.where(indices[i // run] == j // run, x, value)
            k = e.let(f"add i64 {e.let(f'mul i64 {loop.number}, {group}')}, {j}")
            store(e, f"{value.type} {value.text}", to[kind], k)
    loop.end()


def _loaded(e: Emitter, kind: str, start: str, turn: str, number: int, each: int) -> Value:
    """Vector `number` of the `each` ones of a turn."""
    place = e.let(f"add i64 {e.let(f'mul i64 {turn}, {each}')}, {number}")
    t = e.vector(kind)
    return Value(e, e.let(f"load {t}, ptr {e.at(start, place, t)}, align 2"), kind)


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

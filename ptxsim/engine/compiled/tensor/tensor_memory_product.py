"""Native products on tensor memory: one helper function for each form and target.

Tensor memory has 32 rows of a column next to each other: these are a vector (engine.compiled.tensor.arithmetic), and D is computed
where it is. engine.compiled.run.tensor_products calls the helpers.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Annotated, Any

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop, spread
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.tensor import dot
from ptxsim.engine.compiled.tensor.arithmetic import ABSENT, ENTRY, Arithmetic
from ptxsim.engine.compiled.tensor.panels import exponents, kinds, numbers, record, store
from ptxsim.engine.compiled.tensor.tiles import PieceReader
from ptxsim.jit.record import I64, Record
from ptxsim.jit.record import record as record_of
from ptxsim.lanes import LANES
from ptxsim.layout.tensor_memory import QUARTER, ROWS
from ptxsim.types import TYPES

QUARTERS = ROWS // QUARTER
PAIR = 2  # CTAs that have B at most
IN_MEMORY = "memory"  # in place of the major of an A in tensor memory


@record_of
class Call(Record):
    """What one call of a helper computes: D of one CTA. Numbers of things, and addresses."""

    d: I64
    slow: I64  # panels: of A, of B, and of what a sparse A keeps
    fast: I64
    kept: I64
    table: I64  # entries for engine.compiled.tensor.dot, quarter after quarter
    pairs: I64  # entries of a quarter
    quarters: I64  # in which there are rows of D
    masks: Annotated[MutableSequence[int], I64, QUARTERS]  # those rows that are written, by quarter
    keep: I64  # 0 or -1
    a: I64  # shared memory, or A in tensor memory
    a_pieces: I64
    a_steps: I64
    a_each: I64  # steps that a record takes
    a_lane: I64  # where its rows begin
    records: I64  # of the slow panel
    parts: I64  # CTAs that have B
    b_steps: I64  # of a part
    b: Annotated[MutableSequence[int], I64, PAIR]  # shared memory of each
    b_pieces: I64
    columns: I64  # dense k of what a sparse A keeps, i32 (records, k / 2, 32)
    a_scales: I64  # block scales as f32 of the rows of each record, and their exponents, i16
    a_exponents: I64
    b_scales: I64  # the same of each column
    b_exponents: I64


def describe(
    rule: Arithmetic, a: str, b: str, a_major: str, b_major: str, storage: int, negated: tuple[bool, bool], scaled: bool
) -> tuple[Any, ...]:
    """What a helper depends on. Majors are "K", "MN" or IN_MEMORY; `storage`: bits that an element of A and B has to itself;
    `scaled`: rows and columns have a block scale each, for all k."""
    return "tensor memory", rule.describe(), a, b, a_major, b_major, storage, negated, scaled


def text(name: str, description: Sequence[Any], module: Module) -> str:
    """The IR of void @name(ptr call): one product of one CTA."""
    return _Product(name, description, module).text()


class _Product:
    def __init__(self, name: str, description: Sequence[Any], module: Module):
        _, rule, self.a, self.b, self.a_major, self.b_major, self.storage, self.negated, self.scaled = description
        self.name, self.module, self.rule = name, module, Arithmetic.of(rule)
        self.kept = self.rule.kept_half if self.rule.sparse else self.rule
        self.e, self.places = Emitter(module, LANES), Call.offsets()

    def text(self) -> str:
        self._write_b()
        panel = self._field("kept" if self.rule.sparse else "slow", "ptr")
        if self.a_major == IN_MEMORY:
            self._write_a_of_memory(panel)
        else:
            self._write_a_of_tile(panel)
        if self.rule.sparse:
            self._spread(panel)
        if self.scaled:
            self._scale()
        self._multiply()
        e = self.e
        e.line("  ret void")
        return dot.text(f"{self.name}_dot", self.rule, self.module, ahead=True) + e.function(
            f"void @{self.name}(ptr %call)"
        )

    def _field(self, name: str, t: str = "i64", number: str = "0") -> str:
        e = self.e
        at = e.at("%call", self.places[name])
        if number != "0":
            at = e.at(at, number, "i64")
        return e.let(f"load {t}, ptr {at}, align 8")

    def _write_b(self) -> None:
        """A record of the fast panel for every column."""
        e = self.e
        fast, pieces, steps = self._field("fast", "ptr"), self._field("b_pieces", "ptr"), self._field("b_steps")
        parts = Loop(e, self._field("parts"))
        tile = PieceReader(
            e, self._field("b", "ptr", parts.number), pieces, self.b, self.b_major, self.rule, self.negated[1],
            self.storage,
        )  # fmt: skip
        loop = Loop(e, steps)
        step = e.let(f"add i64 {e.let(f'mul i64 {parts.number}, {steps}')}, {loop.number}")
        tile.write(loop.number, fast, e.let(f"mul i64 {step}, {tile.rows}"), [[row] for row in range(tile.rows)])
        loop.end()
        parts.end()

    def _write_a_of_tile(self, panel: str) -> None:
        e = self.e
        tile = PieceReader(
            e, self._field("a", "ptr"), self._field("a_pieces", "ptr"), self.a, self.a_major, self.kept, self.negated[0],
            self.storage,
        )  # fmt: skip
        each = self._field("a_each")
        loop = Loop(e, self._field("a_steps"))
        row = e.let(f"mul i64 {e.let(f'urem i64 {loop.number}, {each}')}, {tile.rows}")
        lane = e.let(f"add i64 {row}, {self._field('a_lane')}")
        tile.write(
            loop.number, panel, e.let(f"udiv i64 {loop.number}, {each}"), [range(tile.rows)], lane, LANES
        )  # fmt: skip
        loop.end()

    def _write_a_of_memory(self, panel: str) -> None:
        """Each quarter has its own rows of A, and a record of them."""
        e, bits = self.e, TYPES[self.a].bits
        memory, each = self._field("a", "ptr"), 32 // self.storage
        loop = Loop(e, self._field("quarters"))
        mask = Value(e, e.let(f"bitcast i32 {self._mask(loop.number)} to <32 x i1>"), "pred")
        to = record(e, self.kept, panel, loop.number, LANES)
        words = Loop(e, self.kept.k // each)
        at = e.let(f"add i64 {e.let(f'mul i64 {words.number}, {4 * ROWS}')}, {e.let(f'mul i64 {loop.number}, 128')}")
        word = Value(e, e.let(f"load <32 x i32>, ptr {e.at(memory, at)}, align 4"), "u32")
        word = e.where(mask, word, 0)
        for i in range(each):
            low = i * self.storage + (2 if (bits, self.storage) == (4, 8) else 0)
            codes = (word >> low if low else word) & (1 << bits) - 1
            number = numbers(e, codes, self.a, self.negated[0])
            k = e.let(f"add i64 {e.let(f'mul i64 {words.number}, {each}')}, {i}")
            for kind, start in to.items():
                value = number if kind == "f32" else exponents(e, number, self.a)
                store(e, f"{value.type} {value.text}", start, k)
        words.end()
        loop.end()

    def _mask(self, quarter: str) -> str:
        return self.e.let(f"trunc i64 {self._field('masks', 'i64', quarter)} to i32")

    def _spread(self, kept: str) -> None:
        """The slow panel of a sparse A: what is kept at its dense k, ABSENT elsewhere."""
        e, columns, slow, half = self.e, self._field("columns", "ptr"), self._field("slow", "ptr"), self.kept.k
        loop = Loop(e, self._field("records"))
        source, to = (record(e, r, p, loop.number, LANES) for r, p in ((self.kept, kept), (self.rule, slow)))
        clear = Loop(e, self.rule.k)
        for kind, absent in zip(to, (0.0, ABSENT)):
            value = e.splat(absent, kind)
            store(e, f"{value.type} {value.text}", to[kind], clear.number)
        clear.end()
        inner = Loop(e, half * LANES)
        at = e.let(f"add i64 {e.let(f'mul i64 {loop.number}, {half * LANES}')}, {inner.number}")
        column = e.let(f"load i32, ptr {e.at(columns, at, 'i32')}, align 4")
        lane = e.let(f"and i64 {inner.number}, {LANES - 1}")
        wide = e.let(f"sext i32 {column} to i64")
        place = e.let(f"add i64 {e.let(f'mul i64 {wide}, {LANES}')}, {lane}")
        for kind in kinds(self.rule):
            t = element_type(kind)
            found = e.let(f"load {t}, ptr {e.at(source[kind], inner.number, t)}, align 2")
            e.line(f"  store {t} {found}, ptr {e.at(to[kind], place, t)}, align 2")
        inner.end()
        loop.end()

    def _scale(self) -> None:
        """Numbers times their block scales; exponents grow by those."""
        e, k = self.e, self.rule.k
        assert k == LANES
        slow, fast = self._field("slow", "ptr"), self._field("fast", "ptr")
        rows = {"f32": self._field("a_scales", "ptr"), "s16": self._field("a_exponents", "ptr")}
        loop = Loop(e, self._field("records"))
        to = record(e, self.rule, slow, loop.number, LANES)
        own = {kind: self._vector(kind, start, loop.number) for kind, start in rows.items()}
        each = Loop(e, k)
        for kind, start in to.items():
            self._put(start, each.number, self._joined(kind, self._vector(kind, start, each.number), own[kind]))
        each.end()
        loop.end()
        columns = {"f32": self._field("b_scales", "ptr"), "s16": self._field("b_exponents", "ptr")}
        n = e.let(f"mul i64 {self._field('pairs')}, 2")
        loop = Loop(e, n)
        for kind, start in record(e, self.rule, fast, loop.number, 1).items():
            t = element_type(kind)
            one = e.let(f"load {t}, ptr {e.at(columns[kind], loop.number, t)}, align 2")
            self._put(start, "0", self._joined(kind, self._vector(kind, start, "0"), spread(e, one, kind)))
        loop.end()

    def _joined(self, kind: str, x: Value, scale: Value) -> Value:
        return x * scale if kind == "f32" else x + scale

    def _vector(self, kind: str, start: str, number: str) -> Value:
        e = self.e
        at = e.at(start, number, e.vector(kind))
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align 2"), kind)

    def _put(self, start: str, number: str, value: Value) -> None:
        store(self.e, f"{value.type} {value.text}", start, number)

    def _multiply(self) -> None:
        e = self.e
        d, slow, fast, table = (self._field(name, "ptr") for name in ("d", "slow", "fast", "table"))
        pairs, keep = self._field("pairs"), e.let(f"trunc i64 {self._field('keep')} to i32")
        loop = Loop(e, self._field("quarters"))
        start = e.let(f"mul i64 {e.let(f'mul i64 {loop.number}, {pairs}')}, {4 * ENTRY}")
        entries = e.at(table, start)
        e.line(
            f"  call void @{self.name}_dot(ptr {entries}, i64 {pairs}, ptr {slow}, ptr {fast}, ptr {d}, ptr {d}, i32 {keep}, "
            f"i32 {self._mask(loop.number)})"
        )
        loop.end()

"""Native products of warpgroups: one helper function for each form and target.

engine.compiled.codegen.warpgroup prints what an instruction does with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.pieces import Loop
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WARP, WarpLayout
from ptxsim.engine.compiled.tensor import dot
from ptxsim.engine.compiled.tensor.arithmetic import ENTRY, QUAD, Arithmetic
from ptxsim.engine.compiled.tensor.panels import Metadata, Places, write_fragment, write_sparse
from ptxsim.engine.compiled.tensor.tiles import TileReader
from ptxsim.engine.compiled.tensor.warp_product import arithmetic
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import LANES
from ptxsim.machine.async_product import MmaAsync
from ptxsim.machine.warpgroup import ProductRecord, WarpgroupRecord

STEP = 8  # rows of a tile, and columns of the accumulators, that are taken together
ROWS = [[STEP * half + lane // QUAD for lane in range(LANES)] for half in (0, 1)]  # of a warp's vectors
COLUMNS = [[*range(odd, STEP, 2)] for odd in (0, 1)]  # of the records of B that a step has


class Form(MmaAsync):
    """An asynchronous product of a program, without what only the run knows."""

    @cached_property
    def rule(self) -> Arithmetic:
        """How it is computed, if `registers` has found it native."""
        found = arithmetic(self.product)
        assert found is not None
        return found

    @property
    def sparse(self) -> bool:
        return self.product.form.sparse

    @property
    def steps(self) -> int:
        """In how many steps its columns are taken."""
        return self.product.form.n // STEP

    @property
    def metadata(self) -> Metadata | None:
        if self.product.sparsity is None:
            return None
        return Metadata.of(self.product.sparsity, self.immediate("f"), False, lanes=128)

    def places(self) -> Places:
        """Where a warp has the rows of A that it gives in registers."""
        index, shift = (x.reshape(self.product.a.shape)[:16] for x in self.product.a.gather_index)
        return Places(index // 128, index % 128, shift, tuple(map(tuple, ROWS)))

    def registers(self, program: Program) -> tuple[list[int], list[int]] | None:
        """Slots of the accumulators and of A; None where there is no native form for such ones or for the product."""
        d, a = ([slot for slot in slots if slot is not None] for slots in (self.d, self.a))
        native = arithmetic(self.product) is not None and (d, a) == (self.d, self.a)
        apart = len({*d, *a}) == len(d) + len({*a})
        return (d, a) if native and apart and all(program.slots[slot].bytes == 4 for slot in (*d, *a)) else None

    def table(self, places: WarpLayout, d: list[int], a: list[int]) -> list[int]:
        """Entries for engine.compiled.tensor.dot, then where the registers of A are."""
        rule, fragment = self.rule, self.product.d
        rows, columns = fragment.rows[:LANES].T, fragment.columns[:LANES].T  # (elements, lanes)
        per = 32 // fragment.element_bits
        table: list[int] = []
        for element in range(0, len(rows), 2):
            half = ROWS.index(rows[element].tolist())
            record = int(columns[element][0]) // STEP * 2
            assert (columns[element + 1][:QUAD] == STEP * record // 2 + 1 + 2 * np.arange(QUAD)).all()
            words = [places.registers[d[n // per]] for n in (element, element + 1)]
            fast = [record * rule.fast_bytes, (record + 1) * rule.fast_bytes]
            table.extend([half * rule.slow_bytes, *fast, *words, *words])
        return table + [places.registers[slot] for slot in a]

    def describe(self) -> tuple[Any, ...]:
        """What the function that computes the products depends on."""
        form, metadata = self.product.form, self.metadata
        major = None if self.from_registers else self.tile("A").major
        places = self.places().describe() if self.from_registers else None
        return (
            "warpgroup", self.rule.describe(), form.a, form.b, major, self.tile("B").major, self.negated,
            places, self.product.a.words, None if metadata is None else metadata.describe(),
        )  # fmt: skip


def text(name: str, description: Sequence[Any], module: Module) -> str:
    """The IR of void @name(ptr context, ptr group, ptr record, ptr pieces of A, ptr pieces of B): one product."""
    _, fields, a, b, a_major, b_major, negated, places, a_words, metadata = description
    rule = Arithmetic.of(fields)
    e = Emitter(module, LANES)
    record, warps = ProductRecord.offsets(), WarpgroupRecord.offsets()["warps"]

    def load(base: str, offset: int | str, t: str) -> str:
        at = e.at(base, offset)
        return e.let(f"load {t}, ptr {at}, align 4")

    first = load("%group", warps, "ptr")
    shared, fast = load(first, WARP["shared"], "ptr"), load("%context", CONTEXT["scratch"], "ptr")
    steps, table = load("%record", record["steps"], "i64"), load("%record", record["table"], "ptr")
    keep = load("%record", record["keep"], "i32")
    entries = e.let(f"mul i64 {steps}, 2")
    rule_of_kept = rule.kept_half if rule.sparse else rule
    at_a, at_b = (load("%record", record[letter], "i64") for letter in "ab")
    tile_b = TileReader(e, shared, at_b, "%pieces_b", b, b_major, rule, negated[1])
    tile_a = None
    if a_major is not None:
        tile_a = TileReader(e, shared, at_a, "%pieces_a", a, a_major, rule_of_kept, negated[0])
    slow = e.stack_slot(f"[{2 * rule.slow_bytes} x i8]")
    kept = e.stack_slot(f"[{2 * rule_of_kept.slow_bytes} x i8]") if rule.sparse else slow
    words = e.stack_slot(f"[{a_words * LANES} x i32]")
    columns = Loop(e, steps)
    tile_b.write(columns.number, fast, e.let(f"mul i64 {columns.number}, {len(COLUMNS)}"), COLUMNS)
    columns.end()
    loop = Loop(e, 4)
    warp = load("%group", e.let(f"add i64 {e.let(f'shl i64 {loop.number}, 3')}, {warps}"), "ptr")
    if tile_a is None:
        for word in range(a_words):
            at = e.let(f"mul i64 {entries}, {4 * ENTRY}")
            place = load(e.at(table, at), 4 * word, "i32")
            found = load(warp, e.let(f"sext i32 {place} to i64"), "<32 x i32>")
            e.line(f"  store <32 x i32> {found}, ptr {e.at(words, 128 * word)}")
        write_fragment(e, words, a, Places.of(places), rule_of_kept, kept, negated[0])
    else:
        halves = Loop(e, len(ROWS))
        step = e.let(f"add i64 {e.let(f'mul i64 {loop.number}, {len(ROWS)}')}, {halves.number}")
        tile_a.write(step, kept, halves.number, ROWS[:1])
        halves.end()
    if metadata is not None:
        metadata = Metadata.described(metadata)
        at = e.let(f"add i64 {e.let(f'mul i64 {loop.number}, 128')}, {record['metadata']}")
        codes = Value(e, load("%record", at, "<32 x i32>"), "u32")
        for half, rows in enumerate(ROWS):
            write_sparse(e, rule, kept, slow, half, metadata, rows, codes)
    e.line(
        f"  call void @{name}_dot(ptr {table}, i64 {entries}, ptr {slow}, ptr {fast}, ptr {warp}, ptr {warp}, i32 {keep})"
    )
    loop.end()
    e.line("  ret void")
    product = e.function(f"void @{name}(ptr %context, ptr %group, ptr %record, ptr %pieces_a, ptr %pieces_b)")
    return dot.text(f"{name}_dot", rule, module, ahead=True) + product

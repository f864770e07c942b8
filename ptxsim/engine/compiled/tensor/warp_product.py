"""Native products of mma, mma.sp and wmma: one helper function for each form and target.

It lays the factors out as panels and leaves the rest to engine.compiled.tensor.dot. The axis along which groups of four lanes go is
the slow one; that is the rows, except where a shape is computed as the transposed problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.tensor import dot
from ptxsim.engine.compiled.tensor.arithmetic import ENTRY, QUAD, Arithmetic, constant_table
from ptxsim.engine.compiled.tensor.panels import (
    TYPES_OF_FACTORS,
    Metadata,
    Places,
    meaningless,
    write_fragment,
    write_sparse,
)
from ptxsim.lanes import LANES
from ptxsim.layout.fragments import Fragment
from ptxsim.machine.product import Product
from ptxsim.numerics.parameters import Rule
from ptxsim.types import TYPES

Maps = tuple[tuple[int, ...], ...]


def arithmetic(product: Product) -> Arithmetic | None:
    """How the dot products of a product are computed; None where that has no native form."""
    form = product.form
    if (
        product.numerics != "target" or not {form.a, form.b} <= {*TYPES_OF_FACTORS}
        or product.a.element_bits != TYPES[form.a].bits
    ):  # fmt: skip
        return None
    return arithmetic_of(product.rule, None if product.sparsity is None else product.sparsity.group)


def arithmetic_of(rule: Rule, group: int | None, columns: int = QUAD) -> Arithmetic | None:
    """How a rule is computed, on vectors of so many columns; None where it has no native form. `group`: dense k that share a nibble
    of a sparse A's metadata."""
    form, narrow = rule.form, rule.accumulator == "f16"
    if rule.algorithm not in ("fused", "halves", "integer"):
        return None
    assert rule.length <= 32 and rule.fraction <= 25
    if rule.algorithm == "integer":
        return Arithmetic("integer", form.k, (), 0, 0, "s32", "s32", "s32", group is not None, form.satfinite, columns)
    if form.satfinite or narrow != (rule.c_type == "f16") or not {form.c, form.d} <= {"f16", "f32"}:
        return None
    return Arithmetic(
        rule.algorithm, form.k, _blocks(rule, group), rule.fraction, rule.zero_exponent, rule.accumulator, form.c, form.d,
        group is not None, False, columns,
    )  # fmt: skip


def _blocks(rule: Rule, group: int | None) -> tuple[tuple[int, ...], ...]:
    """The k of each block, in order; a sparse block is as long as what it keeps."""
    kept = np.arange(rule.form.k)
    if group is not None:  # the first kept element of each k's group
        kept = kept // group * (group // 2)
    step = rule.length if rule.algorithm == "fused" else 2 * rule.length
    blocks: list[tuple[int, ...]] = []
    for start in range(0, int(kept[-1]) + 1, step):
        inside = (kept >= start) & (kept < start + step)
        parts = [inside] if rule.algorithm == "fused" else [inside & (kept % 4 < 2), inside & (kept % 4 >= 2)]
        blocks.extend(tuple(np.flatnonzero(part).tolist()) for part in parts)
    return tuple(blocks)


@cache
def supported(product: Product) -> bool:
    """Whether a product has a native form."""
    return product.b is not None and arithmetic(product) is not None


def describe(product: Product, selector: int = 0, ordered: bool = False) -> tuple[Any, ...]:
    """What a helper of a supported product depends on, and what `text` makes it of."""
    rule = arithmetic(product)
    assert rule is not None
    factors, table = _axes(product, rule)
    metadata = None
    if product.sparsity is not None:
        metadata = Metadata.of(product.sparsity, selector, ordered).describe()
    places = [[name, operand.describe()] for name, operand in factors]
    return "product", rule.describe(), product.form.a, product.form.b, places, table, metadata


def _axes(product: Product, rule: Arithmetic) -> tuple[list[tuple[str, Places]], list[int]]:
    """[(letter, places) of the slow and the fast factor] and the table for engine.compiled.tensor.dot."""
    c, d = product.c, product.d
    rows, columns = d.rows.T, d.columns.T  # (elements, lanes)
    lane = np.arange(LANES)
    for letters in ("ab", "ba"):  # the slow factor first
        slow, fast = (rows, columns) if letters == "ab" else (columns, rows)
        if (slow == slow[:, lane // QUAD * QUAD]).all() and (fast == fast[:, lane % QUAD]).all():
            break
    slow_maps, slow_number = _different(slow)
    fast_maps, fast_number = _different(fast[:, :QUAD])
    factors = []
    for letter, maps in zip(letters, (slow_maps, fast_maps), strict=True):
        fragment = product.a if letter == "a" else product.b
        assert fragment is not None
        factors.append((letter, _places(fragment, letter == "b", maps)))
    table: list[int] = []
    for i in range(0, len(rows), 2):
        offsets = (128 * (n // f.per_accumulator) for f in map(_Accumulators, (c, d)) for n in (i, i + 1))
        table.extend(
            [slow_number[i] * rule.slow_bytes, *(fast_number[n] * rule.fast_bytes for n in (i, i + 1)), *offsets]
        )
    return factors, table


class _Accumulators:
    def __init__(self, fragment: Fragment):
        self.per_accumulator = 32 // fragment.element_bits


def _different(vectors: np.ndarray[Any, Any]) -> tuple[Maps, list[int]]:
    """The different rows, in the order of their coming, and which one every row is."""
    known: dict[tuple[int, ...], int] = {}
    numbers = [known.setdefault(tuple(row), len(known)) for row in vectors.tolist()]
    return tuple(known), numbers


def _places(fragment: Fragment, columns: bool, maps: Maps) -> Places:
    """Where the fragment keeps a factor, its own axis first."""
    index, shift = (x.reshape(fragment.shape) for x in fragment.gather_index)
    if columns:
        index, shift = index.T, shift.T
    return Places(index // LANES, index % LANES, shift, maps)


def text(name: str, description: Sequence[Any], module: Module) -> str:
    """The IR of i1 @name(ptr a, ptr b, ptr c, ptr d, ptr metadata), on the words of the fragments; false, with nothing
    done, where the metadata means nothing."""
    _, fields, a, b, factors, table, metadata = description
    rule = Arithmetic.of(fields)
    e = Emitter(module, LANES)
    (slow_letter, slow_places), (fast_letter, fast_places) = factors
    slow_places, fast_places = Places.of(slow_places), Places.of(fast_places)
    types = {"a": a, "b": b}
    slow = e.stack_slot(f"[{len(slow_places.maps) * rule.slow_bytes} x i8]")
    fast = e.stack_slot(f"[{len(fast_places.maps) * rule.fast_bytes} x i8]")
    kept, rule_of_kept = slow, rule
    if metadata is not None:
        metadata, rule_of_kept = Metadata.described(metadata), rule.kept_half
        words = Value(e, e.let("load <32 x i32>, ptr %metadata, align 4"), "u32")
        _give_up(e, [meaningless(e, metadata, list(lanes), words) for lanes in slow_places.maps])
        kept = e.stack_slot(f"[{len(slow_places.maps) * rule_of_kept.slow_bytes} x i8]")
    write_fragment(e, f"%{slow_letter}", types[slow_letter], slow_places, rule_of_kept, kept)
    if metadata is not None:
        for number, lanes in enumerate(slow_places.maps):
            write_sparse(e, rule, kept, slow, number, metadata, list(lanes), words)
    write_fragment(e, f"%{fast_letter}", types[fast_letter], fast_places, rule, fast)
    entries = constant_table(module, table)
    e.line(
        f"  call void @{name}_dot(ptr {entries}, i64 {len(table) // ENTRY}, ptr {slow}, ptr {fast}, ptr %c, ptr %d, i32 -1)"
    )
    e.line("  ret i1 true")
    product = e.function(f"i1 @{name}(ptr %a, ptr %b, ptr %c, ptr %d, ptr %metadata)")
    return dot.text(f"{name}_dot", rule, module) + product


def _give_up(e: Emitter, conditions: list[Value]) -> None:
    """Return false where a condition holds in any lane."""
    for number, bad in enumerate(conditions):
        wrong = e.let(f"icmp ne i32 {e.let(f'bitcast <32 x i1> {bad.text} to i32')}, 0")
        e.line(f"  br i1 {wrong}, label %give.up{number}, label %go.on{number}")
        e.label(f"give.up{number}")
        e.line("  ret i1 false")
        e.label(f"go.on{number}")

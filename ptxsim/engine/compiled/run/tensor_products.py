"""Products on tensor memory, computed natively: what engine.compiled.tensor.tensor_memory_product needs of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ptxsim import numerics
from ptxsim.engine.compiled.codegen.function import described
from ptxsim.engine.compiled.library import Library
from ptxsim.engine.compiled.tensor.arithmetic import ENTRY, Arithmetic
from ptxsim.engine.compiled.tensor.tensor_memory_product import IN_MEMORY, QUARTERS, Call, describe
from ptxsim.engine.compiled.tensor.tiles import placed, rows_at_once
from ptxsim.engine.compiled.tensor.warp_product import arithmetic_of
from ptxsim.lanes import LANES, mask_word
from ptxsim.layout.tables import GROUPS
from ptxsim.layout.tensor_memory import QUARTER, ROWS, accumulators
from ptxsim.machine.cta import Cta
from ptxsim.machine.records import aligned
from ptxsim.machine.state import Machine
from ptxsim.machine.tensor_memory.cells import TensorMemory, memory_of
from ptxsim.machine.tensor_memory.product import TensorProduct
from ptxsim.types import TYPES

WORD = 4
MODERATE = 40  # exponents of scales up to which f32 has room for scaled products
pieces_of = lru_cache(maxsize=1024)(placed)  # a loop over k meets few different tiles, again and again


@dataclass(frozen=True)
class Rows:
    """Where the rows of D are: the lanes that have some, by quarter of tensor memory, and how many of them follow each other."""

    masks: tuple[int, ...]
    each: int
    table: np.ndarray


class Prepared:
    """What products of one kind, shape and place share."""

    def __init__(self, library: Library, product: TensorProduct, rule: Arithmetic):
        words, storage = product.words, product.storage_bits
        a_major, b_major = ("MN" if turned else "K" for turned in (words.transpose_a, words.transpose_b))
        self.from_memory = product.from_memory
        description = describe(
            rule, words.a, words.b, IN_MEMORY if self.from_memory else a_major, b_major, storage,
            (words.negate_a, words.negate_b), product.scales is not None,
        )  # fmt: skip
        name = described(library.prefix, "tensor.memory", description)
        library.provide({name: description})
        self.run: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.jit.address(name))
        self.rows = rows_of(product, rule)
        self.call = Call()
        records = QUARTERS if self.from_memory else product.rows // self.rows.each
        sizes = (records * rule.slow_bytes, words.n * rule.fast_bytes, records * rule.kept_half.slow_bytes)
        self._panels = [aligned(size) for size in sizes]  # zeros: lanes without rows stay so
        call = self.call
        call.slow, call.fast, call.kept = (panel.ctypes.data for panel in self._panels)
        call.table, call.pairs = self.rows.table.ctypes.data, len(self.rows.table) // ENTRY // QUARTERS
        call.quarters, call.records, call.parts = QUARTERS, records, product.ctas
        at_once = rows_at_once(a_major, storage)
        call.a_steps, call.a_each = product.rows // at_once, self.rows.each // at_once
        call.a_lane = (product.d >> 16) % QUARTER
        call.b_steps = words.n // product.ctas // rows_at_once(b_major, storage)


class NativeTensorProducts:
    """Called, it computes a product on tensor memory; False, with nothing done, if it has no native form."""

    def __init__(self, library: Library, machine: Machine):
        self.library, self.machine = library, machine
        self._known: dict[object, Prepared | None] = {}

    def __call__(self, product: TensorProduct, ctas: Sequence[Cta]) -> bool:
        row = product.d >> 16
        key = (product.words, product.from_memory, product.ws, product.ctas, row)
        if key not in self._known:
            self._known[key] = self._prepare(product)
        found = self._known[key]
        if found is None or (product.from_memory and product.a >> 16 != row):
            return False
        scales = [scales_of(product, memory_of(cta)) for cta in ctas] if product.scales is not None else []
        if None in scales:
            return False
        call, tiles = found.call, product.tiles
        call.keep = -1 if product.keep else 0
        call.b_pieces = pieces_of(tiles[-1]).ctypes.data
        for number, cta in enumerate(ctas):
            call.b[number] = cta.shared.ctypes.data
        for number, cta in enumerate(ctas):
            memory, off = memory_of(cta), product.off >> ROWS * number
            for quarter, mask in enumerate(found.rows.masks):
                call.masks[quarter] = mask & ~(off >> QUARTER * quarter)
            if product.shift and product.keep:
                product.scale_down(memory, off)
            cells = memory.cells.ctypes.data
            call.d = cells + WORD * ROWS * (product.d & 0xFFFF)
            if product.from_memory:
                call.a = cells + WORD * ROWS * (product.a & 0xFFFF)
            else:
                call.a, call.a_pieces = cta.shared.ctypes.data, pieces_of(tiles[0]).ctypes.data
            columns = None
            if product.words.sparse:
                kept = product.kept_columns(memory).astype(np.int32)  # rows of a sparse A are those of tensor memory
                columns = np.ascontiguousarray(kept.reshape(call.records, LANES, -1).swapaxes(1, 2))
                call.columns = columns.ctypes.data
            if scales:
                call.a_scales, call.a_exponents, call.b_scales, call.b_exponents = (
                    each.ctypes.data for each in scales[number] or ()
                )
            found.run(call.address)
        return True

    def _prepare(self, product: TensorProduct) -> Prepared | None:
        words, row = product.words, product.d >> 16
        if words.sparse and product.rows != ROWS:
            return None
        if self.machine.numerics != "target" or row not in ((0, 16) if product.spread and product.rows == 64 else (0,)):
            return None
        group = GROUPS[product.storage_bits][0] if words.sparse else None
        found = numerics.find(product.form, str(self.machine.target))
        if found.algorithm == "scaled" and found.form.k == LANES and not words.sparse:
            found = replace(found, algorithm="fused")  # on numbers that are scaled already
        rule = arithmetic_of(found, group, columns=1)
        return None if rule is None else Prepared(self.library, product, rule)


def scales_of(product: TensorProduct, memory: TensorMemory) -> tuple[np.ndarray, ...] | None:
    """The block scales of the rows of A and of the columns of B, as numbers and exponents; None where f32 may have no room for what
    is scaled, or the quarters of tensor memory disagree."""
    parts = [product.scales_of(memory, block) for block in product.parts()]
    a, b = (np.concatenate([part[0][:, 0] for part in parts]), parts[0][1][0])
    if any((part[1] != b).any() for part in parts[1:]):
        return None
    found: list[np.ndarray] = []
    for codes in (a, b):
        exponents = codes.astype(np.int16) - TYPES["ue8m0"].bias
        if abs(exponents).max() > MODERATE:
            return None
        found += [np.ldexp(np.float32(1), exponents).astype(np.float32), exponents]
    return tuple(found)


def rows_of(product: TensorProduct, rule: Arithmetic) -> Rows:
    """Where the rows of a product's D are, and the entries of its table."""
    cells = accumulators(product.rows, product.words.n, product.spread)
    lanes, each = cells.rows + (product.d >> 16), QUARTER // 2 if product.spread and product.rows == 64 else QUARTER
    masks, table = [], []
    for quarter in range(QUARTERS):
        here = lanes // QUARTER == quarter
        m, n = (np.flatnonzero(here.any(axis=axis)) for axis in (1, 0))
        present = np.zeros(QUARTER, bool)
        present[lanes[m, n[0]] % QUARTER] = True
        masks.append(mask_word(present))
        slow = (quarter if product.from_memory else m[0] // each) * rule.slow_bytes
        at = WORD * (cells.columns[m[0], n] * ROWS + quarter * QUARTER)
        for i in range(0, len(n), 2):
            pair = at[i : i + 2].tolist()
            table.append([slow, *(n[i : i + 2] * rule.fast_bytes).tolist(), *pair, *pair])
    return Rows(tuple(masks), each, np.array(table, np.int32).reshape(-1))

"""mma, mma.sp, wmma, ldmatrix and stmatrix of whole warps.

The interpreter recognises wmma fragments by their content, to report one that is used as another (machine.provenance). Native
code does not; it therefore takes only programs in which nothing but matching fragments can reach a use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxsim.engine.analysis.fragment_flow import types_match, wmma_matches
from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value, kind_of
from ptxsim.engine.compiled.tensor import warp_product
from ptxsim.engine.program.operation import Op
from ptxsim.layout.fragments import Fragment, address_lanes, fragment_layout
from ptxsim.layout.wmma_stride import fragment_bytes, wmma_stride
from ptxsim.machine.event import FLAG_UNCHANGED, FLAG_WMMA, Event, Space
from ptxsim.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxsim.machine.product import register_type
from ptxsim.machine.wmma import Plan, plan
from ptxsim.types import TYPES


def _need_matching_fragments(w: FunctionWriter, op: Op) -> None:
    """Raise CannotEmit unless the whole warp executes and every fragment is used as what it was made."""
    w.need_whole_warp(op)
    if not types_match(w.program):
        raise CannotEmit("fragments that may not match")


def _need_matching_wmma(w: FunctionWriter, op: Op) -> None:
    _need_matching_fragments(w, op)
    if not wmma_matches(w.program):
        raise CannotEmit("wmma fragments that may not match")


# ---- products ----


@lowers("mma")
def mma(w: FunctionWriter, op: Op) -> None:
    _need_matching_fragments(w, op)
    _product(w, op)


@lowers("wmma")
def wmma(w: FunctionWriter, op: Op) -> None:
    _need_matching_wmma(w, op)
    _product(w, op)


def _product(w: FunctionWriter, op: Op) -> None:
    e, sources = w.emitter, w.sources(op)
    if not w.options.target:
        raise CannotEmit("a product without a target")
    p = op.product(w.options.target, w.options.numerics)
    if p.form.scale or not warp_product.supported(p):
        raise CannotEmit("a product without a native form")
    metadata, description = "null", warp_product.describe(p)
    if p.sparsity is not None:
        selector, ordered = sources[4], op.words["sparsity"] == "sp::ordered_metadata"
        if not isinstance(selector, int) or selector >= p.sparsity.selectors:
            raise CannotEmit("a selector that the hardware refuses")
        description = warp_product.describe(p, selector, ordered)
        metadata = _words(w, "e", [sources[3]])
    name = w.product_helper(f"product_{p.form}", description)
    if p.sparsity is not None:
        w.save_before_bail()
    factors = [_words(w, letter, operand) for letter, operand in zip("abc", sources)]
    result = w.stack_slot(f"product.d.{p.d.words}", f"[{p.d.words * 32} x i32]")
    good = w.call("i1", name, *(("ptr", place) for place in (*factors, result, metadata)))
    if p.sparsity is not None:
        w.bail_unless(good)
    w.event(Event.MMA, 0, 0, 0, w.mask)
    kind = kind_of(TYPES[register_type(p.d.type)])
    found = []
    for i in range(p.d.words):
        at = e.at(result, 128 * i)
        found.append(Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align 64"), kind))
    w.deliver(op, found)


def _words(w: FunctionWriter, letter: str, registers: Sequence[Value]) -> str:
    """The words of a fragment in memory, register after register."""
    e = w.emitter
    slot = w.stack_slot(f"product.{letter}.{len(registers)}", f"[{len(registers) * 32} x i32]")
    for i, value in enumerate(registers):
        raw = w.raw(value)
        at = e.at(slot, 128 * i)
        e.line(f"  store {raw.type} {raw.text}, ptr {at}, align 64")
    return slot


# ---- fragments in memory ----


@lowers("wmma_load")
def wmma_load(w: FunctionWriter, op: Op) -> None:
    fragment = _fragment(w, op)
    e, (address, stride) = w.emitter, w.sources(op)
    places, unit = _places(w, op, address, stride, fragment)
    whole = max(4, fragment.element_bits // 8)
    kind = f"u{8 * whole}"
    parts = []
    for place in places:
        found = EmitPort(w, silent=True).load(op.words["space"], place, TYPES[f"u{8 * unit}"])[0]
        parts.append(e.convert(found, kind))
    _record_fragment(w, op, address, stride, fragment)
    per = whole // unit
    registers = []
    for start in range(0, len(parts), per):
        value = parts[start]
        for i in range(1, per):
            value = value | parts[start + i] << 8 * unit * i
        registers.append(value)
    w.deliver(op, registers * fragment.copies)


@lowers("wmma_store")
def wmma_store(w: FunctionWriter, op: Op) -> None:
    """All places are read first: a fault must come before anything is written."""
    fragment = _fragment(w, op)
    e, (address, values, stride) = w.emitter, w.sources(op)
    places, unit = _places(w, op, address, stride, fragment)
    t = TYPES[f"u{8 * unit}"]
    for place in places:
        EmitPort(w, silent=True).load(op.words["space"], place, t)
    _record_fragment(w, op, address, stride, fragment)
    per = max(4, fragment.element_bits // 8) // unit
    values = values[: len(values) // fragment.copies]
    for i, place in enumerate(places):
        raw = w.raw(values[i // per])
        part = e.convert(raw >> 8 * unit * (i % per) if i % per else raw, f"u{8 * unit}")
        EmitPort(w, silent=True).store(op.words["space"], place, [part], t)


def _fragment(w: FunctionWriter, op: Op) -> Fragment:
    """What a wmma.load makes, or a wmma.store takes."""
    _need_matching_wmma(w, op)
    words = op.words
    return fragment_layout("wmma", words["shape"], words.get("operand", "D"), words["type"].name)


def _plan(op: Op, fragment: Fragment) -> Plan:
    """Which accesses an operation is made of."""
    space = op.words["space"]
    is_load = op.family == "wmma_load"
    return plan(fragment, op.words["layout"], space is not None and space.startswith("shared") and is_load)


def _stride(w: FunctionWriter, op: Op, stride: Any, fragment: Fragment) -> Value:
    """Elements from line to line, as every lane gives it."""
    e = w.emitter
    if stride is None:
        return e.splat(wmma_stride(fragment.shape_name, fragment.operand, op.words["layout"]), "u32")
    return Value(e, e.lift(stride, e.splat(0, "u32")).text, "u32")


def _places(w: FunctionWriter, op: Op, address: Value, stride: Any, fragment: Fragment) -> tuple[list[Value], int]:
    """The address of every unit of elements, and its bytes. The slow path reports bad addresses and strides."""
    e, found = w.emitter, _plan(op, fragment)
    default = wmma_stride(fragment.shape_name, fragment.operand, op.words["layout"])
    bits = fragment.element_bits
    if bits < 8:
        raise CannotEmit("elements below a byte")
    # Ldmatrix takes rows of 16 bytes, of a fragment of bytes that is aligned to 8.
    size = max(fragment_bytes(fragment.shape_name, fragment.operand, fragment.type), found.width)
    assert not (found.positions * bits // 8 % found.width).any()
    stride = _stride(w, op, stride, fragment)
    step = e.convert(stride, "u64") * (bits // 8)
    good = (
        (address == e.permute(address, [0] * 32)) & (stride == e.permute(stride, [0] * 32)) & (stride >= default)
        & ((address & size - 1) == 0) & ((step & size - 1) == 0)
    )  # fmt: skip
    if op.words["space"] is None and w.options.wanted:
        good = good & ((address - LOCAL_WINDOW) >= WINDOW_SIZE)
    w.save_before_bail()
    w.bail_unless(w.all_of(good))
    return _starts(w, address, stride, bits // 8, found.element_lines, found.element_positions), found.unit


def _starts(
    w: FunctionWriter, address: Value, stride: Value, size: int, lines: np.ndarray, positions: np.ndarray
) -> list[Value]:
    """Addresses of elements of `size` bytes, (accesses, 32), by their line and their position there."""
    e = w.emitter
    wide = e.convert(stride, "u64")
    return [
        address + e.constant((line * size).astype("u8"), address) * wide
        + e.constant((position * size).astype("u8"), address)
        for line, position in zip(lines, positions, strict=True)
    ]  # fmt: skip


def _record_fragment(w: FunctionWriter, op: Op, address: Value, stride: Any, fragment: Fragment) -> None:
    """Record the accesses that the machine makes of a wmma load or store, none of which can fail any more."""
    e, found, space = w.emitter, _plan(op, fragment), op.words["space"]
    event = Event.LDMATRIX if found.matrices else Event.LOAD if op.family == "wmma_load" else Event.STORE
    where: int | str = Space.SHARED if space and space.startswith("shared") else Space.GLOBAL
    if not w.options.wanted.has(event, None if space is None else int(where)):
        return
    lines, positions = found.lines, found.positions
    starts = _starts(w, address, _stride(w, op, stride, fragment), fragment.element_bits // 8, lines, positions)
    if space is None:
        shared = (address - SHARED_WINDOW) < WINDOW_SIZE
        first = e.let(f"extractelement <32 x i64> {address.text}, i32 0")
        outside = w.call("i32", f"{w.prefix}space_of", ("ptr", "%context"), ("i64", first))
        where = e.let(f"select i1 {w.all_of(shared)}, i32 {int(Space.SHARED)}, i32 {outside}")
        starts = [e.where(shared, w.shared_name(start), start) for start in starts]
    elif where == Space.SHARED:
        starts = [w.shared_name(start) for start in starts]
    mask = str((1 << 8 * found.matrices) - 1 if found.matrices else -1)
    for start in starts:
        w.event_at(event, where, found.width, mask, start, FLAG_WMMA)


# ---- rows of 8x8 matrices ----


@lowers("ldmatrix")
def ldmatrix(w: FunctionWriter, op: Op) -> None:
    """Rows of 16-bit elements: every lane reads its elements where the row's own lane points to."""
    tile = _tile(w, op)
    e, (address,) = w.emitter, w.sources(op)
    registers = []
    for places in _row_pieces(w, op, address, tile):
        t = TYPES["u16" if len(places) == 2 else "u32"]
        parts = [e.convert(EmitPort(w, silent=True).load(op.words["space"], place, t)[0], "u32") for place in places]
        registers.append(parts[0] if len(parts) == 1 else parts[0] | parts[1] << 16)
    _record_rows(w, Event.LDMATRIX, address, tile)
    w.deliver(op, registers)


@lowers("stmatrix")
def stmatrix(w: FunctionWriter, op: Op) -> None:
    """All places are read first: a fault must come before anything is written."""
    tile = _tile(w, op)
    e, (address, registers) = w.emitter, w.sources(op)
    pieces = _row_pieces(w, op, address, tile)
    t = TYPES["u16" if op.words["trans"] else "u32"]
    words = [w.raw(value) for value in registers]
    parts = [
        (place, e.convert(word >> 16 * i if i else word, t.name))
        for word, places in zip(words, pieces, strict=True)
        for i, place in enumerate(places)
    ]
    stays = e.splat(True, "pred")
    for place, part in parts:
        stays = stays & (EmitPort(w, silent=True).load(op.words["space"], place, t)[0] == part)
    _record_rows(w, Event.STMATRIX, address, tile, e.let(f"select i1 {w.all_of(stays)}, i32 {FLAG_UNCHANGED}, i32 0"))
    for place, part in parts:
        EmitPort(w, silent=True).store(op.words["space"], place, [part], t)


@lowers("movmatrix")
def movmatrix(w: FunctionWriter, op: Op) -> None:
    """Both halves of each lane come from where the transposed matrix has them."""
    w.need_whole_warp(op)
    e, (given,) = w.emitter, w.sources(op)
    word = w.raw(e.lift(given, e.splat(0, "u32")))
    halves = []
    for lanes, is_high in _TRANSPOSED:
        moved = e.permute(word, lanes)
        halves.append(e.where(e.constant(is_high, word), moved >> 16, moved & 0xFFFF))
    w.deliver(op, halves[0] | halves[1] << 16)


def _transposed() -> list[tuple[np.ndarray, np.ndarray]]:
    """For the lower half of the result and the upper one the lanes whose halves they are, and whether those are upper ones."""
    source, result = (fragment_layout("movmatrix", "m8n8", operand, "b16") for operand in "AD")
    numbers = np.arange(64, dtype=np.uint32).reshape(32, 2)
    word = result.from_matrix(source.to_matrix((numbers[:, 0] | numbers[:, 1] << 16)[np.newaxis]))[0]
    return [(half // 2, half % 2 == 1) for half in (word & 0xFFFF, word >> 16)]


_TRANSPOSED = _transposed()


def _tile(w: FunctionWriter, op: Op) -> Fragment:
    _need_matching_fragments(w, op)
    words = op.words
    if words.get("format") or words["type"] is None or words["type"].bits != 16 or words["shape"] != "m8n8":
        raise CannotEmit("rows of narrow elements")
    name = f"{words['shape']}.{words['num']}"
    return fragment_layout(op.family, name, "D", words["type"].name, "trans" if words["trans"] else None)


def _row_pieces(w: FunctionWriter, op: Op, address: Value, tile: Fragment) -> list[list[Value]]:
    """For every register where each lane's two elements lie: one place of 4 bytes, or two of 2 where they lie in two rows."""
    e, words = w.emitter, op.words
    matrices, rows, columns = (c.T.reshape(-1, 2, 32) for c in tile.layout.coordinates)
    givers = address_lanes(tile.shape_name)
    wrong = (address & 15) != 0
    if words["space"] is None:
        wrong = wrong | ((address - SHARED_WINDOW) >= WINDOW_SIZE)
    w.save_before_bail()
    w.bail_unless(w.none_of(wrong & e.constant(np.isin(np.arange(32), givers), address)))
    return [
        [
            e.permute(address, givers[matrix[i], row[i]]) + e.constant((2 * column[i]).astype("u8"), address)
            for i in ((0, 1) if words["trans"] else (0,))
        ]
        for matrix, row, column in zip(matrices, rows, columns, strict=True)
    ]


def _record_rows(w: FunctionWriter, event: Event, address: Value, tile: Fragment, flags: str = "0") -> None:
    """Record the rows' addresses."""
    if w.options.wanted.has(event, Space.SHARED):
        mask = sum(1 << int(lane) for lane in address_lanes(tile.shape_name).ravel())
        w.event_at(event, Space.SHARED, 16, str(mask), w.shared_name(address), flags)

"""Native forms of mma, wmma.mma, wmma.load and wmma.store, for whole warps.

The interpreter knows wmma fragments again by their content, to report one that is used as another (machine.provenance). Native
code does not; it therefore takes only programs in which nothing but matching fragments can reach a use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.analysis.fragment_flow import types_match, wmma_matches
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.ir.value import CannotEmit, Value, kind_of
from ptxsim.engine.compiled.tensor import warp_product
from ptxsim.engine.program.operation import Op
from ptxsim.layout.fragments import Fragment, address_lanes, fragment_layout
from ptxsim.layout.wmma_stride import fragment_bytes, wmma_stride
from ptxsim.machine.event import Event, Space
from ptxsim.machine.memory import SHARED_WINDOW, WINDOW_SIZE
from ptxsim.machine.tensor import register_type
from ptxsim.machine.wmma import plan
from ptxsim.types import TYPES

if TYPE_CHECKING:
    from ptxsim.engine.compiled.codegen.kernel import KernelWriter

FAMILIES = frozenset({"mma", "wmma", "wmma_load", "wmma_store", "ldmatrix", "stmatrix"})


def _loaded(op: Op) -> tuple[Fragment, str | None]:
    """What a wmma.load makes, or a wmma.store takes: the fragment, and the layout it is bound to."""
    w = op.wants
    operand = w.get("operand", "D")
    fragment = fragment_layout("wmma", w["shape"], operand, w["type"].name)
    return fragment, w["layout"] if operand in "AB" else None


class MatrixWriter:
    """Prints matrix operations of one program."""

    def __init__(self, writer: KernelWriter):
        self.writer = writer

    def write(self, op: Op, sources: list):
        """The result of an operation. Raises CannotEmit where it is left to the interpreter."""
        kind = op.family
        options = self.writer.options
        if not options.full or op.guard is not None or not options.target:
            raise CannotEmit("a matrix operation of a partial warp")
        program = self.writer.program
        if not types_match(program) or (kind.startswith("wmma") and not wmma_matches(program)):
            raise CannotEmit("fragments that may not match")
        if kind in ("mma", "wmma"):
            return self._product(op, sources)
        if kind == "ldmatrix":
            return self._load_rows(op, *sources)
        if kind == "stmatrix":
            return self._store_rows(op, *sources)
        if options.events:
            raise CannotEmit("accesses of a fragment, recorded")
        return self._load(op, *sources) if kind == "wmma_load" else self._store(op, *sources)

    # ---- products ----

    def _product(self, op: Op, sources: list) -> list:
        w, e = self.writer, self.writer.emitter
        p = op.product(w.options.target, w.options.numerics)
        if p.form.scale or not warp_product.supported(p):
            raise CannotEmit("a product without a native form")
        sparse = p.sparsity is not None
        metadata, description = "null", warp_product.describe(p)
        if sparse:
            selector, ordered = sources[4], op.wants["sparsity"] == "sp::ordered_metadata"
            if not isinstance(selector, int) or selector >= p.sparsity.selectors:
                raise CannotEmit("a selector that the hardware refuses")
            description = warp_product.describe(p, selector, ordered)
            metadata = self._words("e", [sources[3]])
        name = w.helper_described(f"product_{p.form}_{p.rule.length}_{p.rule.fraction}", description)
        w.declare(name, f"declare i1 @{name}(ptr, ptr, ptr, ptr, ptr)")
        if sparse:
            w.save_before_bail()
        rooms = [self._words(letter, operand) for letter, operand in zip("abc", sources)]
        result = w.room(f"product.d.{p.d.words}", f"[{p.d.words * 32} x i32]")
        good = e.let(f"call i1 @{name}({', '.join(f'ptr {r}' for r in [*rooms, result, metadata])})")
        if sparse:
            w.bail_unless(good)
        if w.options.events:
            w.event(Event.MMA, 0, 0, 0, w.mask)
        kind = kind_of(TYPES[register_type(p.d.type)])
        found = []
        for i in range(p.d.words):
            at = e.let(f"getelementptr i8, ptr {result}, i64 {128 * i}")
            found.append(Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align 64"), kind))
        return found

    def _words(self, letter: str, registers: list) -> str:
        """The words of a fragment in memory, register after register."""
        w, e = self.writer, self.writer.emitter
        room = w.room(f"product.{letter}.{len(registers)}", f"[{len(registers) * 32} x i32]")
        for i, value in enumerate(registers):
            raw = w.raw(value)
            at = e.let(f"getelementptr i8, ptr {room}, i64 {128 * i}")
            e.line(f"  store {raw.type} {raw.text}, ptr {at}, align 64")
        return room

    # ---- fragments in memory ----

    def _places(self, op: Op, address: Value, stride, fragment: Fragment, layout: str, store: bool):
        """The address of every unit of elements; leaves what deserves a word about it to the interpreter."""
        w, e = self.writer, self.writer.emitter
        space = op.wants["space"]
        found = plan(fragment, layout, space is not None and space.startswith("shared") and not store)
        default = wmma_stride(fragment.shape_name, fragment.operand, layout)
        size, bits = fragment_bytes(fragment.shape_name, fragment.operand, fragment.type), fragment.element_bits
        if bits < 8 or size % found.width:
            raise CannotEmit("elements below a byte")
        stride = e.splat(default, "u32") if stride is None else e.lift(stride, e.splat(0, "u32"))
        stride = Value(e, stride.text, "u32")
        wide = e.convert(stride, "u64")
        step = wide * (bits // 8)
        good = (
            (address == e.permute(address, [0] * 32)) & (stride == e.permute(stride, [0] * 32)) & (stride >= default)
            & ((address & size - 1) == 0) & ((step & size - 1) == 0)
        )  # fmt: skip
        w.save_before_bail()
        word = e.let(f"bitcast <32 x i1> {good.text} to i32")
        w.bail_unless(e.let(f"icmp eq i32 {word}, -1"))
        places = []
        for lines, positions in zip(found.element_lines, found.element_positions, strict=True):
            row = e.constant((lines * (bits // 8)).astype("u8"), address)
            places.append(
                address + row * e.convert(stride, "u64") + e.constant((positions * bits // 8).astype("u8"), address)
            )
        return places, found.unit

    def _load(self, op: Op, address: Value, stride) -> list:
        w, e = self.writer, self.writer.emitter
        fragment, _ = _loaded(op)
        places, unit = self._places(op, address, stride, fragment, op.wants["layout"], False)
        whole = max(4, fragment.element_bits // 8)
        kind = f"u{8 * whole}"
        parts = []
        for place in places:
            found = EmitPort(w, w.mask, True).load(op.wants["space"], place, TYPES[f"u{8 * unit}"])[0]
            parts.append(e.convert(found, kind))
        per = whole // unit
        registers = []
        for start in range(0, len(parts), per):
            value = parts[start]
            for i in range(1, per):
                value = value | parts[start + i] << 8 * unit * i
            registers.append(value)
        return registers * fragment.copies

    # ---- rows of 8x8 matrices ----

    def _row_pieces(self, op: Op, address: Value, tile: Fragment) -> list[list[Value]]:
        """For every register where each lane's two elements lie: one place of 4 bytes, or two of 2 where they lie in two rows."""
        w, e = self.writer, self.writer.emitter
        words = op.wants
        matrices, rows, columns = (c.T.reshape(-1, 2, 32) for c in tile.layout.coordinates)
        givers = address_lanes(tile.shape_name)
        supplies = np.isin(np.arange(32), givers)
        wrong = (address & 15) != 0
        if words["space"] is None:
            wrong = wrong | ((address - SHARED_WINDOW) >= WINDOW_SIZE)
        w.save_before_bail()
        bits = e.let(f"bitcast <32 x i1> {(wrong & e.constant(supplies, address)).text} to i32")
        w.bail_unless(e.let(f"icmp eq i32 {bits}, 0"))
        found = []
        for matrix, row, column in zip(matrices, rows, columns, strict=True):
            found.append(
                [
                    e.permute(address, givers[matrix[i], row[i]]) + e.constant((2 * column[i]).astype("u8"), address)
                    for i in ((0, 1) if words["trans"] else (0,))
                ]
            )
        return found

    def _tile(self, op: Op, family: str) -> Fragment:
        words = op.wants
        if words.get("format") or words["type"] is None or words["type"].bits != 16 or words["shape"] != "m8n8":
            raise CannotEmit("rows of narrow elements")
        name = f"{words['shape']}.{words['num']}"
        return fragment_layout(family, name, "D", words["type"].name, "trans" if words["trans"] else None)

    def _tell(self, event: Event, address: Value, tile: Fragment) -> None:
        """Record the rows' addresses, if somebody listens."""
        w, e = self.writer, self.writer.emitter
        if w.options.events:
            room = w.room("row.addresses", "<32 x i64>")
            e.line(f"  store <32 x i64> {address.text}, ptr {room}, align 64")
            mask = sum(1 << int(lane) for lane in address_lanes(tile.shape_name).ravel())
            w.event(event, Space.SHARED, 16, 0, str(mask), room)

    def _load_rows(self, op: Op, address: Value) -> list:
        """ldmatrix of 16-bit elements: every lane reads its elements where the row's own lane points to."""
        w, e = self.writer, self.writer.emitter
        tile = self._tile(op, "ldmatrix")
        registers = []
        for places in self._row_pieces(op, address, tile):
            t = TYPES["u16" if len(places) == 2 else "u32"]
            parts = []
            for place in places:
                found = EmitPort(w, w.mask, True, silent=True).load(op.wants["space"], place, t)[0]
                parts.append(e.convert(found, "u32"))
            registers.append(parts[0] if len(parts) == 1 else parts[0] | parts[1] << 16)
        self._tell(Event.LDMATRIX, address, tile)
        return registers

    def _store_rows(self, op: Op, address: Value, registers: list) -> None:
        """stmatrix of 16-bit elements. All places are read first: a fault must come before anything is written."""
        w, e = self.writer, self.writer.emitter
        tile = self._tile(op, "stmatrix")
        pieces = self._row_pieces(op, address, tile)
        t = TYPES["u16" if op.wants["trans"] else "u32"]
        for place in (place for places in pieces for place in places):
            EmitPort(w, w.mask, True, silent=True).load(op.wants["space"], place, t)
        self._tell(Event.STMATRIX, address, tile)
        for value, places in zip(registers, pieces, strict=True):
            word = w.raw(value)
            for i, place in enumerate(places):
                part = e.convert(word >> 16 * i if i else word, t.name)
                EmitPort(w, w.mask, True, silent=True).store(op.wants["space"], place, [part], t)

    def _store(self, op: Op, address: Value, values: list, stride) -> None:
        w, e = self.writer, self.writer.emitter
        fragment, _ = _loaded(op)
        places, unit = self._places(op, address, stride, fragment, op.wants["layout"], True)
        t = TYPES[f"u{8 * unit}"]
        # All places are read first: a fault must come before anything is written.
        for place in places:
            EmitPort(w, w.mask, True).load(op.wants["space"], place, t)
        per = max(4, fragment.element_bits // 8) // unit
        values = values[: len(values) // fragment.copies]
        for i, place in enumerate(places):
            raw = w.raw(values[i // per])
            part = e.convert(raw >> 8 * unit * (i % per) if i % per else raw, f"u{8 * unit}")
            EmitPort(w, w.mask, True).store(op.wants["space"], place, [part], t)

"""The memory of native wgmma, and what is under way as Python objects when a CTA goes on in the interpreter."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.compiled.runtime.wgmma_state import (
    GROUP,
    GROUP_BYTES,
    OF_WARP,
    OF_WARP_BYTES,
    RECORD,
    RECORD_BYTES,
    RING,
    TILE_BYTES,
    TILES,
)
from ptxsim.engine.compiled.tensor.tiles import pieces
from ptxsim.engine.compiled.tensor.wgmma_product import Form
from ptxsim.instructions.wgmma import slots_of
from ptxsim.machine.async_groups import later
from ptxsim.machine.cta import Cta, Warp
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port
from ptxsim.machine.records import MOST_GROUPS, aligned
from ptxsim.machine.units import Units
from ptxsim.machine.wgmma import WARPS, MmaAsync, Part, Warpgroup, WarpState, check_tile, wait_for_others

if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.context import NativeContext


class Warpgroups:
    """What native wgmma needs in an engine's context: groups of one CTA, tiles, room for panels."""

    def __init__(self, native: NativeContext, warps: int):
        self.native = native
        self.groups = aligned(min(MOST_GROUPS, warps // WARPS) * GROUP_BYTES).reshape(-1, GROUP_BYTES)
        self.tiles = aligned(TILES * TILE_BYTES)
        self._pieces: dict[tuple[int, int, int], np.ndarray] = {}
        native.record.tiles = self.tiles.ctypes.data
        native.record.tile = native.callback(
            self._tile, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_uint64
        )

    def begin(self) -> None:
        """A CTA begins, in native code. Nothing is under way, so tables of tiles may go where there are many."""
        if len(self._pieces) > TILES:
            self._forget()
        self.groups[:, : GROUP["ring"]] = 0
        self.native.record.flying = 0
        self.native.record.groups = self.groups.ctypes.data if len(self.groups) else 0
        self.native.record.due = self.native.library.jit.helpers.get(self.native.library.prefix + "due", 0)

    # ---- tiles ----

    def _tile(self, site: int, which: int, descriptor: int) -> int:
        """Called from native code: the address of a tile's pieces, 0 where the slow path reports a fault."""
        try:
            return self._pieces_of(site, which, descriptor).ctypes.data
        except Fault:
            return 0

    def _pieces_of(self, site: int, which: int, descriptor: int) -> np.ndarray:
        key = site, which, descriptor
        if key not in self._pieces:
            machine = self.native.machine
            form = Form.of(self.native.program.ops[site], str(machine.target), machine.numerics)
            tile = form.tile("AB"[which], descriptor)
            cta = SimpleNamespace(shared_bytes=machine.shared_bytes, units=Units())
            check_tile(SimpleNamespace(machine=machine, cta=cta, report=_refuse), tile)
            self._pieces[key] = pieces(tile)
        return self._pieces[key]

    def _forget(self) -> None:
        self.tiles.fill(0)  # they point into the pieces
        self._pieces.clear()

    # ---- going on in Python ----

    def hand_over(self, cta: Cta, waiting: list[tuple[Warp, int, int]]) -> None:
        """Make Python objects of what is under way. `waiting`: warps that wait for the rest of their warpgroup, with its
        number and the instruction's site."""
        self.native.record.groups = 0
        self.native.record.flying = 0
        for number, group in enumerate(self.groups):
            warps = cta.warps[number * WARPS : (number + 1) * WARPS]
            state = Warpgroup.of(cta, warps[0])
            products = self._products(group, warps, state)
            for place, warp in enumerate(warps):
                self._groups_of(warp, group, place, products)
            arrived = [(warp, site) for warp, which, site in waiting if which == number]
            if arrived and field(group, GROUP["gathering"], "<i4"):
                self._gather(group, state, arrived)
        self._forget()

    def _products(self, group: np.ndarray, warps: list[Warp], state: Warpgroup) -> dict[int, MmaAsync]:
        """The products that some warp has not waited for, by number; those that are not computed yet are scheduled."""
        issued, completed = (int(field(group, GROUP[name], "<i8")) for name in ("issued", "completed"))
        found = {}
        oldest = min(completed, *(int(field(self._of_warp(group, i), OF_WARP["before"], "<i8")) for i in range(WARPS)))
        for number in range(max(oldest, issued - RING), issued):
            start = GROUP["ring"] + number % RING * RECORD_BYTES
            record = group[start : start + RECORD_BYTES]
            product = self._request(int(field(record, RECORD["site"], "<i4")), record)
            for place, warp in enumerate(warps):
                self._join(product, warp, place, record)
            product.started, product.done = True, number < completed
            found[number] = product
            if not product.done:
                state.running.append(product)
                port = product.parts[warps[-1].index].port
                remaining = int(field(record, RECORD["due"], "<i8")) - self.native.machine.steps
                later(port, lambda p=product: state.complete(p), remaining)
        return found

    def _request(self, site: int, record: np.ndarray) -> MmaAsync:
        a, b = (int(field(record, RECORD[name], "<u8")) for name in "ab")
        keep = bool(field(record, RECORD["keep"], "<i4"))
        return self._product(site, a, b, keep)

    def _product(self, site: int, a: int, b: int, keep: bool) -> MmaAsync:
        op, machine = self.native.program.ops[site], self.native.machine
        form = Form.of(op, str(machine.target), machine.numerics)
        selector = op.source("f").value if form.product.form.sparse else 0
        tile_a = None if form.from_registers else form.tile("A", a)
        return MmaAsync(form.product, tile_a, form.tile("B", b), keep, form.negated, selector, op.line)

    def _join(self, product: MmaAsync, warp: Warp, place: int, record: np.ndarray) -> None:
        op = self.native.program.ops[int(field(record, RECORD["site"], "<i4"))]
        metadata = None
        if product.product.sparsity is not None:
            at = RECORD["metadata"] + 128 * place
            metadata = record[at : at + 128].view("<u4").copy()
        self._take_part(product, warp, op, metadata)

    def _take_part(self, product: MmaAsync, warp: Warp, op, metadata) -> None:
        port = port_at(self.native, warp, op.site)
        a = slots_of(op.sources[0]) if product.a is None else []
        product.parts[warp.index] = Part(port, slots_of(op.destinations[0]), a, metadata, product)

    @staticmethod
    def _of_warp(group: np.ndarray, place: int) -> np.ndarray:
        start = GROUP["warps"] + place * OF_WARP_BYTES
        return group[start : start + OF_WARP_BYTES]

    def _groups_of(self, warp: Warp, group: np.ndarray, place: int, products: dict[int, MmaAsync]) -> None:
        """A warp's own view of the products: groups, those in none, its registers."""
        mine = self._of_warp(group, place)
        committed, retired, before = (int(field(mine, OF_WARP[n], "<i8")) for n in ("committed", "retired", "before"))
        boundaries = mine[OF_WARP["boundaries"] :].view("<i8")
        state = WarpState.of(warp)
        for number in range(retired, committed):
            end = int(boundaries[number % RING])
            state.groups.append([products[i] for i in range(before, end)])
            before = end
        state.uncommitted = [products[i] for i in sorted(products) if i >= before]
        state.release(warp)

    def _gather(self, group: np.ndarray, state: Warpgroup, arrived: list[tuple[Warp, int]]) -> None:
        """The product that some warps have come to and wait at."""
        site = arrived[0][1]
        a, b = (int(field(group, GROUP[name], "<u8")) for name in "ab")
        product = self._product(site, a, b, bool(field(group, GROUP["keep"], "<i4")))
        start = GROUP["ring"] + int(field(group, GROUP["issued"], "<i8")) % RING * RECORD_BYTES
        record = group[start : start + RECORD_BYTES].copy()
        record[RECORD["site"] : RECORD["site"] + 4].view("<i4")[0] = site
        for warp, _ in arrived:
            self._join(product, warp, warp.index % WARPS, record)
        state.gathering = product
        for warp, _ in arrived:
            warp.wait(warp.splits[0], wait_for_others(product))


def port_at(native: NativeContext, warp: Warp, site: int) -> Port:
    """The port of a warp as it stood at an instruction."""
    op, port = native.program.ops[site], Port(native.machine, warp)
    port.site, port.line, port.column, port.length, port.op = op.site, op.line, op.column, len(op.opcode), op
    return port


def _refuse(*_words, **_more) -> None:
    raise Fault("descriptor-invalid", "the interpreter says what is wrong")


def field(memory: np.ndarray, offset: int, t: str):
    return memory[offset : offset + np.dtype(t).itemsize].view(t)[0]

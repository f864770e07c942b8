"""wgmma: matrix products that a warpgroup starts and that complete later, and the groups in which warps wait for them.

From wgmma.mma_async to the wait that covers it the accumulators and the A fragment belong to the tensor core; operands
in shared memory are read at some moment between, as late as allowed with seed 0. Products of a warpgroup complete in
order. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ptxsim.layout.descriptor import Descriptor, linear_offsets
from ptxsim.layout.swizzle import swizzle
from ptxsim.machine.async_groups import later, snapshot
from ptxsim.machine.bulk import written_swizzle
from ptxsim.machine.cta import Cta, Register, Warp
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space
from ptxsim.machine.fault import KEEP, Fault, Wait
from ptxsim.machine.port import Port
from ptxsim.machine.product import Product, multiply_matrices
from ptxsim.machine.provenance import check_operand, operands, remember_product

WARPS = 4
CHUNK = 16  # bytes; every layout keeps that many together


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory as a descriptor gives it: `rows` are m of A or n of B, `major` is "K" or "MN"."""

    descriptor: int
    major: str
    rows: int
    k: int
    bits: int

    def addresses(self) -> np.ndarray:
        """Byte address of every element, int64 (rows, k)."""
        return _addresses(self)

    def read(self, memory: np.ndarray) -> np.ndarray:
        """Element codes, unsigned (rows, k), from the bytes of shared memory."""
        addresses = self.addresses()
        if self.bits < 8:
            packed: np.ndarray = memory[addresses] >> (np.arange(self.k) * self.bits % 8).astype(np.uint8)
            return packed & (1 << self.bits) - 1
        size = self.bits // 8
        data: np.ndarray = memory[addresses[..., None] + np.arange(size)]
        return data.view(f"<u{size}")[..., 0]

    def chunks(self) -> np.ndarray:
        """Addresses of the 16-byte pieces that are read, each once."""
        return _chunks(self)


# A loop over k meets few different descriptors, again and again.
@lru_cache(maxsize=256)
def _addresses(tile: Tile) -> np.ndarray:
    fields = Descriptor.decode(tile.descriptor)
    row, k = np.arange(tile.rows)[:, None], np.arange(tile.k)[None, :]
    offsets = linear_offsets(tile.major, fields.swizzle, fields.leading, fields.stride, tile.bits, row, k)
    return np.asarray(swizzle(fields.start + offsets, fields.swizzle, fields.base_offset))


@lru_cache(maxsize=256)
def _chunks(tile: Tile) -> np.ndarray:
    return np.unique(_addresses(tile) // CHUNK) * CHUNK


@dataclass(eq=False)
class Part:
    """What one warp brings to a product: register slots of its accumulators and A fragment, its metadata."""

    port: Port
    d: list[int | None]
    a: list[int | None]
    metadata: np.ndarray | None
    owner: MmaAsync | None = None

    @property
    def warp(self) -> Warp:
        return self.port.warp

    def words(self, slots: Sequence[int | None]) -> np.ndarray:
        """The registers as they are now, uint32 (slots, 32)."""
        empty = np.zeros(32, np.uint32)
        return np.stack([empty if slot is None else self.warp.registers[slot].view(np.uint32) for slot in slots])


@dataclass(eq=False)
class MmaAsync:
    """One wgmma.mma_async of a warpgroup. `a` is a tile, or None where A comes from registers."""

    product: Product
    a: Tile | None
    b: Tile
    accumulate: bool
    negate: tuple[bool, bool]
    selector: int
    line: int
    parts: dict[int, Part] = field(default_factory=dict)
    started: bool = False
    done: bool = False
    released: bool = False

    def same(self, other: MmaAsync) -> bool:
        """Whether another warp of the group executes the same product."""
        return (self.line, self.a, self.b, self.accumulate) == (other.line, other.a, other.b, other.accumulate)

    def emit_reads(self, port: Port, event: Event, flags: int = 0) -> None:
        """Emit the pieces of shared memory this product reads."""
        if port.machine.stream is None:
            return
        for tile in filter(None, (self.a, self.b)):
            chunks = tile.chunks()
            for i in range(0, len(chunks), 32):
                part = chunks[i : i + 32]
                port.emit(event, Space.SHARED, CHUNK, flags | FLAG_ASYNC_PROXY, np.arange(32) < len(part), part)

    def compute(self) -> None:
        """Read the operands and replace the accumulators."""
        self.done = True
        native = next(iter(self.parts.values())).port.machine.native_product
        if native is not None and native(self):
            return
        product, parts = self.product, [self.parts[i] for i in sorted(self.parts)]
        memory = parts[0].warp.cta.shared
        c = np.concatenate([part.words(part.d) for part in parts], axis=1)
        if self.a is None:
            a = product.a.to_matrix(np.concatenate([part.words(part.a) for part in parts], axis=1))
        else:
            a = self.a.read(memory)
        b = self.b.read(memory).T
        metadata = None if parts[0].metadata is None else np.concatenate([part.metadata for part in parts])
        codes = product.c.to_matrix(c)
        d = multiply_matrices(
            product, a, b, codes if self.accumulate else np.zeros_like(codes), metadata, self.selector,
            negate_a=self.negate[0], negate_b=self.negate[1],
        )  # fmt: skip
        words = product.d.from_matrix(d)
        for number, part in enumerate(parts):
            state = WarpState.of(part.warp)
            if part.port.machine.checks != "none":
                remember_product(part.warp, words[:, 32 * number : 32 * number + 32], product.d, self.line)
            for slot, value in zip(part.d, words[:, 32 * number : 32 * number + 32]):
                if slot is not None:
                    part.warp.registers[slot] = np.ascontiguousarray(value)
                    state.computed(slot, value)


class Warpgroup:
    """Four warps: the product they are about to start together, and those that have not completed."""

    def __init__(self) -> None:
        self.gathering: MmaAsync | None = None
        self.running: list[MmaAsync] = []

    @classmethod
    def of(cls, cta: Cta, warp: Warp) -> Warpgroup:
        return cta.units.of(Warpgroups).setdefault(warp.index // WARPS, cls())

    def arrive(self, m: Port, product: MmaAsync, part: Part) -> MmaAsync:
        """A warp executes a product; the fourth one starts it. Returns the product the warp takes part in.

        Raises Fault `divergent-aligned` where the warps do not execute the same one.
        """
        if len(m.cta.warps) < (m.warp.index // WARPS + 1) * WARPS:
            raise Fault(
                "divergent-aligned",
                f"warp {m.warp.index} belongs to no whole warpgroup: the CTA has {len(m.cta.warps)} warps",
                help="wgmma needs four consecutive warps, 128 threads",
            )
        current = self.gathering
        if current is None:
            current = self.gathering = product
        elif not current.same(product):
            raise Fault(
                "divergent-aligned",
                f"the warps of a warpgroup execute different wgmma.mma_async: warp {m.warp.index} this one, "
                f"warp {min(current.parts)} that of line {current.line} or with other descriptors",
                help="all four warps execute the same instruction with the same descriptors and scale-d",
            )
        part.owner = current
        current.parts[m.warp.index] = part
        if len(current.parts) == WARPS:
            self.gathering = None
            self._start(m, current)
        return current

    def _start(self, m: Port, product: MmaAsync) -> None:
        product.started = True
        self.running.append(product)
        for part in product.parts.values():
            WarpState.of(part.warp).uncommitted.append(product)
            for slot in (*part.d, *part.a):
                if slot is not None:
                    part.warp.in_flight[slot] = product.line
        product.emit_reads(m, Event.ASYNC_READ)
        product.emit_reads(m, Event.ASYNC_ISSUE, FLAG_READ)
        m.emit(Event.MMA)
        later(snapshot(m), lambda: self.complete(product))

    def complete(self, product: MmaAsync) -> None:
        """Complete a product and those before it."""
        while not product.done:
            self.running.pop(0).compute()


class Warpgroups(dict[int, Warpgroup]):
    """The warpgroups of a CTA by number."""


class WarpState:
    """A warp's own view: what it has not committed, its groups in order, and its registers at the last wgmma.fence."""

    def __init__(self) -> None:
        self.uncommitted: list[MmaAsync] = []
        self.groups: list[list[MmaAsync]] = []
        self.fenced: dict[int, Register] | None = None  # by slot, of those that products use

    @classmethod
    def of(cls, warp: Warp) -> WarpState:
        return warp.units.of(cls)

    def computed(self, slot: int, value: np.ndarray) -> None:
        """The tensor core itself has written a register: no fence is needed for that."""
        if self.fenced is not None:
            self.fenced[slot] = value.copy()

    def release(self, warp: Warp) -> None:
        """Registers of products that are neither uncommitted nor in a group are the threads' again."""
        mine = [*self.uncommitted, *(product for group in self.groups for product in group)]
        warp.in_flight.clear()
        for product in mine:
            part = product.parts[warp.index]
            for slot in (*part.d, *part.a):
                if slot is not None:
                    warp.in_flight[slot] = product.line


def fence(m: Port) -> None:
    """wgmma.fence: registers written so far may be used by the products that follow."""
    if m.machine.native_product is not None:
        return
    registers, slots = m.warp.registers, m.machine.product_slots
    slots = range(len(registers)) if slots is None else slots
    WarpState.of(m.warp).fenced = {slot: _copy(registers[slot]) for slot in slots}


def _copy(register: Register) -> Register:
    return [word.copy() for word in register] if isinstance(register, list) else register.copy()


def commit(m: Port) -> None:
    """wgmma.commit_group: what is uncommitted becomes a group, which may be empty."""
    state = WarpState.of(m.warp)
    state.groups.append(state.uncommitted)
    state.uncommitted = []


def wait(m: Port, pending: int) -> None:
    """wgmma.wait_group: all groups but the last `pending` complete, and their registers are free."""
    state = WarpState.of(m.warp)
    if state.uncommitted and not any(state.groups):
        m.report(
            "missing-commit",
            f"wgmma.wait_group waits for nothing: the wgmma.mma_async of line {state.uncommitted[0].line} is in no group",
            help="put wgmma.commit_group between the last wgmma.mma_async and the wait",
        )
        commit(m)
    count = max(0, len(state.groups) - pending)
    group = Warpgroup.of(m.cta, m.warp)
    for product in (product for covered in state.groups[:count] for product in covered):
        group.complete(product)
        if not product.released:
            product.released = True
            product.emit_reads(m, Event.ASYNC_WAIT, FLAG_READ)
    del state.groups[:count]
    state.release(m.warp)


def start(m: Port, product: MmaAsync, part: Part) -> Wait | None:
    """wgmma.mma_async of one warp: None if it has started, else the Wait for the other warps of the warpgroup."""
    _check_fence(m, product, part)
    if product.a is None and m.machine.checks != "none" and m.machine.native_product is None:
        check_operand(m, part.words(part.a), product.product.a, operands(m)[0])
    for tile in filter(None, (product.a, product.b)):
        check_tile(m, tile)
    current = Warpgroup.of(m.cta, m.warp).arrive(m, product, part)
    return None if current.started else wait_for_others(current)


def wait_for_others(current: MmaAsync) -> Wait:
    """What a warp waits for that has come to a product before the rest of its warpgroup."""
    return Wait(
        "the other warps of the warpgroup",
        lambda: current.started,
        lambda: f"{len(current.parts)} of 4 warps have come to the wgmma.mma_async of line {current.line}",
        lambda: KEEP,
    )


def _check_fence(m: Port, product: MmaAsync, part: Part) -> None:
    if m.machine.native_product is not None:
        return
    state = WarpState.of(m.warp)
    used = [slot for slot in (*part.a, *(part.d if product.accumulate else ())) if slot is not None]
    if state.fenced is None:
        what = "no wgmma.fence comes before the first wgmma.mma_async"
    elif any((m.warp.registers[slot] != state.fenced[slot]).any() for slot in used if slot not in m.warp.in_flight):
        what = "registers that this wgmma.mma_async uses were written after the last wgmma.fence"
    else:
        return
    m.report(
        "missing-wgmma-fence", what,
        help="put wgmma.fence.sync.aligned between the last access to the registers and wgmma.mma_async",
    )  # fmt: skip
    fence(m)


def check_tile(m: Port, tile: Tile) -> None:
    """Report what is suspicious in a descriptor; raise Fault `out-of-bounds` where it leaves shared memory."""
    fields = Descriptor.decode(tile.descriptor)
    for name, text in fields.problems():
        # The GPU reads on as the address arithmetic says, which is rarely meant.
        m.report(name, text, help="see `ptxsim desc` for the fields and what they read", level="warning")
    addresses = tile.addresses()
    low, high = int(addresses.min()), int(addresses.max()) + max(1, tile.bits // 8)
    start, end = m.machine.shared_start, m.cta.shared_bytes
    if low < start or high > end:
        at = addresses >= end if high > end else addresses < start
        row, k = np.argwhere(at)[0] if at.any() else (0, 0)
        raise Fault(
            "out-of-bounds",
            f"the descriptor {tile.descriptor:#018x} reads {low:#x}..{high:#x}; element (row {row}, k {k}) is the first "
            f"outside of the CTA's shared memory, {start:#x}..{end:#x}",
            help="strides are stored in units of 16 bytes; see `ptxsim desc`",
        )
    written = written_swizzle(m.cta, low)
    if written not in (None, fields.swizzle):
        m.report(
            "swizzle-mismatch",
            f"the tensor copy that brought the tile at {low:#x} wrote it with swizzle {written}, the descriptor reads it "
            f"with {fields.swizzle}",
            help="give the tensor map and the descriptor the same swizzle",
        )
    for name, (first, size) in m.machine.shared_variables.items():
        if first <= fields.start < first + size < high:
            m.report(
                "descriptor-past-tile",
                f"the descriptor {tile.descriptor:#018x} starts in {name} ({first:#x}..{first + size:#x}) and reads up "
                f"to {high:#x}",
                help="strides are stored in units of 16 bytes; see `ptxsim desc`",
            )

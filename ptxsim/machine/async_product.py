"""Asynchronous products in the interpreter: what they compute, what is reported. Their state: machine.warpgroup.

From wgmma.mma_async to the wait that covers it the accumulators and the A fragment belong to the tensor core; operands
in shared memory are read at some moment between, as late as allowed with seed 0. PTX ISA, "Asynchronous Warpgroup Level Matrix
Instructions".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ptxsim.diagnostic import beside
from ptxsim.layout.fragments import container_bits
from ptxsim.machine import warpgroup
from ptxsim.machine.asynchronous import delay
from ptxsim.machine.cta import Cta, Register, Warp
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space
from ptxsim.machine.fault import AtBarrier, Fault
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.port import Operation, Port
from ptxsim.machine.product import Product, multiply_matrices
from ptxsim.machine.provenance import check_operand, remember_product
from ptxsim.machine.records import BARRIERS
from ptxsim.machine.state import Machine
from ptxsim.machine.tile import Tile, check_tile
from ptxsim.machine.warpgroup import RING, WARPS, ProductRecord


class MmaAsync:
    """A wgmma.mma_async as it stands in the program: its product, the register slots of D and of A (None: the sink)."""

    def __init__(self, op: Operation, target: str, numerics: str):
        self.op = op
        self.product: Product = op.product(target, numerics)

    @cached_property
    def from_registers(self) -> bool:
        """Whether A comes from registers."""
        return hasattr(self.op.source("a"), "elements")

    @cached_property
    def d(self) -> list[int | None]:
        return _slots_of(self.op.destinations[0])

    @cached_property
    def a(self) -> list[int | None]:
        return _slots_of(self.op.source("a")) if self.from_registers else []

    @cached_property
    def owned(self) -> list[int]:
        """Registers that belong to the tensor core while the product is in flight."""
        return [slot for slot in (*self.d, *self.a) if slot is not None]

    def immediate(self, name: str) -> int:
        """The value of an immediate operand; 0 where it is absent."""
        return int(getattr(self.op.source(name), "value", 0))

    @cached_property
    def negated(self) -> tuple[bool, bool]:
        """Whether A and B are."""
        a, b = (self.immediate(name) == -1 for name in ("sa", "sb"))
        return a, b

    @cached_property
    def shapes(self) -> dict[str, tuple[str, int, int, int]]:
        """Of the tiles of operands "A" and "B": the direction, rows, k, bits of an element."""
        form = self.product.form
        bits = container_bits("wgmma.sp" if form.sparse else "wgmma", self.product.d.shape_name, form.a)
        a, b = ("MN" if self.immediate(name) else "K" for name in ("ta", "tb"))
        return {"A": (a, 64, form.k // 2 if form.sparse else form.k, bits), "B": (b, form.n, form.k, bits)}

    def tile(self, operand: str, descriptor: int = 0) -> Tile:
        """The tile of operand "A" or "B" that a descriptor gives."""
        return Tile(descriptor, *self.shapes[operand])

    def tiles(self, a: int, b: int) -> list[Tile]:
        """Those that it reads, for the descriptors."""
        return [*([] if self.from_registers else [self.tile("A", a)]), self.tile("B", b)]


def _slots_of(operand: Any) -> list[int | None]:
    """Register slots of an operand as the engine resolved it; None for the sink."""
    if hasattr(operand, "elements"):
        return [slot for element in operand.elements for slot in _slots_of(element)]
    return [None if getattr(operand, "sink", False) else operand.slot]


def instruction_at(machine: Machine, site: int) -> MmaAsync:
    """The instruction that a product's record names."""
    found: MmaAsync | None = machine.products.get(site)
    if found is None:
        found = machine.products[site] = MmaAsync(machine.op_at(site), str(machine.target), machine.numerics)
    return found


class Fenced:
    """A warp's registers at its last wgmma.fence, by slot: those that products use."""

    def __init__(self) -> None:
        self.registers: dict[int, Register] | None = None

    def computed(self, slot: int, value: np.ndarray) -> None:
        """The tensor core itself has written a register: no fence is needed for that."""
        if self.registers is not None:
            self.registers[slot] = value.copy()


class Warpgroup:
    """Four warps of a CTA."""

    def __init__(self, machine: Machine, cta: Cta, number: int):
        self.machine, self.cta, self.number = machine, cta, number
        self.record = cta.warpgroups[number]
        self.warps = cta.warps[number * WARPS : (number + 1) * WARPS]

    @classmethod
    def of(cls, m: Port) -> Warpgroup:
        return cls(m.machine, m.cta, m.warp.index // WARPS)

    def product(self, number: int) -> ProductRecord:
        return self.record.ring[number % RING]

    def schedule(self, number: int) -> None:
        """Let a product complete when it is due."""
        after = self.product(number).due - self.machine.steps
        self.machine.schedule(partial(self.complete, number + 1), after, lambda: self.record.completed > number)

    def complete(self, count: int) -> None:
        """Compute the products before number `count` that are not."""
        while self.record.completed < count:
            product = self.product(self.record.completed)
            self.record.completed += 1
            native = self.machine.native_product
            if native is None or not native(self.record, product):
                self._compute(product)

    def _compute(self, record: ProductRecord) -> None:
        """Read the operands and replace the accumulators."""
        op, memory = instruction_at(self.machine, record.site), self.cta.shared
        product = op.product
        from_registers = op.from_registers
        a = product.a.to_matrix(self._words(op.a)) if from_registers else op.tile("A", record.a).read(memory)
        b = op.tile("B", record.b).read(memory).T
        metadata = np.array(record.metadata, np.uint32) if product.form.sparse else None
        codes = product.c.to_matrix(self._words(op.d))
        d = multiply_matrices(
            product, a, b, codes if record.keep else np.zeros_like(codes), metadata, op.immediate("f"),
            negate_a=op.negated[0], negate_b=op.negated[1],
        )  # fmt: skip
        for warp, words in zip(self.warps, np.split(product.d.from_matrix(d), WARPS, axis=1)):
            if self.machine.checks != "none":
                remember_product(warp, words, product.d, record.line)
            for slot, value in zip(op.d, words):
                if slot is not None:
                    warp.registers[slot] = np.ascontiguousarray(value)
                    warp.units.of(Fenced).computed(slot, value)

    def _words(self, slots: Sequence[int | None]) -> np.ndarray:
        """Registers as they are now, uint32 (slots, lanes of the four warps)."""
        return np.concatenate([words_of(warp, slots) for warp in self.warps], axis=1)

    def emit_reads(self, m: Port, event: Event, product: ProductRecord, flags: int = 0) -> None:
        """Emit the pieces of shared memory that a product reads."""
        if m.machine.stream is None:
            return
        for tile in instruction_at(m.machine, product.site).tiles(product.a, product.b):
            width, addresses = tile.blocks()
            for i in range(0, len(addresses), 32):
                part = addresses[i : i + 32]
                named = part + (self.cta.rank << RANK_SHIFT)
                m.emit(event, Space.SHARED, width, flags | FLAG_ASYNC_PROXY, np.arange(32) < len(part), named)

    def emit_waits(self, m: Port, before: int) -> None:
        """Emit that the products from number `before` on that are covered now read no longer."""
        for number in range(before, warpgroup.covered(self.record)):
            self.emit_reads(m, Event.ASYNC_WAIT, self.product(number), FLAG_READ)


def words_of(warp: Warp, slots: Sequence[int | None]) -> np.ndarray:
    """Registers as they are now, uint32 (slots, 32)."""
    empty = np.zeros(32, np.uint32)
    return np.stack([empty if slot is None else warp.registers[slot].view(np.uint32) for slot in slots])


def go_on(machine: Machine, cta: Cta) -> None:
    """A CTA goes on in the interpreter: the products in flight complete there."""
    for number in range(len(cta.warpgroups)):
        group = Warpgroup(machine, cta, number)
        for product in range(group.record.completed, group.record.issued):
            group.schedule(product)


def in_flight(cta: Cta) -> list[ProductRecord]:
    """The products of a CTA that have started and are not computed."""
    groups = cta.__dict__.get("warpgroups", ())
    return [group.ring[number % RING] for group in groups for number in range(group.completed, group.issued)]


def fence(m: Port) -> None:
    """wgmma.fence: registers written so far may be used by the products that follow."""
    if m.machine.native_product is not None:
        return
    registers, slots = m.warp.registers, m.machine.product_slots
    slots = range(len(registers)) if slots is None else slots
    m.warp.units.of(Fenced).registers = {slot: _copy(registers[slot]) for slot in slots}


def _copy(register: Register) -> Register:
    return [word.copy() for word in register] if isinstance(register, list) else register.copy()


def commit(m: Port) -> None:
    """wgmma.commit_group: what is uncommitted becomes a group, which may be empty."""
    warpgroup.commit(Warpgroup.of(m).record, m.warp.record)


def wait(m: Port, pending: int) -> None:
    """wgmma.wait_group: all groups but the last `pending` complete, and their registers are free."""
    group, warp = Warpgroup.of(m), m.warp
    place, before = warp.index % WARPS, warpgroup.covered(group.record)
    count = warpgroup.wait(group.record, warp.record, pending)
    if count == warpgroup.NOT_COMMITTED:
        m.report(
            "missing-commit",
            "wgmma.wait_group waits for nothing: the wgmma.mma_async of line "
            f"{group.product(group.record.covered[place]).line} is in no group",
            help="put wgmma.commit_group between the last wgmma.mma_async and the wait",
            fixes=(beside(m, "before", "wgmma.commit_group.sync.aligned;"),),
        )
        commit(m)
        count = warpgroup.wait(group.record, warp.record, pending)
    group.complete(count)
    group.emit_waits(m, before)
    m.emit(Event.WGMMA_WAIT, addresses=(count,))
    warp.in_flight.clear()
    for number in range(count, group.record.issued):
        _own(m, warp, group.product(number))


def complete_owners(m: Port, slots: Collection[int]) -> None:
    """Products to which registers belong complete, and those before them. What they read counts as read until a wait all the same."""
    group = Warpgroup.of(m)
    for number in reversed(range(group.record.completed, group.record.issued)):
        if not set(slots).isdisjoint(instruction_at(m.machine, group.product(number).site).owned):
            group.complete(number + 1)
            return


def start(m: Port, a: int, b: int, keep: bool, metadata: np.ndarray | None) -> AtBarrier | None:
    """wgmma.mma_async of one warp, with the descriptors of A (0 where it comes from registers) and B.

    None if the product has started, else what the warp waits at for the others. Raises Fault `divergent-aligned` where the
    warps of the warpgroup do not execute the same one.
    """
    assert m.op is not None
    op, native = instruction_at(m.machine, m.op.site), m.machine.native_product is not None
    if not native:
        _check_fence(m, op, keep)
    if op.from_registers and m.machine.checks != "none" and not native:
        check_operand(m, words_of(m.warp, op.a), op.product.a, op.op.source("a"))
    for tile in op.tiles(a, b):
        check_tile(m, tile)
    group, place = Warpgroup.of(m), m.warp.index % WARPS
    before, phase = warpgroup.covered(group.record), m.cta.record.barriers[BARRIERS + group.number].phase
    product = group.product(group.record.issued)
    if metadata is not None:
        product.metadata[32 * place : 32 * (place + 1)] = metadata.view(np.uint32).tolist()
    outcome = warpgroup.arrive(m.cta.record, group.record, m.warp.record, op.op.site, m.line, -keep, a, b)
    if outcome == warpgroup.NO_WARPGROUP:
        raise Fault(
            "divergent-aligned",
            f"warp {m.warp.index} belongs to no whole warpgroup: the CTA has {len(m.cta.warps)} warps",
            help="wgmma needs four consecutive warps, 128 threads",
        )
    if outcome == warpgroup.OTHER_PRODUCT:
        first = next(i for i in range(WARPS) if group.record.come >> i & 1) + group.number * WARPS
        raise Fault(
            "divergent-aligned",
            f"the warps of a warpgroup execute different wgmma.mma_async: warp {m.warp.index} this one, "
            f"warp {first} that of line {product.line} or with other descriptors",
            help="all four warps execute the same instruction with the same descriptors and scale-d",
        )
    if outcome == warpgroup.WAITS:
        return AtBarrier(BARRIERS + group.number, phase)
    group.complete(warpgroup.forgotten(group.record))
    group.emit_waits(m, before)
    for warp in group.warps:
        _own(m, warp, product)
    group.emit_reads(m, Event.ASYNC_READ, product)
    m.emit(Event.MMA, addresses=(a, b))
    warpgroup.set_due(group.record, m.machine.steps + delay(m.machine))
    group.schedule(group.record.issued - 1)
    return None


def _own(m: Port, warp: Warp, product: ProductRecord) -> None:
    """The tensor core has registers of a warp from now on. Native code is for programs in which nothing touches them."""
    if m.machine.native_product is None:
        warp.in_flight.update(dict.fromkeys(instruction_at(m.machine, product.site).owned, product.line))


def _is_fenced(m: Port, fenced: dict[int, Register], slot: int) -> bool:
    """Whether a register holds what it held at the fence, or a copy of what another one did."""
    held = m.warp.registers[slot]
    return any((held == fenced[one]).all() for one in (slot, *m.machine.copied_into.get(slot, ())))


def _check_fence(m: Port, op: MmaAsync, keep: bool) -> None:
    fenced = m.warp.units.of(Fenced).registers
    used = [slot for slot in (*op.a, *(op.d if keep else ())) if slot is not None]
    if fenced is None:
        what = "no wgmma.fence comes before the first wgmma.mma_async"
    elif not all(_is_fenced(m, fenced, slot) for slot in used if slot not in m.warp.in_flight):
        what = "registers that this wgmma.mma_async uses were written after the last wgmma.fence"
    else:
        return
    m.report(
        "missing-wgmma-fence", what,
        help="put wgmma.fence.sync.aligned between the last access to the registers and wgmma.mma_async",
        fixes=(beside(m, "before", "wgmma.fence.sync.aligned;"),),
    )  # fmt: skip
    fence(m)

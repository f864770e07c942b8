"""The bulk and tensor copies of a machine: their memory, what Python does for them, and how the interpreter begins one.

What happens to copies in flight: machine.copies.bulk_state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.jit.callbacks import Callbacks
from ptxsim.lanes import LANES, mask_word
from ptxsim.machine.asynchronous import delay, owner_of
from ptxsim.machine.barriers.mbarrier import MBarrier, each
from ptxsim.machine.barriers.mbarrier import places as barriers_of
from ptxsim.machine.barriers.mbarrier_state import NEVER
from ptxsim.machine.copies import bulk_state as state
from ptxsim.machine.copies import lane_work, tensor_tile
from ptxsim.machine.copies.bulk_bytes import place_rows, transfer
from ptxsim.machine.copies.bulk_records import HELD, ROOM, TARGET, BulkCopies, BulkCopy, Side
from ptxsim.machine.copies.driver_map import decode
from ptxsim.machine.copies.lane_work import LaneWork
from ptxsim.machine.copies.reduction import combine
from ptxsim.machine.copies.tensor_map import SIZE, SWIZZLES
from ptxsim.machine.copies.tensor_tile import MOST_BYTES, OUTSIDE, TensorRecord, tensor_record
from ptxsim.machine.event import Space
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import ARENA, RANK_SHIFT
from ptxsim.machine.pages import reserve
from ptxsim.machine.records import MBarrierRecord, WarpRecord

if TYPE_CHECKING:
    from ptxsim.lanes import LaneValue
    from ptxsim.machine.cta import Cta, Warp
    from ptxsim.machine.port import Port
    from ptxsim.machine.state import Machine


WORKS = 64  # records for the work of lanes that are made at a time


class Bulk:
    """The copies in flight of one machine."""

    def __init__(self, machine: Machine):
        self.machine, self.record = machine, BulkCopies()
        self.callbacks = Callbacks()
        self._tensors: dict[bytes, TensorRecord] = {}
        self._list = np.empty(ROOM * state.BYTES, np.uint8)
        self._buffers = reserve((1 + HELD) * MOST_BYTES)
        self._rows = np.empty(MOST_BYTES, np.int64)
        self._works: list[np.ndarray] = []
        record = self.record
        record.room, record.copies, record.next_due = ROOM, self._list.ctypes.data, NEVER
        record.buffers, record.rows = self._buffers.ctypes.data, self._rows.ctypes.data
        record.arena = machine.memory.bytes.ctypes.data - ARENA
        record.events, record.notes = machine.stream is not None, machine.checks != "none"
        number, address = ctypes.c_int64, self.callbacks.address
        record.combine, record.refuse = (
            address(self._combine, None, number, number),
            address(self._refuse, None, number),
        )
        record.find_tensor = address(self._find_tensor, number, number)

    @classmethod
    def of(cls, machine: Machine) -> Bulk:
        """Those of a machine, made when first asked for."""
        if machine.copies is None:
            machine.copies = cls(machine)
        return cast("Bulk", machine.copies)

    @property
    def next_due(self) -> int:
        """The turn at which the next copy completes, or NEVER."""
        return self.record.next_due

    # ---- from issue to completion ----

    def begin(self, m: Port, copy: BulkCopy) -> None:
        """An operation of one lane of a warp begins."""
        record, machine = self.record, self.machine
        if record.used == record.room:
            self.widen()
        copy.warp, copy.site = m.warp.record.address, m.site
        ctypes.memmove(record.copies + record.used * state.BYTES, copy.address, state.BYTES)
        state.begin_copy(machine.stream, record, machine.steps + delay(machine))

    def begin_stores(
        self, m: Port, space: str, a: LaneValue, mbar: LaneValue, data: np.ndarray, operation: int = lane_work.STORE
    ) -> bool:
        """The stores of a warp's lanes into the shared memory of their cluster begin, which complete on mbarriers; data: uint8 (lanes, bytes).
        False, with nothing done, where a lane has no mbarrier. Raises Fault."""
        width = data.shape[1]
        places = list(m.resolve(space, a, width, write=True))
        try:
            barriers = dict(each(m, space, mbar))
        except Fault:
            return False
        if not barriers or any(kind != Space.SHARED for kind, *_ in places):
            return False
        work = self._free_work(m)
        work.width, work.operation = width, operation
        words = np.zeros((LANES, 16), np.uint8)
        words[:, :width] = data
        for kind, memory, offsets, mask in places:
            names = m.named(kind, memory, offsets, a)
            for lane in np.flatnonzero(mask).tolist():
                work.targets[lane] = memory.ctypes.data + int(offsets[lane])
                work.names[lane] = int(names[lane])
                work.low[lane], work.high[lane] = words[lane].view(np.int64).tolist()
        self._begin_work(m, work, space, mbar, barriers)
        return True

    def begin_arrivals(self, m: Port, space: str | None, mbar: LaneValue, increments: bool) -> None:
        """Lanes will arrive when the copies have landed that they have issued; increments: the phase expects so many more. Raises Fault."""
        barriers = dict(each(m, space, mbar))
        if not barriers:
            return
        if increments:
            for barrier in barriers.values():
                barrier.add_pending(1)
        work = self._free_work(m)
        work.operation, work.before = lane_work.ARRIVE, m.warp.record.copies.issued
        self._begin_work(m, work, space, mbar, barriers)

    def _free_work(self, m: Port) -> LaneWork:
        """The record that is taken into use next."""
        if self.record.used == self.record.room:
            self.widen()
        if self.record.free_work == 0:
            self.make_work()
        work = LaneWork.from_address(self.record.free_work)
        work.lanes, work.line = mask_word(m.mask), m.line
        return work

    def _begin_work(
        self, m: Port, work: LaneWork, space: str | None, mbar: LaneValue, barriers: dict[int, MBarrier]
    ) -> None:
        for cta, _, offsets, mask in barriers_of(m, space, mbar):
            for lane in np.flatnonzero(mask).tolist():
                work.barriers[lane] = barriers[lane].record.address
                work.barrier_names[lane] = int(offsets[lane]) + (cta.rank << RANK_SHIFT)
        first = min(barriers)
        self.begin(m, BulkCopy(lane=first, size=work.width, work=work.address, barrier=work.barriers[first]))

    def make_work(self) -> None:
        """Records for more work of lanes."""
        some = np.zeros(WORKS * lane_work.BYTES, np.uint8)
        self._works.append(some)
        for number in range(WORKS):
            work = LaneWork.from_address(some.ctypes.data + number * lane_work.BYTES)
            work.free = self.record.free_work
            self.record.free_work = work.address

    def widen(self) -> None:
        """Make room for twice as many copies."""
        old, record = self._list, self.record
        self._list = np.concatenate([old, np.empty_like(old)])
        record.copies, record.room = self._list.ctypes.data, 2 * record.room

    def land_due(self, now: int) -> None:
        """Complete what is due at a turn."""
        state.land_due(self.machine.stream, self.record, now)
        self.callbacks.check()

    def end(self, warps: Iterable[Warp]) -> None:
        """The cluster of these warps has ended: what they have in flight completes."""
        for warp in warps:
            if self.record.used:
                state.land_all(self.machine.stream, self.record, warp.record)
        self.callbacks.check()

    def wait(self, warp: Warp, lanes: int, newest: int, reading: bool) -> None:
        """All but the `newest` latest groups of these lanes complete, or (`reading`) are done with their sources."""
        state.wait_for_bulk(self.machine.stream, self.record, warp.record, lanes, newest, reading)
        self.callbacks.check()

    # ---- tensors ----

    def tensor(self, data: bytes) -> TensorRecord:
        """The tensor map that 128 bytes are. Raises ValueError if they are none."""
        found = self._tensors.get(data)
        if found is None:
            found = self._tensors[data] = tensor_record(decode(data), self.machine.target)
        return found

    def _find_tensor(self, address: int) -> int:
        try:
            return self.tensor(ctypes.string_at(address, SIZE)).address
        except ValueError:
            return 0

    def rows(self, copy: BulkCopy) -> np.ndarray:
        """Device addresses of the first bytes in the tensor of a tile's rows, without those outside. Raises Fault."""
        tensor = TensorRecord.from_address(copy.tensor)
        count = place_rows(self.record.address, copy.address)
        if count < 0:
            raise _misplaced(count, tensor, copy)
        found = self._rows[:count]
        return np.asarray(found[found != OUTSIDE] + tensor_tile.first_inside(tensor, copy.at[0]))

    # ---- called from bodies ----

    def _combine(self, address: int, incoming: int) -> None:
        copy = BulkCopy.from_address(address)
        old = np.empty(copy.size, np.uint8)
        transfer(self.record.address, address, TARGET, old.ctypes.data, False)
        new = np.ctypeslib.as_array((ctypes.c_uint8 * copy.size).from_address(incoming))
        new[:] = combine(copy.reduction, old, new)

    def _refuse(self, address: int) -> None:
        machine, copy = self.machine, BulkCopy.from_address(address)
        warp, op = WarpRecord.from_address(copy.warp), machine.op_at(copy.site)
        gx, gy, _ = machine.grid
        cta = (warp.cta % gx, warp.cta // gx % gy, warp.cta // (gx * gy))
        try:
            barrier = MBarrier(MBarrierRecord.from_address(copy.barrier), machine.shared_variables)
            barrier.check("of the cluster")
            if copy.work and LaneWork.from_address(copy.work).operation == lane_work.ARRIVE:
                barrier.arrive(1, (warp.cta, warp.index, op.line))
            else:
                barrier.complete_bytes(state.brought(copy))
        except Fault as fault:
            if machine.checks != "none":
                machine.add_finding(
                    Finding(
                        fault.name, fault.message, op.line, op.column, len(op.opcode), help=fault.help, cta=cta, warp=warp.index,
                        lane=copy.lane,
                    )
                )  # fmt: skip


def _misplaced(problem: int, tensor: TensorRecord, copy: BulkCopy) -> Fault:
    """What `list_rows` has found wrong."""
    if problem == tensor_tile.MISALIGNED:
        offset, step = copy.at[0] * tensor.bytes // tensor.packed, tensor_tile.first_step(tensor)
        return Fault(
            "misaligned-address",
            f"tensor copy at innermost coordinate {copy.at[0]}: {offset} bytes are no multiple of {step * tensor.bytes // tensor.packed}",
            copy.lane, f"let tiles begin at multiples of {step} elements",
        )  # fmt: skip
    if problem == tensor_tile.TOO_LARGE:
        width = tensor_tile.row_bytes(tensor)
        message = f"tensor copy of {copy.size // width} rows of {width} bytes, more than shared memory has"
        return Fault("out-of-bounds", message, copy.lane, "encode the map with a smaller box")
    if problem == tensor_tile.UNKNOWN_HALO:
        return Fault(
            "not-modeled", "the halo goes over the edge of the pixels' box, into the tensor: the manual's text does not say which pixels "
            "these are", copy.lane, "let the box end where the tensor ends, with a pixel of padding at one side, or copy the halo on its own",
        )  # fmt: skip
    images = range(tensor.rank - 2 if copy.mode == tensor_tile.IM2COL else 1)
    start, low, high = (tuple(v) for v in zip(*((copy.at[1 + i], tensor.low[i], tensor.high[i] - 1) for i in images)))
    return Fault(
        "illegal-instruction", f"im2col copy from pixel {start}, the pixels' bounding box is {low} to {high}", copy.lane,
        "start inside of the box that lower_corner and upper_corner describe",
    )  # fmt: skip


# ---- which memory a lane names -----------------------------------------------------------------------------------------


def shared_side(cta: Cta, start: int) -> Side:
    """Shared memory of a CTA from an offset on."""
    return Side(cta.shared.ctypes.data, start, start + (cta.rank << RANK_SHIFT))


def side_at(m: Port, space: str, address: LaneValue, lane: int, size: int, write: bool = False) -> Side:
    """What lies at the address of a lane, the only one that the port executes; `size` bytes are accessed. Raises Fault."""
    if size == 0:
        return shared_side(m.cta, 0) if space.startswith("shared") else Side(0, ARENA, ARENA)
    for kind, memory, offsets, _ in m.resolve(space, address, size, write=write):
        start = int(offsets[lane])
        return (
            shared_side(owner_of(m, memory), start) if kind == Space.SHARED else Side(0, ARENA + start, ARENA + start)
        )
    raise AssertionError("a lane names one memory")


def written_swizzle(m: Port, address: int) -> str | None:
    """The swizzle of the tensor copy that brought the tile around an address, if the tile has not been written to since."""
    if m.machine.copies is None:
        return None
    number = state.swizzle_at(Bulk.of(m.machine).record, m.cta.shared.ctypes.data + address, state.UNKNOWN_SWIZZLE)
    return None if number == state.UNKNOWN_SWIZZLE else SWIZZLES[number]

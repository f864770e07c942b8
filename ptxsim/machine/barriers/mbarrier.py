"""mbarriers as the lanes of a warp use them. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".

The objects are records of the CTA in whose shared memory they live (machine.barriers.mbarrier_state); here are the lanes that name
them, in any CTA of the cluster, and the words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.lanes import LANES, LaneValue, lane_numbers, lanes_of, mask_word
from ptxsim.machine.asynchronous import cluster_addresses, owner_of
from ptxsim.machine.barriers import mbarrier_state as state
from ptxsim.machine.barriers.mbarrier_end import look_at
from ptxsim.machine.barriers.mbarrier_state import DONE, MAX_COUNT, describe
from ptxsim.machine.draws import gives_up
from ptxsim.machine.event import ODD_PHASE, Event, Space
from ptxsim.machine.fault import AtMBarriers, Fault
from ptxsim.machine.memory import RANK_SHIFT, check_alignment
from ptxsim.machine.records import MBarrierRecord, Split
from ptxsim.machine.shared_names import Variables, shared_name

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta, Warp
    from ptxsim.machine.port import Port
    from ptxsim.machine.state import Machine

Who = tuple[int, int, int]  # CTA, warp, line


@dataclass(slots=True, eq=False)
class MBarrier:
    """One object. `variables` are those of the shared memory in which it lives."""

    record: MBarrierRecord
    variables: Variables = field(default_factory=dict)

    def __str__(self) -> str:
        return f"the mbarrier {shared_name(self.variables, self.record.called)}"

    def check(self, whose: str) -> None:
        """Raise Fault `mbarrier-init` if the object has been ended, or the program has written over it. whose: a barrier of which threads meet."""
        if not self.record.live:
            raise Fault(
                "mbarrier-init", f"the mbarrier at {self.record.called:#x} has been ended by mbarrier.inval",
                help=f"before mbarrier.inval put a barrier {whose} that all who use it come to, or initialise it again",
            )  # fmt: skip
        self.check_intact()

    def check_intact(self) -> None:
        """Raise if the program has written over the object."""
        if not state.is_intact(self.record):
            found = state.Word.from_address(self.record.word).bits & (1 << 64) - 1
            word = state.bits_of(self.record) & (1 << 64) - 1
            raise Fault(
                "mbarrier-init",
                f"{self} has been overwritten: its 64 bits are {found:#018x}, not {word:#018x}",
                help="keep other data off the mbarrier's 8 bytes, or mbarrier.inval it first",
            )

    def arrive(self, count: int, who: Who, kind: int = 0) -> int:
        """`count` arrivals, of a kind (state.DROP, NO_COMPLETE). Returns the token of the state before."""
        token = state.token_of(self.record)
        self._succeed(state.arrive(self.record, count, kind, *who), count)
        return token

    def add_pending(self, count: int) -> None:
        """More arrivals are expected in this phase (cp.async.mbarrier.arrive without .noinc)."""
        self._succeed(state.add_pending(self.record, count), count)

    def expect_bytes(self, count: int) -> None:
        """Announce `count` bytes for this phase."""
        self._succeed(state.expect_bytes(self.record, count), count)

    def complete_bytes(self, count: int) -> None:
        """`count` bytes have been transferred."""
        self._succeed(state.complete_bytes(self.record, count), -count)

    def _succeed(self, status: int, count: int) -> None:
        """Raise the Fault that a status says."""
        if status == DONE:
            return
        record = self.record
        if status == state.TOO_MANY_ARRIVALS:
            raise Fault(
                "mbarrier-overflow", f"{count} arrivals on {self}, which waits for {record.pending} of {record.expected} (initialised at line {record.init_line})",
                help="initialise it with the number of arrivals of one phase; wait for the phase before arriving again",
            )  # fmt: skip
        if status == state.WOULD_COMPLETE:
            raise Fault(
                "mbarrier-phase", f"arrive.noComplete completes the phase of {self}",
                help="leave out .noComplete for the last arrival",
            )  # fmt: skip
        if status == state.TOO_MANY_PENDING:
            most = state.most_arrivals(self.record.layout)
            raise Fault("mbarrier-overflow", f"the pending count of {self} passes {most}")
        assert status == state.TOO_MANY_BYTES
        raise Fault(
            "mbarrier-overflow",
            f"the transaction count of {self} becomes {record.bytes + count}, beyond {MAX_COUNT} bytes",
            help="announce at most 1048575 bytes per phase",
        )


def find(cta: Cta, offset: int, address: int) -> MBarrier:
    """The live mbarrier at an offset. Raises Fault `mbarrier-init` if there is none or it was written over."""
    table = cta.mbarriers
    place = state.place_of(table, offset)
    whose = "of the cluster" if cta.cluster.size > 1 else "for the CTA"
    if place == state.NOWHERE:
        live = (each.offset for each in table.all[: table.used] if each.live)
        near = [at for at in live if at - 8 < offset < at + 8]
        where = f"; there is one at {near[0]:#x}" if near else ""
        raise Fault(
            "mbarrier-init", f"no mbarrier has been initialised at {address:#x}{where}",
            help=f"mbarrier.init it in one thread, then a barrier {whose} before another thread uses it",
        )  # fmt: skip
    found = MBarrier(table.all[place], cta.cluster.variables)
    found.check(whose)
    return found


# ---- which objects lanes name ------------------------------------------------------------------------------------------


def who(m: Port) -> Who:
    """The executing warp and instruction."""
    return m.cta.linear, m.warp.index, m.line


def per_lane(value: LaneValue) -> np.ndarray:
    """A lane value or a literal as 32 integers."""
    return np.broadcast_to(np.asarray(value), LANES)


def places(m: Port, space: str | None, address: LaneValue) -> Iterator[tuple[Cta, np.ndarray, np.ndarray, np.ndarray]]:
    """(CTA, bytes, offsets, lanes) of the mbarrier operands of the executing lanes."""
    check_alignment(address, m.mask, 8, "mbarrier operation")
    for kind, memory, offsets, mask in m.resolve(space, address, 8, write=True):
        if kind != Space.SHARED:
            raise Fault(
                "wrong-space", f"an mbarrier lives in shared memory, here is a {kind.name.lower()} address",
                int(np.argmax(mask)), "give the address of a variable in .shared",
            )  # fmt: skip
        yield owner_of(m, memory), memory, offsets, mask


def each(
    m: Port, space: str | None, address: LaneValue, event: Event | None = None, skips: Callable[[Cta, int, int], bool] | None = None
) -> Iterator[tuple[int, MBarrier]]:  # fmt: skip
    """(lane, mbarrier) of every executing lane, lowest first within each CTA, but for those of which `skips` says, given CTA, offset and lane,
    that there is nothing to do."""
    for cta, memory, offsets, mask in places(m, space, address):
        if event is not None:
            m.emit(event, Space.SHARED, 8, 0, mask, cluster_addresses(m, memory, offsets))
        found = None
        for lane, offset in zip(np.flatnonzero(mask).tolist(), offsets[mask].tolist()):
            if skips is not None and skips(cta, offset, lane):
                continue
            try:
                if found is None or found.record.offset != offset or not found.record.live:
                    found = find(cta, offset, int(address[lane]))
                yield lane, found
            except Fault as fault:
                fault.lane = lane if fault.lane is None else fault.lane
                raise


# ---- what instructions do ----------------------------------------------------------------------------------------------


class MBarriers:
    """The operations on mbarriers of one instruction of one warp, lane by lane. `space` and `a` say where the objects are."""

    def __init__(self, port: Port):
        self.port = port

    def init(self, space: str | None, a: LaneValue, n: LaneValue, layout: int = 0) -> None:
        """New objects of a layout that wait for n arrivals in each phase."""
        m, count, most = self.port, per_lane(n), state.most_arrivals(layout)
        for cta, memory, offsets, mask in places(m, space, a):
            m.emit(Event.STORE, Space.SHARED, 8, 0, mask, cluster_addresses(m, memory, offsets))
            for lane in map(int, np.flatnonzero(mask)):
                expected = int(count[lane])
                if not 1 <= expected <= most:
                    message = f"mbarrier.init with count {expected}; it must be in 1..{most}"
                    raise Fault("mbarrier-init", message, lane)
                self._check_free(cta, int(offsets[lane]), lane, int(a[lane]))
                state.begin(cta.mbarriers, int(offsets[lane]), int(a[lane]), expected, layout, m.line)

    def _check_free(self, cta: Cta, offset: int, lane: int, address: int) -> None:
        """Report an object that lives where another one begins."""
        table = cta.mbarriers
        place = state.place_of(table, offset)
        if place == state.NOWHERE or not table.all[place].live:
            return
        known = table.all[place]
        busy = known.pending != known.expected or known.bytes
        self.port.report(
            "mbarrier-init",
            f"mbarrier.init at {address:#x}, where an mbarrier is alive" + (f" and in use: {describe(known, cta.cluster.variables)}" if busy else ""),
            lane, "mbarrier.inval the old one first", level="error" if busy else "warning",
        )  # fmt: skip

    def has_layout(self, space: str | None, a: LaneValue, layout: int) -> LaneValue:
        """Whether objects have a layout."""
        found = np.zeros(LANES, bool)
        for lane, barrier in each(self.port, space, a):
            found[lane] = barrier.record.layout == layout
        return found

    def inval(self, space: str | None, a: LaneValue) -> None:
        """The objects are no more; their memory is the program's."""
        for _, barrier in each(self.port, space, a, Event.STORE, self._has_ended):
            look_at(self.port.machine, self.port.cta.mbarriers, barrier.record)
            barrier.record.live = 0

    def _has_ended(self, cta: Cta, offset: int, lane: int) -> bool:
        """Whether an object is no more, which is reported and left at that: libcu++ destroys what its pipelines share twice."""
        table = cta.mbarriers
        place = state.place_of(table, offset)
        if place == state.NOWHERE or table.all[place].live:
            return False
        where = shared_name(cta.cluster.variables, table.all[place].called)
        help = "the manual asks for a live one: leave one mbarrier.inval out"
        self.port.report(
            "mbarrier-init", f"mbarrier.inval of {where}, which has been ended before", lane, help, level="warning"
        )
        return True

    def arrive(self, space: str | None, a: LaneValue, n: LaneValue, kind: int = 0) -> LaneValue:
        """n arrivals of a kind; gives tokens."""
        m, count = self.port, per_lane(n)
        tokens = np.zeros(LANES, np.uint64)
        for lane, barrier in each(m, space, a):
            tokens[lane] = barrier.arrive(int(count[lane]), who(m), kind)
        self._tell(space, a, tokens)
        return tokens

    def arrive_expecting(self, space: str | None, a: LaneValue, n: LaneValue, kind: int = 0) -> LaneValue:
        """n bytes are announced, then one arrival; gives tokens."""
        m, count = self.port, per_lane(n)
        tokens = np.zeros(LANES, np.uint64)
        for lane, barrier in each(m, space, a):
            barrier.expect_bytes(int(count[lane]))
            tokens[lane] = barrier.arrive(1, who(m), kind)
        self._tell(space, a, tokens)
        return tokens

    def expect(self, space: str | None, a: LaneValue, n: LaneValue) -> None:
        """n bytes are announced."""
        count = per_lane(n)
        for lane, barrier in each(self.port, space, a):
            barrier.expect_bytes(int(count[lane]))

    def complete(self, space: str | None, a: LaneValue, n: LaneValue) -> None:
        """n bytes have been transferred."""
        count, tokens = per_lane(n), np.zeros(LANES, np.uint64)
        for lane, barrier in each(self.port, space, a):
            tokens[lane] = state.token_of(barrier.record)
            barrier.complete_bytes(int(count[lane]))
        self._tell(space, a, tokens)

    def _tell(self, space: str | None, a: LaneValue, tokens: np.ndarray) -> None:
        tell(self.port, space, a, tokens >> np.uint64(state.TOKEN_PHASE), 0)

    def test(self, space: str | None, a: LaneValue, wanted: LaneValue, parity: bool) -> LaneValue | AtMBarriers:
        """Whether phases are complete: those of a parity, or those that tokens were given in."""
        m, open_lanes = self.port, self._watch(space, a, wanted, parity)
        if open_lanes and state.polled_too_often(m.warp.record, open_lanes):
            return AtMBarriers(mask_word(m.mask))
        return self._passed(open_lanes)

    def try_wait(self, space: str | None, a: LaneValue, wanted: LaneValue, parity: bool) -> LaneValue | AtMBarriers:
        """The same, but wait for phases that are not."""
        machine, open_lanes = self.port.machine, self._watch(space, a, wanted, parity)
        if not open_lanes or (machine.mixes and gives_up(machine.draws)):
            return self._passed(open_lanes)
        return AtMBarriers(mask_word(self.port.mask))

    def _watch(self, space: str | None, a: LaneValue, wanted: LaneValue, parity: bool) -> int:
        """Let the lanes watch what they name; the lanes whose phases are not complete."""
        m, value = self.port, per_lane(wanted)
        record, look = m.warp.record, state.watch_parity if parity else state.watch_token
        for lane, barrier in each(m, space, a):
            status = look(record, lane, barrier.record, int(value[lane]))
            if status == state.STALE_TOKEN:
                phase = int(value[lane]) >> state.TOKEN_PHASE
                raise Fault(
                    "mbarrier-phase",
                    f"the state waited for is of phase {phase}, {barrier} is in phase {barrier.record.phase}",
                    lane, "wait with the state that the arrival of the current or the preceding phase returned",
                )  # fmt: skip
        return state.open_lanes(record, mask_word(m.mask))

    def _passed(self, open_lanes: int) -> np.ndarray:
        passed = mask_word(self.port.mask) & ~open_lanes
        emit_passed(self.port.machine, self.port.warp, self.port.site, passed)
        return lanes_of(passed)


def tell(m: Port, space: str | None, address: LaneValue, phases: np.ndarray, flags: int) -> None:
    """Tell observers about arrivals in phases, by lane."""
    for _, memory, offsets, mask in places(m, space, address):
        named = cluster_addresses(m, memory, offsets) | odd_phase(phases)
        m.emit(Event.MBARRIER_ARRIVE, Space.SHARED, 8, flags, mask, named)


def odd_phase(phase: np.ndarray) -> np.ndarray:
    """What the address of an mbarrier has in events, by the number of the phase."""
    return (phase & np.uint64(1)) << np.uint64(ODD_PHASE)


def end_wait(machine: Machine, warp: Warp, split: Split) -> np.ndarray:
    """Let a split go on whose wait is over; the predicate of each lane."""
    passed = state.end_wait(warp.record, split, machine.steps)
    emit_passed(machine, warp, split.site, passed)
    return lanes_of(passed)


def emit_passed(machine: Machine, warp: Warp, site: int, lanes: int) -> None:
    """Tell observers about the lanes whose phases are complete, for each CTA whose mbarriers they are."""
    if machine.stream is None or not lanes:
        return
    ctas, addresses = warp.cta.cluster.ctas, np.zeros(LANES, np.uint64)
    owners: dict[int, int] = {}  # lanes by the rank of the CTA
    for lane in lane_numbers(lanes):
        barrier = MBarrierRecord.from_address(warp.record.watched[lane])
        shared = barrier.word - barrier.offset
        rank = next(i for i, cta in enumerate(ctas) if cta.shared.ctypes.data == shared)
        owners[rank] = owners.get(rank, 0) | 1 << lane
        addresses[lane] = barrier.offset + (rank << RANK_SHIFT) | (warp.record.watched_in[lane] & 1) << ODD_PHASE
    for part in owners.values():
        machine.stream.emit(site, warp.cta.linear, warp.index, Event.MBARRIER_WAIT, Space.SHARED, 8, 0, part, addresses)

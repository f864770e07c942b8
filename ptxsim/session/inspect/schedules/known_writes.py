"""What each CTA knows of writes to global memory by others, and what was there before: a CTA that does not know of a write may read the old value.

Knowledge is kept for a whole CTA, and a value that one of its threads has seen counts as seen by all: so no value is taken to be possible
that is not. PTX ISA, "Memory Consistency Model: Causality Order, Coherence Order".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Access, AccessKind, Mechanism
from ptxsim.lanes import lane_numbers
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import ARENA, GlobalMemory
from ptxsim.machine.state import Machine

_REACH = 16  # bytes: no access is wider
_ACQUIRES, _RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")

Clock = dict[int, int]  # by CTA: up to when what it has done is known


def only_access(op: Op) -> Access | None:
    """The access of an instruction that has one."""
    return op.accesses[0] if len(op.accesses) == 1 else None


def _matters(op: Op) -> bool:
    """Whether what an operation does to global memory changes what CTAs know, or may find."""
    meeting = op.synchronises
    return (meeting is not None and meeting.mechanism in (Mechanism.FENCE, Mechanism.BARRIER)) or any(
        access.order != "weak" or access.writes for access in op.accesses
    )


def _reaches_ctas(scope: str | None) -> bool:
    return scope != "cta"


@dataclass(slots=True)
class _Write:
    """One write of a place: when, by which CTA and instruction, and what was there then."""

    time: int
    cta: int
    site: int
    value: bytes


class Knowledge(Observer):
    """What each CTA knows of writes to global memory, and what places have held."""

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.FENCE, Event.LEAVE})
    spaces = frozenset({Space.GLOBAL})
    selects = True  # what it has looked at before a batch is full it knows

    def __init__(self, program: Program):
        self.program = program
        self.time, self.looked_at = 0, 0
        # Sites whose accesses might come before what they have met.
        self.early_loads, self.early_stores = set[int](), set[int]()
        self.weak_loads = np.array([not _matters(op) for op in program.ops], np.bool_)
        self.memory: GlobalMemory | None = None
        self.before: GlobalMemory | None = None
        self.writes: dict[tuple[int, int], list[_Write]] = {}  # by address and width
        self.seen: dict[tuple[int, tuple[int, int]], int] = {}  # by CTA and place: how many of its writes
        self.known: dict[int, Clock] = {}
        self.passing: dict[int, Clock] = {}  # by CTA: what it knows after its next fence
        self.fenced: dict[int, Clock] = {}  # by CTA: what it had done at its last fence
        self.covered: Clock = {}  # what fences of one order cover
        self.released: dict[int, Clock] = {}  # by address
        # Of the turn that is over: site, CTA, place, and how many of its writes the CTA had seen.
        self.touched: list[tuple[int, int, tuple[int, int], int]] = []
        # Places that hold an old value now: how many of their writes can be seen.
        self.late: dict[tuple[int, int], int] = {}
        # The instruction that got an old value, or came first, and the one that came too late for it; whether what has been done may be.
        self.met: tuple[int, int] | None = None
        self.is_legal = True
        self.hidden: dict[tuple[int, int], tuple[bytes, int]] = {}  # what is there in truth, and the site that wrote it

    def consume(self, records: np.ndarray) -> None:
        self._take(records[self.looked_at :])
        self.looked_at = 0

    def finish(self) -> None:
        self.restore()

    def hide(self, place: tuple[int, int], count: int) -> None:
        """Let a place hold what it held when so many of its writes had been."""
        self.hidden[place] = self.value(place), self.writes[place][count].site
        self.late[place] = count
        self._put(place, self.old_value(place, count))

    def restore(self) -> bool:
        """Let all places hold what they hold in truth; whether any access has met what they held instead."""
        is_met = False
        for site, _, place, _ in self.touched if self.hidden else ():
            if place in self.hidden:
                is_met, self.met = True, self.met or (site, self.hidden[place][1])
                self.is_legal = self.is_legal and not self.program.ops[site].accesses[0].writes
        for place, (value, _) in self.hidden.items():
            self._put(place, value)
        self.hidden.clear()
        self.late.clear()
        return is_met

    def swap(self, place: tuple[int, int], cta: int) -> None:
        """Let the last two writes of a place come the other way round."""
        first, last = self.writes[place][-2:]
        self.writes[place][-2:] = [last, first]
        self.seen[cta, place] = len(self.writes[place]) - 1
        self._put(place, first.value)

    def look(self, machine: Machine) -> None:
        """Take what has happened until now."""
        assert machine.stream is not None
        self._take(machine.stream.records[self.looked_at : machine.stream.count])
        self.looked_at = machine.stream.count

    def _take(self, records: np.ndarray) -> None:
        for record in records[~self.weak_loads[records["site"]]]:
            event, site, cta = int(record["event"]), int(record["site"]), int(record["cta"])
            if event == Event.FENCE:
                self._fence(self.program.ops[site], cta)
            elif event == Event.LEAVE:
                # Many a program has no fence of the reader but a barrier (see checks.order.edges.hearsay).
                self.known[cta] = joined(self.known.get(cta, {}), self.passing.pop(cta, {}))
            elif event <= Event.REDUCE and record["space"] == Space.GLOBAL:
                self.time += 1
                width = int(record["width"])
                for lane in lane_numbers(int(record["mask"])):
                    self._touch(self.program.ops[site], cta, (int(record["addresses"][lane]), width))

    def _own(self, cta: int) -> Clock:
        return {**self.known.get(cta, {}), cta: self.time}

    def _fence(self, op: Op, cta: int) -> None:
        if op.fence is None or not op.fence.is_thread_fence or not _reaches_ctas(op.fence.scope):
            return
        known = joined(self.known.get(cta, {}), self.passing.pop(cta, {}))
        if op.fence.order in (None, "sc"):
            known = joined(known, self.covered)
            self.covered = joined(self.covered, {**known, cta: self.time})
        self.known[cta], self.fenced[cta] = known, {**known, cta: self.time}

    def _touch(self, op: Op, cta: int, place: tuple[int, int]) -> None:
        access, address = only_access(op), place[0]
        self.touched.append((op.site, cta, place, self.seen.get((cta, place), 0)))
        if access is None:
            return
        writes = self.writes.setdefault(place, [])
        if (
            writes
            and access.order != "weak"
            and access.kind is not AccessKind.ATOMIC
            and self.oldest(cta, place) < len(writes)
        ):
            (self.early_stores if access.writes else self.early_loads).add(op.site)
        is_strong = access.order != "weak" and _reaches_ctas(access.scope)
        released = self.released.get(address)
        if access.reads and is_strong and released is not None:
            gets = self.known if access.order in _ACQUIRES else self.passing
            gets[cta] = joined(gets.get(cta, {}), released)
        if access.writes:
            writes.append(_Write(self.time, cta, op.site, self.value(place)))
            given = self._own(cta) if access.order in _RELEASES else self.fenced.get(cta)
            if not is_strong:
                self.released.pop(address, None)
            elif access.reads:
                self.released[address] = joined(released or {}, given or {})
            else:
                self.released[address] = given or {}
        self.seen[cta, place] = self.late.get(place, len(writes))

    def value(self, place: tuple[int, int], memory: GlobalMemory | None = None) -> bytes:
        """What a place holds, if its values are followed."""
        memory, start = memory or self.memory, place[0] - ARENA
        return memory.bytes[start : start + place[1]].tobytes() if memory is not None else b""

    def _put(self, place: tuple[int, int], value: bytes) -> None:
        assert self.memory is not None
        start = place[0] - ARENA
        self.memory.bytes[start : start + place[1]] = np.frombuffer(value, np.uint8)

    def oldest(self, cta: int, place: tuple[int, int]) -> int:
        """How many of its writes a CTA must see at a place."""
        writes, known = self.writes[place], self.known.get(cta, {})
        count = self.seen.get((cta, place), 0)
        for number in range(len(writes), count, -1):
            one = writes[number - 1]
            if one.cta == cta or known.get(one.cta, -1) >= one.time:
                return number
        return count

    def old_value(self, place: tuple[int, int], count: int) -> bytes:
        """What a place held when so many of its writes had been."""
        assert self.before is not None
        return self.writes[place][count - 1].value if count else self.value(place, self.before)

    def stands_alone(self, place: tuple[int, int]) -> bool:
        """Whether no access of another size, or to a part, has written there."""
        address, width = place
        return not any(
            address - _REACH < other < address + width and other + size > address and (other, size) != place
            for other, size in self.writes
        )


def joined(one: Clock, two: Clock) -> Clock:
    """What either of two knows."""
    return {cta: max(one.get(cta, 0), two.get(cta, 0)) for cta in {**one, **two}}

"""Data with flags in it (`awaited_data`) that is overwritten before all lanes are known to have read it: one lane gives a slot back for others.

Such reads and writes are strong and no race. But a thread that looks for a flag that has been overwritten looks for ever. So the writer
must know that the look is over: by a flag, released or not, of a thread that knew of it then. Lanes know of each other by bar.warp.sync,
threads of a CTA by any barrier, wait or strong read of shared memory; CUDA Programming Guide, "Independent Thread Scheduling".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ptxsim.checks.order.dataflow.data_with_flags import awaited_data
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import LANES, lane_numbers
from ptxsim.machine.event import FLAG_UNCHANGED, Event, Observer, Space

_WRITES = (Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE)
_READS = (Event.LOAD, Event.ATOMIC, Event.CAS)


Thread = tuple[int, int, int]  # CTA, warp and lane


class Look(NamedTuple):
    """The last look of a thread at data."""

    cta: int
    warp: int
    lane: int
    time: int
    site: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A strong write to global memory, and what its thread knew: of its CTA up to `met`, of each lane of its warp up to a time of its own."""

    cta: int
    warp: int
    lane: int
    time: int
    site: int
    met: int
    lanes: Sequence[int]

    def tells(self, look: Look) -> bool:
        """Whether its thread knew of a look of its CTA."""
        if self.met >= look.time:
            return True
        is_own = self.lane == look.lane and self.time > look.time
        return self.warp == look.warp and (is_own or self.lanes[look.lane] >= look.time)


class OvertakenChecker(Observer):
    """Finds data with flags that is written over in no order after others' looks."""

    events = frozenset({*_WRITES, Event.LOAD, Event.LEAVE, Event.MBARRIER_WAIT, Event.SYNC_WARP})
    spaces = frozenset({Space.SHARED, Space.GLOBAL})

    def __init__(self, program: Program):
        self.now = 0
        self.data = awaited_data(program)
        self.strong = np.array([any(each.order != "weak" for each in op.accesses) for op in program.ops], bool)
        self.loops = frozenset[int]().union(*self.data.values())
        self.begun: dict[Thread, dict[int, Look]] = {}  # by address: looks that a thread may repeat
        self.looks: dict[int, Look] = {}  # by address: after which the thread has left the loop
        self.met: dict[int, int] = {}  # by CTA: when its threads last met, or may have
        # By CTA and warp: of each lane, when it last met others of its warp; and its last load, with how much had been written before.
        self.synced: dict[tuple[int, int], np.ndarray] = {}
        self.last: dict[tuple[int, int], tuple[int, int, bytes, int]] = {}
        self.written = 0
        self.flags: dict[int, dict[Thread, Flag]] = {}  # by address: of the last store, and of atomics since
        self.heard: dict[int, dict[Thread, Flag]] = {}  # by CTA: the last flag of each thread that it has seen
        self.problems: dict[tuple[int, int, int], tuple[int, Look]] = {}  # by the sites of a write, a look and a flag

    def consume(self, records: np.ndarray) -> None:
        fields = (records[name].tolist() for name in ("event", "cta", "warp", "site", "mask", "space"))
        for number, (event, cta, warp, site, mask, space) in enumerate(zip(*fields)):
            self.now += 1
            if site not in self.loops:
                for lane in lane_numbers(mask):
                    self.looks.update(self.begun.pop((cta, warp, lane), {}))
            if event == Event.SYNC_WARP:
                self._synced(cta, warp)[lane_numbers(mask)] = self.now
            elif event in (Event.LEAVE, Event.MBARRIER_WAIT) or (self.strong[site] and space == Space.SHARED):
                self.met[cta] = self.now
            elif self.strong[site] and space == Space.GLOBAL:
                record = records[number]
                if event == Event.LOAD:
                    look = site, mask, record["addresses"].tobytes(), self.written
                    if self.last.get((cta, warp)) == look:
                        continue  # nothing is new
                    self.last[cta, warp] = look
                self._access(record, event, cta, site, lane_numbers(mask))

    def _access(self, record: np.void, event: int, cta: int, site: int, lanes: list[int]) -> None:
        addresses, warp, heard = record["addresses"].tolist(), int(record["warp"]), self.heard.setdefault(cta, {})
        if event in _READS:
            for address in {addresses[lane] for lane in lanes}:
                for thread, flag in self.flags.get(address, {}).items():
                    if thread not in heard or heard[thread].time < flag.time:
                        heard[thread] = flag
        if event == Event.LOAD and site in self.data:
            for lane in lanes:
                mine = self.begun.setdefault((cta, warp, lane), {})
                if addresses[lane] not in mine:  # what it has looked for elsewhere has come
                    before = [place for place, look in mine.items() if look.site == site]
                    self.looks.update((place, mine.pop(place)) for place in before)
                mine[addresses[lane]] = Look(cta, warp, lane, self.now, site)
        if event not in _WRITES:
            return
        self.written += 1
        synced, met = self._synced(cta, warp), self.met.get(cta, 0)
        for lane in lanes:
            address = addresses[lane]
            look = self.looks.pop(address, None) if not int(record["flags"]) & FLAG_UNCHANGED else None
            if look is not None and look.cta != cta:
                self._judge(look, cta, site)
            known = np.minimum(synced, synced[lane])
            flag = Flag(cta, warp, lane, self.now, site, met, known)
            there = self.flags.setdefault(address, {})
            if event == Event.STORE:
                there.clear()
            there[cta, warp, lane] = flag

    def _judge(self, look: Look, cta: int, site: int) -> None:
        """A thread of a CTA writes over what another has looked at."""
        later = [each for each in self.heard[cta].values() if each.cta == look.cta and each.time > look.time]
        if later and not self._knows(look, cta):
            key = site, look.site, later[0].site
            count, first = self.problems.get(key, (0, look))
            self.problems[key] = count + 1, first

    def _knows(self, look: Look, cta: int) -> bool:
        """Whether a CTA may know of a look by flags, also of those that others have set who may know of it."""
        rest, seen = [cta], {cta}
        while rest:
            later = [flag for flag in self.heard.get(rest.pop(), {}).values() if flag.time > look.time]
            if any(flag.cta == look.cta and flag.tells(look) for flag in later):
                return True
            others = {flag.cta for flag in later} - seen
            seen |= others
            rest.extend(others)
        return False

    def _synced(self, cta: int, warp: int) -> np.ndarray:
        found = self.synced.get((cta, warp))
        if found is None:
            found = self.synced[cta, warp] = np.zeros(LANES, np.int64)
        return found

    def findings(self, program: Program) -> list[Finding]:
        """One for each write and look."""
        found: dict[tuple[int, int], Finding] = {}
        for (site, looked, told), (count, look) in self.problems.items():
            op, load, flag = program.ops[site], program.ops[looked], program.ops[told]
            if (site, looked) in found:
                one = found[site, looked]
                found[site, looked] = replace(one, count=one.count + count)
                continue
            found[site, looked] = Finding(
                "race-global",
                f"{op.opcode} writes over data that lanes of CTA {look.cta} look for at line {load.line}: the lane that gives the place back at line "
                f"{flag.line} does not know whether lane {look.lane} of warp {look.warp} has seen it",
                op.line, op.column, len(op.opcode), level="warning", count=count,
                labels=(Label.at(load, "looked for here"), Label.at(flag, "given back here")),
                notes=("lanes of a warp go on each at its own pace: one that has not seen its flag yet looks for it for ever",),
                help=f"let the lanes meet between line {load.line} and line {flag.line}: bar.warp.sync (__syncwarp()), or bar.sync where several warps share it",
            )  # fmt: skip
        return list(found.values())

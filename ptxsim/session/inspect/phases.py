"""Accesses that come too soon because a wait on an mbarrier was for a phase that was over: a repetition of the launch shows the phases.

A wait for a parity returns at once where the phase of that parity is over: always for parity 1 of a new mbarrier, and for a parity that
has not been turned since the wait before. What follows then races with what completes in a later phase; the wait is the cause.
PTX ISA, "mbarrier: Phase of the mbarrier object" and "mbarrier.test_wait".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_ISSUED, ODD_PHASE, Event, Observer
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.shared_names import Variables, shared_name
from ptxsim.source import Source

BEFORE_ALL = -1  # the phase before the first, of parity 1, which is over from the start
MOST = 400_000  # records that are looked at: the first such wait is among them or in none
_RACES = frozenset(
    {"race-shared", "race-global", "missing-wait", "cp-async-not-waited", "tile-overwritten", "tensor-memory-order"}
)
_ALONE = frozenset({"uninitialized-read", "mbarrier-overflow"})  # one place: what has come too soon

MBarrier = tuple[int, int]  # its cluster, and its address there
Warp = tuple[int, int]  # CTA, and number in it


@dataclass(slots=True)
class _Wait:
    """The last wait of a warp on an mbarrier that has returned, and when a wait for that phase did so first."""

    site: int
    phase: int
    lanes: int
    first: int
    last: int
    is_again: bool = False  # what follows it followed an earlier wait for that phase, too


@dataclass(slots=True)
class _Uses:
    """What is known of the accesses of an instruction and its copies: when each warp made them, waits for phases that were over before them, and
    the phases in which what comes after them completes."""

    op: Op
    times: dict[Warp, list[int]] = field(default_factory=dict)
    over: dict[MBarrier, _Wait] = field(default_factory=dict)
    completes: dict[MBarrier, set[int]] = field(default_factory=dict)


class Phases(Observer):
    """Counts phases of mbarriers, and looks at waits before the instructions at some sites, and at arrivals after them.

    places: the sites, each with the first one of those that are alike (`places_of`).
    """

    selects = True

    def __init__(self, program: Program, homes: Homes, places: Mapping[int, int]):
        self.grid, self.cluster_of = homes.grid, homes.numbers() // homes.size
        self.places = places
        self.uses = {site: _Uses(program.ops[site]) for site in places.values()}
        self.inits = {
            op.site for op in program.ops if op.synchronises == Synchronisation(Mechanism.MBARRIER, Role.INIT)
        }
        self.is_looked_at = np.zeros(len(program.ops), bool)
        self.is_looked_at[[*places, *self.inits]] = True
        self.phase: dict[MBarrier, int] = {}  # the one that goes on, as far as arrivals have shown
        self.waits: dict[Warp, dict[MBarrier, _Wait]] = {}
        self.arriving: set[Warp] = set()
        self.open: dict[
            Warp, list[_Uses]
        ] = {}  # what a warp has accessed since it has waited, of one kind: reads or writes
        self.now = 0

    def consume(self, records: np.ndarray) -> None:
        event = records["event"]
        of_mbarriers = (event == Event.MBARRIER_ARRIVE) | (event == Event.MBARRIER_WAIT)
        wanted = of_mbarriers | (event <= Event.ASYNC_WAIT) & self.is_looked_at[records["site"]]
        for record in records[wanted]:
            self.now += 1
            if self.now > MOST:
                return
            self._look(record)

    def _look(self, record: np.void) -> None:
        site, warp = int(record["site"]), (int(record["cta"]), int(record["warp"]))
        kind, flags = int(record["event"]), int(record["flags"])
        if site in self.inits:
            for at, _, _ in self._named(record):
                self.phase[at] = 0
                for known in self.waits.values():
                    known.pop(at, None)
        elif kind == Event.MBARRIER_WAIT:
            self.open.pop(warp, None)
            for at, is_odd, lanes in self._named(record):
                now = self._phase(at)
                self._waited(self.waits.setdefault(warp, {}), at, site, now - (now & 1 != is_odd), lanes)
        elif kind == Event.MBARRIER_ARRIVE and flags & FLAG_ASYNC_PROXY and flags & FLAG_ISSUED:
            return  # it comes later
        elif kind == Event.MBARRIER_ARRIVE:
            for at, is_odd, _ in self._named(record):
                now = self._phase(at)
                self.phase[at] = now = now + (now & 1 != is_odd)
                self._arrived(warp, at, now, site if flags & FLAG_ASYNC_PROXY else None)
            if site in self.places and not flags & FLAG_ASYNC_PROXY:
                self._used(self.uses[self.places[site]], warp)
        else:
            self._used(self.uses[self.places[site]], warp)

    def stopped(self, finding: Finding, site: int) -> None:
        """An instruction has failed, which no record says."""
        if finding.cta is not None and finding.warp is not None:
            (x, y, z), (gx, gy, _) = finding.cta, self.grid
            self._used(self.uses[self.places[site]], (x + gx * (y + gy * z), finding.warp))

    def _named(self, record: np.void) -> Iterable[tuple[MBarrier, int, int]]:
        """The mbarriers of a record, whether the number of the phase is odd, and the lanes."""
        found: dict[int, int] = {}
        for lane, address in enumerate(record["addresses"].tolist()):
            if int(record["mask"]) >> lane & 1:
                found[address] = found.get(address, 0) | 1 << lane
        cluster = int(self.cluster_of[record["cta"]])
        for address, lanes in found.items():
            yield (cluster, address & (1 << ODD_PHASE) - 1), address >> ODD_PHASE & 1, lanes

    def _phase(self, at: MBarrier) -> int:
        return self.phase.get(at, 0)

    def _waited(self, waits: dict[MBarrier, _Wait], at: MBarrier, site: int, phase: int, lanes: int) -> None:
        last = waits.get(at)
        if last is not None and last.phase == phase and last.lanes & lanes:
            last.site, last.last, last.lanes = site, self.now, last.lanes | lanes
        else:
            waits[at] = _Wait(site, phase, lanes, self.now, self.now)

    def _arrived(self, warp: Warp, at: MBarrier, phase: int, copy: int | None) -> None:
        """An arrival of a warp, or of the copy at a site."""
        if copy is not None:
            if copy in self.places:
                self.uses[self.places[copy]].completes.setdefault(at, set()).add(phase)
            return
        self.arriving.add(warp)
        for user, uses in self.open.items():
            if user == warp or (user[0] == warp[0] and user not in self.arriving):
                for use in uses:
                    use.completes.setdefault(at, set()).add(phase)

    def _used(self, use: _Uses, warp: Warp) -> None:
        times = use.times.setdefault(warp, [])
        for at, wait in self._waits_of(warp).items():
            is_again = bisect_left(times, wait.last) > bisect_right(times, wait.first)
            known = use.over.get(at)
            if (is_again and not (known and known.is_again)) or (wait.phase == BEFORE_ALL and not known):
                use.over[at] = replace(wait, is_again=is_again)
        times.append(self.now)
        if use.op.completes_by is not Mechanism.MBARRIER:  # its own arrivals say when it is complete
            before = self.open.get(warp, [])
            self.open[warp] = [use, *(each for each in before if each is not use and _reads(each.op) == _reads(use.op))]

    def _waits_of(self, warp: Warp) -> dict[MBarrier, _Wait]:
        """The waits of a warp; where it has none, those of its CTA, which a barrier of the CTA may have handed on."""
        if warp in self.waits:
            return self.waits[warp]
        others = [waits for (cta, _), waits in self.waits.items() if cta == warp[0]]
        return {at: wait for waits in others for at, wait in waits.items()}


@dataclass(frozen=True, slots=True)
class _Cause:
    """A wait for a phase that was over: what came too soon, the mbarrier, and the phase that it should have waited for, if known."""

    op: Op
    wait: Op
    at: MBarrier
    phase: int
    is_again: bool
    wanted: int | None


def may_be_of_phases(program: Program, findings: list[Finding]) -> bool:
    """Whether there are waits on mbarriers in a program, and findings that they may be the cause of."""
    if not any(finding.name in _RACES | _ALONE for finding in findings):
        return False
    return any(op.synchronises == Synchronisation(Mechanism.MBARRIER, Role.WAIT) for op in program.ops)


def places_of(program: Program, source: Source, findings: Iterable[Finding]) -> dict[int, int]:
    """The sites that findings speak of, and those of the same instruction in other copies of a loop of the author's text; each with the
    first one of those that are alike."""
    wanted = {_same(program.ops[site], source) for finding in findings for site in _sites_of(program, finding)}
    first: dict[object, int] = {}
    return {op.site: first.setdefault(key, op.site) for op in program.ops if (key := _same(op, source)) in wanted}


def _same(op: Op, source: Source) -> object:
    """What copies of an instruction have in common, where the compiler has unrolled a loop."""
    origin = source.origin(op.line)
    return op.site if origin is None else (origin.file, origin.line, op.family)


def _sites_of(program: Program, finding: Finding) -> list[int]:
    """The sites that a finding speaks of, its own first."""
    if finding.name not in _RACES | _ALONE:
        return []
    site = {(op.line, op.column): op.site for op in program.ops}
    places = [(finding.line, finding.column), *((label.line, label.column) for label in finding.labels)]
    return [site[place] for place in places if place in site]


def with_waits(
    program: Program, source: Source, findings: list[Finding], phases: Phases, variables: Variables
) -> list[Finding]:
    """The findings, those told with the wait whose cause it is; several of one wait are one."""
    found: list[Finding] = []
    told: dict[object, int] = {}
    for finding in sorted(findings, key=lambda finding: finding.name in _ALONE):  # what data shows comes first
        cause = _cause(program, finding, phases)
        if cause is None:
            found.append(finding)
        elif (key := _same(cause.wait, source)) in told:
            found[told[key]] = _joined(found[told[key]], finding, source)
        else:
            told[key] = len(found)
            found.append(_told(finding, cause, variables))
    return found


def _joined(first: Finding, more: Finding, source: Source) -> Finding:
    """A finding that says what else comes of its cause."""
    if more.name != first.name:
        return replace(first, notes=(*first.notes, f"{more.name} at line {more.line} comes of it, too: {more.message}"))
    notes = first.notes
    if source.origin(more.line) is None or source.origin(more.line) != source.origin(first.line):
        notes = tuple(dict.fromkeys((*notes, f"the same at line {more.line}")))
    return replace(first, count=first.count + more.count, notes=notes)


def _cause(program: Program, finding: Finding, phases: Phases) -> _Cause | None:
    sites = _sites_of(program, finding)
    for site in sites:
        if finding.name == "mbarrier-overflow":
            phases.stopped(finding, site)
        for at, wait in phases.uses[phases.places[site]].over.items():
            op = program.ops[site]
            if not wait.is_again and (finding.name == "mbarrier-overflow" or not _reads(op)):
                continue  # so a producer's first wait is meant to be
            others = [phases.uses[phases.places[other]] for other in sites if other != site]
            later = [phase for use in others for phase in use.completes.get(at, ()) if phase > wait.phase]
            is_under_way = any(use.op.completes_by is Mechanism.MBARRIER and at in use.completes for use in others)
            if later or is_under_way or (finding.name in _ALONE and not others):
                return _Cause(op, program.ops[wait.site], at, wait.phase, wait.is_again, min(later, default=None))
    return None


def _reads(op: Op) -> bool:
    """Whether an instruction takes data, and puts none into shared memory: a copy from global memory does."""
    return any(access.reads for access in op.accesses) and not any(access.writes for access in op.accesses)


def _told(finding: Finding, cause: _Cause, variables: Variables) -> Finding:
    op, wait = cause.op, cause.wait
    name = shared_name(variables, cause.at[1] & (1 << RANK_SHIFT) - 1)
    is_first = cause.phase == BEFORE_ALL
    why = "of a new mbarrier that phase is over from the start" if is_first else f"phase {cause.phase} was over before"
    does = "has not waited for what it reads" if _reads(op) else "has not waited for its turn"
    wanted = "" if cause.wanted is None else f", and what it needs is over with phase {cause.wanted}"
    return replace(
        finding,
        message=f"{op.opcode} {does}: the wait on {name} for parity {cause.phase & 1} at line {wait.line} returned at once, as {why}{wanted}",
        labels=(Label.at(wait, "this wait returned at once"), *finding.labels),
        notes=(f"so: {finding.message}", *finding.notes),
        help=_TURN if cause.is_again else _FROM_0,
        fixes=(),
    )  # fmt: skip


_TURN = "turn the parity after each use of the mbarrier (xor 1); in a ring of stages, each time the ring begins again"
_FROM_0 = (
    "let the first wait be for parity 0, and turn it after each use of the mbarrier; only the thread that fills a slot which is not used yet "
    "waits for parity 1 first"
)

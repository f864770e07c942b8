"""Which waits depend on which, once every running warp waits: the finding begins where the chain of waits does, as far as arrivals show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from ptxsim.diagnostic import SURPLUS, Finding
from ptxsim.engine import convergence
from ptxsim.engine.interpreter import fault_finding
from ptxsim.engine.program.operation import Program
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.machine.cta import Cluster, Cta, Warp
from ptxsim.machine.fault import Wait
from ptxsim.machine.records import BARRIERS, CLUSTER, FIRST_BARRIER, MBarrierRecord, MBarrierTable, Split
from ptxsim.machine.shared_names import Variables, shared_name, shared_variable

MOST = 16  # notes that are shown


@dataclass(slots=True)
class _Waiting:
    """A split that waits: where, for what, and at which mbarriers so many of its lanes do."""

    warp: Warp
    split: Split
    line: int
    wait: Wait
    mbarriers: list[tuple[MBarrierRecord, int]]
    follows: bool = False  # those who are to come wait for something else

    @property
    def never_reached(self) -> MBarrierRecord | None:
        """The mbarrier that `wait` names, if no thread has arrived on it since its initialisation."""
        return next((each for each, _ in self.mbarriers[:1] if each.last_line == 0), None)

    def state(self) -> Hashable:
        """What warps that wait alike have in common, CTAs counted from their own."""
        if not self.mbarriers:
            return self.wait.describe()
        return tuple(
            (each.called, each.phase, each.expected, each.pending, each.bytes, each.announced,
             each.last_line and (each.last_cta - self.warp.cta.linear, each.last_warp, each.last_line))
            for each, _ in self.mbarriers
        )  # fmt: skip


def deadlock(resident: list[Cluster], program: Program) -> Finding:
    """Say who waits for what."""
    waiting: list[_Waiting] = []
    for warp in (warp for cluster in resident for cta in cluster.ctas for warp in cta.warps):
        if found := convergence.stuck(warp, program):
            return fault_finding(found[1], found[0], warp)
        for split in warp.splits:
            wait = warp.waits_for(split)
            if isinstance(wait, Wait):
                line = convergence.line_of(warp, split, program)
                waiting.append(_Waiting(warp, split, line, wait, warp.mbarriers(split)))
    if not waiting:
        return Finding("deadlock", "every running warp waits: the first one for nothing")
    _find_those_that_follow(waiting, program)
    waiting.sort(key=lambda each: (not any(_has_other_bytes(mbarrier) for mbarrier, _ in each.mbarriers), each.follows))
    first, notes = waiting[0], _notes(waiting)
    never = ", on which no thread has arrived" if first.never_reached else ""
    return Finding(
        "deadlock", f"every running warp waits: the first one for {first.wait.what}{never}", first.line,
        notes=(*notes[:MOST], *([f"and {len(notes) - MOST} more"] if len(notes) > MOST else [])),
        cta=first.warp.cta.index, warp=first.warp.index,
        case=SURPLUS if any(each.bytes < 0 and not each.pending for one in waiting for each, _ in one.mbarriers) else None,
        help=_what_lacks([each for each in waiting if each.warp.cta.cluster is first.warp.cta.cluster], program),
    )  # fmt: skip


def _find_those_that_follow(waiting: list[_Waiting], program: Program) -> None:
    """Mark the waits that depend on other waits: for a phase in which no thread has arrived, where the last thread that did before waits for
    something else; and at a barrier of the CTA or the cluster, where all threads that it lacks wait for mbarriers."""
    places: dict[tuple[int, int], set[int]] = {}  # CTA and warp -> mbarriers, by the addresses of their words
    for each in waiting:
        at = places.setdefault((each.warp.cta.linear, each.warp.index), set())
        at.update(mbarrier.word for mbarrier, _ in each.mbarriers)

    def comes_later(mbarrier: MBarrierRecord) -> bool:
        last = (mbarrier.last_cta, mbarrier.last_warp)
        nothing_has_come = mbarrier.pending == mbarrier.expected and not mbarrier.announced and not mbarrier.bytes
        return mbarrier.last_line != 0 and nothing_has_come and last in places and mbarrier.word not in places[last]

    def leads_to(other: _Waiting, each: _Waiting) -> bool:
        return convergence.leads_to(other.warp, other.split, each.warp, each.split, program)

    for each in waiting:
        if each.mbarriers:
            each.follows = all(comes_later(mbarrier) for mbarrier, _ in each.mbarriers)
        elif (number := each.split.wait - FIRST_BARRIER) == CLUSTER or 0 <= number < BARRIERS:
            those = [
                other for other in waiting if other.split.wait != each.split.wait
                and (other.warp.cta is each.warp.cta or (number == CLUSTER and other.warp.cta.cluster is each.warp.cta.cluster))
            ]  # fmt: skip
            each.follows = bool(those) and all(other.mbarriers and leads_to(other, each) for other in those)


def _notes(waiting: list[_Waiting]) -> list[str]:
    """A line for those that wait alike: warps of a CTA, and CTAs of which the same warps do."""
    alike: dict[Hashable, list[_Waiting]] = {}
    for each in waiting:
        alike.setdefault((each.warp.cta.linear, each.line, each.state()), []).append(each)
    groups: dict[Hashable, list[_Waiting]] = {}  # of each CTA, the first
    warps: dict[Hashable, list[int]] = {}
    for those in alike.values():
        numbers = sorted({each.warp.index for each in those})
        key = (those[0].line, those[0].follows, those[0].state(), *numbers)
        groups.setdefault(key, []).append(those[0])
        warps[key] = numbers
    return [_note(those[0], warps[key], len(those) - 1) for key, those in groups.items()]


def _note(first: _Waiting, warps: list[int], more: int) -> str:
    others = f" and those of {more} more CTA{'s' if more > 1 else ''}" if more else ""
    itself = (
        ""
        if not first.follows
        else ", and that warp waits itself"
        if first.mbarriers
        else ", and those wait themselves"
    )
    return f"CTA {first.warp.cta.index} {_spoken(warps)}{others}, line {first.line}: {first.wait.describe()}{itself}"


def _spoken(warps: list[int]) -> str:
    """Numbers of warps in words: `warps 0 to 2, 5`."""
    runs: list[list[int]] = []
    for number in warps:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    numbers = ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return f"warp{'s' if len(warps) > 1 else ''} {numbers}"


def _what_lacks(waiting: list[_Waiting], program: Program) -> str:
    """What may be wrong where the splits of a cluster wait, that with which it begins first."""
    lanes: Counter[int] = Counter()
    known: dict[int, MBarrierRecord] = {}
    for each in waiting:
        for mbarrier, count in each.mbarriers:
            known[mbarrier.word] = mbarrier
            lanes[mbarrier.word] += count
    unlike = [each for each in known.values() if _has_other_bytes(each)]
    if unlike:
        return _other_bytes(min(unlike, key=lambda each: each.bytes), waiting[0].warp.cta.cluster.variables)
    at_mbarriers = all(each.mbarriers for each in waiting)
    names = {mbarrier.called for mbarrier in known.values()}
    if at_mbarriers and len(names) > 1 and all(each.last_line == 0 for each in known.values()):
        return (
            "no thread has arrived at any of these mbarriers: the one that is to begin, as the producer of a ring does with a slot that is not used yet, "
            "waits for parity 1 first, whose phase counts as over"
        )
    if (never := waiting[0].never_reached) is not None:
        return _no_arrival(never, waiting[0].warp.cta, program)
    if at_mbarriers and len(known) == 1:
        [(word, mbarrier)] = known.items()
        arrived = mbarrier.expected - mbarrier.pending
        if lanes[word] == arrived and mbarrier.pending:
            return (
                f"the {arrived} threads that wait have arrived, and line {mbarrier.init_line} initialised it to wait for {mbarrier.expected}: "
                "is that count right?"
            )
    if (partly := next((each for each in known.values() if 0 < each.pending < each.expected), None)) is not None:
        name = shared_name(waiting[0].warp.cta.cluster.variables, partly.called)
        return (
            f"{partly.expected - partly.pending} arrive on {name}, which line {partly.init_line} initialised with {partly.expected}: either the count is "
            "wrong, or some threads do not come to their arrival"
        )
    return "see the list: no thread is left that could bring what they wait for"


def _has_other_bytes(mbarrier: MBarrierRecord) -> bool:
    """Whether other bytes have come for an mbarrier than were announced, and no arrival that may announce them is missing."""
    return mbarrier.bytes < 0 or (mbarrier.bytes > 0 and not mbarrier.pending)


def _other_bytes(mbarrier: MBarrierRecord, variables: Variables) -> str:
    """Of an mbarrier at which the bytes that came are not those that were announced."""
    came, name = mbarrier.announced - mbarrier.bytes, shared_name(variables, mbarrier.called)
    arrived = mbarrier.expected - mbarrier.pending
    who = f"{arrived} of {mbarrier.expected} have arrived on" if mbarrier.pending else "all have arrived on"
    rest = "" if not mbarrier.pending else "; do all that announce bytes come to their arrive.expect_tx?"
    return (
        f"{who} {name}, and {came} bytes have come for it where {mbarrier.announced} were announced: expect_tx is told the bytes of "
        f"all copies of a phase that come to this CTA, those of other CTAs among them{rest}"
    )


def _no_arrival(mbarrier: MBarrierRecord, cta: Cta, program: Program) -> str:
    """Of an mbarrier on which no thread has arrived: whether others of its CTA have gone on, and which instructions arrive at all."""
    variables, table = cta.cluster.variables, MBarrierTable.from_address(cta.record.mbarriers)
    name = shared_name(variables, mbarrier.called)
    told = f"no thread has arrived on {name} since its initialisation"
    arrives = Synchronisation(Mechanism.MBARRIER, Role.ARRIVE)
    lines = sorted({op.line for op in program.ops if op.synchronises == arrives})
    if not lines:
        return f"{told}, and no instruction of the program arrives on mbarriers"
    if len(lines) <= MOST:
        told += (
            f"; arrivals on mbarriers stand at line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))} alone"
        )
    turned = max((each for each in table.all[: table.used] if each.live), key=lambda each: each.phase, default=mbarrier)
    if not turned.phase:
        return told
    return (
        f"{told}; {shared_name(variables, turned.called)} has completed {turned.phase} phase{'s' if turned.phase > 1 else ''}: "
        f"do the threads that have waited for it arrive on {shared_variable(variables, mbarrier.called) or name} when they are done?"
    )

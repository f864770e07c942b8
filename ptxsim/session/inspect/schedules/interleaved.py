"""Small launches whose warps can tell in which order they run are run again, interleaved: what is wrong only then.

With seed 0 a CTA runs for as long as it can, so that no reader ever comes in the middle of a writer's work, and no task is stolen: a
missing order does not show. Other seeds show it by chance; and the first warp that comes to a block is held there while the others go
on, which may undo what it has decided by what it saw before. Nor does a look at an mbarrier give up with seed 0, so that a second one is
never needed (looks_again), and no lane goes on before the end of the phase (goes_on_early): on some seeds nearly all do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ptxsim.checks.echoes import without_echoes
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.analysis.communication import goes_on_early, looks_again, meeting_blocks, warps_tell
from ptxsim.engine.analysis.parted_blocks import new_blocks, parted
from ptxsim.engine.analysis.reordering import exchanged, exchanges
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Program
from ptxsim.engine.turns import Limits
from ptxsim.isa.facts import AccessKind
from ptxsim.machine.draws import is_impatient
from ptxsim.machine.state import Machine
from ptxsim.session.inspect.schedules.known_writes import Knowledge
from ptxsim.session.inspect.schedules.old_values import MOST_BYTES, Late, SeenLate, late_runs, late_sites
from ptxsim.session.inspect.schedules.other_order import Exchanged
from ptxsim.session.inspect.schedules.schedule import Schedule, work_of
from ptxsim.session.launch import Launch
from ptxsim.session.run import Run

MOST = 20_000  # warp instructions that further passes of each kind take in all, of about a tenth of a second
LONGER = 8  # each may take so many times as long as the first: who waits asks again
LEAST = 500  # what a schedule counts for at least
SEEDS = range(1, 9)
# In which a warp is held: the seed, and whether the last CTA comes in first; what others may do meanwhile, besides as much as all did on the
# first.
ORDERS, PATIENCE = ((0, False), (1, False), (0, True)), 300
LATE = ((1, False), (2, False))  # in which what others have written is seen late: with a seed CTAs take turns
# The same of accesses that come the other way round: how many turns one warp is ahead, and what others may do while it stands still.
LEADS, APART, APART_SEEDS = (0, 6, 12, 3, 9, 18, 24, 36), (16, 8, 64, 32), range(1, 17)
FEW = 5  # of them for pairs that begin with an atomic, or acquire: many a lock that is right does

_RACES = ("race-global", "race-shared")
# Of races on schedules on which a warp stands still: flags do order the two where it does not.
_HELP = (
    "elsewhere the two are in order: what the warp has seen before line {} may hold no more when it goes on; look and take in one step (atomicCAS; "
    "atom.cas in PTX), or say first that you are in, then fence.sc, then look, and let the other side wait for that"
)

# (limits, schedule): another pass, and all that it finds.
Pass = Callable[[Limits, Schedule], tuple[Machine, list[Finding]]]


def is_worth_it(launch: Launch, first: Machine, findings: Sequence[Finding]) -> bool:
    """Whether a launch in which nothing was found has another order, and is small."""
    is_whole = launch.sampled is None and launch.part is None
    found_nothing = all(finding.level == "note" for finding in findings)
    return launch.checks == "all" and is_whole and found_nothing and has_others(launch.program, launch.seed, first)


def has_others(program: Program, seed: int | None, first: Machine | Run) -> bool:
    """Whether a launch may go on otherwise on other schedules, and is small."""
    is_small = first.stopped_at is None and work_of(first) <= MOST
    return not seed and is_small and any(each(program) for each in (warps_tell, looks_again, goes_on_early))


def longest(steps: int) -> int:
    """Warp instructions of a schedule at most, where the first one took so many."""
    return LONGER * steps + 1000


def on_another_schedule(launch: Launch, first: Machine, look: Pass) -> list[Finding]:
    """What the first of some schedules finds on which anything is found."""
    steps, program = first.warp_instructions, launch.program

    def carry_out(one: Schedule) -> list[Finding]:
        machine, findings = look(Limits(longest(steps), held=one.held), one)
        one.count(machine)
        return [each for each in _wrong(launch, machine, findings) if one.counts(each)] if one.is_judged else []

    for one in schedules(program, first, launch.memory.allocated <= MOST_BYTES):
        found = carry_out(one)
        # Where nearly all looks give up, so many are in vain that a program gives up itself: here they cost no time.
        gives_up = one.held is None and is_impatient(one.seed) and any(finding.name == "trap" for finding in found)
        if found and not gives_up and one.is_so(carry_out):
            note = one.says(program) + ("; on that of seed 0 the threads do not meet there" if one.held is None else "")
            return [one.told(program, replace(each, notes=(*each.notes, note))) for each in found]
    return []


def schedules(program: Program, first: Machine | Run, may_be_late: bool = True) -> Iterator[Schedule]:
    """Those that a launch is tried on, each kind within a budget. first: the run with seed 0. Whoever carries them out says what each took before they
    ask for the next. may_be_late: also with accesses that come late."""
    steps, work = first.warp_instructions, work_of(first)
    kinds: list[tuple[int, Iterable[Schedule]]] = [(MOST, map(Schedule, SEEDS))]
    if warps_tell(program):
        kinds += [(MOST, _standing(program, steps)), (MOST // 2, _exchanged(program, steps))]
        kinds += [(MOST // 2, _standing_within(program, steps))]
        kinds += [(MOST, _late(program))] if may_be_late else []
    for left, kind in kinds:
        for one in kind:
            if left < work:
                break
            yield one
            left -= max(LEAST, one.took)


@dataclass(slots=True)
class StandsStill(Schedule):
    """A warp stands still on it."""

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        return self.held is not None and self.held.warp is not None

    def says(self, program: Program) -> str:
        held = self.held
        assert held is not None and held.warp is not None
        line, cta = self.program(program).blocks[held.block][0].line, held.warp.cta.linear
        order = f" with seed {self.seed}" if self.seed else ", the last CTA first" if held.from_last else ""
        return f"on another schedule: warp {held.warp.index} of CTA {cta} stands still before line {line} while the others go on{order}"

    def told(self, program: Program, finding: Finding) -> Finding:
        if self.held is None or finding.name not in _RACES:
            return finding
        return replace(finding, help=_HELP.format(self.program(program).blocks[self.held.block][0].line), fixes=())


def _standing(program: Program, steps: int) -> Iterator[Schedule]:
    """A warp stands still before each block."""
    return _standing_before(meeting_blocks(program), steps, False)


def _standing_within(program: Program, steps: int) -> Iterator[Schedule]:
    """A warp stands still within each block, between two accesses."""
    return _standing_before(sorted(new_blocks(program)), steps, True)


def _standing_before(blocks: Iterable[int], steps: int, is_parted: bool) -> Iterator[Schedule]:
    never = set[tuple[int, int]]()
    for (seed, from_last), block in product(ORDERS, blocks):
        if (seed, block) not in never:
            held = Held(block, from_last, steps + PATIENCE)
            yield StandsStill(seed, held, is_parted=is_parted)
            if held.warp is None:
                never.add((seed, block))


def _exchanged(program: Program, steps: int) -> Iterator[Schedule]:
    """Two strong accesses come the other way round, as others may see them: either one warp stands still for long between the two, or all do for a
    while."""
    once = [(seed, from_last, steps + PATIENCE, 0) for seed, from_last in ORDERS]
    often = [(seed, False, APART[seed // 2 % len(APART)], LEADS[seed % len(LEADS)]) for seed in APART_SEEDS]
    for (number, (seed, from_last, patience, lead)), pair in product(enumerate((*often, *once)), exchanges(program)):
        if number >= FEW and (pair.acquires or program.ops[pair.sites[0]].accesses[0].kind is AccessKind.ATOMIC):
            continue
        held = Held(exchanged(program, pair)[1], from_last, patience, again=patience < PATIENCE, lead=lead)
        yield Exchanged(seed, held, pair)


def _late(program: Program) -> Iterator[Schedule]:
    """What others have written is seen late; first of all runs one that says what may be."""
    apart, tried = parted(program), set[int]()
    for seed, from_last in LATE if any(late_sites(apart)) else ():
        found = Knowledge(apart)
        yield Schedule(seed, Late(-1, from_last, 0), observers=(found,), is_parted=True, is_judged=False)
        for late in late_runs(apart, (found.early_loads | found.early_stores) - tried, from_last):
            assert late.knowledge is not None
            yield SeenLate(seed, late, observers=(late.knowledge,), is_parted=True)
        tried |= found.early_loads | found.early_stores  # who comes first decides what is late: others are on the next


def _wrong(launch: Launch, machine: Machine, findings: list[Finding]) -> list[Finding]:
    """What is wrong in a pass."""
    if any(finding.name == "limit-reached" for finding in findings):
        return []
    found = without_echoes(launch.program, launch.code.source, findings, has_stopped=machine.stopped_at is not None)
    return [finding for finding in found if finding.level not in ("note", DOUBTFUL)]

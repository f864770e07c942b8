"""A second look at small launches whose warps can tell in which order they run: what shows only where they are interleaved.

With seed 0 a CTA runs for as long as it can, so that no reader ever meets a writer half way, and no task is stolen. Who leaves an order
out there has it by luck. Chance finds it on other seeds; and the first warp that comes to a block is made to wait there while the
others go on: what a thread has decided by what it saw before, they may have undone. Nor does a look at an mbarrier give up with seed 0, so that a
second one is never needed (looks_again): on some seeds nearly all do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from ptxsim.checks.echoes import without_echoes
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.analysis.exchanges import Exchange, exchanged, exchanges
from ptxsim.engine.analysis.interplay import looks_again, meeting_blocks, warps_tell
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Program
from ptxsim.engine.turns import Limits
from ptxsim.isa.facts import AccessKind
from ptxsim.machine.draws import is_impatient
from ptxsim.machine.state import Machine
from ptxsim.session.inspect.known_writes import Knowledge
from ptxsim.session.inspect.old_values import MOST_BYTES, Late, late_runs, late_sites, says_late, with_order
from ptxsim.session.inspect.other_order import Apart, says_exchanged, with_remedy
from ptxsim.session.launch import Launch
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run

MOST = 20_000  # warp instructions that further passes of each kind take in all, of about a tenth of a second
LONGER = 8  # each may take so many times as long as the first: who waits asks again
SEEDS = range(1, 9)
# In which a warp is held: the seed, and whether the last CTA comes in first; what others may do meanwhile, besides as much as all did on the
# first; what such a schedule counts for at least.
ORDERS = (0, False), (1, False), (0, True)
LATE = ORDERS[1:2]  # in which what others have written is seen late: with a seed CTAs take turns
# The same of accesses that come the other way round: how many turns one warp is ahead, and what others may do while it stands still.
LEADS, APART, APART_SEEDS = (0, 6, 12, 3, 9, 18, 24, 36), (16, 8, 64, 32), range(1, 17)
PATIENCE, LEAST = 300, 500
FEW = 5  # of them for pairs that begin with an atomic, or acquire: many a lock that is right does

_RACES = ("race-global", "race-shared")
# Of races on schedules on which a warp stands still: flags do order the two where it does not.
_HELP = (
    "elsewhere the two are in order: what the warp has seen before line {} may hold no more when it goes on; look and take in one step (atomicCAS; "
    "atom.cas in PTX), or say first that you are in, then fence.sc, then look, and let the other side wait for that"
)

Look = tuple[Machine, list[Finding]]
# (limits, seed, program=, observers=, is_checked=): another one with a seed, and all that it finds.
Pass = Callable[..., Look]


def is_worth_it(launch: Launch, first: Machine, findings: Sequence[Finding]) -> bool:
    """Whether a launch in which nothing was found has another order, and is small."""
    if launch.checks != "all" or launch.seed or launch.sampled is not None or launch.part is not None:
        return False
    may_differ = warps_tell(launch.program) or looks_again(launch.program)
    found_nothing = first.stopped_at is None and all(finding.level == "note" for finding in findings)
    return found_nothing and first.warp_instructions <= MOST and may_differ


def other_seeds(program: Program, options: LaunchOptions, first: Run) -> range:
    """The seeds under which the results of a launch are looked at again, in which nothing was found; none if it has one order or is large."""
    may_differ = warps_tell(program) or looks_again(program)
    if options.seed or not may_differ or first.stopped_at is not None or not first.warp_instructions:
        return range(0)
    return SEEDS[: MOST // first.warp_instructions]


def on_another_schedule(launch: Launch, first: Machine, look: Pass) -> list[Finding]:
    """What the first of some schedules finds on which anything is found."""
    steps, left = first.warp_instructions, MOST
    for seed in SEEDS:
        if left < steps:
            break
        machine, findings = look(Limits(LONGER * steps + 1000), seed)
        left -= machine.warp_instructions
        note = f"on another schedule (--seed {seed}); on that of seed 0 the threads do not meet there"
        if is_impatient(seed) and any(finding.name == "trap" for finding in findings):
            continue  # so many looks in vain that the program gives up itself: here they cost no time
        if wrong := _wrong(launch, machine, findings, note):
            return wrong
    for seed, held in held_schedules(launch.program, steps):
        machine, findings = look(Limits(LONGER * steps + 1000, held=held), seed)
        if held.warp is not None and (wrong := _wrong(launch, machine, findings, says(launch.program, held, seed))):
            line = launch.program.blocks[held.block][0].line
            return [replace(one, help=_HELP.format(line), fixes=()) if one.name in _RACES else one for one in wrong]
    for exchange, seed, held in exchanged_schedules(launch.program, steps):
        program, apart = exchanged(launch.program, exchange)[0], Apart(exchange)
        limits = Limits(LONGER * steps + 1000, held=held)
        machine, findings = look(limits, seed, program=program, observers=[apart])
        if apart.is_legal and (wrong := _wrong(launch, machine, findings, says_exchanged(launch.program, exchange))):
            return [with_remedy(launch.program, exchange, one) for one in wrong]
    if launch.memory.allocated <= MOST_BYTES:
        return _seen_late(launch, steps, look)
    return []


def _seen_late(launch: Launch, steps: int, look: Pass) -> list[Finding]:
    """What is found where others see late what a thread has written."""

    def told(seed: int, held: Held) -> Knowledge:
        knowledge = Knowledge(launch.program)
        look(Limits(LONGER * steps + 1000, held=held), seed, observers=[knowledge], is_checked=False)
        return knowledge

    for late, seed in late_schedules(launch.program, steps, told):
        assert late.knowledge is not None
        machine, findings = look(Limits(LONGER * steps + 1000, held=late), seed, observers=[late.knowledge])
        if late.met:
            if wrong := _wrong(launch, machine, findings, says_late(launch.program, late)):
                return [with_order(launch.program, late, one) for one in wrong]
    return []


def late_schedules(program: Program, steps: int, told: Callable[[int, Held], Knowledge]) -> Iterator[tuple[Late, int]]:
    """Runs in which what others have written is seen late, with their seeds; told: what a run with a seed knows of all accesses."""
    left = MOST
    for seed, from_last in LATE if warps_tell(program) and any(late_sites(program)) else ():
        left -= max(LEAST, steps)
        plain = Late(-1, from_last, 0)
        for late in late_runs(program, told(seed, plain), from_last) if left >= steps else ():
            if left < steps:
                return
            yield late, seed
            left -= max(LEAST, late.took)


def exchanged_schedules(program: Program, steps: int) -> Iterator[tuple[Exchange, int, Held]]:
    """Pairs of strong accesses that others may see the other way round, with the schedules that they are tried on: on each either one warp stands
    still for long between the two, or all do for a while."""
    left, pairs = MOST // 2, exchanges(program) if warps_tell(program) else ()
    once = [(seed, from_last, steps + PATIENCE, 0) for seed, from_last in ORDERS]
    often = [(seed, False, APART[seed // 2 % len(APART)], LEADS[seed % len(LEADS)]) for seed in APART_SEEDS]
    for (number, (seed, from_last, patience, lead)), pair in product(enumerate((*often, *once)), pairs):
        if left < steps:
            return
        if number >= FEW and (pair.acquires or program.ops[pair.sites[0]].accesses[0].kind is AccessKind.ATOMIC):
            continue
        held = Held(exchanged(program, pair)[1], from_last, patience, again=patience < PATIENCE, lead=lead)
        yield pair, seed, held
        left -= max(LEAST, held.took)


def held_schedules(program: Program, steps: int) -> Iterator[tuple[int, Held]]:
    """Seeds, and warps that stand still, of the schedules that a launch of so many warp instructions is tried on, one after the other."""
    left, never = MOST, set[tuple[int, int]]()
    blocks = meeting_blocks(program) if warps_tell(program) else ()
    for (seed, from_last), block in product(ORDERS, blocks):
        if left < steps:
            break
        if (seed, block) not in never:
            held = Held(block, from_last, steps + PATIENCE)
            yield seed, held
            left -= max(LEAST, held.took)
            if held.warp is None:
                never.add((seed, block))


def _wrong(launch: Launch, machine: Machine, findings: list[Finding], note: str) -> list[Finding]:
    """What is wrong on a schedule that the note tells of."""
    if any(finding.name == "limit-reached" for finding in findings):
        return []
    found = without_echoes(launch.program, launch.code.source, findings, has_stopped=machine.stopped_at is not None)
    wrong = [finding for finding in found if finding.level not in ("note", DOUBTFUL)]
    return [replace(finding, notes=(*finding.notes, note)) for finding in wrong]


def says(program: Program, held: Held, seed: int) -> str:
    """Which schedule that was."""
    assert held.warp is not None
    line, cta = program.blocks[held.block][0].line, held.warp.cta.linear
    order = f" with seed {seed}" if seed else ", the last CTA first" if held.from_last else ""
    return f"on another schedule: warp {held.warp.index} of CTA {cta} stands still before line {line} while the others go on{order}"

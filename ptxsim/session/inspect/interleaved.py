"""A second look at small launches whose warps can tell in which order they run: what shows only where they are interleaved.

With seed 0 a CTA runs for as long as it can, so that no reader ever meets a writer half way, and no task is stolen. Who leaves an order
out there has it by luck.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ptxsim.checks.echoes import without_echoes
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.analysis.interplay import warps_tell
from ptxsim.engine.program.operation import Program
from ptxsim.engine.turns import Limits
from ptxsim.machine.state import Machine
from ptxsim.session.launch import Launch
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run

MOST = 20_000  # warp instructions that further passes take in all, of about a tenth of a second
LONGER = 8  # each may take so many times as long as the first: who waits asks again
SEEDS = range(1, 9)

Pass = Callable[[Limits, int], tuple[Machine, list[Finding]]]  # another one with a seed, and all that it finds


def is_worth_it(launch: Launch, first: Machine, findings: Sequence[Finding]) -> bool:
    """Whether a launch in which nothing was found has another order, and is small."""
    if launch.checks != "all" or launch.seed or launch.sampled is not None or launch.part is not None:
        return False
    found_nothing = first.stopped_at is None and all(finding.level == "note" for finding in findings)
    return found_nothing and first.warp_instructions <= MOST and warps_tell(launch.program)


def other_seeds(program: Program, options: LaunchOptions, first: Run) -> range:
    """The seeds under which the results of a launch are looked at again, in which nothing was found; none if it has one order or is large."""
    if options.seed or not warps_tell(program) or first.stopped_at is not None or not first.warp_instructions:
        return range(0)
    return SEEDS[: MOST // first.warp_instructions]


def on_another_schedule(launch: Launch, first: Machine, look: Pass) -> list[Finding]:
    """What the first of some seeds finds that finds anything."""
    limits, left = Limits(LONGER * first.warp_instructions + 1000), MOST
    for seed in SEEDS:
        if left < first.warp_instructions:
            break
        machine, findings = look(limits, seed)
        left -= machine.warp_instructions
        if any(finding.name == "limit-reached" for finding in findings):
            continue
        found = without_echoes(launch.program, launch.code.source, findings, has_stopped=machine.stopped_at is not None)
        note = f"on another schedule (--seed {seed}); on that of seed 0 the threads do not meet there"
        if wrong := [finding for finding in found if finding.level not in ("note", DOUBTFUL)]:
            return [replace(finding, notes=(*finding.notes, note)) for finding in wrong]
    return []

"""setmaxnreg must be executed by all warps of a warpgroup, alike. PTX ISA, "setmaxnreg"."""

from __future__ import annotations

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program, fact
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Observer
from ptxsim.machine.warpgroup import WARPS


class RegisterCountChecker(Observer):
    """Finds warps of one warpgroup that have not executed the same setmaxnreg. threads: of a CTA.

    A warp has left one out only when it has exited: where a launch ends early, the warp may not have come to it yet.
    """

    events = frozenset({Event.SET_REGISTERS, Event.EXIT})

    def __init__(self, program: Program, threads: int):
        self.meanings, self.threads = meanings(program), threads
        self.running: dict[tuple[int, int], Warpgroup] = {}  # by CTA and number
        self.unlike: dict[int, tuple[int | None, int]] = {}  # by site: what a warp has executed there, and which warp

    def consume(self, records: np.ndarray) -> None:
        for event, cta, warp, site, mask in zip(
            *(records[name].tolist() for name in ("event", "cta", "warp", "site", "mask"))
        ):
            number, place = divmod(warp, WARPS)
            group = self.running.get((cta, number))
            if group is None:
                group = self.running[cta, number] = Warpgroup(self.threads - number * WARPS * LANES)
            if event == Event.SET_REGISTERS:
                group.sites[place].append(site)
                continue
            group.lanes[place] -= mask.bit_count()
            if not any(group.lanes):
                self._judge(number, self.running.pop((cta, number)))

    def _judge(self, number: int, group: Warpgroup) -> None:
        """Remember the first turn at which warps differ."""
        for turn in range(max(map(len, group.sites))):
            sites = {
                place: done[turn] if turn < len(done) else None
                for place, done in enumerate(group.sites)
                if turn < len(done) or not group.lanes[place]
            }
            site = next(site for site in sites.values() if site is not None)
            for place, other in sites.items():
                if other is None or self.meanings[other] != self.meanings[site]:
                    self.unlike.setdefault(site, (other, number * WARPS + place))
                    return

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each instruction."""
        for (_, number), group in self.running.items():
            self._judge(number, group)
        return [_differ(program, site, *other) for site, other in self.unlike.items()]


class Warpgroup:
    """One that runs. `threads`: of the CTA from its first one on."""

    def __init__(self, threads: int):
        self.lanes = [min(LANES, left) for left in range(threads, 0, -LANES)[:WARPS]]  # of each warp, that run
        self.sites: list[list[int]] = [[] for _ in self.lanes]  # that each warp has executed


@fact
def meanings(program: Program) -> dict[int, tuple[object, object]]:
    """What each setmaxnreg of a program does: inc or dec, and the count."""
    return {op.site: (op.words["change"], op.source("count")) for op in program.ops if op.family == "set_registers"}


def _differ(program: Program, site: int, other: int | None, warp: int) -> Finding:
    op = program.ops[site]
    labels = () if other is None else (Label.at(program.ops[other], "this warp executes this"),)
    what = "does not" if other is None else "executes another one"
    return Finding(
        "divergent-aligned", f"{op.opcode} is executed by some warps of a warpgroup, and warp {warp} {what}", labels=labels,
        help="let all four warps of the warpgroup execute it: branch by threadIdx.x / 128",
    ).at(op)  # fmt: skip

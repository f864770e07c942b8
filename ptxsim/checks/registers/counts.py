"""setmaxnreg must be executed by all warps of a warpgroup, alike, and others must give back what one asks for. PTX ISA, "setmaxnreg".

What a CTA may have in all is what its threads begin with: on an H200 a warp waits for ever for more than others have given back, and warps
that have exited give nothing back (.maxnreg 64, two warpgroups: 24 and 104 go on, 24 and 112 hang, 128 beside one that exits hangs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program, fact
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Observer
from ptxsim.machine.warpgroup import WARPS

UNIT = 8  # registers of a thread come in so many: who may name 255 has 256


class RegisterCountChecker(Observer):
    """Finds warps of one warpgroup that have not executed the same setmaxnreg, and warps that wait for registers which nobody gives back.

    threads: of a CTA; most: registers that directives allow a thread at the begin, None where they do not say (the assembler ignores
    setmaxnreg then). A warp has left one out only when it has exited: where a launch ends early, the warp may not have come to it yet.
    """

    events = frozenset({Event.SET_REGISTERS, Event.EXIT})

    def __init__(self, program: Program, threads: int, most: int | None = None):
        self.program, self.threads, self.most, self.meanings = program, threads, most, meanings(program)
        held = -(-(most or 0) // UNIT) * UNIT
        self.first = min(held, max(count for _, count in self.meanings.values()))
        self.left: dict[int, int] = {}  # threads of CTAs that run, once some have exited
        self.asked: dict[
            int, list[tuple[int, int]]
        ] = {}  # by CTA that runs: warps and the sites they executed, in order
        self.lacking: dict[int, tuple[int, int, int]] = {}  # by site: which warp waits, what it has, what is free
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
                self.asked.setdefault(cta, []).append((warp, site))
                continue
            group.lanes[place] -= mask.bit_count()
            if not any(group.lanes):
                self._judge(number, self.running.pop((cta, number)))
            self.left[cta] = self.left.get(cta, self.threads) - mask.bit_count()
            if not self.left[cta]:
                del self.left[cta]
                self._share_out(self.asked.pop(cta, []))

    def beside(self) -> RegisterCountChecker:
        return RegisterCountChecker(self.program, self.threads, self.most)

    def take(self, others: Sequence[Self]) -> bool:
        return not any(each.findings(self.program) for each in others)

    def _share_out(self, asked: list[tuple[int, int]]) -> None:
        """Let the warps of a CTA give back and take what they ask for, in the order in which they did: that one keeps what barriers say. A warp
        that cannot be given so much waits, and comes first when others have given back; remember those that wait for ever."""
        has, free = dict.fromkeys((warp for warp, _ in asked), self.first), 0
        waiting: dict[int, list[int]] = {}  # by warp, what it has yet to execute
        for warp, site in asked if self.first else ():
            waiting.setdefault(warp, []).append(site)
            moves = len(waiting[warp]) == 1
            while moves:
                moves = False
                for one, sites in list(waiting.items()):
                    while sites and (more := self.meanings[sites[0]][1] - has[one]) <= free:
                        free, has[one], moves = free - more, has[one] + more, True
                        sites.pop(0)
                    if not sites:
                        del waiting[one]
        for warp, sites in waiting.items():
            self.lacking.setdefault(sites[0], (warp, has[warp], free))

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
        if not self.unlike:
            for asked in self.asked.values():
                self._share_out(asked)
        lacking = {} if self.unlike else self.lacking
        return [
            *(_differ(program, site, *other) for site, other in self.unlike.items()),
            *(_lacks(program, site, *found) for site, found in lacking.items()),
        ]


class Warpgroup:
    """One that runs. `threads`: of the CTA from its first one on."""

    def __init__(self, threads: int):
        self.lanes = [min(LANES, left) for left in range(threads, 0, -LANES)[:WARPS]]  # of each warp, that run
        self.sites: list[list[int]] = [[] for _ in self.lanes]  # that each warp has executed


@fact
def meanings(program: Program) -> dict[int, tuple[object, int]]:
    """What each setmaxnreg of a program does: inc or dec, and the count."""
    return {
        op.site: (op.words["change"], int(getattr(op.source("count"), "value", 0)))
        for op in program.ops
        if op.family == "set_registers"
    }


def _differ(program: Program, site: int, other: int | None, warp: int) -> Finding:
    op = program.ops[site]
    labels = () if other is None else (Label.at(program.ops[other], "this warp executes this"),)
    what = "does not" if other is None else "executes another one"
    return Finding(
        "divergent-aligned", f"{op.opcode} is executed by some warps of a warpgroup, and warp {warp} {what}", labels=labels,
        help="let all four warps of the warpgroup execute it: branch by threadIdx.x / 128",
    ).at(op)  # fmt: skip


def _lacks(program: Program, site: int, warp: int, has: int, free: int) -> Finding:
    op, wants = program.ops[site], meanings(program)[site][1]
    given = (
        f"the others of the CTA have given back {free} for one warp"
        if free
        else "no other warp of the CTA gives any back"
    )
    return Finding(
        "deadlock", f"warp {warp} waits for ever for {wants} registers a thread: it has {has}, and {given}",
        help="let the other warpgroups give so many back first (setmaxnreg.dec), and count: what all warps ask for is to be at most what they "
        "begin with (.maxnreg, or what .maxntid and .minnctapersm leave)",
    ).at(op)  # fmt: skip

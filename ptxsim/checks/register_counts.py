"""setmaxnreg must be executed by all warps of a warpgroup, alike. PTX ISA, "setmaxnreg"."""

from __future__ import annotations

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Op, Program
from ptxsim.machine.event import Event, Observer
from ptxsim.machine.warpgroup import WARPS


class RegisterCountChecker(Observer):
    """Finds warps of one warpgroup that have not executed the same setmaxnreg. warps: of a CTA."""

    events = frozenset({Event.SET_REGISTERS})

    def __init__(self, warps: int):
        self.warps = warps
        self.done: dict[
            tuple[int, int], list[list[int]]
        ] = {}  # by CTA and warpgroup: the sites that its warps have executed

    def consume(self, records: np.ndarray) -> None:
        for record in records[records["event"] == Event.SET_REGISTERS]:
            group, place = divmod(int(record["warp"]), WARPS)
            there = min(WARPS, self.warps - group * WARPS)
            key = int(record["cta"]), group
            self.done.setdefault(key, [[] for _ in range(there)])[place].append(int(record["site"]))

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each instruction."""
        found: dict[int, Finding] = {}
        for (_, group), done in self.done.items():
            for turn in range(max(map(len, done))):
                sites = [sites[turn] if turn < len(sites) else None for sites in done]
                which = {site: None if site is None else _meaning(program.ops[site]) for site in sites}
                if len(set(which.values())) == 1:
                    continue
                site = next(site for site in sites if site is not None)
                other = next(each for each in sites if which[each] != which[site])
                found.setdefault(site, _differ(program, site, other, group * WARPS + sites.index(other)))
                break
        return list(found.values())


def _meaning(op: Op) -> tuple[object, ...]:
    return op.opcode, getattr(op.sources[0], "value", None)


def _differ(program: Program, site: int, other: int | None, warp: int) -> Finding:
    op = program.ops[site]
    labels = () if other is None else (Label.at(program.ops[other], "this warp executes this"),)
    what = "does not" if other is None else "executes another one"
    return Finding(
        "divergent-aligned", f"{op.opcode} is executed by some warps of a warpgroup, and warp {warp} {what}", labels=labels,
        help="let all four warps of the warpgroup execute it: branch by threadIdx.x / 128",
    ).at(op)  # fmt: skip

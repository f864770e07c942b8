"""What the problems of the scan are called, and what would put them in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.checks.order.cells import MIXED, RACE, RACE_IN_GLOBAL, RACE_IN_WARP, UNINITIALIZED
from ptxsim.diagnostic import DOUBTFUL, Finding, Label
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Proxy, Scope

Problem = tuple[int, int, int]  # what, site, other site
Problems = dict[Problem, tuple[int, tuple[int, ...]]]  # how often, and the first: see scan

_NAMES = {RACE: "race-shared", RACE_IN_WARP: "race-warp", RACE_IN_GLOBAL: "race-global"}


def findings_of(program: Program, problems: Problems, warps: int, cta_of: Callable[[int], int]) -> list[Finding]:
    """One finding for each pair of instructions; races within a warp are left out where warps race.

    warps: of a CTA; cta_of: the linear index of a CTA by its number in the order of clusters.
    """
    between_warps = {frozenset(key[1:]) for key in problems if key[0] in (RACE, RACE_IN_GLOBAL)}
    # What is read before it is written is no second problem where the store that comes too late is known.
    late = {
        reader
        for key in problems
        if key[0] not in (UNINITIALIZED, MIXED)
        for store, reader in (key[1:], key[:0:-1])
        if _writes(program.ops[store])
    }
    pairs: dict[tuple[int, int, int], tuple[int, tuple[int, ...]]] = {}
    found = []
    for (what, site, other), (count, row) in problems.items():
        if what == UNINITIALIZED:
            if site not in late:
                found.append(_read_too_early(program, site, count, row))
        elif what == MIXED:
            found.append(_mixed(program, site, count, row))
        elif what != RACE_IN_WARP or frozenset((site, other)) not in between_warps:
            key = what, max(site, other), min(site, other)  # whichever came first
            times, first = pairs.get(key, (0, row))
            pairs[key] = times + count, first
    return found + [
        _race(program, what, site, other, *pairs[what, site, other], warps, cta_of) for what, site, other in pairs
    ]


def _race(
    program: Program, what: int, site: int, other: int, count: int, row: tuple[int, ...], warps: int, cta_of: Callable[[int], int]
) -> Finding:  # fmt: skip
    op, before = program.ops[site], program.ops[other]
    address, cta, warp, lane, them, is_global = row[3:]
    cta = cta_of(cta)
    other_cta = cta_of(them // warps)
    place: dict[str, Any] = {"line": op.line, "column": op.column, "length": len(op.opcode), "count": count}
    if row[1] == site:  # the lane that is known is this instruction's
        place["warp"] = warp
        if not _is_fetch(op):  # what those read belongs to no lane
            place["lane"] = lane
    verb = "writes" if _writes(before) else "reads"
    if what == RACE_IN_WARP:
        who = "another lane of the warp"
    elif is_global and other_cta != cta:
        one, two = (cta, other_cta) if row[1] == site else (other_cta, cta)
        return Finding(
            "race-global", f"{op.opcode} of CTA {one} touches global address {address:#x}, which CTA {two} {verb} too",
            **place, labels=(Label(before.line, f"CTA {two} {verb} it here", before.column, len(before.opcode)),),
            notes=("CTAs run in any order, and nothing orders these two",),
            help="give each CTA its own part, use atomics, or synchronise through a flag with release and acquire of scope gpu",
        )  # fmt: skip
    else:
        who = f"warp {them % warps if row[1] == site else warp}"
    where = f"global address {address:#x}" if is_global else f"shared byte {address:#x}"
    return Finding(
        _NAMES[what], f"{op.opcode} touches {where}, which {who} {verb} without order between the two",
        **place, labels=(Label(before.line, f"{verb} here", before.column, len(before.opcode)),),
        help="put bar.warp.sync between them" if what == RACE_IN_WARP else "put a barrier between them (bar.sync)",
    )  # fmt: skip


def _mixed(program: Program, site: int, count: int, row: tuple[int, ...]) -> Finding:
    op = program.ops[site]
    return Finding(
        "race-warp", f"lanes of one {op.opcode} put different values into one place: which one stays is not defined",
        op.line, op.column, len(op.opcode), level="warning", count=count, warp=row[5],
        help="let one lane store, or add the values up first (redux.sync, atom)",
    )  # fmt: skip


def _read_too_early(program: Program, site: int, count: int, row: tuple[int, ...]) -> Finding:
    op, address = program.ops[site], row[3]
    place: dict[str, Any] = {
        "line": op.line,
        "column": op.column,
        "length": len(op.opcode),
        "count": count,
        "warp": row[5],
    }
    if not _is_fetch(op):
        place["lane"] = row[6]
    help = "store to it first, put a barrier between, or check the index"
    if op.facts.scope is Scope.WARPGROUP:
        help = "write the whole tile first, or fix the descriptor: `ptxsim desc` says what one reads"
    return Finding(
        "uninitialized-read", f"{op.opcode} reads shared byte {address:#x}, which had not been written by then",
        **place, level=DOUBTFUL, help=help,
    )  # fmt: skip


def _is_fetch(op: Op) -> bool:
    """Whether an instruction accesses memory through the async proxy."""
    return any(access.proxy is Proxy.ASYNC for access in op.accesses)


def _writes(op: Op) -> bool:
    return any(access.writes for access in op.accesses)

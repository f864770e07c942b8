"""What the problems of the scan are called, and what would put them in order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from ptxsim.checks.causes import by_cause, note_of_others, stretch_of
from ptxsim.checks.changes import fences_after
from ptxsim.checks.flags import lack_of_flag
from ptxsim.checks.in_flight import Prior
from ptxsim.checks.order import objects
from ptxsim.checks.order.alike import lanes_alike
from ptxsim.checks.order.cells import (
    AHEAD,
    EAGER,
    EARLY,
    FREED,
    HEARSAY,
    LEFT,
    LOST,
    MIXED,
    NOT_CONSTANT,
    RACE,
    RACE_IN_GLOBAL,
    RACE_IN_WARP,
    UNACQUIRED,
    UNAWAITED,
    UNFENCED,
    UNINITIALIZED,
    UNLIKE,
    UNMET,
    UNPUBLISHED,
    UNSEEN,
    UNWAITED,
)
from ptxsim.checks.order.objects import Named, Use
from ptxsim.checks.order.remedies import fixes, is_fetch, remedy, writes
from ptxsim.checks.order.rounds import by_rounds
from ptxsim.checks.order.sites import STRONG, site_bits, size_of
from ptxsim.checks.order.strong import by_hearsay, leads_at_once, lost
from ptxsim.checks.order.unawaited import unawaited
from ptxsim.checks.order.unused import is_compared, is_stored_back_alone, is_update
from ptxsim.checks.waits import missing_wait, overwritten
from ptxsim.diagnostic import DOUBTFUL, MIXED_SIZES, Finding, Label, beside
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import CTA_BARRIER, Mechanism, Role, Scope, Synchronisation

Problem = tuple[int, int, int]  # what, site, other site
Problems = dict[Problem, tuple[int, tuple[int, ...]]]  # how often, and the first: see scan

# What is said of one access, or of another kind than pairs that write and read.
_OTHERS = {
    UNINITIALIZED, MIXED, UNSEEN, UNPUBLISHED, FREED, UNFENCED, LEFT, UNLIKE, EARLY, AHEAD, UNACQUIRED, UNAWAITED, LOST
}  # fmt: skip
_NAMES = {RACE: "race-shared", RACE_IN_WARP: "race-warp", RACE_IN_GLOBAL: "race-global"}


def findings_of(
    program: Program,
    problems: Problems,
    warps: int,
    cta_of: Callable[[int], int],
    named: Named,
    variable: Named,
    prior: Prior,
) -> list[Finding]:
    """One finding for each cause; races within a warp are left out where warps race.

    warps: of a CTA; named: says an address of shared memory; variable: which one is there;
    cta_of: the linear index of a CTA by its number in the order of clusters; prior: the grids of UNAWAITED.
    """
    between_warps = {frozenset(key[1:]) for key in problems if key[0] in (RACE, RACE_IN_GLOBAL)}
    # What is read before it is written is no second problem where the store into the same variable that comes too
    # late is known, of one such read between two synchronisations.
    stretches = stretch_of(program)

    def read(site: int, row: tuple[int, ...]) -> tuple[int, str, str]:
        return stretches[site], program.ops[site].family, variable(row[3])

    too_late = {
        read(reader, row)
        for key, (_, row) in problems.items()
        if key[0] not in _OTHERS and not row[8]
        for store, reader in (key[1:], key[:0:-1])
        if writes(program.ops[store])
    }
    # Nor where copies come twice to one place of the variable: one of them was meant for another.
    twice = {
        variable(row[3])
        for (what, site, other), (_, row) in problems.items()
        if what == UNWAITED and not row[8] and _fills(program.ops[site]) and _fills(program.ops[other])
    }
    pairs: dict[tuple[int, int, int], tuple[int, tuple[int, ...]]] = {}
    unseen: dict[int, list[Use]] = {}  # uses of mbarriers by the site that initialises them
    waits: list[Problem] = []
    unfenced: list[Problem] = []
    hearsay: list[Problem] = []
    early: list[Problem] = []
    mixed: dict[int, list[Problem]] = {}  # by site
    met: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    found = []
    for (what, site, other), (count, row) in problems.items():
        if what == UNINITIALIZED:
            if read(site, row) not in too_late and (not twice or variable(row[3]) not in twice):
                early.append((what, site, other))
        elif what == MIXED:
            mixed.setdefault(site, []).append((what, site, other))
        elif what == UNPUBLISHED:
            if frozenset((site, other)) not in between_warps:  # else the fence may be there
                found.append(_unpublished(program, site, other, count, row))
        elif what == FREED:
            found.append(objects.freed(program, site, other, count, row))
        elif what == EARLY:
            if not any(
                access.reads for access in program.ops[other].accesses
            ):  # of atomics the first is an uninitialized-read itself
                found.append(_perhaps_early(program, site, other, count, row, warps, named))
        elif what == AHEAD:
            if not any(key[0] in (RACE, RACE_IN_GLOBAL, UNWAITED) for key in problems):  # for want of the same wait
                found.append(objects.ahead(program, site, other, count, row, named))
        elif what == UNAWAITED:
            met[site, other] = count, row
        elif what == LEFT:
            found.append(objects.left(program, site, other, count, row))
        elif what == UNFENCED:
            unfenced.append((what, site, other))
        elif what == UNMET:
            found.append(objects.unmet(program, site, count, row, warps))
        elif what == UNLIKE:
            found.append(objects.unlike(program, site, other, count, row))
        elif what == NOT_CONSTANT:
            found.append(_not_constant(program, site, other, count, row))
        elif what == UNSEEN:
            unseen.setdefault(other, []).append((site, count, row))
        elif what == UNWAITED:
            waits.append((what, site, other))
        elif what == UNACQUIRED:
            found.append(objects.unacquired(program, site, other, count, row, warps))
        elif what == LOST:
            found.append(lost(program, site, other, count, row, warps, cta_of, named))
        elif what == HEARSAY or (what == EAGER and leads_at_once(program, program.ops[row[6]], program.ops[site])):
            hearsay.append((what, site, other))
        elif what == RACE_IN_WARP and frozenset((site, other)) in between_warps:
            pass
        elif what != EAGER:
            key = what, max(site, other), min(site, other)  # whichever came first
            times, first = pairs.get(key, (0, row))
            pairs[key] = times + count, first
    for site, keys in mixed.items():
        lanes = reduce(or_, (differing for _, _, differing in keys))
        found.append(_mixed(program, site, sum(problems[key][0] for key in keys), problems[keys[0]][1], lanes))
    found += [objects.unseen(program, init, sorted(uses), named) for init, uses in unseen.items()]
    found += unawaited(program, met, prior)
    for keys in by_cause(program, early):
        times, first = sum(problems[key][0] for key in keys), problems[keys[0]][1]
        finding = _read_too_early(program, keys[0][1], times, first, named)
        found.append(
            replace(finding, notes=(*finding.notes, *note_of_others(program, [(*key[:2], keys[0][1]) for key in keys])))
        )
    for keys in by_cause(program, waits):
        times, first = sum(problems[key][0] for key in keys), problems[keys[0]][1]
        finding = missing_wait(program, *keys[0][1:], times, named(first[3]), first[5], first[6])
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
    for keys in by_cause(program, unfenced):
        times, first = sum(problems[key][0] for key in keys), problems[keys[0]][1]
        finding = objects.unfenced(program, *keys[0][1:], times, first, warps)
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
    if any(key[0] in (RACE, RACE_IN_GLOBAL) for key in problems):
        hearsay = []  # for want of the same barrier or fence
    for keys in by_cause(program, hearsay):
        times, first = sum(problems[key][0] for key in keys), problems[keys[0]][1]
        finding = by_hearsay(program, *keys[0], times, first, warps, cta_of)
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
    ends = {key for key in pairs if _end(program, key) is not None}
    for keys in by_cause(program, ends):
        times, first = sum(pairs[key][0] for key in keys), pairs[keys[0]][1]
        finding = _overwritten(program, keys[0], times, first, named)
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
    pairs = {key: pair for key, pair in pairs.items() if key not in ends}
    idle = {key: why for key in pairs if (why := _idle(program, pairs, *key)) is not None}
    for key, why in idle.items():
        found.append(_race_of_idle(program, *key[1:], *pairs[key], why))
    for keys in by_cause(program, by_rounds(program, pairs.keys() - idle.keys())):
        times, first = sum(pairs[key][0] for key in keys), pairs[keys[0]][1]
        finding = _of_sizes(program, *keys[0][1:], _race(program, *keys[0], times, first, warps, cta_of, named))
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(program, keys))))
    return found


def _fills(op: Op) -> bool:
    """Whether an operation is a copy into shared memory that threads wait for."""
    return op.completes_by is not None and writes(op)


def _race(
    program: Program, what: int, site: int, other: int, count: int, row: tuple[int, ...], warps: int, cta_of: Callable[[int], int], named: Named
) -> Finding:  # fmt: skip
    op, before = program.ops[site], program.ops[other]
    address, cta, warp, lane, them, is_global = row[3:]
    cta = cta_of(cta)
    other_cta = cta_of(them // warps)
    place: dict[str, Any] = {"line": op.line, "column": op.column, "length": len(op.opcode), "count": count}
    if row[1] == site:  # the lane that is known is this instruction's
        place["warp"] = warp
        if not is_fetch(op):  # what those read belongs to no lane
            place["lane"] = lane
    verb = "writes" if writes(before, bool(is_global)) else "reads"
    is_far, in_global = other_cta != cta, bool(is_global)
    help, changes = (
        remedy(program, op, before, what, is_far, in_global, program.ops[row[1]]),
        fixes(program, op, before, what, is_far, in_global),
    )
    if is_update(program, *sorted((op, before), key=lambda each: each.site)) and not (in_global and is_far):
        help, changes = (
            f"if threads add to one place here, let them do it atomically (atomicAdd; atom or red in PTX); else {help}",
            (),
        )
    elif verb == "writes" and writes(op, in_global) and not (in_global and is_far):
        help = f"two stores to one place: if each is meant for its own, look at the index of either line; else {help}"
    if what == RACE_IN_WARP:
        who = "another lane of the warp"
    elif is_global and other_cta != cta:
        one, two = (cta, other_cta) if row[1] == site else (other_cta, cta)
        return Finding(
            "race-global", f"{op.opcode} of CTA {one} touches global address {address:#x}, which CTA {two} {verb} too",
            **place, labels=(Label(before.line, f"CTA {two} {verb} it here", before.column, len(before.opcode)),),
            notes=("CTAs run in any order, and nothing orders these two",), help=help + lack_of_flag(program, op, before),
        )  # fmt: skip
    else:
        who = f"warp {them % warps if row[1] == site else warp}"
    if what != RACE_IN_WARP and other_cta != cta:
        who += f" of CTA {other_cta if row[1] == site else cta}"
    if what == RACE and not is_far:
        help += lack_of_flag(program, op, before, in_global=False)
    where = f"global address {address:#x}" if is_global else f"shared memory at {named(address)}"
    return Finding(
        _NAMES[what], f"{op.opcode} touches {where}, which {who} {verb} without order between the two",
        **place, labels=(Label(before.line, f"{verb} here", before.column, len(before.opcode)),),
        help=help, fixes=changes,
    )  # fmt: skip


def _of_sizes(program: Program, site: int, other: int, finding: Finding) -> Finding:
    """A race, which says so if it is one only because two strong accesses are of different sizes."""
    one, two = (site_bits(program)[each] for each in (site, other))
    if not one & two & STRONG or size_of(one) in (0, size_of(two)) or not size_of(two):
        return finding
    note = f"both are strong, but one is of {size_of(one)} bytes and the other of {size_of(two)}: accesses that overlap in part are in no order"
    return replace(
        finding,
        notes=(note, *finding.notes),
        case=MIXED_SIZES,
        help="access it with one size everywhere, and take parts out of the register",
    )


def _end(program: Program, key: Problem) -> tuple[Op, Op] | None:
    """Of a race between the end of a product and what writes its tile: the wait, and the other one."""
    wait = Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)
    for end, writer in ((key[1], key[2]), (key[2], key[1])):
        if program.ops[end].synchronises == wait and writes(program.ops[writer]):
            return program.ops[end], program.ops[writer]
    return None


def _overwritten(program: Program, key: Problem, times: int, row: tuple[int, ...], named: Named) -> Finding:
    end, writer = _end(program, key) or (program.ops[key[1]], program.ops[key[2]])
    products = [op for op in program.ops if op.completes_by is Mechanism.PRODUCT_GROUP]
    before = next((op for op in reversed(products) if op.site < end.site), products[-1])
    warp = row[5] if row[1] == writer.site else row[7]
    return overwritten(program, writer, before, end, times, named(row[3]), warp, None)


class _Idle(NamedTuple):
    """Why no result depends on what a load reads: said with the opcodes of load and store, at the store, and what would order them."""

    message: str
    label: str
    help: str


_ALONE = _Idle(
    "{} reads in all threads what {} writes in some: no order, but no other thread uses the value",
    "the value is used here alone",
    "load under the guard of line {}, or put a barrier between the two (bar.sync)",
)
_COMPARED = _Idle(
    "{} reads without order what {} writes, which compares the value with what is there then",
    "compared here",
    "ld.relaxed and the scope of line {} make it no race",
)


def _idle(program: Program, pairs: Collection[Problem], what: int, site: int, other: int) -> _Idle | None:
    """Why a race is one that no result depends on; None if one may. Where stores race with each other, a thread that stores has loaded
    what another one has stored, or should have."""
    for one, two in ((program.ops[site], program.ops[other]), (program.ops[other], program.ops[site])):
        if is_stored_back_alone(program, one, two) and (what, two.site, two.site) not in pairs:
            return _ALONE
        if is_compared(program, one, two):
            return _COMPARED
    return None


def _race_of_idle(program: Program, site: int, other: int, count: int, row: tuple[int, ...], why: _Idle) -> Finding:
    load, store = sorted((program.ops[site], program.ops[other]), key=writes)
    return Finding(
        "race-global" if row[8] else "race-shared", why.message.format(load.opcode, store.opcode),
        load.line, load.column, len(load.opcode), level="note", count=count,
        labels=(Label(store.line, why.label, store.column, len(store.opcode)),),
        notes=("by the memory model it is a race; no result depends on it",),
        help=why.help.format(store.line),
    )  # fmt: skip


def _mixed(program: Program, site: int, count: int, row: tuple[int, ...], lanes: int) -> Finding:
    """lanes: in which bits the numbers of lanes differ that store to one place."""
    op, are_alike = program.ops[site], lanes & ~lanes_alike(program, program.ops[site]) == 0
    what = "values that differ by rounding alone" if are_alike else "different values"
    fusion = "let one lane store; sums of products are the same if not fused (Triton: enable_fp_fusion=False; nvcc: -fmad=false)"
    return Finding(
        "race-warp", f"lanes of one {op.opcode} put {what} into one place: which one stays is not defined",
        op.line, op.column, len(op.opcode), level="note" if are_alike else "warning", count=count, warp=row[5],
        help=fusion if are_alike else "let one lane store, or add the values up first (redux.sync, atom)",
    )  # fmt: skip


def _unpublished(program: Program, site: int, other: int, count: int, row: tuple[int, ...]) -> Finding:
    op, before = program.ops[site], program.ops[other]
    verb = "writes" if not any(access.space == "global" and access.reads for access in op.accesses) else "reads"
    return Finding(
        "missing-proxy-fence",
        f"{op.opcode} {verb} global memory at {row[3]:#x} that no proxy fence has published since it was written",
        op.line, op.column, len(op.opcode), count=count, warp=row[5],
        labels=(Label(before.line, "written through the generic proxy here", before.column, len(before.opcode)),),
        notes=("barriers and flags order threads, not proxies",),
        help=f"add fence.proxy.async; after line {before.line}, before the barrier or the release that orders the two",
        fixes=fences_after(program, before),
    )  # fmt: skip


def _not_constant(program: Program, site: int, other: int, count: int, row: tuple[int, ...]) -> Finding:
    op, before = program.ops[site], program.ops[other]
    return Finding(
        "race-global",
        f"{op.opcode} reads global memory at {row[3]:#x}, which the kernel has written: its cache may have what was there before",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], lane=row[6],
        labels=(Label.at(before, "written here"),),
        notes=(".nc loads take memory for constant as long as the kernel runs: no barrier and no fence orders them",),
        help="load it without .nc (in CUDA: neither __ldg, nor const with __restrict__)",
    )  # fmt: skip


def _perhaps_early(
    program: Program, site: int, other: int, count: int, row: tuple[int, ...], warps: int, named: Named
) -> Finding:
    op, store = program.ops[site], program.ops[other]
    return Finding(
        "uninitialized-read",
        f"{op.opcode} reads shared memory at {named(row[3])}, and nothing orders the first store there, of warp {row[7] % warps}, before it",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], lane=row[6],
        labels=(Label.at(store, "first stored here"),),
        help=f"after line {store.line} put a barrier that both come to (bar.sync)",
        fixes=(beside(store, "after", CTA_BARRIER),),
    )  # fmt: skip


def _read_too_early(program: Program, site: int, count: int, row: tuple[int, ...], named: Named) -> Finding:
    op = program.ops[site]
    place: dict[str, Any] = {
        "line": op.line,
        "column": op.column,
        "length": len(op.opcode),
        "count": count,
        "warp": row[5],
    }
    if not is_fetch(op):
        place["lane"] = row[6]
    help = "store to it first, put a barrier between, or check the index"
    if op.facts.scope is Scope.WARPGROUP:
        help = "write the whole tile first, or fix the descriptor: `ptxsim desc` says what one reads"
    return Finding(
        "uninitialized-read", f"{op.opcode} reads shared memory at {named(row[3])}, which had not been written by then",
        **place, level=DOUBTFUL, help=help,
    )  # fmt: skip

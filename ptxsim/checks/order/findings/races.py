"""What is said of races: of two accesses to one place, by whom, and what would put them in order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from ptxsim.checks.findings.waits import overwritten
from ptxsim.checks.order.cells import RACE, RACE_IN_GLOBAL, RACE_IN_WARP
from ptxsim.checks.order.dataflow.needless_loads import only_decides_need
from ptxsim.checks.order.dataflow.needless_loads_of_bits import only_asks_for_a_bit
from ptxsim.checks.order.dataflow.unused import is_compared, is_stored_back_alone, is_update
from ptxsim.checks.order.findings.flags import lack_of_flag
from ptxsim.checks.order.findings.idle_readers import of_idle_readers
from ptxsim.checks.order.findings.problem import Place, Problem, together
from ptxsim.checks.order.findings.remedies import fixes, is_fetch, remedy, writes
from ptxsim.checks.order.findings.rounds import by_rounds
from ptxsim.checks.order.sites import STRONG, site_bits, size_of
from ptxsim.diagnostic import MIXED_SIZES, Finding, Label
from ptxsim.edits import Fix
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Role, Synchronisation

_NAMES = {RACE: "race-shared", RACE_IN_WARP: "race-warp", RACE_IN_GLOBAL: "race-global"}


def race_findings(place: Place, races: Collection[Problem]) -> list[Finding]:
    """One finding for each cause of races."""
    program, pairs = place.program, _in_either_order(races)
    of_products = [race for race in pairs.values() if _end(program, race) is not None]
    found = together(place, of_products, _overwritten)
    for race in of_products:
        del pairs[race.key]
    idle = {key: why for key, race in pairs.items() if (why := _idle(program, pairs, race)) is not None}
    rest_of = [race for key, race in pairs.items() if key not in idle]
    idle |= dict.fromkeys(of_idle_readers(program, rest_of, place.repeat), _BY_OTHERS)
    found += [_race_of_idle(place, pairs[key], why) for key, why in idle.items()]
    rest = by_rounds(program, pairs.keys() - idle.keys())
    return found + together(place, [pairs[key] for key in rest], _race)


def _in_either_order(races: Collection[Problem]) -> dict[tuple[int, int, int], Problem]:
    """Races by their keys; of two instructions there is one, whichever came first."""
    pairs: dict[tuple[int, int, int], Problem] = {}
    for race in races:
        key = race.what, max(race.sites), min(race.sites)
        pairs.setdefault(key, Problem(*key, race.first)).count += race.count
    return pairs


def _race(place: Place, race: Problem) -> Finding:
    program, what, first = place.program, race.what, race.first
    op, before = place.ops(race)
    cta, other_cta = place.cta_of(first.cta), place.cta_of(first.them // place.warps)
    is_far, in_global, is_mine = other_cta != cta, bool(first.is_global), first.site == race.site
    at: dict[str, Any] = {"line": op.line, "column": op.column, "length": len(op.opcode), "count": race.count}
    if is_mine:  # the lane that is known is this instruction's
        at["warp"] = first.warp
        if not is_fetch(op):  # what those read belongs to no lane
            at["lane"] = first.lane
    verb = "writes" if writes(before, in_global) else "reads"
    help, changes = _in_order(program, op, before, what, is_far, in_global, program.ops[first.site])
    if in_global and is_far and what != RACE_IN_WARP:
        one, two = (cta, other_cta) if is_mine else (other_cta, cta)
        finding = Finding(
            "race-global", f"{op.opcode} of CTA {one} touches global address {first.address:#x}, which CTA {two} {verb} too",
            **at, labels=(Label(before.line, f"CTA {two} {verb} it here", before.column, len(before.opcode)),),
            notes=("CTAs run in any order, and nothing orders these two",), help=help + lack_of_flag(program, op, before),
        )  # fmt: skip
        return _of_sizes(program, op, before, finding)
    who = f"warp {first.them % place.warps if is_mine else first.warp}"
    if what == RACE_IN_WARP:
        who = "another lane of the warp"
    elif is_far:
        who += f" of CTA {other_cta if is_mine else cta}"
    if what != RACE_IN_WARP and not is_far:
        help += lack_of_flag(program, op, before, in_global=in_global)
    where = f"global address {first.address:#x}" if in_global else f"shared memory at {place.named(first.address)}"
    finding = Finding(
        _NAMES[what], f"{op.opcode} touches {where}, which {who} {verb} without order between the two",
        **at, labels=(Label(before.line, f"{verb} here", before.column, len(before.opcode)),),
        help=help, fixes=changes,
    )  # fmt: skip
    return _of_sizes(program, op, before, finding)


def _in_order(
    program: Program, op: Op, before: Op, what: int, is_far: bool, in_global: bool, later: Op
) -> tuple[str, tuple[Fix, ...]]:
    """What would put two accesses in order: in words, and as changes of the text. later: which came second in this run."""
    help = remedy(program, op, before, what, is_far, in_global, later)
    changes = fixes(program, op, before, what, is_far, in_global)
    if in_global and is_far:
        return help, changes
    if is_update(program, *sorted((op, before), key=lambda each: each.site)):
        return (
            f"if threads add to one place here, let them do it atomically (atomicAdd; atom or red in PTX); else {help}",
            (),
        )
    if writes(before, in_global) and writes(op, in_global):
        help = f"two stores to one place: if each is meant for its own, look at the index of either line; else {help}"
    return help, changes


def _of_sizes(program: Program, op: Op, before: Op, finding: Finding) -> Finding:
    """A race, which says so if it is one only because two strong accesses are of different sizes."""
    one, two = (site_bits(program)[each.site] for each in (op, before))
    if not one & two & STRONG or size_of(one) in (0, size_of(two)) or not size_of(two):
        return finding
    note = f"both are strong, but one is of {size_of(one)} bytes and the other of {size_of(two)}: accesses that overlap in part are in no order"
    return replace(
        finding,
        notes=(note, *finding.notes),
        case=MIXED_SIZES,
        help="access it with one size everywhere, and take parts out of the register",
    )


def _end(program: Program, race: Problem) -> tuple[Op, Op] | None:
    """Of a race between the end of a product and what writes its tile: the wait, and the other one."""
    wait = Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)
    for end, writer in ((race.site, race.other), (race.other, race.site)):
        if program.ops[end].synchronises == wait and writes(program.ops[writer]):
            return program.ops[end], program.ops[writer]
    return None


def _overwritten(place: Place, race: Problem) -> Finding:
    program, first = place.program, race.first
    end, writer = _end(program, race) or place.ops(race)
    products = [op for op in program.ops if op.completes_by is Mechanism.PRODUCT_GROUP]
    before = next((op for op in reversed(products) if op.site < end.site), products[-1])
    warp = first.warp if first.site == writer.site else first.them
    return overwritten(program, writer, before, end, race.count, place.named(first.address), warp, None)


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
_BY_OTHERS = _Idle(
    "{} reads in several warps what {} writes in one: no order, but no other warp uses the value",
    "stored by one warp",
    "load under the guard of line {}, or put a barrier between the two (bar.sync)",
)
_COMPARED = _Idle(
    "{} reads without order what {} writes, which compares the value with what is there then",
    "compared here",
    "ld.relaxed and the scope of line {} make it no race",
)
_NEEDLESS = _Idle(
    "{} reads without order what {} writes, and only tells whether that would change anything",
    "left out where there is no need",
    "ld.relaxed and the scope of line {} make it no race",
)


def _idle(program: Program, pairs: Collection[tuple[int, int, int]], race: Problem) -> _Idle | None:
    """Why a race is one that no result depends on; None if one may. Where stores race with each other, a thread that stores has loaded
    what another one has stored, or should have."""
    op, before = program.ops[race.site], program.ops[race.other]
    for one, two in ((op, before), (before, op)):
        if is_stored_back_alone(program, one, two) and (race.what, two.site, two.site) not in pairs:
            return _ALONE
        if is_compared(program, one, two):
            return _COMPARED
        if only_decides_need(program, one, two) or only_asks_for_a_bit(program, one, two):
            return _NEEDLESS
    return None


def _race_of_idle(place: Place, race: Problem, why: _Idle) -> Finding:
    load, store = sorted(place.ops(race), key=writes)
    return Finding(
        "race-global" if race.first.is_global else "race-shared", why.message.format(load.opcode, store.opcode),
        load.line, load.column, len(load.opcode), level="note", count=race.count,
        labels=(Label(store.line, why.label, store.column, len(store.opcode)),),
        notes=("by the memory model it is a race; no result depends on it",),
        help=why.help.format(store.line),
    )  # fmt: skip

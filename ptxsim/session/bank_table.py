"""From tallies to the tables of a run: by line, with why and with fixes that were tried, and as advice."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ptxsim.checks.banks.counter import BankCounter, GlobalTally, Tally
from ptxsim.checks.banks.expression import Origin, Origins
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import word_mask
from ptxsim.layout import conflicts
from ptxsim.layout.banks import LOOP_KINDS
from ptxsim.layout.remedies import Access, Array, Fix
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.session.run import BankRow, BankTable, GlobalRow

OWN = (1 << RANK_SHIFT) - 1  # the part of an address that says where in the CTA's memory
SLOW_KINDS = (*LOOP_KINDS, "copy")  # that are counted one by one
MOST = 256  # accesses to one array, and different executions of them, that changes are tried on


def bank_table(counter: BankCounter, program: Program, variables: Mapping[str, tuple[int, int]]) -> BankTable:
    """Tallies as rows by line; those with conflicts say why and what would help.

    variables: address and size of those in shared memory.
    """
    origins = counter.origins
    ops = program.ops
    helps = _helps(counter, program, variables)
    rows = [
        _row(ops[site], tally, origins, *helps.get(site, ([], None))) for site, tally in sorted(counter.tallies.items())
    ]
    outer = [_global_row(ops[site], tally, origins) for site, tally in sorted(counter.outer.items())]
    return BankTable(sorted(rows, key=lambda row: row.line), sorted(outer, key=lambda row: row.line))


def _row(op: Op, tally: Tally, origins: Origins, fixes: list[str], fixed: tuple[str, list[int]] | None) -> BankRow:
    origin = origins.of(op)
    row = BankRow(
        op.line, op.opcode, tally.runs, tally.wavefronts, tally.ideal, tally.worst, kind=tally.kind, conflicts=tally.conflicts,
        width=tally.width, addresses=tally.addresses.tolist(), mask=tally.mask, address=origin.text if origin else "",
        fixes=fixes, fixed=fixed,
    )  # fmt: skip
    if tally.kind == "bypass":
        row.why = "past the load-store pipe" + ", but for zeros" * (tally.wavefronts > 0)
    elif tally.wavefronts > tally.ideal:
        sentence = conflicts.explain(tally.addresses, tally.width, tally.kind, tally.mask)
        at_worst = "at worst " * (tally.wavefronts != tally.runs * tally.worst_wavefronts)
        row.why = f"{at_worst}{sentence}{_because(origin, _row_of(tally, origin))}"
    return row


def _row_of(tally: Tally | GlobalTally, origin: Origin | None) -> tuple[str, int] | None:
    """What counts the rows of an access, and their pitch in bytes."""
    if origin is None:
        return None
    active = tally.addresses[word_mask(tally.mask)]
    step = conflicts.lane_step(tally.addresses, tally.width, tally.kind, tally.mask)
    return origin.row(step, int(active.max() - active.min()))


def _helps(
    counter: BankCounter, program: Program, variables: Mapping[str, tuple[int, int]]
) -> dict[int, tuple[list[str], tuple[str, list[int]] | None]]:
    """What would help, as text, by site, and the addresses of the worst execution with the best of it.

    Every change is tried on all accesses to the same array.
    """
    found: dict[int, tuple[list[str], tuple[str, list[int]] | None]] = {}
    copied = _copied(counter.origins, variables)
    for variable, start, sites in _arrays(counter.tallies, variables):
        conflicting = [site for site in sites if counter.tallies[site].wavefronts > counter.tallies[site].ideal]
        if not conflicting:
            continue
        # The costliest first, and not more of them than can be tried in a moment.
        sites = sorted(sites, key=lambda site: counter.tallies[site].ideal - counter.tallies[site].wavefronts)[:MOST]
        tallies = [counter.tallies[site] for site in sites]
        room = max(1, MOST // len(sites))
        origins = [counter.origins.of(program.ops[site]) for site in sites]
        array = Array([_access(t, start, origin, room) for t, origin in zip(tallies, origins)], copied.get(variable))
        for index, site in enumerate(sites):
            if site in conflicting:
                lines = [program.ops[other].line for other in sites]
                fixes = array.fixes(index)
                texts = [_help(fix, array, index, tallies[index], lines) for fix in fixes]
                found[site] = texts, _fixed(fixes, array.accesses[index], tallies[index], start)
    return found


def _copied(origins: Origins, variables: Mapping[str, tuple[int, int]]) -> dict[int, str]:
    """ "tensor" or "bulk" by the address of variables that such copies move, as far as the text shows it."""
    found: dict[int, str] = {}
    for op in origins.program.ops:
        if not op.copies_in_bulk:
            continue
        for origin in (origins.of(op, number) for number in range(3)):
            for name in re.findall(r"[\w$%]+", origin.text) if origin else ():
                address, size = variables.get(name, (0, 0))
                # The mbarrier of a copy is no array.
                if size > 8 and found.get(address) != "tensor":
                    found[address] = "tensor" if op.names_tensor_map else "bulk"
    return found


def _arrays(tallies: Mapping[int, Tally], variables: Mapping[str, tuple[int, int]]) -> list[tuple[int, int, list[int]]]:
    """Where arrays and their variables begin, and the sites that access each: their worst executions overlap."""
    spans: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for site, tally in tallies.items():
        active = word_mask(tally.mask)
        if not active.any():  # a warpgroup's product: no layout costs it more
            continue
        low, high = (int(bound(tally.addresses[active])) & OWN for bound in (np.min, np.max))
        holder = next((v for v in variables.values() if v[0] <= low < v[0] + v[1]), (0, 0))
        spans.setdefault(holder, []).append((low, high, site))
    found: list[tuple[int, int, list[int]]] = []
    for (start, _), members in spans.items():
        groups: list[tuple[int, list[int]]] = []
        end = -1
        for low, high, site in sorted(members):
            if low > end:
                groups.append((low, []))
            groups[-1][1].append(site)
            end = max(end, high)
        whole = len(groups) == 1 and start
        found += [(start, start if whole else low - (low - start) % 128, sites) for low, sites in groups]
    return found


def _access(tally: Tally, start: int, origin: Origin | None, room: int) -> Access:
    """All executions if they are no more than `room`, else the first ones for all of them, and the worst."""
    kept = tally.different
    room = 1 if tally.kind in SLOW_KINDS else room
    if len(kept) > room or sum(kept.values()) != tally.runs:
        worst = tally.addresses.tobytes(), tally.mask
        chosen = {*list(kept)[: room - 1], worst}
        kept = dict.fromkeys(sorted(chosen), max(1, tally.runs // len(chosen)))
    addresses = np.frombuffer(b"".join(raw for raw, _ in kept), np.int64).reshape(-1, 32)
    masks, counts = np.array([mask for _, mask in kept]), np.array(list(kept.values()))
    row = _row_of(tally, origin)
    return Access((addresses & OWN) - start, tally.width, tally.kind, masks, counts, row and row[1])


def _fixed(fixes: list[Fix], access: Access, tally: Tally, start: int) -> tuple[str, list[int]] | None:
    """The best fix and where it moves the lanes of the worst execution."""
    if not fixes:
        return None
    shown = (tally.addresses.astype(np.int64) & OWN) - start
    row = int((access.offsets == shown).all(axis=1).argmax())
    return fixes[0].text, (start + fixes[0].move(access.offsets)[row]).tolist()


def _help(fix: Fix, array: Array, index: int, tally: Tally, lines: list[int]) -> str:
    """`row pitch 132 B -> 1 wavefront instead of 32`, of the worst execution, and what else has to be said."""
    before, after = array.before.costs[index], fix.costs[index]
    worst = int(before.argmax())
    new, old = int(after[worst]), int(before[worst])
    text = f"{fix.text} -> {new} wavefront{'s' * (new != 1)} instead of {old}"
    counts = array.accesses[index].counts
    is_all = (int(counts.sum()), int((before * counts).sum())) == (tally.runs, tally.wavefronts)
    if is_all and tally.wavefronts != tally.runs * tally.worst_wavefronts:
        text += f", {int((after * counts).sum())} instead of {tally.wavefronts} in all {tally.runs} executions"
    elif tally.wavefronts != tally.runs * tally.worst_wavefronts:
        text += " in the worst execution"
    harmed = [
        f"line {line} then takes {int(new.max())} instead of {int(old.max())}"
        for line, old, new in sorted(zip(lines, array.before.costs, fix.costs), key=lambda item: item[0])
        if new.max() > old.max()
    ]
    more = [f"{len(harmed) - 2} lines more, too"] if len(harmed) > 3 else []
    return "; ".join([text, *(harmed[:2] + more if more else harmed)])


def _because(origin: Origin | None, row: tuple[str, int] | None) -> str:
    """`; row = %laneid, pitch 128: the address is tile + 128 * %laneid (line 33)`."""
    if origin is None or not origin.lines:
        return ""
    lines = ", ".join(map(str, origin.lines[-3:]))
    where = f"the address is {origin.text} (line{'s' * (len(origin.lines) > 1)} {lines})"
    return f"; row = {row[0]}, pitch {row[1]}: {where}" if row else f"; {where}"


def _global_row(op: Op, tally: GlobalTally, origins: Origins) -> GlobalRow:
    origin = origins.of(op)
    why = ""
    if tally.sectors > tally.ideal:
        step = conflicts.lane_step(tally.addresses, tally.width, "st", tally.mask)
        apart = f"lanes are {step} B apart" if step else "lanes are scattered"
        why = f"{apart}: {tally.worst} sectors in one request{_because(origin, _row_of(tally, origin))}"
    return GlobalRow(
        op.line, op.opcode, tally.requests, tally.sectors, tally.ideal, tally.lines, why, tally.kind,
        origin.text if origin else "",
    )  # fmt: skip


def access_notes(banks: BankTable, names: set[str]) -> list[Finding]:
    """`bank-conflict` and `uncoalesced` as findings, where they are asked for by name."""
    notes = []
    for row in banks.rows if "bank-conflict" in names else ():
        if row.excess:
            message = f"{row.instruction} took {row.wavefronts} wavefronts in {_times(row.runs)}, {row.ideal} would do"
            notes.append(_note("bank-conflict", row, message, "; ".join(row.fixes) or None))
    for outer in banks.global_rows if "uncoalesced" in names else ():
        if outer.sectors > outer.ideal:
            message = f"{outer.instruction} touched {outer.sectors} sectors in {_times(outer.requests)}, {outer.ideal} would do"
            notes.append(_note("uncoalesced", outer, message, "let neighbouring lanes access neighbouring addresses"))
    return notes


def _times(count: int) -> str:
    return f"{count} execution{'s' * (count != 1)}"


def _note(name: str, row: BankRow | GlobalRow, message: str, help: str | None) -> Finding:
    return Finding(name, message, row.line, length=len(row.instruction), help=help, notes=(row.why,) if row.why else ())

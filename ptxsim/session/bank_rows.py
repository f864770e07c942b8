"""From tallies to the tables of a run: by line, with why and with fixes that were tried, and as advice."""

from __future__ import annotations

from ptxsim.checks.banks import BankCounter, GlobalTally, Tally
from ptxsim.checks.expression import Origin, Origins
from ptxsim.diagnostic import Finding
from ptxsim.engine.program import Op, Program
from ptxsim.layout import conflicts
from ptxsim.session.run import BankRow, BankTable, GlobalRow


def bank_table(counter: BankCounter, program: Program) -> BankTable:
    """Tallies as rows by line; those with conflicts say why and what would help."""
    origins = counter.origins
    ops = program.ops
    rows = [_row(ops[site], tally, origins) for site, tally in sorted(counter.tallies.items())]
    outer = [_global_row(ops[site], tally, origins) for site, tally in sorted(counter.outer.items())]
    return BankTable(sorted(rows, key=lambda row: row.line), sorted(outer, key=lambda row: row.line))


def _row(op: Op, tally: Tally, origins: Origins) -> BankRow:
    origin = origins.of(op)
    row = BankRow(
        op.line, op.opcode, tally.runs, tally.wavefronts, tally.ideal, tally.worst, kind=tally.kind,
        width=tally.width, addresses=tally.addresses.tolist(), mask=tally.mask, address=origin.text if origin else "",
    )  # fmt: skip
    if tally.wavefronts > tally.ideal:
        sentence = conflicts.explain(tally.addresses, tally.width, tally.kind, tally.mask)
        pitch = conflicts.lane_step(tally.addresses, tally.width, tally.kind, tally.mask)
        row.why = f"{sentence}{_because(origin, pitch)}"
        row.fixes = [
            f"{fix.text} -> {fix.wavefronts} wavefront{'s' * (fix.wavefronts != 1)} instead of {tally.worst_wavefronts}"
            for fix in _worth_listing(tally)
        ]
    return row


def _worth_listing(tally: Tally) -> list[conflicts.Fix]:
    """Fixes that take away at least half of what the best one does; several changes at once only where they are the best."""
    tried = conflicts.fixes(tally.addresses, tally.width, tally.kind, tally.mask)
    best = min((fix.wavefronts for fix in tried), default=0)
    single = [fix.wavefronts for fix in tried if fix.pitch is None or fix.swizzle is None]
    return [
        fix
        for fix in tried
        if 2 * fix.wavefronts <= tally.worst_wavefronts + best
        and (fix.pitch is None or fix.swizzle is None or fix.wavefronts < min(single))
    ]


def _because(origin: Origin | None, pitch: int | None) -> str:
    """`; row = %laneid, pitch 128: the address is tile + 128 * %laneid (line 33)`."""
    if origin is None or not origin.lines:
        return ""
    row = origin.row(pitch)
    lines = ", ".join(map(str, origin.lines[-3:]))
    where = f"the address is {origin.text} (line{'s' * (len(origin.lines) > 1)} {lines})"
    return f"; row = {row[0]}, pitch {row[1]}: {where}" if row else f"; {where}"


def _global_row(op: Op, tally: GlobalTally, origins: Origins) -> GlobalRow:
    origin = origins.of(op)
    why = ""
    if tally.sectors > tally.ideal:
        step = conflicts.lane_step(tally.addresses, tally.width, "st", tally.mask)
        apart = f"lanes are {step} B apart" if step else "lanes are scattered"
        why = f"{apart}: {tally.worst} sectors in one request{_because(origin, step)}"
    return GlobalRow(
        op.line, op.opcode, tally.requests, tally.sectors, tally.ideal, tally.lines, why, tally.kind,
        origin.text if origin else "",
    )  # fmt: skip


def access_notes(banks: BankTable, names: set[str]) -> list[Finding]:
    """`bank-conflict` and `uncoalesced` as findings, for those who ask for them by name."""
    notes = []
    for row in banks.rows if "bank-conflict" in names else ():
        if row.excess:
            message = f"{row.instruction} took {row.wavefronts} wavefronts in {_times(row.runs)}, {row.ideal} would do"
            notes.append(_note("bank-conflict", row, message, "; ".join(row.fixes) or None))
    for row in banks.global_rows if "uncoalesced" in names else ():
        if row.sectors > row.ideal:
            message = f"{row.instruction} touched {row.sectors} sectors in {_times(row.requests)}, {row.ideal} would do"
            notes.append(_note("uncoalesced", row, message, "let neighbouring lanes access neighbouring addresses"))
    return notes


def _times(count: int) -> str:
    return f"{count} execution{'s' * (count != 1)}"


def _note(name: str, row: BankRow | GlobalRow, message: str, help: str | None) -> Finding:
    return Finding(name, message, row.line, length=len(row.instruction), help=help, notes=(row.why,) if row.why else ())

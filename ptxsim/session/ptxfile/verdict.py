"""What a file expects against what a run gave: values, findings that should appear, and what costs too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ptxsim.diagnostic import Finding, Label, PtxError
from ptxsim.session.ptxfile.directives import Directives, ExpectedFinding, ExpectedValue
from ptxsim.session.ptxfile.expectations import Writer, check_comparison
from ptxsim.session.ptxfile.expressions import GLOBAL_COUNTS
from ptxsim.source import Source, Span

if TYPE_CHECKING:
    from ptxsim.session.run import BankRow, BankTable, GlobalRow


def judged(expectation: ExpectedValue, names: Mapping[str, Any], writer: Writer | None = None) -> list[Finding]:
    """What is wrong by one expectation, at its place."""
    try:
        return check_comparison(expectation.comparison, names, expectation.span, writer)
    except PtxError as error:
        start = expectation.span
        return [
            finding.at(Span(start.line, start.column + finding.column - 1, finding.length))
            for finding in error.findings
        ]


def same(one: Any, other: Any) -> bool:
    """Whether two values of an argument are alike, bit for bit where they are arrays."""
    from ptxsim.session.arguments import same_bytes

    return not hasattr(one, "dtype") or same_bytes(one, other)


def depends(name: str, one: Any, other: Any, seeds: tuple[int, int], writer: Writer) -> Finding:
    """That an argument comes out in two ways, with two seeds."""
    import numpy as np

    unlike = (one != other) & ~((one != one) & (other != other))
    place = tuple(int(i) for i in np.argwhere(unlike)[0]) if unlike.any() else (0,) * one.ndim
    index = ",".join(map(str, place))
    stored = writer(name, place)
    return Finding(
        "schedule-dependent",
        f"{name}[{index}] is {one[place]} with --seed {seeds[0]} and {other[place]} with --seed {seeds[1]}",
        notes=(f"with --seed {seeds[1]} {name}[{index}] was {stored}",) if stored else (),
        help=f"let the kernel order what decides it; or say with an `expect` of {name} what is right on every schedule",
    )


def sort_out(findings: list[Finding], directives: Directives, source: Source) -> tuple[list[Finding], list[Finding]]:
    """Unexpected findings, with one more for each expected one that is missing; and the expected ones."""
    expected = [finding for finding in findings if any(wanted.matches(finding) for wanted in directives.findings)]
    left = [finding for finding in findings if finding not in expected]
    for wanted in directives.findings:
        if not any(wanted.matches(finding) for finding in findings):
            left.append(_not_seen(wanted, findings).of(source))
    return left, expected


def _not_seen(wanted: ExpectedFinding, findings: list[Finding]) -> Finding:
    place = f" at line {wanted.line}" if wanted.line else ""
    others = sorted({finding.line for finding in findings if finding.name == wanted.name})
    seen = f"it appeared at line {', '.join(map(str, others))} instead" if others else None
    return Finding(
        "expectation-failed", f"{wanted.name}{place} was expected and did not appear", notes=(seen,) if seen else ()
    ).at(wanted.span)


def blamed(finding: Finding, banks: BankTable, counts: Set[str], source: Source) -> Finding:
    """A failed expectation of counts with the instruction that costs most beyond what it needs, and what would help it.

    source: the PTX, whose author may have written another file; then the instruction is shown at that file's line.
    """
    rows: Sequence[BankRow | GlobalRow] = banks.global_rows if counts & set(GLOBAL_COUNTS) else banks.rows
    costly = [row for row in rows if row.excess > 0]
    if finding.name != "expectation-failed" or not costly:
        return finding
    row = max(costly, key=lambda row: (getattr(row, "worst", 0), row.excess))
    why, origin = row.why.partition("; ")[0], source.origin(row.line)
    notes = finding.notes
    labels: tuple[Label, ...] = (Label(row.line, why, length=len(row.instruction)),)
    if source.made_from is not None:
        notes = (*notes, f"most at {source.place(row.line)}, {row.instruction}: {why}")
        is_there = origin is not None and source.original(origin.file) is source.made_from
        labels = (Label(origin.line, why, origin.column),) if origin is not None and is_there else ()
    fixes = getattr(row, "fixes", ())
    return replace(
        finding, labels=(*finding.labels, *labels), notes=notes, help=finding.help or "; or ".join(fixes) or None
    )

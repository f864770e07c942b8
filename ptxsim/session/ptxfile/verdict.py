"""What a file expects against what a run gave: values, and findings that should appear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.ptxfile.directives import Directives, ExpectedFinding, ExpectedValue
from ptxsim.session.ptxfile.expectations import Writer, check_comparison
from ptxsim.source import Source, Span


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

"""Which findings count: `--select`, `--ignore`, `--fail-on`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptxsim.diagnostic import KINDS, Finding, PtxError
from ptxsim.session.ptxfile.expectations import check_comparison, parse_comparison
from ptxsim.session.ptxfile.expressions import METRICS
from ptxsim.spelling import did_you_mean


def parse_names(text: str | None) -> tuple[str, ...]:
    """`"race-shared,PTX2"`: names, codes, or the beginning of codes, as names. Raises PtxError for an unknown word."""
    names: list[str] = []
    for word in filter(None, (part.strip() for part in (text or "").replace(" ", ",").split(","))):
        found = (
            [word] if word in KINDS else [kind.name for kind in KINDS.values() if kind.code.startswith(word.upper())]
        )
        if not found:
            raise PtxError(Finding("bad-directive", f"no finding is called {word!r}", help=did_you_mean(word, KINDS)))
        names += found
    return tuple(names)


def chosen(findings: Iterable[Finding], select: Sequence[str], ignore: Sequence[str]) -> list[Finding]:
    """Findings that are selected (all, if nothing is) and not ignored. A failed expectation is never left out."""
    return [
        finding
        for finding in findings
        if finding.name == "expectation-failed"
        or ((not select or finding.name in select) and finding.name not in ignore)
    ]


def fails_on(expression: str, counts: Mapping[str, Any]) -> str | None:
    """A sentence if `expression` (`banks.worst > 1`) holds, else None. Raises PtxError if it cannot be computed."""
    try:
        comparison = parse_comparison(expression)
    except PtxError as error:
        help = "compare one count with a number: --fail-on 'banks.worst > 1'"
        problems = [replace(f, message=f"--fail-on cannot be read: {f.message}", help=help) for f in error.findings]
        raise PtxError(problems) from None
    if unknown := sorted(comparison.names - set(METRICS)):
        problem = f"--fail-on knows no {unknown[0]!r}"
        raise PtxError(Finding("bad-directive", problem, help=did_you_mean(unknown[0], METRICS)))
    if check_comparison(comparison, counts):
        return None
    facts = [f"{name} is {value}" for name, value in _flat(counts) if name in comparison.text]
    return f"--fail-on {comparison.text}: {', '.join(facts)}"


def _flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, value in counts.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}.{key}", inner) for key, inner in value.items()]
        else:
            pairs.append((name, value))
    return pairs

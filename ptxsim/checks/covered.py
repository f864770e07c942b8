"""Drops findings that say nothing new beside another one: of the same two places, or of what the other is known to lead to."""

from __future__ import annotations

from dataclasses import replace

from ptxsim.diagnostic import BESIDE, NOT_BEGUN, Finding
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.source import Source

RACES = ("race-shared", "race-warp")
WAITS = ("missing-wait", "cp-async-not-waited")
# What a product meets that reads over the end of its tile: what others bring there, or what nobody has written.
_PAST_TILE = (*RACES, *WAITS, "missing-proxy-fence", "uninitialized-read", "tile-overwritten", "out-of-bounds")


@fact
def waits_for_products(program: Program) -> frozenset[int]:
    """The lines that wait for asynchronous products, where those end for other warps."""
    wait = Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)
    return frozenset(op.line for op in program.ops if op.synchronises == wait)


def without_covered(program: Program, source: Source, findings: list[Finding]) -> list[Finding]:
    """The findings without those that another one covers:

    * races of two places of which another finding says that a wait for a copy is missing, which is said once;
    * accesses before the end of a product, where they have met a product that is still in flight;
    * uses of a CTA that may not have begun, where no barrier orders them either;
    * proxy fences between places that a race is between: the barrier that the race asks for comes after such a fence;
    * races of a tensor map that lacks a fence;
    * races within a warp between lines of the author's text between which warps race in another copy of a loop.
    """
    findings = _with_layouts_first(findings)
    overwriting = [finding for finding in findings if finding.name == "tile-overwritten"]
    ends = waits_for_products(program) if overwriting else frozenset()
    unordered = {line for finding in findings if finding.name in ("race-shared", "missing-wait", "mbarrier-visibility")
                 for line in (finding.line, *(label.line for label in finding.labels))}  # fmt: skip
    in_flight = any(not _says_when(finding, ends) for finding in overwriting)
    waits = {_places(finding) for finding in findings if finding.name in (*WAITS, "tile-overwritten")}
    unpublished = {_places(finding) for finding in findings if finding.name == "tensormap-fence"}
    races = {_places(finding) for finding in findings if finding.name in RACES}
    between_warps = {written_lines(finding, source) for finding in findings if finding.name == "race-shared"}
    found: dict[tuple[str, int | None, tuple[int, ...]] | int, Finding] = {}
    for finding in findings:
        lines = tuple(label.line for label in finding.labels)
        pair = _places(finding)
        if finding.name in RACES and pair in waits:
            continue
        if finding.name == "race-warp" and any(finding.line == each.line for each in overwriting):
            continue  # a copy's reads by one lane stand beside those of the warp's others
        if finding.name == "missing-proxy-fence" and pair in races:
            continue
        if finding.name == "race-global" and pair in unpublished:
            continue
        if finding.name == "race-warp" and finding.labels and written_lines(finding, source) in between_warps:
            continue
        if finding.case == NOT_BEGUN and finding.line in unordered:
            continue  # a barrier of the cluster is what lacks there
        if in_flight and finding.name == "tile-overwritten" and _says_when(finding, ends):
            continue  # the product that goes on is known
        key = (finding.name, finding.line, lines) if finding.name == "missing-wait" and lines else id(finding)
        found.setdefault(key, finding)
    return list(found.values())


def _with_layouts_first(findings: list[Finding]) -> list[Finding]:
    """Findings without those that a layout explains at their line; and without layouts that explain none."""
    explaining = {finding.line for finding in findings if finding.case == BESIDE}
    explained = {each.line for each in findings if each.name in _PAST_TILE} & explaining
    return [
        each
        for each in findings
        if (
            each.line in explained if each.case == BESIDE else each.line not in explained or each.name not in _PAST_TILE
        )
    ]


def _places(finding: Finding) -> frozenset[int]:
    """The lines that a finding is of."""
    return frozenset((finding.line, *(label.line for label in finding.labels)))


def written_lines(finding: Finding, source: Source) -> frozenset[object]:
    """The same lines as the author has written them."""
    return frozenset(source.origin(line) or line for line in _places(finding))


def _says_when(finding: Finding, ends: frozenset[int]) -> bool:
    return any(label.line in ends for label in finding.labels)


def without_overflows_of_missing_waits(program: Program, findings: list[Finding]) -> list[Finding]:
    """One finding where a copy is not waited for, or comes too early, so that an mbarrier is arrived at too early, which ends the run.

    Data that is read before it has come is part of that.
    """
    overflows = [finding for finding in findings if finding.name == "mbarrier-overflow"]
    if not overflows:
        return findings
    copies = {op.line for op in program.ops if op.completes_by is Mechanism.MBARRIER}
    notes = tuple(f"mbarrier-overflow at line {each.line} comes of it, too: {each.message}" for each in overflows)
    for n, finding in enumerate(findings):
        comes_early = finding.name in ("missing-wait", "tile-overwritten", "race-shared") and not copies.isdisjoint(
            _places(finding)
        )
        if comes_early or (finding.name == "uninitialized-read" and copies and finding.level != "note"):
            told = replace(finding, notes=(*finding.notes, *notes), level="error")
            return [each for each in (*findings[:n], told, *findings[n + 1 :]) if each not in overflows]
    return findings

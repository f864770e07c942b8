"""One cause, one finding: what goes wrong between the instructions of two stretches has one remedy.

A stretch is code without a branch, a label that a branch goes to, or a synchronisation in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ptxsim.diagnostic import NOT_BEGUN, Finding
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.source import Source

Key = tuple[int, int, int]  # what goes wrong, site, other site
_OF_ORDER = ("race-shared", "missing-wait", "mbarrier-visibility")


@fact
def stretch_of(program: Program) -> tuple[int, ...]:
    """The number of the stretch of every operation."""
    targets = {target for op in program.ops for target in op.targets}
    found, stretch = [0] * len(program.ops), 0
    for number, block in enumerate(program.blocks):
        stretch += number in targets
        for op in block:
            stretch += op.facts.synchronises is not None
            found[op.site] = stretch
            stretch += bool(op.control) or op.facts.synchronises is not None
    return tuple(found)


def by_cause(program: Program, keys: Iterable[Key]) -> list[list[Key]]:
    """Problems that are alike, between the same two stretches; the first in the order of the sites stands for them."""
    stretches, groups = stretch_of(program), dict[Key, list[Key]]()
    for what, site, other in sorted(keys):
        groups.setdefault((what, stretches[site], stretches[other]), []).append((what, site, other))
    return list(groups.values())


@fact
def waits_for_products(program: Program) -> frozenset[int]:
    """The lines that wait for asynchronous products, where those end for other warps."""
    wait = Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)
    return frozenset(op.line for op in program.ops if op.synchronises == wait)


def without_overflows_of_missing_waits(program: Program, findings: list[Finding]) -> list[Finding]:
    """One finding where a copy is not waited for, and so the mbarrier that it completes is arrived at again too early, which ends the run."""
    overflows = [finding for finding in findings if finding.name == "mbarrier-overflow"]
    if not overflows:
        return findings
    copies = {op.line for op in program.ops if op.completes_by is Mechanism.MBARRIER}
    notes = tuple(f"mbarrier-overflow at line {each.line} comes of it, too: {each.message}" for each in overflows)
    for n, finding in enumerate(findings):
        if finding.name == "missing-wait" and not copies.isdisjoint(label.line for label in finding.labels):
            told = replace(finding, notes=(*finding.notes, *notes))
            return [each for each in (*findings[:n], told, *findings[n + 1 :]) if each not in overflows]
    return findings


def without_echoes(program: Program, source: Source, findings: list[Finding]) -> list[Finding]:
    """Findings without races of two places of which another one says what is missing: a wait for the copy, which is said once; and
    without what has not waited for the end of a product, where it has met a product that goes on; without uses of a CTA that may not have
    begun which no barrier orders either; without proxy fences between places that a race is between: the barrier that it asks for comes
    after one; and without races within a warp between lines of the author's text between which warps race, in another copy of a loop."""
    overwriting = [finding for finding in findings if finding.name == "tile-overwritten"]
    ends = waits_for_products(program) if overwriting else frozenset()
    unordered = {line for finding in findings if finding.name in _OF_ORDER
                 for line in (finding.line, *(label.line for label in finding.labels))}  # fmt: skip
    in_flight = any(not _says_when(finding, ends) for finding in overwriting)
    waits = {
        _places(finding) for finding in findings
        if finding.name in ("missing-wait", "cp-async-not-waited", "tile-overwritten")
    }  # fmt: skip
    races = {_places(finding) for finding in findings if finding.name in ("race-shared", "race-warp")}
    between_warps = {_written(finding, source) for finding in findings if finding.name == "race-shared"}
    found: dict[tuple[str, int | None, tuple[int, ...]] | int, Finding] = {}
    for finding in findings:
        lines = tuple(label.line for label in finding.labels)
        pair = _places(finding)
        if finding.name == "race-shared" and pair in waits:
            continue
        if finding.name == "missing-proxy-fence" and pair in races:
            continue
        if finding.name == "race-warp" and finding.labels and _written(finding, source) in between_warps:
            continue
        if finding.case == NOT_BEGUN and finding.line in unordered:
            continue  # a barrier of the cluster is what lacks there
        if in_flight and finding.name == "tile-overwritten" and _says_when(finding, ends):
            continue  # the product that goes on is known
        key = (finding.name, finding.line, lines) if finding.name == "missing-wait" and lines else id(finding)
        found.setdefault(key, finding)
    return list(found.values())


def _places(finding: Finding) -> frozenset[int]:
    """The lines that a finding is of."""
    return frozenset((finding.line, *(label.line for label in finding.labels)))


def _written(finding: Finding, source: Source) -> frozenset[object]:
    """The same lines as the author has written them."""
    return frozenset(source.origin(line) or line for line in _places(finding))


def _says_when(finding: Finding, ends: frozenset[int]) -> bool:
    return any(label.line in ends for label in finding.labels)


def note_of_others(program: Program, keys: list[Key]) -> tuple[str, ...]:
    """What else has the cause of the first problem."""
    first, found = keys[0], []
    for which, text in ((1, "the same at"), (2, "and with")):
        lines = sorted({program.ops[key[which]].line for key in keys} - {program.ops[first[which]].line})
        if lines:
            found.append(f"{text} line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}")
    return (", ".join(found),) if found else ()

"""The last lines of a run: what ran, what was found, and how far the numbers can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ptxsim.demangle import short_name
from ptxsim.diagnostic import Finding
from ptxsim.report.style import WIDTH, Paint, plain
from ptxsim.report.text import wrap

if TYPE_CHECKING:
    from ptxsim.session.ptxfile.file import FileRun
    from ptxsim.session.run import SlowPath


def summary(result: FileRun, paint: Paint = plain, width: int = WIDTH) -> str:
    """Three lines, one where the file did not run."""
    run = result.run
    verdict = tally(result.findings)
    if run is None:
        return paint("error", f"{result.source.name}: {verdict}; nothing ran")
    first = f"{short_name(run.entry)} on {run.target}: {paint('pass' if result.passed else 'error', verdict)}"
    if result.checked:
        unmet = {"expectation-failed", "bad-directive"}
        failed = sum(finding.name in unmet and finding.level == "error" for finding in result.findings)
        first += f"; {result.checked - failed} of {result.checked} expectations met"
    facts = [plural(run.warp_instructions, "warp instruction")]
    if len(result.seeds) > 1:
        seeds = f"seeds {result.seeds[0]} to {result.seeds[-1]}"
        facts.insert(0, f"{len(result.seeds)} schedules tried ({seeds}; counts and results are those of the first)")
    if run.cycles is not None:
        facts.append(plural(int(run.cycles), "cycle"))
    if run.banks_counted and run.banks.rows:
        facts.append(f"{plural(run.banks.wavefronts, 'shared-memory wavefront')} (ideal {run.banks.ideal})")
    lines = [first, "; ".join(facts)]
    if run.fidelity:
        lines.append(fidelity(run.fidelity, width))
    if run.slow_path:
        lines.append(slow_path(run.slow_path, width))
    return "\n".join(lines)


def tally(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 note`, or `no findings`."""
    counts = Counter(str(finding.level) for finding in findings)
    parts = [plural(counts[level], level) for level in ("error", "warning", "note") if counts[level]]
    return ", ".join(parts) or "no findings"


def plural(count: int, thing: str) -> str:
    """`1 cycle`, `12 345 cycles`, `2 launches`."""
    ending = "" if count == 1 else "es" if thing.endswith("ch") else "s"
    return f"{count:,} {thing}{ending}".replace(",", " ")


def fidelity(kinds: Mapping[str, str], width: int = WIDTH) -> str:
    """Which instructions are judged bit for bit, which are modeled, which are only bounded."""
    groups: dict[str, list[str]] = {"exact": [], "modeled": [], "bounded": []}
    for kind, how in kinds.items():
        groups.setdefault(how, []).append(kind)
    parts = []
    if groups["exact"]:
        parts.append(f"{plural(len(groups['exact']), 'kind')} of instruction exact")
    parts += [f"{how}: {', '.join(sorted(groups[how]))}" for how in ("modeled", "bounded") if groups[how]]
    return _indented(f"fidelity: {'; '.join(parts)}", width)


def slow_path(rows: Sequence[SlowPath], width: int = WIDTH) -> str:
    """How often the compiled engine had no native code, and which instruction was the most frequent."""
    most = max(rows, key=lambda row: row.count)
    times = plural(sum(row.count for row in rows), "execution")
    return _indented(f"slow path: {times}; most often {most.instruction} at line {most.line} ({most.why})", width)


def _indented(text: str, width: int) -> str:
    lines = wrap(text, width, "")
    return "\n".join([lines[0], *("          " + line for line in lines[1:])])

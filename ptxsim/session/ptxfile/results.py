"""What comes of running a file with directives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptxsim.session.ptxfile.expressions import BANK_COUNTS

if TYPE_CHECKING:
    from ptxsim.diagnostic import Finding
    from ptxsim.session.inspect.operands import Shown
    from ptxsim.session.run import Run
    from ptxsim.source import Source


@dataclass(slots=True, repr=False)
class FileRun:
    """What came of running a file.

    `run` is None where the file did not get as far as running. `findings` are the unexpected ones, together with
    failed expectations; `expected` are the findings that appeared as the file said. `values` maps argument names to
    what they hold after the run, `NAME_in` to what they held before. `checked` counts the expectations. `shown`
    are the operands that `prints` asked for. Findings and failed expectations come from all of `seeds`, results from the
    first of them.
    """

    source: Source
    run: Run | None
    findings: list[Finding]
    expected: list[Finding] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    checked: int = 0
    shown: list[Shown] = field(default_factory=list)
    seeds: range = range(1)

    def __repr__(self) -> str:
        return f"FileRun({self.source.name}, passed={self.passed}, {len(self.findings)} findings, run={self.run!r})"

    @property
    def passed(self) -> bool:
        """Whether nothing of level error or warning is left."""
        return all(finding.level == "note" for finding in self.findings)


def metrics(run: Run) -> dict[str, Any]:
    """The counts of a run that expectations and `--fail-on` may name; None for what was not measured."""
    return {
        "banks": {name: getattr(run.banks, name) for name in BANK_COUNTS} if run.banks_counted else None,
        "cycles": None if run.cycles is None else run.cycles.cycles,
        "findings": len(run.findings),
        "warp_instructions": run.warp_instructions,
    }

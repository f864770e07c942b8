"""Exit codes of the command, fixed by contract."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from ptxsim.diagnostic import Finding

CLEAN, FINDINGS, USAGE, NOT_MODELED, INTERNAL = range(5)
INTERRUPTED = 128 + signal.SIGINT


def exit_code(findings: Iterable[Finding]) -> int:
    """What the findings of a run add up to. Notes are advice and leave a run clean."""
    serious = {finding.name for finding in findings if finding.level != "note"}
    if "bad-directive" in serious:
        return USAGE
    if "not-modeled" in serious:
        return NOT_MODELED
    return FINDINGS if serious else CLEAN

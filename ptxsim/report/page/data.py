"""What the page's script draws of a run, as plain values."""

from __future__ import annotations

import base64
import zlib
from typing import Any

from ptxsim.demangle import demangle
from ptxsim.report.origins import told
from ptxsim.report.page.timeline import timeline_data
from ptxsim.report.records import to_json
from ptxsim.session.ptxfile.file import FileRun


def run_data(result: FileRun) -> dict[str, Any]:
    """Numbers by line, findings, and the profile with its timeline (None where there is none)."""
    run = result.run
    cycles = run.cycles if run is not None else None
    profile = None if cycles is None else {k: v for k, v in cycles.to_dict().items() if k != "lines"}
    timeline = None if cycles is None or cycles.timeline is None else timeline_data(cycles.timeline)
    return {
        "entry": demangle(run.entry) if run is not None else "",
        "lines": _lines(result),
        "found": _found(result),
        "profile": profile,
        "timeline": timeline,
    }


def _lines(result: FileRun) -> dict[int, dict[str, Any]]:
    """By line: w and i, wavefronts and the fewest possible; s and m, the same of sectors; n, issued; r, cycles waited by reason."""
    lines: dict[int, dict[str, Any]] = {}
    if result.run is None:
        return lines

    def add(line: int, name: str, value: float) -> None:
        row = lines.setdefault(line, {})
        row[name] = row.get(name, 0) + value

    if result.run.banks_counted:
        for row in result.run.banks.rows:
            add(row.line, "w", row.wavefronts)
            add(row.line, "i", row.ideal)
        for access in result.run.banks.global_rows:
            add(access.line, "s", access.sectors)
            add(access.line, "m", access.ideal)
    for stalls in result.run.cycles.lines if result.run.cycles is not None else ():
        add(stalls.line, "n", stalls.issued)
        if stalls.waited >= 1:
            lines[stalls.line]["r"] = {name: round(value) for name, value in stalls.stalls.items() if value >= 1}
    return lines


def _found(result: FileRun) -> list[dict[str, Any]]:
    """Findings in order, the expected ones last, as the sections list them; those at no line as well."""
    return [
        {"line": finding.line, "level": finding.level, "name": finding.name, "message": finding.message}
        for finding in map(told, [*result.findings, *result.expected])
    ]


def packed(value: Any) -> str:
    """A value as JSON, deflated, in base64: what the script's `unpack` takes."""
    return base64.b64encode(zlib.compress(to_json(value, indent=None).encode(), 9)).decode()

"""The shared-memory table: wavefronts per instruction, why there are more than needed, and what would help."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ptxsim.report.style import WIDTH, Paint, plain
from ptxsim.report.summary import plural
from ptxsim.report.text import wrap

if TYPE_CHECKING:
    from ptxsim.session.files import FileRun

CLEAN = (
    "0 address conflicts here: every instruction takes the fewest wavefronts its lanes allow. If a profiler shows bank "
    "conflicts for this kernel, what it shows is not this address pattern."
)


def table(result: FileRun, paint: Paint = plain, width: int = WIDTH) -> str:
    """The table of a run; empty where the file did not run."""
    if result.run is None:
        return ""
    banks = result.run.banks
    if not banks.rows:
        return "no instruction touched shared memory"
    warps = -(-math.prod(result.run.block) // 32)
    ctas = math.prod(result.run.grid)
    title = f"{result.run.entry}: {result.run.target}, {plural(ctas, 'CTA')}, {plural(warps, 'warp')} each"
    heads = ("line", "instruction", "runs", "wavefronts", "ideal", "worst", "why")
    cells = [_cells(row) for row in banks.rows]
    totals = ("total", "", "", str(banks.wavefronts), str(banks.ideal), "", "")
    widths = [max(len(line[column]) for line in [heads, totals, *cells]) for column in range(6)]
    widths[1] = min(widths[1], 44)
    lines = [title, "", paint("strong", _line(heads, widths, width))]
    for row, line in zip(banks.rows, cells):
        text = _line(line, widths, width)
        lines.append(paint("warning", text) if row.worst > 1 else text)
    lines.append(_line(totals, widths, width))
    return "\n".join([*lines, "", *_advice(banks, width)])


def _cells(row: Any) -> tuple[str, ...]:
    return (
        str(row.line),
        str(row.instruction),
        str(row.runs),
        str(row.wavefronts),
        str(row.ideal),
        f"{row.worst}-way",
        row.why or "",
    )


def _line(cells: tuple[str, ...], widths: list[int], width: int) -> str:
    """One row; the reason continues below itself where it does not fit."""
    name = cells[1] if len(cells[1]) <= widths[1] else cells[1][: widths[1] - 3] + "..."
    numbers = "  ".join(f"{cell:>{size}}" for cell, size in zip(cells[2:6], widths[2:6]))
    start = f" {cells[0]:>{widths[0]}}  {name:<{widths[1]}}  {numbers}  "
    parts = wrap(cells[6], max(24, width - len(start)), "")
    return "\n".join([f"{start}{parts[0]}".rstrip(), *(" " * len(start) + part for part in parts[1:])])


def _advice(banks: Any, width: int) -> list[str]:
    """The instruction that costs most beyond its ideal, those like it, and what was tried on them."""
    if banks.wavefronts <= banks.ideal:
        return wrap(CLEAN, width, " ")
    worst = max(banks.rows, key=lambda row: row.conflicts)
    alike = [row for row in banks.rows if (row.why, row.fixes) == (worst.why, worst.fixes)]
    excess = banks.wavefronts - banks.ideal
    share = 100 * sum(row.conflicts for row in alike) / excess
    lines = ", ".join(map(str, dict.fromkeys(row.line for row in alike)))
    who = f"line {lines} causes" if "," not in lines else f"lines {lines} cause"
    text = wrap(f"help: {who} {share:.0f} % of the {plural(excess, 'wavefront')} too many", width, " ")
    return text + [f"       {fix}" for fix in worst.fixes]

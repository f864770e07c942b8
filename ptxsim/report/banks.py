"""The shared-memory table: wavefronts per instruction, why there are more than needed, and what would help."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxsim.demangle import short_name
from ptxsim.report.origins import Written, written_at
from ptxsim.report.style import WIDTH, Paint, plain
from ptxsim.report.summary import plural
from ptxsim.report.text import ranges, wrap

if TYPE_CHECKING:
    from ptxsim.session.ptxfile.file import FileRun
    from ptxsim.session.run import BankRow, BankTable, GlobalRow
    from ptxsim.source import Source

CLEAN = (
    "0 address conflicts here: every instruction takes the fewest wavefronts its lanes allow. If a profiler shows bank "
    "conflicts for this kernel, what it shows is not this address pattern. Stores that wait for lines which loads bring "
    "into L1 count as conflicts there, as l1tex__data_bank_conflicts_type_arbitration says; ld.global.cg, "
    ".L1::no_allocate and cp.async leave none."
)


_GROUPS = 4  # groups of alike instructions that get advice; the JSON has it for all
_ALIKE = 3  # rows that are alike but for the line, from which on only the first of them is printed
_NAMED = 8  # lines that are named one by one
_OFFSET = re.compile(r" [+-] \d+(?= \(lines? )")  # by which the addresses of an unrolled loop differ


def table(result: FileRun, paint: Paint = plain, width: int = WIDTH) -> str:
    """The tables of a run, shared memory and global memory; empty where the file did not run."""
    if result.run is None:
        return ""
    run, banks = result.run, result.run.banks
    warps = -(-math.prod(run.block) // 32)
    title = f"{short_name(run.entry)}: {run.target}, {plural(math.prod(run.grid), 'CTA')}, {plural(warps, 'warp')} each"
    parts = [f"{title}\n\n{shared_table(banks, paint, width, result.source)}"]
    if banks.global_rows:
        parts.append(global_table(banks, paint, width, result.source))
    return "\n\n".join(parts)


def shared_table(
    banks: BankTable, paint: Paint = plain, width: int = WIDTH, source: Source | None = None
) -> str:  # fmt: skip
    """Wavefronts per instruction, why there are more than needed, and what was tried. source: knows the lines of CUDA or Python."""
    if not banks.rows:
        return "no instruction touched shared memory"
    heads = ("line", "instruction", "runs", "wavefronts", "ideal", "excess", "worst", "why")
    cells = [
        (row.line, row.instruction, row.runs, row.wavefronts, row.ideal, row.excess, f"{row.worst}-way", _short(row))
        for row in banks.rows
    ]
    excess = banks.wavefronts - banks.ideal
    totals = ("total", "", "", banks.wavefronts, banks.ideal, excess, "", "")
    written = [written_at(source, row.line) for row in banks.rows]
    lines = _lines(heads, cells, totals, [row.worst > 1 for row in banks.rows], written, paint, width)
    return "\n".join([*lines, "", *_advice(banks, width)])


def global_table(
    banks: BankTable, paint: Paint = plain, width: int = WIDTH, source: Source | None = None
) -> str:  # fmt: skip
    """Requests and 32-byte sectors per instruction that touched global memory."""
    heads = ("line", "instruction", "requests", "sectors", "ideal", "excess", "lines", "why")
    cells = [
        (row.line, row.instruction, row.requests, row.sectors, row.ideal, row.excess, row.lines, _short(row))
        for row in banks.global_rows
    ]
    ideal = sum(row.ideal for row in banks.global_rows)
    lines = sum(row.lines for row in banks.global_rows)
    totals = ("total", "", banks.requests, banks.sectors, ideal, banks.sectors - ideal, lines, "")
    marked = [row.excess > 0 for row in banks.global_rows]
    written = [written_at(source, row.line) for row in banks.global_rows]
    return "\n".join(["global memory (sectors of 32 bytes, lines of 128)", "",
                      *_lines(heads, cells, totals, marked, written, paint, width)])  # fmt: skip


def _short(row: BankRow | GlobalRow) -> str:
    """The first sentence; where the address comes from is shown below the table."""
    return row.why.partition("; ")[0]


def _lines(
    heads: tuple[str, ...], cells: Sequence[tuple[object, ...]], totals: tuple[object, ...], marked: list[bool],
    written: Sequence[Written | None], paint: Paint, width: int,
) -> list[str]:  # fmt: skip
    """Rows under the lines that they were made from."""
    rows = [tuple(map(str, row)) for row in (heads, *cells, totals)]
    sizes = [max(len(row[column]) for row in rows) for column in range(7)]
    # What is left for the reason is at least 24 columns wide.
    sizes[1] = max(11, min(sizes[1], width - sum(sizes) + sizes[1] - 15 - 24))
    lines = [paint("strong", _line(rows[0], sizes, width))]
    at = 1
    while at < len(rows) - 1:
        place = written[at - 1]
        if place is not None and (at == 1 or written[at - 2] != place):
            lines.append(paint("strong", _cut(f" {place}", width)))
        others = (
            n for n in range(at, len(rows)) if rows[n][1:] != rows[at][1:] or (n > at and written[n - 1 : n] != [place])
        )
        alike = next(others) - at
        line = _line(rows[at], sizes, width)
        lines.append(paint("warning", line) if marked[at - 1] else line)
        if alike >= _ALIKE:
            lines.append(" " * (sizes[0] + 3) + f"and {alike - 1} more like it, to line {rows[at + alike - 1][0]}")
        at += alike if alike >= _ALIKE else 1
    return [*lines, _line(rows[-1], sizes, width)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _line(cells: tuple[str, ...], sizes: list[int], width: int) -> str:
    """One row; the reason continues below itself where it does not fit."""
    name = cells[1]
    for word in (".sync.aligned", ".shared", ".global"):  # what the table is about anyway goes first
        name = name.replace(word, "", 1) if len(name) > sizes[1] else name
    name = name if len(name) <= sizes[1] else name[: sizes[1] - 3] + "..."
    numbers = "  ".join(f"{cell:>{size}}" for cell, size in zip(cells[2:7], sizes[2:7]))
    start = f" {cells[0]:>{sizes[0]}}  {name:<{sizes[1]}}  {numbers}  "
    parts = wrap(cells[7], max(24, width - len(start)), "")
    return "\n".join([f"{start}{parts[0]}".rstrip(), *(" " * len(start) + part for part in parts[1:])])


def _hanging(text: str, width: int) -> list[str]:
    """Text that continues further right; names that would not fit lose their middle."""
    text = re.sub(r"\S{61,}", lambda name: f"{name[0][:40]}...{name[0][-17:]}", text)
    first, *rest = wrap(text, width - 9, "")
    return [f"       {first}", *(" " * 9 + part for part in rest)]


def _who(lines: list[int]) -> str:
    if len(set(lines)) == 1:
        return f"line {lines[0]} causes"
    if len(ranges(lines).split(",")) > _NAMED:
        return f"{len(set(lines))} lines from {min(lines)} to {max(lines)} cause"
    return f"lines {ranges(lines)} cause"


def _origins(rows: list[Any], width: int) -> list[str]:
    """Where the addresses of alike instructions come from; those that differ in a constant offset once."""
    known: dict[str, list[Any]] = {}
    for row in rows:
        if origin := row.why.partition("; ")[2]:
            known.setdefault(_OFFSET.sub("", origin), []).append(row)
    lines = []
    for alike in known.values():
        lines += _hanging(f"line {alike[0].line}: {alike[0].why.partition('; ')[2]}", width)
        if len(alike) > 1:
            lines.append(f"       and {plural(len(alike) - 1, 'line')} more like it")
    return lines


def _advice(banks: Any, width: int) -> list[str]:
    """Groups of alike instructions, the costliest first: where their addresses come from and what was tried on them."""
    excess = banks.wavefronts - banks.ideal
    if excess <= 0:
        return wrap(CLEAN, width, " ")
    groups: dict[tuple[str, tuple[str, ...]], list[BankRow]] = {}
    for row in banks.rows:
        if row.excess:
            groups.setdefault((_short(row), tuple(row.fixes)), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: -sum(row.excess for row in item[1]))
    lines: list[str] = []
    for (_, fixes), alike in ordered[:_GROUPS]:
        share = 100 * sum(row.excess for row in alike) / excess
        who = _who([row.line for row in alike])
        lines += wrap(f"help: {who} {share:.0f} % of the {plural(excess, 'wavefront')} too many", width, " ")
        for fix in fixes or [
            "none of the row pitches and swizzles that were tried helps: other lanes must do the work"
        ]:
            lines += _hanging(fix, width)
        lines += _origins(alike, width)
    if any("offset" in fix for (_, fixes), _ in ordered[:_GROUPS] for fix in fixes):
        lines.append(" offset: in bytes, from the start of the array")
    if len(ordered) > _GROUPS:
        lines.append(f" {plural(len(ordered) - _GROUPS, 'group')} more: --format json has them all")
    return lines

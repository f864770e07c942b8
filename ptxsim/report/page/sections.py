"""Sections of the offline page: findings, shared and global memory, results, fragment maps, as HTML without a script."""

from __future__ import annotations

import re
from html import escape
from typing import Any, TypeVar

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.report.html import coloured, mark
from ptxsim.report.origins import written_at
from ptxsim.report.summary import fidelity, plural, tally
from ptxsim.report.text import alike, render
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.session.run import BankRow, GlobalRow
from ptxsim.source import Source

# Opcodes whose operands are fragments; their maps are drawn at the end of the page.
_MATRIX = re.compile(r"\b(?:mma|wmma\.mma|wgmma\.mma_async|ldmatrix|stmatrix)\.[\w.:]+")
TEXTS = {"instruction", "why", "why and what would help"}  # columns of words; the others are numbers
MAPS, OPEN_MAPS = 12, 2  # bank maps that are drawn, and those shown at once; the others open by a click
MOST_ROWS = 200  # of a table; the text of the kernel has the numbers of all


def section(title: str, body: str) -> str:
    """A heading and what stands under it; nothing where there is nothing."""
    return f"<h2>{title}</h2>\n{body}" if body else ""


def facts(result: FileRun) -> str:
    """What ran, and how far its numbers can be trusted."""
    run = result.run
    if run is None:
        return f'<p class="error">{escape(tally(result.findings))}; nothing ran</p>'
    shapes = " ".join(
        f"{name} {'x'.join(map(str, shape))}" for name, shape in (("grid", run.grid), ("block", run.block))
    )
    lines = [
        f"{demangle(run.entry)} on {run.target}, {shapes}, {run.engine} engine, seed {run.seed}",
        f"{tally(result.findings)}; {plural(run.warp_instructions, 'warp instruction')}"
        + (f"; {plural(int(run.cycles), 'cycle')}" if run.cycles is not None else ""),
        fidelity(run.fidelity) if run.fidelity else "",
    ]
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines if line)


def findings(found: list[Finding], prefix: str = "", first: int = 0) -> str:
    """Findings as on the command line, those alike together, with ids `{prefix}finding-N` from N = first on."""
    if not found:
        return '<p class="pass">none</p>'
    numbers = {id(finding): number for number, finding in enumerate(found, first)}
    return "\n".join(
        f'<div class="finding {one.level}" id="{prefix}finding-{numbers[id(one)]}">'
        + "".join(f'<span id="{prefix}finding-{numbers[id(other)]}"></span>' for other in more)
        + f"<pre>{coloured(render(one, mark, also=[other.line for other in more]))}</pre></div>"
        for one, *more in alike(found)
    )


def banks(result: FileRun) -> str:
    """Wavefronts by instruction, those with the most beyond the ideal where there are many; bank maps."""
    if result.run is None or not result.run.banks_counted or not result.run.banks.rows:
        return ""
    banks = result.run.banks
    shown, left_out = _costliest(banks.rows)
    heads = ["line", "instruction", "runs", "wavefronts", "ideal", "worst", "why and what would help"]
    rows = [
        _row(row, [row.runs, row.wavefronts, row.ideal, f"{row.worst}-way"], [row.why, *row.fixes], result.source)
        for row in shown
    ]
    rows.append(
        f'<tr><td></td><td>total</td><td></td><td class="number">{banks.wavefronts}</td>'
        f'<td class="number">{banks.ideal}</td><td></td><td></td></tr>'
    )
    return f"{_table(heads, rows)}\n{left_out}{_bank_maps(result)}"


_Row = TypeVar("_Row", BankRow, GlobalRow)


def _costliest(rows: list[_Row]) -> tuple[list[_Row], str]:
    """The rows to show, in order of lines, and a sentence about the others."""
    if len(rows) <= MOST_ROWS:
        return rows, ""
    chosen = sorted(sorted(rows, key=lambda row: -row.excess)[:MOST_ROWS], key=lambda row: row.line)
    others = plural(len(rows) - MOST_ROWS, "instruction")
    return chosen, f'<p class="faint">{others} more: their numbers stand at their lines.</p>\n'


def _row(row: BankRow | GlobalRow, numbers: list[Any], why: list[str], source: Source) -> str:
    """A row of accesses: line, instruction, numbers, sentences."""
    written = written_at(source, row.line)
    where = f'<br><span class="faint">{escape(str(written))}</span>' if written else ""
    return (
        f'<tr><td class="number"><a href="#line-{row.line}">{row.line}</a></td><td>{escape(row.instruction)}{where}</td>'
        + "".join(f'<td class="number">{number}</td>' for number in numbers)
        + f"<td>{'<br>'.join(escape(text) for text in why if text)}</td></tr>"
    )


def _table(heads: list[str], rows: list[str]) -> str:
    head = "".join(f'<th class="{"" if name in TEXTS else "number"}">{name}</th>' for name in heads)
    return f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _bank_maps(result: FileRun) -> str:
    """The worst execution of the costliest instructions over the banks, open where it conflicts."""
    from ptxsim.report.heat import bank_maps

    rows = result.run.banks.rows if result.run is not None and result.run.banks_counted else []
    known = [row for row in rows if row.addresses and row.mask and row.kind != "bypass"]
    drawn_rows = sorted(known, key=lambda row: -row.excess)[:MAPS]
    pictures: list[str] = []
    for row in drawn_rows:
        drawn = "".join(f'<div class="picture">{drawing.svg()}</div>' for drawing in bank_maps(row))
        title = escape(f"line {row.line}, {row.instruction}: {row.worst}-way")
        opened = " open" if row.excess and len(pictures) < OPEN_MAPS else ""
        pictures.append(f"<details{opened}><summary>{title}</summary>{drawn}</details>")
    return "\n".join(pictures)


def global_memory(result: FileRun) -> str:
    """Sectors by instruction."""
    if result.run is None or not result.run.banks_counted or not result.run.banks.global_rows:
        return ""
    shown, left_out = _costliest(result.run.banks.global_rows)
    heads = ["line", "instruction", "requests", "sectors", "ideal", "lines", "why"]
    rows = [_row(row, [row.requests, row.sectors, row.ideal, row.lines], [row.why], result.source) for row in shown]
    return _table(heads, rows) + left_out


def results(result: FileRun) -> str:
    """Shapes and checksums of the outputs."""
    if result.run is None or not result.run.outputs:
        return ""
    import hashlib

    rows = []
    for name, array in result.run.outputs.items():
        shape = "x".join(map(str, array.shape))
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        rows.append(f"<tr><td>{escape(name)}</td><td>{shape}</td><td>{array.dtype.name}</td><td>{digest}</td></tr>")
    return "<table><tr><th>parameter</th><th>shape</th><th>type</th><th>sha256</th></tr>" + "".join(rows) + "</table>"


def fragments(result: FileRun) -> str:
    """A map per operand of every matrix instruction in the text; forms without one are left out."""
    from ptxsim import fragment
    from ptxsim.report.pictures import fragment_svg

    pictures = []
    for form in dict.fromkeys(_MATRIX.findall(result.source.text)):
        for operand in "D" if "matrix" in form else "ABD":
            try:
                svg = fragment_svg(fragment(form, operand))
            except PtxError:  # an operand in shared memory has no registers, and a form that is wrong is reported above
                continue
            title = escape(f"{form}, operand {operand}")
            pictures.append(f'<details><summary>{title}</summary><div class="picture">{svg}</div></details>')
    return "\n".join(pictures)

"""One offline page about a run: findings, the source with a number per line, shared memory, fragment maps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.report.origins import written_at
from ptxsim.report.records import run_record, to_json
from ptxsim.report.summary import fidelity, plural, tally
from ptxsim.report.text import render
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.session.run import BankRow, GlobalRow
from ptxsim.source import Source

# Opcodes whose operands are fragments; their maps are drawn at the end of the page.
_MATRIX = re.compile(r"\b(?:mma|wmma\.mma|wgmma\.mma_async|ldmatrix|stmatrix)\.[\w.:]+")
TEXTS = {"instruction", "why", "why and what would help"}  # columns of words; the others are numbers
MAPS, OPEN_MAPS = 12, 2  # bank maps that are drawn, and those shown at once; the others open by a click
_STYLE = re.compile("\ue000(\\w+)\ue001(.*?)\ue002", re.S)


def write_page(path: Path, result: FileRun, version: str) -> None:
    """Write the page. Raises OSError."""
    path.write_text(page(result, version), encoding="utf-8")


def page(result: FileRun, version: str) -> str:
    """The whole page as HTML; nothing in it is loaded from elsewhere."""
    style = files("ptxsim.report").joinpath("page.css").read_text(encoding="utf-8")
    name = escape(result.source.name)
    parts = [
        f"<h1>{name}</h1>",
        _facts(result),
        _section("Findings", _findings(result.findings)),
        _section("Findings that were expected", _findings(result.expected)) if result.expected else "",
        _section("Cycles", _cycles(result)),
        _section("Shared memory", _banks(result)),
        _section("Global memory", _global(result)),
        _section("CUDA or Python", _originals(result)),
        _section("Source", _source(result)),
        _section("Results", _results(result)),
        _section("Fragments", _fragments(result)),
        f'<script type="application/json" id="run">{_embedded(result, version)}</script>',
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}</style>\n{body}\n</html>\n'
    )


def _embedded(result: FileRun, version: str) -> str:
    """The run as JSON that no HTML parser mistakes for an element."""
    return to_json(run_record(result, version)).replace("<", "\\u003c")


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>\n{body}" if body else ""


def _facts(result: FileRun) -> str:
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


def _findings(findings: list[Finding]) -> str:
    if not findings:
        return '<p class="pass">none</p>'
    return "\n".join(
        f'<div class="finding {finding.level}" id="finding-{number}"><pre>{coloured(render(finding, mark))}</pre></div>'
        for number, finding in enumerate(findings)
    )


def mark(style: str, text: str) -> str:
    """A style as private characters, which pass through escaping."""
    return f"\ue000{style}\ue001{text}\ue002"


def coloured(text: str) -> str:
    """HTML of a text that `mark` has painted."""
    return _STYLE.sub(r'<span class="\1">\2</span>', escape(text))


def _banks(result: FileRun) -> str:
    if result.run is None or not result.run.banks.rows:
        return ""
    banks = result.run.banks
    heads = ["line", "instruction", "runs", "wavefronts", "ideal", "worst", "why and what would help"]
    rows = [
        _row(row, [row.runs, row.wavefronts, row.ideal, f"{row.worst}-way"], [row.why, *row.fixes], result.source)
        for row in banks.rows
    ]
    rows.append(
        f'<tr><td></td><td>total</td><td></td><td class="number">{banks.wavefronts}</td>'
        f'<td class="number">{banks.ideal}</td><td></td><td></td></tr>'
    )
    return f"{_table(heads, rows)}\n{_bank_maps(result)}"


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


def _cycles(result: FileRun) -> str:
    from ptxsim.report.html_profile import cycles_section

    if result.run is None or result.run.cycles is None:
        return ""
    return cycles_section(result.run.cycles, result.source)


def _bank_maps(result: FileRun) -> str:
    """The worst execution of the costliest instructions over the banks, open where it conflicts."""
    from ptxsim.report.heat import bank_maps

    rows = result.run.banks.rows if result.run is not None else []
    known = [row for row in rows if row.addresses and row.mask and row.kind != "bypass"]
    drawn_rows = sorted(known, key=lambda row: -row.excess)[:MAPS]
    pictures: list[str] = []
    for row in drawn_rows:
        drawn = "".join(f'<div class="picture">{drawing.svg()}</div>' for drawing in bank_maps(row))
        title = escape(f"line {row.line}, {row.instruction}: {row.worst}-way")
        opened = " open" if row.excess and len(pictures) < OPEN_MAPS else ""
        pictures.append(f"<details{opened}><summary>{title}</summary>{drawn}</details>")
    return "\n".join(pictures)


def _global(result: FileRun) -> str:
    if result.run is None or not result.run.banks.global_rows:
        return ""
    heads = ["line", "instruction", "requests", "sectors", "ideal", "lines", "why"]
    rows = [
        _row(row, [row.requests, row.sectors, row.ideal, row.lines], [row.why], result.source)
        for row in result.run.banks.global_rows
    ]
    return _table(heads, rows)


def _source(result: FileRun) -> str:
    """The text with, per line, what was found there and its shared-memory wavefronts beyond the ideal."""
    rows = result.run.banks.rows if result.run is not None else []
    found = {finding.line: number for number, finding in reversed(list(enumerate(result.findings)))}
    return _listing(result.source, "line-", _wavefronts((row.line, row) for row in rows), found)


def _originals(result: FileRun) -> str:
    """The same of the files that the PTX was made from, as far as they are at hand and something is to be said of them."""
    source, files = result.source, dict[str, Source]()
    costs: dict[str, list[tuple[int, BankRow]]] = {}
    found: dict[str, dict[int, int]] = {}
    for row in result.run.banks.rows if result.run is not None else []:
        origin = source.origin(row.line)
        if origin is not None and (original := source.original(origin.file)) is not None:
            files[origin.file] = original
            costs.setdefault(origin.file, []).append((origin.line, row))
    for number, finding in enumerate(result.findings):
        if finding.origin is not None and finding.original is not None:
            files[finding.origin.file] = finding.original
            found.setdefault(finding.origin.file, {}).setdefault(finding.origin.line, number)
    parts = [
        f"<h3>{escape(original.name)}</h3>\n"
        + _listing(original, f"file-{place}-", _wavefronts(costs.get(name, [])), found.get(name, {}))
        for place, (name, original) in enumerate(files.items())
    ]
    return "\n".join(parts)


def _wavefronts(rows: Iterable[tuple[int, BankRow]]) -> dict[int, tuple[int, int]]:
    """Wavefronts, and the fewest possible, by line."""
    wavefronts: dict[int, tuple[int, int]] = {}
    for line, row in rows:
        total, ideal = wavefronts.get(line, (0, 0))
        wavefronts[line] = (total + row.wavefronts, ideal + row.ideal)
    return wavefronts


def _listing(source: Source, prefix: str, wavefronts: dict[int, tuple[int, int]], found: dict[int, int]) -> str:
    """A text with numbered lines; found: the number of the finding to show, by line."""
    most = max((total for total, _ in wavefronts.values()), default=1)
    rows = []
    for number, line in enumerate(source.lines, 1):
        total, ideal = wavefronts.get(number, (0, 0))
        cost = f'{total} <span class="faint">of {ideal}</span>' if total else ""
        bar = f'<span class="bar" style="width:{80 * total // most}px"></span>' if total else ""
        link = f'<a href="#finding-{found[number]}">&#9679;</a>' if number in found else ""
        marked = ' class="marked"' if number in found else ""
        rows.append(
            f'<tr id="{prefix}{number}"{marked}><td>{link}</td><td class="number">{number}</td>'
            f'<td class="number">{cost}</td><td>{bar}</td><td>{escape(line)}</td></tr>'
        )
    head = (
        '<tr><th></th><th></th><th class="number">wavefronts, ideal</th><th></th><th></th></tr>' if wavefronts else ""
    )
    return f'<table class="source">{head}\n' + "\n".join(rows) + "\n</table>"


def _results(result: FileRun) -> str:
    if result.run is None or not result.run.outputs:
        return ""
    import hashlib

    rows = []
    for name, array in result.run.outputs.items():
        shape = "x".join(map(str, array.shape))
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        rows.append(f"<tr><td>{escape(name)}</td><td>{shape}</td><td>{array.dtype.name}</td><td>{digest}</td></tr>")
    return "<table><tr><th>parameter</th><th>shape</th><th>type</th><th>sha256</th></tr>" + "".join(rows) + "</table>"


def _fragments(result: FileRun) -> str:
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

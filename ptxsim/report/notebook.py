"""Modules, kernels, runs, findings, bank tables and fragments as `print` and notebooks show them."""

from __future__ import annotations

import re
from functools import singledispatch
from html import escape

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding
from ptxsim.layout.fragments import Fragment
from ptxsim.report.banks import CLEAN, shared_table
from ptxsim.report.html import coloured, mark
from ptxsim.report.pictures import fragment_svg
from ptxsim.report.style import Paint, plain
from ptxsim.report.summary import summary
from ptxsim.report.text import render, render_all
from ptxsim.session.module import Kernel, Module
from ptxsim.session.ptxfile.file import FileRun
from ptxsim.session.run import BankTable, Run
from ptxsim.source import Source

# Colours that are told apart on light and dark pages, whatever the notebook's theme.
_STYLE = """<style>.ptxsim pre{line-height:1.35;margin:.3em 0}.ptxsim .error{color:#d1495b}.ptxsim .warning{color:#b7791f}
.ptxsim .note{color:#2b8aa5}.ptxsim .help,.ptxsim .pass{color:#2e8b57}.ptxsim .faint,.ptxsim .gutter{color:#888}
.ptxsim .strong{font-weight:600}.ptxsim table td,.ptxsim table th{text-align:left;font-family:monospace}</style>"""


@singledispatch
def text_of(value: object) -> str:
    """What `print` shows."""
    return repr(value)


@singledispatch
def html_of(value: object) -> str:
    """What a notebook shows: HTML that needs nothing from elsewhere."""
    return _page(f"<pre>{escape(text_of(value))}</pre>")


SHORT = 200_000  # warp instructions of a launch that is run again to be shown


def _page(body: str) -> str:
    return f'<div class="ptxsim">{_STYLE}{body}</div>'


def _painted(text: str) -> str:
    return f"<pre>{coloured(text)}</pre>"


def _of_run(run: Run, paint: Paint) -> str:
    """As the command line prints it; with wavefronts, which a short launch is repeated for."""
    if not run.banks_counted and run.bank_source is not None and not run.is_sample and run.warp_instructions <= SHORT:
        run.banks  # noqa: B018  # counts them
    result = FileRun(Source("", run.file), run, run.findings)
    return "\n\n".join(filter(None, [render_all(run.findings, paint), summary(result, paint)]))


@text_of.register
def _(value: Run) -> str:
    return _of_run(value, plain)


@html_of.register
def _(value: Run) -> str:
    parts = [_painted(_of_run(value, mark))]
    if value.banks_counted and value.banks.rows:
        parts.append(_bank_rows(value.banks))
    return _page("".join(parts))


@text_of.register
def _(value: BankTable) -> str:
    return shared_table(value)


@html_of.register
def _(value: BankTable) -> str:
    return _page(_bank_rows(value))


def _bank_rows(banks: BankTable) -> str:
    if not banks.rows:
        return "<p>no instruction touched shared memory</p>"
    heads = ("line", "instruction", "runs", "wavefronts", "ideal", "worst", "why", "what would help")
    rows: list[tuple[object, ...]] = [
        (
            row.line,
            row.instruction,
            row.runs,
            row.wavefronts,
            row.ideal,
            f"{row.worst}-way",
            row.why,
            "\n".join(row.fixes),
        )
        for row in banks.rows
    ]
    rows.append(("total", "", "", banks.wavefronts, banks.ideal, "", "", ""))
    return _table(heads, rows) + ("" if banks.excess else f"<p>{escape(CLEAN)}</p>")


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = ("".join(f"<td>{escape(str(cell)).replace(chr(10), '<br>')}</td>" for cell in row) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


@text_of.register
def _(value: Finding) -> str:
    return render(value)


@html_of.register
def _(value: Finding) -> str:
    return _page(_painted(render(value, mark)))


@html_of.register
def _(value: Kernel) -> str:
    rows: list[tuple[object, ...]] = [
        (number, parameter.name, f".{parameter.type}" + "".join(f"[{size}]" for size in parameter.shape))
        for number, parameter in enumerate(value.parameters)
    ]
    title = (
        f"<p><b>{escape(demangle(value.name))}</b> of {escape(value.module.source.name)}, for {value.module.target}</p>"
    )
    return _page(title + _table(("", "parameter", "type"), rows))


@html_of.register
def _(value: Module) -> str:
    rows: list[tuple[object, ...]] = [
        (demangle(name), ", ".join(f".{parameter.type}" for parameter in value.kernel(name).parameters))
        for name in value.entries
    ]
    title = f"<p><b>{escape(value.source.name)}</b>, for {value.target}</p>"
    return _page(title + _table(("kernel", "parameters"), rows))


@html_of.register
def _(value: Fragment) -> str:
    drawn = re.sub(r"^<\?xml[^>]*>\s*", "", fragment_svg(value))
    return _page(f'<div style="background:#fff;overflow:auto">{drawn}</div>')

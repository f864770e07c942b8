"""Cycles on the page: how long, what limits it, where warps wait."""

from __future__ import annotations

from html import escape

from ptxsim.profile.cycles import Cycles
from ptxsim.report.origins import written_at
from ptxsim.report.profile import facts, headline
from ptxsim.source import Source

MOST_LINES = 20
REASONS = 3  # of a line


def cycles_section(cycles: Cycles, source: Source | None = None) -> str:
    """Headline, facts, suggestions, stalls by reason and by line, as HTML."""
    parts = [f"<p><strong>{escape(headline(cycles))}</strong></p>"]
    parts.append('<pre class="facts">' + escape("\n".join(facts(cycles))) + "</pre>")
    if cycles.suggestions:
        parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in cycles.suggestions) + "</ul>")
    total = sum(cycles.stalls.values())
    if total:
        charts = (("stalls", "Why warps wait"), ("pipes", "How busy the pipes are"))
        drawn = (
            f'<figure><figcaption>{title}</figcaption><div data-chart="{name}"></div></figure>'
            for name, title in charts
        )
        parts += [f'<div class="charts">{"".join(drawn)}</div>', "<h3>Where</h3>", _lines(cycles, total, source)]
    return "\n".join(parts)


def _lines(cycles: Cycles, total: float, source: Source | None) -> str:
    rows = []
    for row in cycles.lines[:MOST_LINES]:
        if row.waited < 0.002 * total:
            break
        reasons = sorted(row.stalls.items(), key=lambda kv: -kv[1])[:REASONS]
        why = ", ".join(f"{name} {value / row.waited:.0%}" for name, value in reasons)
        link = f'<td class="number"><a href="#line-{row.line}">{row.line}</a></td>'
        written = written_at(source, row.line)
        where = f'<br><span class="faint">{escape(str(written))}</span>' if written else ""
        rows.append(
            [
                link,
                escape(row.instruction) + where,
                _number(row.issued),
                _number(f"{row.waited / total:.1%}"),
                escape(why),
            ]
        )
    return _table(["line", "instruction", "issued", "share of the waiting", "waits for"], rows, numbers=(0, 2, 3))


def _number(value: object) -> str:
    return f'<td class="number">{value}</td>'


def _table(heads: list[str], rows: list[list[str]], numbers: tuple[int, ...]) -> str:
    head = "".join(f'<th class="{"number" if k in numbers else ""}">{name}</th>' for k, name in enumerate(heads))
    body = "\n".join(
        "<tr>" + "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>\n{body}\n</table>"

"""Two runs side by side on the page: counts, findings, and what instructions waited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

MOST_LINES = 16


def against_section(changed: Mapping[str, Any], name: str) -> str:
    """`changed`: what `report.against.document` says; `name`: of the earlier run."""
    counts = {title: pair for title, pair in changed["counts"].items() if None not in pair}
    pairs = json.dumps([[title, *pair] for title, pair in counts.items()])
    parts = [
        f"<p>Before: {escape(name)}. {_verdict(changed)}</p>",
        f'<div data-chart="against" data-pairs="{escape(pairs)}"></div>',
        _table(["", "before", "after", "change"], [_numbers(title, *pair) for title, pair in counts.items()]),
    ]
    for word, level in (("new", "error"), ("gone", "pass")):
        parts += [
            f'<p class="{level}">{word}: {escape(found["name"])}: {escape(found["message"])}</p>'
            for found in changed[word]
        ]
    profile = changed["profile"]
    if profile:
        parts += [
            "<h3>Occupancy, pipes, stalls</h3>",
            _table(["", "before", "after", "change"], _profile_rows(profile)),
            '<p class="faint">What is not listed did not change.</p>',
        ]
        rows = [row for row in profile["lines"] if row["waited"][0] != row["waited"][1]][:MOST_LINES]
        heads = ["line", "before", "waited", "line", "after", "waited", "change"]
        parts += ["<h3>Instructions whose waiting changed most</h3>", _table(heads, [_sides(row) for row in rows])]
    return "\n".join(parts)


def _verdict(changed: Mapping[str, Any]) -> str:
    """What is less and what is more, by name: a kernel that takes half the time may execute more instructions."""
    pairs = {title: pair for title, pair in changed["counts"].items() if None not in pair}
    less, more = (
        ", ".join(f"{title}{_percent(*pair)}" for title, pair in pairs.items() if sign * (pair[1] - pair[0]) > 0)
        for sign in (-1, 1)
    )
    said = [f"less: {less}" if less else "", f"more: {more}" if more else ""]
    said += [f"{len(changed[word])} {word} findings" if changed[word] else "" for word in ("new", "gone")]
    return "; ".join(f"<strong>{escape(each)}</strong>" for each in said if each) or "<strong>nothing changed</strong>"


def _percent(before: float, after: float) -> str:
    return f" ({100 * (after - before) / before:+.1f} %)" if before else ""


def _profile_rows(profile: Mapping[str, Any]) -> list[str]:
    rows = []
    for name, (before, after) in profile["occupancy"].items():
        if before == after:
            continue
        if isinstance(before, int | float) and isinstance(after, int | float):
            rows.append(_numbers(name, before, after))
        else:
            rows.append(_row([name, str(before), str(after), ""]))
    rows += [_numbers(f"{name} pipe, %", 100 * a, 100 * b) for name, (a, b) in profile["pipes"].items() if a != b]
    rows += [_numbers(f"stall: {name}", a, b) for name, (a, b) in profile["stalls"].items() if a != b]
    rows += [_numbers(name.replace("_", " "), a, b) for name, (a, b) in profile["memory"].items() if a != b]
    return rows


def _sides(row: Mapping[str, Any]) -> str:
    """An instruction on both sides; a blank where one program does not have it."""
    cells = []
    for line, waited in zip(row["line"], row["waited"]):
        there = line is not None
        cells += [
            str(line) if there else "",
            str(row["instruction"]) if there else "",
            f"{waited:.0f}" if there else "",
        ]
    change = (row["waited"][1] or 0.0) - (row["waited"][0] or 0.0)
    return _row([*cells, f"{change:+.0f}"], texts=(1, 4))


def _numbers(name: str, before: float, after: float) -> str:
    change = after - before
    said = f"{change:+,.4g}{_percent(before, after)}" if change else "="
    return _row([name, f"{before:,.10g}", f"{after:,.10g}", said])


def _row(cells: list[str], texts: tuple[int, ...] = (0,)) -> str:
    return (
        "<tr>"
        + "".join(f'<td class="{"" if k in texts else "number"}">{escape(cell)}</td>' for k, cell in enumerate(cells))
        + "</tr>"
    )


def _table(heads: list[str], rows: list[str]) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"

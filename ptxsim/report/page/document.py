"""The page put together: parts of runs, the texts of their kernels, styles and scripts, in one HTML file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ptxsim.report.page import sections
from ptxsim.report.page.against import against_section
from ptxsim.report.page.cycles import cycles_section
from ptxsim.report.page.data import packed, run_data
from ptxsim.report.page.listing import listing
from ptxsim.report.page.sections import section
from ptxsim.report.records import run_record
from ptxsim.session.ptxfile.file import FileRun

SCRIPTS = ("page.js", "source.js", "timeline.js", "charts.js")
_KEYS = {
    "1 to 9": "a section", "n, p": "next and previous finding", "h, H": "lines by what they cost", "[, ]": "previous and next launch",
    "t": "light or dark", "?": "this list",
    "on the timeline": "arrows move, + and - zoom, 0 shows all, Enter and Shift+Enter go from wait to wait",
    "on a line": "a click marks the lines that it was made from, or that were made from it",
}  # fmt: skip


def run_part(result: FileRun, prefix: str = "", against: tuple[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """A run's part of the page, as plain values: HTML, the text of its kernel with an id, and what scripts draw (packed).

    prefix: of the ids, where a page has several runs. against: the name of an earlier run, and what has changed since.
    """
    text = hashlib.sha256(f"{result.source.name}\0{result.source.text}".encode()).hexdigest()[:8] if prefix else ""
    listing_prefix = f"{text}-" if text else ""
    cycles = result.run.cycles if result.run is not None else None
    timeline = cycles is not None and cycles.timeline is not None
    before = [
        sections.facts(result),
        section("Findings", sections.findings(result.findings, prefix)),
        section("Findings that were expected", sections.findings(result.expected, prefix, len(result.findings)))
        if result.expected
        else "",
        section("Against an earlier run", against_section(against[1], against[0])) if against else "",
    ]
    after = [
        section("Cycles", cycles_section(cycles, result.source)) if cycles is not None else "",
        section("Timeline", _timeline(cycles.timeline.sm)) if timeline and cycles and cycles.timeline else "",
        section("Roofline, occupancy, memory", _charts()) if cycles is not None else "",
        section("Shared memory", sections.banks(result)),
        section("Global memory", sections.global_memory(result)),
        section("Results", sections.results(result)),
        section("Fragments", sections.fragments(result)),
    ]
    return {
        "prefix": prefix, "listing_prefix": listing_prefix, "listing": listing(result.source, listing_prefix),
        "before": "\n".join(filter(None, before)), "after": "\n".join(filter(None, after)), "data": packed(run_data(result)),
    }  # fmt: skip


def _timeline(sm: int) -> str:
    return (
        f'<p class="faint">SM {sm}: engines, then warps by slot. Grey is a block of the kernel, colour a wait; the mouse wheel zooms after a '
        "click (or with Ctrl), dragging moves. An arrow goes from who ended a wait to who waited.</p>"
        '<div data-chart="timeline"></div><h3>Who waits for whom</h3><div data-chart="whom"></div>'
    )


def _charts() -> str:
    parts = (
        ("roofline", "Roofline of the SM"),
        ("occupancy", "CTAs that an SM has room for"),
        ("memory", "Bytes of the SM"),
    )
    return '<div class="charts">' + "".join(f'<figure><figcaption>{title}</figcaption><div data-chart="{name}"></div></figure>' for name, title in parts) + "</div>"  # fmt: skip


def document(
    title: str, parts: Iterable[Mapping[str, Any]], *, head: str = "", first: int = 0, record: str = ""
) -> str:
    """The whole page as HTML; nothing in it is loaded from elsewhere. head: what stands above the runs; first: the run shown at
    once; record: what `--format json` says, packed, kept in the page for programs."""
    here = files("ptxsim.report.page")
    texts: dict[str, str] = {}
    runs = []
    for number, part in enumerate(parts):
        texts.setdefault(part["listing_prefix"], part["listing"])
        runs.append(
            f'<section class="run" data-prefix="{part["prefix"]}" data-listing="source-{part["listing_prefix"]}"'
            f'{" hidden" if number != first else ""}>\n{part["before"]}\n<h2>Source</h2><div class="source-here"></div>\n{part["after"]}\n'
            f'<script type="application/json">{part["data"]}</script>\n</section>'
        )
    listings = "\n".join(
        f'<div class="source" id="source-{prefix}" data-prefix="{prefix}">{text}</div>'
        for prefix, text in texts.items()
    )
    name = escape(title)
    keys = "".join(f"<tr><th>{escape(key)}</th><td>{escape(what)}</td></tr>" for key, what in _KEYS.items())
    scripts = "\n".join(f"<script>\n{here.joinpath(script).read_text(encoding='utf-8')}</script>" for script in SCRIPTS)
    kept = (
        f'<script type="application/json" id="run" data-encoding="base64 deflate">{record}</script>\n' if record else ""
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<link rel="icon" href="data:,">\n'
        f'<style>\n{here.joinpath("page.css").read_text(encoding="utf-8")}</style>\n<body data-first="{first}">\n'
        f'<header><h1>{name}</h1><button data-do="theme" title="Light or dark (t)">theme</button>'
        f'<button data-do="keys" title="What keys do (?)">keys</button></header>\n'
        f'<dialog id="keys"><form method="dialog"><table>{keys}</table><button>close</button></form></dialog>\n'
        f"{head}\n<main>\n{''.join(runs)}\n{listings}\n</main>\n{kept}"
        f'<script id="d3">{here.joinpath("d3.min.js").read_text(encoding="utf-8")}</script>\n{scripts}\n</body>\n</html>\n'
    )


def page(result: FileRun, version: str, against: tuple[str, Mapping[str, Any]] | None = None) -> str:
    """The page about one run."""
    return document(
        result.source.written.name, [run_part(result, "", against)], record=packed(run_record(result, version))
    )


def write_page(path: Path, result: FileRun, version: str, against: tuple[str, Mapping[str, Any]] | None = None) -> None:
    """Write the page. Raises OSError."""
    path.write_text(page(result, version, against), encoding="utf-8")

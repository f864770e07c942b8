"""One offline page about all launches of a program."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ptxsim import __version__
from ptxsim.demangle import demangle
from ptxsim.programs.records import Record, by_kernel, summary
from ptxsim.report.page.document import document

_COLUMNS = ("launch", "grid", "warp instructions", "cycles", "wavefronts", "ideal", "findings")


def write_page(path: Path, title: str, records: list[Record]) -> None:
    """Write the page. Raises OSError."""
    path.write_text(page(title, records), encoding="utf-8")


def page(title: str, records: list[Record]) -> str:
    """The page as HTML; nothing in it is loaded from elsewhere. Launches that left a part can be chosen in the table; shown first is
    one with findings, else the longest."""
    shown = [record for record in records if record.get("part")]
    numbers = {id(record): number for number, record in enumerate(shown)}
    first = max(range(len(shown)), key=lambda n: (_found(shown[n]), shown[n].get("cycles") or 0, -n), default=0)
    kernels = "\n".join(_kernel(name, launches, numbers) for name, launches in by_kernel(records).items())
    facts = "\n".join(f"<p>{escape(line)}</p>" for line in [*summary(records).splitlines(), f"ptxsim {__version__}"])
    return document(title, [record["part"] for record in shown], head=f"{facts}\n{kernels}", first=first)


def _found(record: Record) -> bool:
    return any(finding["level"] != "note" for finding in record["findings"])


def _kernel(name: str, launches: list[Record], numbers: dict[int, int]) -> str:
    """What was found, each text once, and a row for each launch."""
    texts = dict.fromkeys(record["text"] for record in launches if record.get("text") and not record.get("part"))
    found = "\n".join(f"<pre>{escape(text)}</pre>" for text in texts)
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "\n".join(_row(record, numbers.get(id(record))) for record in launches)
    return f"<h2>{escape(demangle(name))}</h2>\n{found}\n<table>\n<tr>{head}</tr>\n{rows}\n</table>"


def _row(record: Record, number: int | None) -> str:
    """A launch; with a button, where there is a part of the page about it."""
    banks, cycles = record.get("banks") or {}, record.get("cycles")
    cells = (
        "x".join(map(str, record.get("grid", ()))), record.get("warp_instructions", ""), "" if cycles is None else round(cycles),
        banks.get("wavefronts", ""), banks.get("ideal", ""), ", ".join(sorted({finding["name"] for finding in record["findings"]})),
    )  # fmt: skip
    launch = escape(str(record["launch"]))
    shows = "" if number is None else f' data-show="{number}"'
    name = launch if number is None else f"<button>{launch}</button>"
    return f"<tr{shows}><td>{name}</td>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"

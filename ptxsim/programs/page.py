"""One offline page about all launches of a program."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

from ptxsim import __version__
from ptxsim.demangle import demangle
from ptxsim.programs.records import Record, by_kernel, summary

_COLUMNS = ("launch", "grid", "warp instructions", "cycles", "wavefronts", "ideal", "findings")


def write_page(path: Path, title: str, records: list[Record]) -> None:
    """Write the page. Raises OSError."""
    path.write_text(page(title, records), encoding="utf-8")


def page(title: str, records: list[Record]) -> str:
    """The page as HTML; nothing in it is loaded from elsewhere."""
    style = files("ptxsim.report").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(_kernel(name, launches) for name, launches in by_kernel(records).items())
    facts = "\n".join(f"<p>{escape(line)}</p>" for line in [*summary(records).splitlines(), f"ptxsim {__version__}"])
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}</style>\n'
        f"<h1>{escape(title)}</h1>\n{facts}\n{body}\n</html>\n"
    )


def _kernel(name: str, launches: list[Record]) -> str:
    """A section: what was found, each text once, and a row for each launch."""
    texts = dict.fromkeys(record["text"] for record in launches if record.get("text"))
    found = "\n".join(f"<pre>{escape(text)}</pre>" for text in texts)
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "\n".join(f"<tr>{_row(record)}</tr>" for record in launches)
    return f"<h2>{escape(demangle(name))}</h2>\n{found}\n<table>\n<tr>{head}</tr>\n{rows}\n</table>"


def _row(record: Record) -> str:
    banks, cycles = record.get("banks") or {}, record.get("cycles")
    cells = (
        record["launch"], "x".join(map(str, record.get("grid", ()))), record.get("warp_instructions", ""),
        "" if cycles is None else round(cycles), banks.get("wavefronts", ""), banks.get("ideal", ""),
        ", ".join(sorted({finding["name"] for finding in record["findings"]})),
    )  # fmt: skip
    return "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)

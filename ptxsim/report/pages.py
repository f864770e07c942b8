"""The long text of a finding: a page of Markdown with a bad and a good example, one file per name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ptxsim.diagnostic import KINDS

# Every page has the sections of SECTIONS, in this order; those of OPTIONAL stand before the example where there is something to say.
SECTIONS = ("What it finds", "Why it matters", "Example", "Instead", "Reference")
OPTIONAL = ("How to fix it", "Notes and warnings", "What is not found")


@dataclass(frozen=True, slots=True)
class Page:
    """One finding's page: its sections by title."""

    name: str
    text: str
    sections: dict[str, str]

    @property
    def example(self) -> str:
        """PTX that has the finding."""
        return _code(self.sections["Example"])

    @property
    def instead(self) -> str:
        """PTX that does the same without it."""
        return _code(self.sections["Instead"])


@cache
def page(name: str) -> Page:
    """The page of a finding. Raises KeyError for a name that is none."""
    kind = KINDS[name]
    text = files("ptxsim.report").joinpath("pages", f"{kind.name}.md").read_text(encoding="utf-8")
    pieces = re.split(r"^## (.+)\n", text, flags=re.M)
    return Page(name, text, {title: body.strip("\n") for title, body in zip(pieces[1::2], pieces[2::2])})


def _code(body: str) -> str:
    """The fenced PTX of a section."""
    match = re.search(r"^```ptx\n(.*?)^```", body, flags=re.M | re.S)
    return match[1] if match else ""


def describe(name: str) -> str:
    """A page as the terminal shows it: headings underlined, code indented."""
    kind = KINDS[name]
    lines = [f"{kind.level}[{kind.code}] {kind.name}: {kind.title}", ""]
    is_code = False
    for line in page(name).text.splitlines():
        if line.startswith("# "):
            continue
        if line.startswith("```"):
            is_code = not is_code
        elif is_code:
            lines.append(f"    {line}".rstrip())
        elif line.startswith("## "):
            lines += [line[3:], "-" * len(line[3:])]
        else:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

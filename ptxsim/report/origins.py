"""Lines of CUDA or Python in tables and findings that name lines of PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

from ptxsim.diagnostic import Finding
from ptxsim.isa.facts import IN_CUDA
from ptxsim.source import Source

_LINE = re.compile(r"\bbetween line (?P<first>\d+) and line (?P<second>\d+)\b|\bline (?P<line>\d+)\b")
_PUT = re.compile(r"(?:(?<=^Put )|(?<=^tried: Put ))(.+)(?= (?:before|after) line \d)")
_STATEMENT = re.compile(r"[^;\s][^;]*;?")
_IN_HELP = re.compile(r"\b(?:bar\.sync|bar\.warp\.sync|fence\.proxy\.async)\b(?! \d|\.)")
_CUDA = {
    "bar.sync": "__syncthreads()",
    "bar.warp.sync": "__syncwarp()",
    "fence.proxy.async": "cuda::ptx::fence_proxy_async()",
}
_TRITON = {"bar.sync": "tl.debug_barrier()"}
_PYTHON = ".py"


@dataclass(frozen=True, slots=True)
class Written:
    """A line as its author wrote it: the file's name, its number, and its text (empty where the file is not at hand)."""

    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}  {self.text}" if self.text else self.place


def written_at(source: Source | None, line: int) -> Written | None:
    """What a line of PTX was made from; None where nothing is said."""
    origin = source.origin(line) if source is not None else None
    if source is None or origin is None:
        return None
    original = source.original(origin.file)
    text = " ".join(original.line(origin.line).split()) if original is not None else ""
    return Written(PurePath(origin.file.replace("\\", "/")).name, origin.line, text)


def told(finding: Finding) -> Finding:
    """The finding in words for who wrote the CUDA or Python: its lines, those of PTX in brackets."""
    source, own = finding.source, finding.origin
    # What a file expects at a line says so of the author's own lines.
    if source is None or own is None or finding.name == "expectation-failed":
        return finding

    def name(match: re.Match[str]) -> str:
        if match["line"]:
            return place(match["line"])
        first, second = match["first"], match["second"]
        one, two = source.origin(int(first)), source.origin(int(second))
        if one is not None and two is not None and (one.file, one.line) == (two.file, two.line):
            return f"at line {one.line}, between lines {first} and {second} of the PTX"  # rounds of a loop, or one statement
        return f"between {place(first)} and {place(second)}"

    def place(line: str) -> str:
        origin = source.origin(int(line))
        if origin is None:
            return f"line {line}"
        of = "" if origin.file == own.file else f" of {PurePath(origin.file).name}"
        return f"line {origin.line}{of} (PTX: {line})"

    is_python = own.file.endswith(_PYTHON)
    words = _TRITON if is_python else _CUDA

    def title(text: str) -> str:
        return _LINE.sub(name, text if is_python else _PUT.sub(_in_cuda, text))

    def help(text: str) -> str:
        return _LINE.sub(name, _IN_HELP.sub(lambda word: words.get(word[0], word[0]), text))

    return replace(
        finding, message=_LINE.sub(name, finding.message), help=help(finding.help) if finding.help else None,
        notes=tuple(title(note) for note in finding.notes),
        fixes=tuple(replace(fix, title=title(fix.title)) for fix in finding.fixes),
    )  # fmt: skip


def _in_cuda(put: re.Match[str]) -> str:
    """Statements of PTX as they stand in CUDA C++."""
    found = (statement.rstrip(";") + ";" for statement in _STATEMENT.findall(put[1]))
    return " ".join(IN_CUDA.get(each) or f'asm volatile("{each}" ::: "memory");' for each in found).removesuffix(";")

"""The lines of CUDA or Python that a PTX text was made from. PTX ISA, "Debugging Directives: .loc, .file".

Read from the text and not from the tree, so that findings in a text that does not parse have their lines too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 1 << 24  # bytes of a file that is shown
# Where packages keep code that users have not written, and where the compilers themselves do.
_FOREIGN = re.compile(r"(^|[\\/])(include|site-packages|dist-packages)[\\/]")
_OF_COMPILERS = re.compile(
    r"[\\/](cuda[^\\/]*|targets[\\/][^\\/]+|nvidia[\\/]cu\d+|usr|local)[\\/]include[\\/]|[\\/](site|dist)-packages[\\/]triton[\\/]"
)

_WORDS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"
    |\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+(?P<column>\d+)
     (?:\s*,\s*function_name\s+[\w$]+(?:\s*\+\s*\d+)?)?
     (?:\s*,\s*inlined_at\s+(?P<at_file>\d+)\s+(?P<at_line>\d+)\s+(?P<at_column>\d+))?
    |\.file\s+(?P<number>\d+)\s+"(?P<path>[^"\n]*)"
    |(?P<start>\.(?:entry|func)\b)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the program as its author wrote it. `inlined_at`: where the function it stands in was inlined."""

    file: str
    line: int
    column: int
    inlined_at: SourceLine | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def chain(self) -> Iterator[SourceLine]:
        """This line, the one where it was inlined, and so on outwards."""
        here: SourceLine | None = self
        while here is not None:
            yield here
            here = here.inlined_at

    def of_the_user(self) -> SourceLine:
        """The innermost line in a file of the user's own, or else in a package; the outermost where all are a compiler's."""
        lines = list(self.chain())
        own = (line for foreign in (_FOREIGN, _OF_COMPILERS) for line in lines if not foreign.search(line.file))
        return next(own, lines[-1])


@dataclass(frozen=True, slots=True)
class LineTable:
    """What the `.loc` directives of a text say: from the PTX line `starts[i]` on, the line `origins[i]`."""

    starts: list[int]
    origins: list[SourceLine | None]

    def __bool__(self) -> bool:
        return any(self.origins)

    def find(self, line: int) -> SourceLine | None:
        """The line that a line of PTX was made from; None where nothing is said."""
        place = bisect_right(self.starts, line) - 1
        return self.origins[place] if place >= 0 else None

    def after(self, line: int) -> SourceLine | None:
        """The first line that is named from a line of PTX on."""
        return next((origin for origin in self.origins[bisect_right(self.starts, line) :] if origin is not None), None)


def line_table(text: str) -> LineTable:
    """The table of a PTX text. An instruction belongs to the last `.loc` of its function before it.

    LLVM counts the line up within inline assembly, one for each line of the assembly: all of that belongs to the line it begins at.
    """
    if ".loc" not in text:
        return LineTable([], [])
    found, files = list(_WORDS.finditer(text)), {0: ""}
    files |= {int(match["number"]): match["path"] for match in found if match["number"]}
    # What each place came from, by the line of the outermost function, the newest last: one function is inlined at several.
    places: dict[tuple[int, int, int], dict[SourceLine | None, SourceLine]] = {}
    called: SourceLine | None = None  # the last line that was not inlined
    starts, origins = list[int](), list[SourceLine | None]()
    number, done, is_inline = 1, 0, False
    for match in found:
        if match[0].startswith("//"):
            mark = match[0].rstrip()
            is_inline = mark == "// begin inline asm" or (is_inline and mark != "// end inline asm")
            continue
        if is_inline:
            continue
        number, done = number + text.count("\n", done, match.start()), match.start()
        if match["start"]:
            origin = None
            places = {}
        elif match["file"] and int(match["file"]) in files:
            key = int(match["file"]), int(match["line"]), int(match["column"])
            at = None
            if match["at_file"]:
                outer = int(match["at_file"]), int(match["at_line"]), int(match["at_column"])
                # The place may be one that was itself inlined: then it has stood in a .loc of its own before.
                # LLVM writes a chain out only when it first meets it: then it is that of the line that was named last, else the newest.
                chains = places.get(outer) or {called: SourceLine(files.get(outer[0], ""), outer[1], outer[2])}
                at = chains[called] if called in chains else next(reversed(chains.values()))
            origin = SourceLine(files[key[0]], key[1], key[2], at if key[1:] != (0, 0) else None)
            called = called if match["at_file"] else origin
            outermost, chains = list(origin.chain())[-1], places.setdefault(key, {})
            chains.pop(outermost, None)
            chains[outermost] = origin
        else:
            continue
        starts.append(number)
        origins.append(None if origin is not None and origin.line == 0 else origin)
    return LineTable(starts, origins)


def find_file(name: str, beside: Path | None) -> Path | None:
    """A source file that is there to be shown: as named, beside the PTX text, or in the working directory."""
    folder = beside.parent if beside is not None else Path()
    path = Path(name)
    for each in (folder / path, folder / path.name, Path(path.name)):
        try:
            if each.is_file() and each.stat().st_size <= LONGEST:
                return each
        except (OSError, ValueError):
            continue
    return None

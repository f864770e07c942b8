"""Lines of CUDA or Python beside rows of tables that name lines of PTX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from ptxsim.source import Source


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

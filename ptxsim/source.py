"""The text that was read: file name, lines, and places in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source text: 1-based line and column, and a length in characters (1 if unknown)."""

    line: int
    column: int = 1
    length: int = 1


class Place(Protocol):
    """What has a place: a Span, a node of the syntax tree, an operation."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def length(self) -> int: ...


@dataclass(frozen=True)
class Source:
    """A source text and the name to show for it."""

    text: str
    name: str = "<text>"
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def from_file(cls, path: str | Path) -> Source:
        """Read a file, without its byte order mark. Raises OSError; what is not UTF-8 becomes U+FFFD, which no grammar takes."""
        path = Path(path)
        return cls(path.read_bytes().decode("utf-8-sig", errors="replace"), str(path), path)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """Text of a 1-based line; empty where there is none."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

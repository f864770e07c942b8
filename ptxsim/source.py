"""The text that was read: file name, lines, and places in it."""

from __future__ import annotations

import errno
import os
import select
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ptxsim.source_lines import LineTable, SourceLine, find_file, line_table


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


LARGEST = 1 << 28  # bytes of a file that is read: some million lines
PATIENCE = 10.0  # seconds until a pipe has something to say


def read_bytes(path: Path) -> bytes:
    """What a file or pipe holds. Raises OSError, for devices, what is too large, and pipes that no process writes to as well."""
    try:
        status = path.stat()
    except ValueError as error:  # a zero byte in the name
        raise OSError(errno.EINVAL, str(error), repr(str(path))) from None
    if stat.S_ISFIFO(status.st_mode):
        return _read_pipe(path)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "is no file", str(path))
    if status.st_size > LARGEST:
        raise OSError(errno.EFBIG, f"has more than {LARGEST >> 20} MiB", str(path))
    return path.read_bytes()


def _read_pipe(path: Path) -> bytes:
    found = bytearray()
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while select.select([handle], [], [], PATIENCE)[0]:
            piece = os.read(handle, 1 << 20)
            if not piece:
                return bytes(found)
            found += piece
            if len(found) > LARGEST:
                raise OSError(errno.EFBIG, f"has more than {LARGEST >> 20} MiB", str(path))
    finally:
        os.close(handle)
    raise OSError(errno.ETIMEDOUT, f"is a pipe that nobody wrote to for {PATIENCE:.0f} seconds", str(path))


@dataclass(frozen=True)
class Source:
    """A source text and the name to show for it. `made_from`: the file that a compiler made it from. `has_lines`: whether what the
    text says of the lines that it was made from is wanted."""

    text: str
    name: str = "<text>"
    path: Path | None = field(default=None, compare=False)
    made_from: Source | None = field(default=None, compare=False)
    has_lines: bool = field(default=True, compare=False)

    @property
    def written(self) -> Source:
        """What its author wrote: the file that it was made from, or itself."""
        return self.made_from or self

    @classmethod
    def from_file(cls, path: str | Path) -> Source:
        """Read a file, without its byte order mark and the zero bytes that end it. Raises OSError; what is neither UTF-8 nor, by its mark, UTF-16
        becomes U+FFFD, which no grammar takes."""
        path = Path(path)
        return cls.of_bytes(read_bytes(path), path)

    @classmethod
    def of_bytes(cls, data: bytes, path: Path) -> Source:
        """What a file holds, as `from_file` reads it."""
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # as `>` of PowerShell writes files
            return cls(data.decode("utf-16", errors="replace").rstrip("\0"), str(path), path)
        return cls(data.rstrip(b"\0").decode("utf-8-sig", errors="replace"), str(path), path)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """Text of a 1-based line, however it ends; empty where there is none."""
        return self.lines[number - 1].removesuffix("\r") if 1 <= number <= len(self.lines) else ""

    @cached_property
    def line_table(self) -> LineTable:
        """Which lines of CUDA or Python the lines of this PTX text were made from."""
        return line_table(self.text if self.has_lines else "")

    @cached_property
    def _originals(self) -> dict[str, Source | None]:
        return {}

    def original(self, name: str) -> Source | None:
        """A source file that the line information names, if it is there to be shown."""
        if self.made_from is not None and Path(name).name == Path(self.made_from.name).name:
            return self.made_from
        if name not in self._originals:
            path = find_file(name, self.path)
            self._originals[name] = Source.from_file(path) if path else None
        return self._originals[name]

    def origin(self, number: int) -> SourceLine | None:
        """The line of the user's own that a 1-based line of this text was made from."""
        found = self.line_table.find(number)
        return found.of_the_user() if found else None

    def place(self, number: int) -> str:
        """A line of this text in words for its author: `line 9 (PTX: 57)` where it was made from the author's line 9."""
        origin = self.origin(number)
        return f"line {number}" if origin is None else f"line {origin.line} (PTX: {number})"

"""What the suites share: options, the count of passed, failed and skipped items, spreading work over processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

Record: TypeAlias = dict[str, Any]  # an object of a JSON file
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    folder: Path
    jobs: int = 1
    select: str = "*"
    engine: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def selects(self, file: str, *items: str) -> bool:
        """Whether one of the globs of `--select` names the file (with or without its ending) or one of its items."""
        files = (file, file.partition(".")[0])
        names = [*files, *(f"{name}:{item}" for name in files for item in items)]
        return any(fnmatchcase(name, glob) for glob in self.select.split(",") for name in names)


@dataclass
class Tally:
    """Items by outcome; `failures` are the lines to print, `skipped` counts by kind, `notes` come after the failures."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def spread(work: Callable[[Item], Result], items: Iterable[Item], jobs: int, chunk: int = 16) -> Iterator[Result]:
    """`work` of every item, in order, over `jobs` processes (0: one per core)."""
    if jobs == 1:
        yield from map(work, items)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        yield from pool.map(work, items, chunksize=chunk)

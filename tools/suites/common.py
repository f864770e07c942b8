"""What the suites share: options, the count of passed, failed and skipped items, spreading work over processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ptxsim.session import workers

Record: TypeAlias = dict[str, Any]  # an object of a JSON file
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    folder: Path
    jobs: int | str = 1
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


def spread(work: Callable[[Item], Result], items: Iterable[Item], jobs: int | str, chunk: int = 16) -> Iterator[Result]:
    """`work` of every item, in order, over `jobs` processes (0: one per core; 1: this one) or dask://HOST:PORT."""
    if jobs in (1, "1"):
        return map(work, items)
    return workers.spread(work, items, jobs, batch=chunk)

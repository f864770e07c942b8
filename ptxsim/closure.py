"""What is reached from somewhere, step by step: blocks by branches, values by operations, functions by calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def closure(starts: Iterable[T], after: Callable[[T], Iterable[T]]) -> set[T]:
    """The starts, and all that comes after one of them, directly or through others."""
    found = set(starts)
    rest = list(found)
    while rest:
        new = set(after(rest.pop())) - found
        found |= new
        rest += new
    return found

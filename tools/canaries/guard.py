"""Canaries: bytes around each array that ptxsim makes during a launch, and between its allocations of device memory."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import numpy as np

from ptxsim import checks, engine, machine, session
from ptxsim.machine import memory, pages, records

CANARY = 0xC5
MARGIN = 1 << 12  # bytes on each side of an array
WIDE = 1 << 16  # of pages that are reserved


class Canaries:
    """What lies around the arrays of one launch."""

    def __init__(self) -> None:
        self._made: list[tuple[str, np.ndarray, int]] = []  # where, bytes with their margins, bytes of a margin
        self._arenas: list[memory.GlobalMemory] = []
        self.watched = 0  # bytes that must not change

    def around(self, what: str, size: int, margin: int, make: Callable[[int], np.ndarray]) -> np.ndarray:
        """The inner `size` bytes of what `make` gives."""
        whole = make(size + 2 * margin)
        whole[:margin] = whole[margin + size :] = CANARY
        self._made.append((what, whole, margin))
        self.watched += 2 * margin
        return whole[margin : margin + size]

    def between(self, arena: memory.GlobalMemory) -> None:
        """The gaps between allocations."""
        for gap in _gaps(arena):
            gap[:] = CANARY
            self.watched += gap.size
        self._arenas.append(arena)

    def changed(self) -> dict[str, int]:
        """How many bytes are not as they were, by what they lie around."""
        found: dict[str, int] = {}
        for what, whole, margin in self._made:
            if count := int((whole[:margin] != CANARY).sum() + (whole[-margin:] != CANARY).sum()):
                found[what] = found.get(what, 0) + count
        for arena in self._arenas:
            if count := sum(int((gap != CANARY).sum()) for gap in _gaps(arena)):
                found["allocations"] = found.get("allocations", 0) + count
        return found


def _gaps(arena: memory.GlobalMemory) -> Iterator[np.ndarray]:
    """The bytes of device memory that belong to no allocation."""
    end = memory.ARENA
    for one in arena.allocations:
        yield arena.bytes[end - memory.ARENA : one.address - memory.ARENA]
        end = one.address + one.size
    yield arena.bytes[end - memory.ARENA :]


@cache
def _all_imported() -> None:
    """Have every module that makes arrays: one that is first imported among canaries would keep what is replaced there."""
    for room in (checks, engine, machine, session):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            importlib.import_module(module.name)


@contextmanager
def canaries() -> Iterator[Canaries]:
    """Every array that is made within has canaries around it."""
    _all_imported()
    watch, zeros, empty, map_pages, own = Canaries(), np.zeros, np.empty, pages.reserve, memory.GlobalMemory.bytes

    def array(make: Callable[..., np.ndarray]) -> Callable[..., Any]:
        def made(shape: Any, dtype: Any = float, order: str = "C", **more: Any) -> Any:
            kind = np.dtype(dtype)
            if kind.hasobject or not kind.itemsize or order != "C" or more:
                return make(shape, dtype, order, **more)
            size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
            inner = watch.around("an array", size, MARGIN, lambda count: make(count, np.uint8))
            return inner.view(kind).reshape(shape)

        return made

    def aligned(*shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        raw = zeros(size + 2 * MARGIN + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return watch.around("a record", size, MARGIN, lambda count: raw[start : start + count]).reshape(shape)

    def reserve(size: int, file: int = -1) -> np.ndarray:
        return watch.around("pages", size, WIDE, lambda count: map_pages(count, file))

    def of_arena(arena: memory.GlobalMemory) -> np.ndarray:
        found: np.ndarray = own.func(arena)  # type: ignore[attr-defined]  # a cached_property
        arena.__dict__["bytes"] = found
        watch.between(arena)
        return found

    of_pages = {records.aligned: aligned, pages.reserve: reserve}
    replaced = cached_property(of_arena)
    replaced.__set_name__(memory.GlobalMemory, "bytes")
    places: list[tuple[Any, str, Any, Any]] = [  # whose, its name, what it is, what it is meanwhile
        (np, "zeros", zeros, array(zeros)), (np, "empty", empty, array(empty)), (memory.GlobalMemory, "bytes", own, replaced),
    ]  # fmt: skip
    for module in [module for name, module in sys.modules.items() if name.startswith("ptxsim.")]:
        places += [
            (module, name, found, of_pages[found])
            for name, found in vars(module).items()
            if found is records.aligned or found is pages.reserve
        ]
    try:
        for whose, name, _, meanwhile in places:
            setattr(whose, name, meanwhile)
        yield watch
    finally:
        for whose, name, found, _ in places:
            setattr(whose, name, found)

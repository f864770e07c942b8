"""Grids of a stream that may still run when the next one begins: programmatic dependent launch.

A launch with the attribute cudaLaunchAttributeProgrammaticStreamSerialization begins when the grid before it lets dependents begin. Its
griddepcontrol.wait shows that one to be over; of those before, only what that one has waited for itself.
CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization"; PTX ISA, "griddepcontrol".
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.source import Source

MOST = 4  # grids that are remembered: more hardly run side by side


@dataclass(frozen=True)
class Grid:
    """What others may meet of a grid that has let them begin. rows: as of order.state.Order.prior; digest: of these."""

    kernel: str
    digest: bytes
    program: Program = field(compare=False, repr=False)
    source: Source = field(compare=False, repr=False)
    rows: np.ndarray = field(compare=False, repr=False)


@dataclass(frozen=True)
class Prior:
    """The grids that may still run when one begins, the latest first, and those of them that may when it has waited, because the grid
    before it, `between`, has not. here: the text of the one that begins."""

    at_start: tuple[Grid, ...] = ()
    after_wait: tuple[Grid, ...] = ()
    between: str = ""
    here: Source | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Left:
    """What a launch means for those after it. grid: it, if it has let others begin; waits: whether a thread has waited for those before;
    is_early: whether others may begin before that."""

    grid: Grid | None = None
    waits: bool = False
    is_early: bool = False


class Streams:
    """What may still run in each stream."""

    def __init__(self) -> None:
        self._next: dict[Hashable, Prior] = {}  # for a launch with the attribute

    def prior(self, stream: Hashable, programmatic: bool) -> Prior:
        """What a launch may meet; without the attribute it begins when all before it is over."""
        return self._next.get(stream, Prior()) if programmatic else Prior()

    def launched(self, stream: Hashable, kernel: str, prior: Prior, left: Left | None) -> None:
        """A launch has run. left: None where it was not looked at."""
        self._next.pop(stream, None)
        if left is None:
            return
        older = prior.after_wait if left.waits else prior.at_start  # that may run when this one is over
        begun = older
        if left.grid is not None:
            begun = (left.grid, *(prior.at_start if left.is_early else older))[:MOST]
        if begun:
            self._next[stream] = Prior(begun, tuple(each for each in older if each in begun), kernel)

    def synchronise(self, stream: Hashable) -> None:
        """Something else comes to a stream, which begins when all before it is over."""
        self._next.pop(stream, None)

    def synchronise_all(self) -> None:
        """The host waits for all streams."""
        self._next.clear()

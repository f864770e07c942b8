"""Order of what is done with tensor memory: no thread may access cells that asynchronous work uses and no wait has covered.

Products, copies and shifts are in order among themselves, and with others by a commit that an mbarrier tells of; loads and stores by
a wait of their warp. PTX ISA, "TensorCore 5th Generation Instructions: Memory Consistency Model". A run with seed 0 completes
work as late as allowed, so that a missing wait finds it in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ptxsim.diagnostic import NOT_OVER, Label
from ptxsim.layout.tensor_memory import COLUMNS, ROWS, Area
from ptxsim.machine.event import Event, TensorUse
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory.cells import memory_of, run

GROUP = 16  # rows that observers are told of together: nothing reaches fewer but tcgen05.cp.4x256b
BEFORE_SYNC, AFTER_SYNC = "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"
NOTHING = TensorUse(0)  # to be said of a use
# What a thread waits with.
COMMITS, MOVES = "tcgen05.commit, and mbarrier.try_wait", "tcgen05.wait::ld or tcgen05.wait::st"


@dataclass(eq=False)
class Use:
    """What of a CTA's tensor memory the instruction of a line reads or writes. `memory`: whose; `said`: that it has not been waited for
    has been reported."""

    memory: object
    area: Area
    writes: bool
    line: int
    what: str
    said: bool = False

    def meets(self, other: Use) -> tuple[int, int] | None:
        """The first column and row that both use, if one of them writes there."""
        if self.memory is not other.memory or not (self.writes or other.writes):
            return None
        rows, columns = self.area.rows & other.area.rows, self.area.columns & other.area.columns
        if not rows or not columns:
            return None
        return (columns & -columns).bit_length() - 1, (rows & -rows).bit_length() - 1


class Moves:
    """Loads and stores of a CTA that no wait has covered, by warp."""

    def __init__(self) -> None:
        self.open: dict[int, list[Use]] = {}

    def all(self) -> Iterator[Use]:
        for uses in self.open.values():
            yield from uses

    def wait(self, warp: int, writes: bool) -> list[Use]:
        """The loads or the stores of a warp are over; returns them."""
        uses = self.open.get(warp, [])
        self.open[warp] = [use for use in uses if use.writes != writes]
        return [use for use in uses if use.writes == writes]


def tell(m: Port, uses: Iterable[Use], how: TensorUse = NOTHING, event: Event = Event.TENSOR_USE) -> None:
    """Tell observers which cells of the cluster's tensor memory are used, or given back, and by which lanes."""
    if m.machine.stream is None:
        return
    ranks = {id(memory_of(cta)): cta.rank for cta in m.cta.cluster.ctas}
    for use in uses:
        rows = sum(1 << row // GROUP for row in range(0, ROWS, GROUP) if use.area.rows >> row & run(GROUP))
        columns = [use.area.columns >> first & run(64) for first in range(0, COLUMNS, 64)]
        kind = how | (TensorUse.WRITES if use.writes else 0)
        m.emit(event, addresses=[ranks[id(use.memory)], kind, rows, *columns])


def check(m: Port, uses: Iterable[Use], before: Iterable[Use], wait: str) -> TensorUse:
    """Report the first of some uses that meets one before it, which no wait has covered; says whether any does, reported now or before."""
    if m.machine.checks == "none":
        return NOTHING
    earlier, met = list(before), NOTHING
    for use in uses:
        meetings = [(other, cell) for other in earlier if (cell := use.meets(other)) is not None]
        met |= TensorUse.SAID if meetings else NOTHING
        found = [(other, cell) for other, cell in meetings if not other.said]
        if found:
            other, (column, row) = found[0]
            m.report(
                "tensor-memory-order",
                f"{use.what} {'writes' if use.writes else 'reads'} column {column}, lane {row} of tensor memory, which {other.what} of line "
                f"{other.line} {'writes' if other.writes else 'reads'}; no wait comes between them", help=f"wait first: {wait}",
                labels=(Label(other.line, f"{'writes' if other.writes else 'reads'} here"),), case=NOT_OVER,
            )  # fmt: skip
            for other, _ in found:
                other.said = True
            break
    return met

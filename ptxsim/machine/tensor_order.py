"""Order of what is done with tensor memory: nobody may access cells that asynchronous work uses and no wait has covered.

Products, copies and shifts are in order among themselves, and with others by a commit that an mbarrier tells of; loads and stores by
a wait of their warp. PTX ISA, "TensorCore 5th Generation Instructions: Memory Consistency Model". A run with seed 0 completes
work as late as allowed, so that a missing wait finds it in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ptxsim.layout.tensor_memory import COLUMNS, Area
from ptxsim.machine.event import Event
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import LEAST, memory_of, run

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


def tell(m: Port, uses: Iterable[Use], event: Event = Event.TENSOR_USE) -> None:
    """Tell observers what of the cluster's tensor memory is used, or given back, and by which lanes."""
    if m.machine.stream is None:
        return
    for cta in m.cta.cluster.ctas:
        columns = 0
        for use in uses:
            columns |= use.area.columns if use.memory is memory_of(cta) else 0
        if columns:
            parts = sum(1 << part for part in range(COLUMNS // LEAST) if columns >> part * LEAST & run(LEAST))
            m.emit(event, addresses=[cta.rank, parts])


def check(m: Port, uses: Iterable[Use], before: Iterable[Use], wait: str) -> None:
    """Report the first of some uses that meets one before it, which no wait has covered."""
    if m.machine.checks == "none":
        return
    earlier = [use for use in before if not use.said]
    for use in uses:
        found = [(other, cell) for other in earlier if (cell := use.meets(other)) is not None]
        if found:
            other, (column, row) = found[0]
            m.report(
                "tensor-memory-order",
                f"{use.what} {'writes' if use.writes else 'reads'} column {column}, lane {row} of tensor memory, which {other.what} of line "
                f"{other.line} {'writes' if other.writes else 'reads'}; no wait comes between them", help=f"wait first: {wait}",
            )  # fmt: skip
            for other, _ in found:
                other.said = True
            return

"""The tensor memory of a CTA: who has which columns, what is in them. PTX ISA, "Tensor Memory".

Every CTA has all of it: CTAs of one SM that share it are not modeled, only warps of one CTA wait for each other's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.lanes import mask_word
from ptxsim.layout.tensor_memory import COLUMNS, QUARTER, ROWS, Area, Cells
from ptxsim.machine.cta import Cta
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Fault, Wait
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine
from ptxsim.types import TYPES

ALL = (1 << COLUMNS) - 1
LEAST = 32  # columns of an allocation, which is a power of two
SAME = "all lanes of the warp give the same tensor memory address"


@dataclass(frozen=True, slots=True)
class Allocation:
    """Columns from `start` on, and the line that allocated them."""

    start: int
    columns: int
    line: int


class TensorMemory:
    """The state of one CTA. `cells` are words (columns, rows). `free`: columns, as bits. `promised`: those that a pair's other CTA has
    allocated for both. `group`: how many CTAs its first instruction named, and at which line."""

    def __init__(self) -> None:
        self.cells = np.zeros((COLUMNS, ROWS), np.uint32)
        self.held: dict[int, Allocation] = {}  # by the first column
        self.free = ALL
        self.permitted = True
        self.promised: list[tuple[int, int, int]] = []  # first columns, numbers, and the lines
        self.group: tuple[int, int] | None = None

    def take(self, start: int, columns: int, line: int) -> None:
        self.held[start] = Allocation(start, columns, line)
        self.free &= ~(run(columns) << start)

    def describe(self) -> str:
        """Who has what, for reports."""
        each = (f"{a.columns} columns from {a.start} on (line {a.line})" for a in self.held.values())
        return ", ".join(each) or "nothing is allocated"


def memory_of(cta: Cta) -> TensorMemory:
    return cta.units.of(TensorMemory)


def room(memories: Sequence[TensorMemory], columns: int) -> int | None:
    """The first column of so many that are free in all memories, at a multiple of their number; None if there are none."""
    free = reduce(and_, (memory.free for memory in memories))
    return next((start for start in range(0, COLUMNS, columns) if not run(columns) & ~(free >> start)), None)


def allocate(m: Port, a: np.ndarray, columns: np.ndarray, ctas: int) -> Wait | None:
    """The address of the columns goes to shared memory, once there is room.

    Of a pair, the CTA that comes first allocates for both; the other one gets the same columns.
    """
    count = m.uniform(columns, "number of columns", "all lanes of the warp give the same number of columns")
    own, line = memory_of(m.cta), m.line
    others = [memory_of(cta) for cta in group_of(m, ctas) if cta is not m.cta]
    _check_number(count)
    if not own.permitted:
        raise _fault("the CTA has given up its permit to allocate", "allocate before relinquish_alloc_permit")
    everyone, mask = m.mask.copy(), np.arange(32) == np.argmax(m.mask)

    def give(start: int) -> None:
        own.take(start, count, line)
        m.mask = mask
        m.store("shared::cta", a, [np.full(32, start, np.uint32)], TYPES["u32"])
        m.mask = everyone
        m.emit(Event.SYNC_WARP, addresses=[mask_word(everyone)] * 32)  # other lanes may read the address at once

    def take() -> None:
        start = room([own, *others], count)
        assert start is not None
        for other in others:
            other.promised.append((start, count, line))
            other.free &= ~(run(count) << start)
        give(start)

    if others and own.promised:
        start, promised, _ = own.promised.pop(0)
        if promised != count:
            raise _fault(
                f"{count} columns, where the other CTA of the pair has allocated {promised}",
                "both CTAs of a pair allocate the same numbers in the same order",
            )
        give(start)
        return None
    if room([own, *others], count) is None:
        what = f"{count} columns of tensor memory"
        return Wait(
            what, lambda: room([own, *others], count) is not None, lambda: f"waits for {what}: {own.describe()}", take
        )  # fmt: skip
    take()
    return None


def deallocate(m: Port, a: np.ndarray, columns: np.ndarray, ctas: int) -> Area:
    """Exactly what one allocation has given is free again. Returns that."""
    start = m.uniform(a, "tensor memory address", SAME)
    count = m.uniform(columns, "number of columns", "all lanes of the warp give the same number of columns")
    group_of(m, ctas)
    memory = memory_of(m.cta)
    _check_number(count)
    found = memory.held.get(start)
    if found is None or found.columns != count:
        raise _fault(
            f"{count} columns from {start:#x} on are no allocation of the CTA: {memory.describe()}",
            "give back the address that the allocation has stored, with the same number of columns",
        )
    del memory.held[start]
    memory.free |= run(count) << start
    return Area(run(ROWS), run(count) << start)


def relinquish(m: Port, ctas: int) -> None:
    """The CTA allocates no more."""
    group_of(m, ctas)
    memory_of(m.cta).permitted = False


def look_over(machine: Machine, cta: Cta) -> None:
    """Report columns that a CTA holds when it ends, which no other CTA ever gets, and those that it was to allocate with its peer."""
    for left in memory_of(cta).held.values():
        machine.add_finding(
            Finding(
                "tensor-memory-allocation", f"the CTA ends with {left.columns} columns of tensor memory", left.line,
                help="give them back in one warp, after the last access", cta=cta.index,
            )
        )  # fmt: skip
    for _, count, line in memory_of(cta).promised:
        machine.add_finding(
            Finding(
                "tensor-memory-allocation", f"the CTA ends without its part in the allocation of {count} columns by the pair", line,
                help="a warp of each CTA of a pair executes the allocation, and so the other instructions that manage columns", cta=cta.index,
            )
        )  # fmt: skip


def _check_number(count: int) -> None:
    if not LEAST <= count <= COLUMNS or count & count - 1:
        raise _fault(f"{count} columns; the number is a power of two from {LEAST} to {COLUMNS}", "round up")


def _fault(message: str, help: str) -> Fault:
    return Fault("tensor-memory-allocation", message, help=help)


def group_of(m: Port, ctas: int) -> Sequence[Cta]:
    """The CTAs that an instruction works on. Raises Fault where the CTA has no peer; all instructions of a kernel name the same number."""
    memory = memory_of(m.cta)
    first_named, line = memory.group = memory.group or (ctas, m.line)
    if ctas != first_named and m.machine.checks != "none":
        m.report(
            "tensor-memory-allocation", f".cta_group::{ctas} in a kernel that names .cta_group::{first_named} at line {line}",
            help="all instructions for tensor memory in a kernel name the same .cta_group",
        )  # fmt: skip
    if ctas == 1:
        return (m.cta,)
    all_of_them, first = m.cta.cluster.ctas, m.cta.rank & ~1
    if len(all_of_them) < first + 2:
        raise Fault(
            "illegal-instruction", f".cta_group::2 in CTA {m.cta.rank} of a cluster of {len(all_of_them)}, which has no peer",
            help="launch clusters with an even number of CTAs",
        )  # fmt: skip
    return all_of_them[first : first + 2]


# ---- accesses ----------------------------------------------------------------------------------------------------------


def place(memory: TensorMemory, address: int, area: Area, what: str) -> Area:
    """What is relative to an address as an area of the memory. Raises Fault `out-of-bounds` where it is not there, or is not allocated."""
    found = area.at(address)
    if found.columns > ALL or found.rows > run(ROWS):
        (low, high), (first, last) = ends(found.columns), ends(found.rows)
        raise Fault(
            "out-of-bounds",
            f"{what} at {address:#x} reaches columns {low} to {high} and lanes {first} to {last}; tensor memory "
            f"has {COLUMNS} columns and {ROWS} lanes", help="an address has the lane in bits 31 to 16, the column in bits 15 to 0",
        )  # fmt: skip
    if found.columns & memory.free:
        raise Fault(
            "out-of-bounds", f"{what} at {address:#x}: column {ends(found.columns & memory.free)[0]} is not allocated; {memory.describe()}",
            help="allocate as many columns as are used, and use them before they are given back",
        )  # fmt: skip
    return found


def run(count: int) -> int:
    """The first so many numbers, as bits."""
    return (1 << count) - 1


def ends(bits: int) -> tuple[int, int]:
    """The least and the greatest number of a set."""
    return (bits & -bits).bit_length() - 1, bits.bit_length() - 1


def moved_area(m: Port, a: np.ndarray, cells: Cells, what: str) -> tuple[TensorMemory, int, Area]:
    """The memory, the address and the area of what a warp moves to or from its registers, all from the rows that it reaches.

    An address in the first quarter is one of the warp's own quarter: the manual does not say so, but programs that NVIDIA runs on
    sm_100 rely on it (CUTLASS, examples/python/CuTeDSL/experimental/primitives/tcgen05), as does DeepGEMM.
    """
    address, memory = m.uniform(a, "tensor memory address", SAME), memory_of(m.cta)
    first = m.warp.index % 4 * QUARTER
    low, high = ((address >> 16) + row for row in ends(cells.area.rows))
    if high < QUARTER:
        address += first << 16
    elif low < first or high >= first + QUARTER:
        raise Fault(
            "tensor-memory-lanes",
            f"{what} at {address:#x} accesses lanes {low} to {high}; warp {m.warp.index} reaches lanes {first} to {first + QUARTER - 1}",
            help=f"add the warp's first lane to the address: (warp % 4) * {QUARTER} << 16",
        )
    return memory, address, place(memory, address, cells.area, what)

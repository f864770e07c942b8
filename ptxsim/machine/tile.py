"""Matrices in shared memory that descriptors give. PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np

from ptxsim.layout.descriptor import Descriptor, linear_offsets
from ptxsim.layout.swizzle import swizzle
from ptxsim.machine.copies.bulk import written_swizzle
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port
from ptxsim.machine.shared_names import Variables
from ptxsim.machine.state import Machine

CHUNK = 16  # bytes; every layout keeps that many together
WIDEST = 128  # bytes of a piece that observers hear of
FIELDS = "see `ptxsim desc` for the fields and what they read"


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory as a descriptor gives it: `rows` are m of A or n of B, `major` is "K" or "MN"."""

    descriptor: int
    major: str
    rows: int
    k: int
    bits: int
    format: type[Descriptor] = Descriptor

    @property
    def fields(self) -> Descriptor:
        """The descriptor's."""
        return _fields(cast(Any, self.format), self.descriptor)

    def addresses(self) -> np.ndarray:
        """Byte address of every element, int64 (rows, k)."""
        return _addresses(self)

    def span(self) -> tuple[int, int]:
        """The first byte that is read, and the one after the last."""
        return _span(self)

    def read(self, memory: np.ndarray) -> np.ndarray:
        """Element codes, unsigned (rows, k), from the bytes of shared memory."""
        addresses = self.addresses()
        if self.bits < 8:
            packed: np.ndarray = memory[addresses] >> (np.arange(self.k) * self.bits % 8).astype(np.uint8)
            return packed & (1 << self.bits) - 1
        size = self.bits // 8
        data: np.ndarray = memory[addresses[..., None] + np.arange(size)]
        return data.view(f"<u{size}")[..., 0]

    def chunks(self) -> np.ndarray:
        """Addresses of the 16-byte pieces that are read, each once."""
        return _chunks(self)

    def blocks(self) -> tuple[int, np.ndarray]:
        """What is read, in the widest pieces that it consists of, up to 128 bytes: their bytes, and their addresses in order."""
        return _blocks(self)


@lru_cache(maxsize=1024)
def _fields(format: Any, descriptor: int) -> Descriptor:
    found: Descriptor = format.decode(descriptor)
    return found


@lru_cache(maxsize=1024)
def _field_problems(format: Any, descriptor: int) -> list[tuple[str, str]]:
    return _fields(format, descriptor).field_problems()


@lru_cache(maxsize=1024)
def _start_problem(format: Any, descriptor: int) -> str | None:
    return _fields(format, descriptor).start_problem()


# A loop over k meets few different descriptors, again and again.
@lru_cache(maxsize=256)
def _addresses(tile: Tile) -> np.ndarray:
    fields = tile.fields
    row, k = np.arange(tile.rows)[:, None], np.arange(tile.k)[None, :]
    offsets = linear_offsets(tile.major, fields.swizzle, fields.leading, fields.stride, tile.bits, row, k)
    return np.asarray(swizzle(fields.start + offsets, fields.swizzle, fields.base_offset))


@lru_cache(maxsize=256)
def _span(tile: Tile) -> tuple[int, int]:
    addresses = _addresses(tile)
    return int(addresses.min()), int(addresses.max()) + max(1, tile.bits // 8)


@lru_cache(maxsize=256)
def _chunks(tile: Tile) -> np.ndarray:
    return np.unique(_addresses(tile) // CHUNK) * CHUNK


@lru_cache(maxsize=256)
def _blocks(tile: Tile) -> tuple[int, np.ndarray]:
    chunks, width = _chunks(tile), WIDEST
    while np.unique(chunks // width).size * width != chunks.size * CHUNK:
        width //= 2
    return width, np.unique(chunks // width) * width


def check_tile(m: Port, tile: Tile) -> None:
    """Report what is suspicious in a descriptor, or in how its tile was written; raise Fault `out-of-bounds` where it leaves shared
    memory."""
    known, fields = m.machine.right_tiles, tile.fields
    place = known.get(tile)
    if place is None:
        found = []

        def report(name: str, message: str, **more: Any) -> None:
            found.append(name)
            m.report(name, message, **more)

        check_descriptor(bounds_of(m.machine), tile, report)
        place = tile.span()[0], doubtful_start(tile)
        if not found:
            known[tile] = place
    low, problem = place
    written = written_swizzle(m, low)
    if written not in (None, fields.swizzle):
        m.report(
            "swizzle-mismatch",
            f"the tensor copy that brought the tile at {low:#x} wrote it with swizzle {written}, the descriptor reads it "
            f"with {fields.swizzle}", help="give the tensor map and the descriptor the same swizzle",
        )  # fmt: skip
    if problem and (written is None or fields.base_offset):
        m.report("swizzle-start", problem, help=FIELDS, level="warning")


def doubtful_start(tile: Tile) -> str | None:
    """What is wrong with where a tile starts, unless a tensor copy has brought it: its swizzle is one of absolute addresses too."""
    return _start_problem(cast(Any, tile.format), tile.descriptor)


Bounds: TypeAlias = tuple[int, int, tuple[tuple[str, tuple[int, int]], ...]]


def bounds_of(machine: Machine) -> Bounds:
    """Where the shared memory of a CTA begins and ends, and its variables: their names, addresses and bytes."""
    return machine.shared_start, machine.shared_bytes, tuple(machine.shared_variables.items())


@lru_cache(maxsize=1024)
def is_right(tile: Tile, bounds: Bounds) -> bool:
    """Whether check_descriptor finds nothing."""
    found: list[str] = []
    try:
        check_descriptor(bounds, tile, lambda name, *_, **__: found.append(name))
    except Fault:
        return False
    return not found


def check_descriptor(bounds: Bounds, tile: Tile, report: Callable[..., None]) -> None:
    """The part of it that is the same whenever the tile is read; `report` as machine.port.Port has it."""
    fields, problems = tile.fields, _field_problems(cast(Any, tile.format), tile.descriptor)
    if fields.swizzle not in fields.swizzles:
        raise Fault("descriptor-invalid", f"the descriptor {tile.descriptor:#018x}: {problems[0][1]}", help=FIELDS)
    for problem, text in problems:
        # The GPU reads on as the address arithmetic says, which is rarely meant.
        report(problem, text, help=FIELDS, level="warning")
    low, high = tile.span()
    start, end, variables = bounds[0], bounds[1], dict(bounds[2])
    if low < start or high > end:
        addresses = tile.addresses()
        at = addresses >= end if high > end else addresses < start
        row, k = np.argwhere(at)[0] if at.any() else (0, 0)
        raise Fault(
            "out-of-bounds",
            f"the descriptor {tile.descriptor:#018x} reads {low:#x}..{high:#x}; element (row {row}, k {k}) is the first "
            f"outside of the CTA's shared memory, {start:#x}..{end:#x}",
            help=f"start and offsets are stored in units of 16 bytes; see `ptxsim desc {tile.descriptor:#018x}`",
        )
    name = past_variable(tile, variables)
    if name is not None:
        first, size = variables[name]
        report(
            "descriptor-past-tile",
            f"the descriptor {tile.descriptor:#018x} starts in {name} ({first:#x}..{first + size:#x}) and reads up "
            f"to {high:#x}", help=f"start and offsets are stored in units of 16 bytes; see `ptxsim desc {tile.descriptor:#018x}`",
        )  # fmt: skip


def past_variable(tile: Tile, variables: Variables) -> str | None:
    """The variable in which a tile starts and does not end."""
    start, high = tile.fields.start, tile.span()[1]
    return next((name for name, (first, size) in variables.items() if first <= start < first + size < high), None)

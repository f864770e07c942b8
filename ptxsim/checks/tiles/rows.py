"""Rows of 8x8 matrices that lie in one pattern and are taken in another: by ldmatrix for a product, by a product itself, by a tensor copy.

Where bytes came from and where they go tells: eight rows of a matrix belong to evenly spaced places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ptxsim.checks.tiles.sources import QUAD, Tiles, parts_from
from ptxsim.diagnostic import Finding, Label, lines_of
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import LANES
from ptxsim.layout.row_patterns import ROWS, mixed, mixed_within, pitches
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle
from ptxsim.layout.tile_order import UNIT, UNKNOWN
from ptxsim.machine.event import FLAG_OTHERWISE, SWIZZLE_MASK, SWIZZLE_SHIFT, Event, Space
from ptxsim.machine.shared_names import Variables, shared_name

_MODES = {bits: mode for mode, bits in SWIZZLE_BITS.items()}


@dataclass(slots=True)
class MixedRows:
    """Matrices whose rows were written by one pattern and are read by another."""

    site: int
    writer: int  # site
    address: int
    patterns: str  # in words
    # Whether a tensor copy swizzles on one side, or takes the rows away: no matrix in global memory is to lie so.
    by_hardware: bool
    times: int = 0
    sites: set[int] = field(default_factory=set)  # all that read so

    def finding(self, program: Program, variables: Variables) -> Finding:
        op, writer = program.ops[self.site], program.ops[self.writer]
        name = shared_name(variables, self.address)
        others = sorted({program.ops[site].line for site in self.sites} - {op.line})
        return Finding(
            "swizzle-mismatch",
            f"{op.name} takes rows of an 8x8 matrix, the first at {name}, that were written by another pattern: "
            f"{self.patterns}", labels=(Label.at(writer, "written here"),), count=self.times,
            level="error" if self.by_hardware else "warning",
            notes=(
                "judged by where in global memory the bytes came from or go to, which should be evenly spaced places",
                *([f"the same at {lines_of(others)}"] if others else []),
            ),
            help="let both sides flip the same bits of the address; a matrix that is kept in this pattern in global memory needs no change",
        ).at(op)  # fmt: skip


def rows_of(record: np.ndarray) -> np.ndarray | None:
    """Where the rows of the matrices are that a load fills registers with, int64 (registers, 8); None if it takes no such rows."""
    addresses, mask, width = record["addresses"].astype(np.int64), int(record["mask"]), int(record["width"])
    if int(record["event"]) == Event.LDMATRIX:
        lanes = mask.bit_count() // ROWS * ROWS
        return addresses[:lanes].reshape(-1, ROWS) if lanes else None
    quads = addresses.reshape(-1, QUAD)
    is_whole = mask == (1 << LANES) - 1 and width * QUAD == UNIT and not (quads[:, 0] % UNIT).any()
    return quads[None, :, 0] if is_whole and (quads - quads[:, :1] == np.arange(QUAD) * width).all() else None


def places_of_lanes(record: np.ndarray, tiles: Tiles) -> np.ndarray | None:
    """Where the first bytes come from that the lanes of a load take, int64 (32,); None where that is not known, or not all lanes load."""
    addresses = record["addresses"].astype(np.int64)
    if int(record["mask"]) != (1 << LANES) - 1:
        return None
    if int(record["space"]) == Space.GLOBAL:
        return addresses
    return parts_from(addresses, int(record["width"]), tiles)


def mixed_rows(rows: np.ndarray, there: np.ndarray | None, tiles: Tiles) -> Iterator[tuple[int, str]]:
    """First addresses and patterns of the mixed matrices among some, whose rows come from `there`."""
    if there is None or there.shape != rows.shape or not pitches(there).all():
        for places in rows:
            yield from _mixed_in_memory(places, tiles)


def of_tile(places: np.ndarray, tiles: Tiles) -> Iterator[tuple[int, str]]:
    """The same of an operand in shared memory, from the addresses of the first units of its first rows."""
    yield from _mixed_in_memory(places[:ROWS], tiles)


def came_from(places: np.ndarray, sources: np.ndarray) -> np.ndarray | None:
    """Where what stands at addresses came from; None if that is not known of all, or they are not in shared memory."""
    units = places // UNIT
    if units.min() < 0 or units.max() >= len(sources):
        return None
    found = sources[units]
    return None if (found == UNKNOWN).any() else found


def _mixed_in_memory(places: np.ndarray, tiles: Tiles) -> Iterator[tuple[int, str]]:
    patterns = mixed(places, lambda places: came_from(places, tiles.sources))
    if patterns is None and _is_within(places, tiles):
        patterns = mixed_within(places, lambda places, size: parts_from(places, size, tiles))
    if patterns is not None:
        yield int(places[0]), patterns


def _is_within(places: np.ndarray, tiles: Tiles) -> bool:
    """Whether the first row, which no pattern changes, is a run of bytes from one place, and others are not."""
    return came_from(places[:1], tiles.sources) is not None and came_from(places, tiles.sources) is None


def of_stores(record: np.ndarray, matrices: np.ndarray) -> Iterator[tuple[int, str]]:
    """The same of matrices that threads have written and a tensor copy takes away, from a record of the shared memory that it reads."""
    flags, width = int(record["flags"]), int(record["width"])
    if flags & FLAG_OTHERWISE:
        return
    mode = _MODES[flags >> SWIZZLE_SHIFT & SWIZZLE_MASK]
    starts = record["addresses"][: int(record["mask"]).bit_count()].astype(np.int64)
    units = (starts[:, None] + np.arange(0, width, UNIT)).ravel() // UNIT
    units = units[(units >= 0) & (units < len(matrices))]
    rows = matrices[units]
    order = np.argsort(rows, kind="stable")
    rows, units = rows[order], units[order]
    first = np.flatnonzero((rows[: 1 - ROWS] != 0) & (rows[: 1 - ROWS] % ROWS == 0))
    for n in first[rows[first + ROWS - 1] - rows[first] == ROWS - 1]:
        places = units[n : n + ROWS] * UNIT
        patterns = mixed(places, lambda places: swizzle(places, mode))
        if patterns is not None:
            yield int(places[0]), patterns

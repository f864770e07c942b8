"""Where in global memory the bytes of shared memory come from, and which rows of a matrix they are, by units of 16 bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.jit.body import Array, body, record
from ptxsim.lanes import LANES
from ptxsim.layout.tile_order import UNIT, UNKNOWN
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_MORE,
    FLAG_OTHERWISE,
    FLAG_TENSORMAP,
    MOST_OUTSIDE,
    OUTSIDE_SHIFT,
    SWIZZLE_MASK,
    SWIZZLE_SHIFT,
    Event,
    Space,
)

# Of a site. load: its number among those that load what is copied, or -1; first, end: in a list of such numbers, those whose bytes it
# writes, `offset` bytes after what they loaded; copies: whether it loads and writes itself, by threads, as a tensor copy or as a bulk copy; left: how many
# of its records are to be looked at, of products, ldmatrix and tensor copies out of shared memory; swizzle: of a tensor copy that has
# written to shared memory, see SWIZZLE_SHIFT.
SITE = record(
    ("load", "<i4"), ("first", "<i4"), ("end", "<i4"), ("copies", "<i4"), ("left", "<i4"), ("swizzle", "<i4"), ("offset", "<i8")
)  # fmt: skip
NONE, THREADS, TENSOR, BULK = range(4)  # of `copies`
# The tensor copy that is being told of: its site, rows and their bytes in global memory, its first byte in shared memory; units written. asks: whether
# units have been stored in parts since it was looked from where they come.
TOLD = record(("site", "<i8"), ("rows", "<i8"), ("width", "<i8"), ("start", "<i8"), ("done", "<i8"), ("asks", "<i8"))
MOST_ROWS = 1024
# Bytes of a part of a unit; from where one part comes to where the next does, of elements that become narrower on the way.
PART, MOST_STEP = 2, 8
GOES_ON = -2  # in place of where a part comes from: it was stored together with the one before
IN_PARTS = -3  # in place of where a unit comes from: its parts tell
# Records of the first CTA that may yet come, records that may yet be looked at, loads and the like until now.
NUMBERS = MAY_COME, LEFT, TIME = range(3)
QUAD = 4  # lanes that hold a row of an 8x8 matrix


class Arrays(NamedTuple):
    """What is known of tiles."""

    sites: Array
    numbers: Array  # the list that sites tell of
    loaded: Array  # by warp, number and lane: from where it loaded last
    times: Array  # the same: when
    sources: Array  # by unit
    writers: Array
    matrices: Array  # by unit: when threads put rows of 8x8 matrices there, with the number of the row, or 0
    runs: Array  # by unit: the number of the bulk copy that has written it, or 0: one copy may bring what was packed as it is read
    parts: Array  # by unit and part: where it comes from, or GOES_ON
    told: Array  # a tensor or bulk copy
    rows: Array  # where its rows are in global memory
    n: Array  # NUMBERS


class Tiles(Arrays):
    """The same, which keeps how it is passed to native code (jit.native)."""


@body(enough=500)
def follow(records: Array, at: int, tiles: Tiles) -> int:
    """Go over records of the first CTA, from one on, up to one that is to be looked at. Returns that, or how many there are."""
    sites, numbers, loaded, times, n = tiles.sites, tiles.numbers, tiles.loaded, tiles.times, tiles.n
    sources, writers, matrices, runs = tiles.sources, tiles.writers, tiles.matrices, tiles.runs
    told, rows, parts = tiles.told, tiles.rows, tiles.parts
    time, end = int(n[TIME]), len(records) if n[LEFT] > 0 else at
    for i in range(at, end):
        record = records[i]
        event, warp, flags = int(record["event"]), int(record["warp"]), int(record["flags"])
        if record["cta"] != 0:
            continue
        if n[MAY_COME] == 0:
            break
        site, is_global = sites[record["site"]], record["space"] == Space.GLOBAL
        goes_out = event == Event.ASYNC_READ and not is_global and site["copies"] == TENSOR
        is_looked_at = goes_out or event == Event.MMA or event == Event.LDMATRIX
        if event == Event.LOAD and site["copies"] != TENSOR and site["copies"] != BULK:
            if is_global and site["load"] >= 0:
                time += 1
                is_new = site["copies"] == THREADS and flags & FLAG_MORE == 0
                take(record, loaded[warp, site["load"]], times[warp, site["load"]], time, is_new)
            is_looked_at = True
        n[TIME] = time
        if site["left"] > 0 and is_looked_at:
            return i
        n[MAY_COME] -= 1
        if site["copies"] == TENSOR:
            if event == Event.ASYNC_READ and is_global and flags & FLAG_TENSORMAP == 0:
                take_rows(record, told[0], rows)
            elif event == Event.ASYNC_WRITE and not is_global:
                site["swizzle"] = flags >> SWIZZLE_SHIFT & SWIZZLE_MASK
                bring(record, int(site["swizzle"]), told[0], rows, sources, writers, matrices, runs, parts)
            continue
        if site["copies"] == BULK:
            if event == Event.ASYNC_READ:
                time += 1
                take_run(record, is_global, told[0], rows)
            elif event == Event.ASYNC_WRITE and not is_global:
                bring_run(record, told[0], rows, time, sources, writers, matrices, runs, parts)
            continue
        # Where bytes are replaced: of cp.async when it starts, of other copies when they land.
        is_put = event in (Event.STORE, Event.STMATRIX, Event.ATOMIC, Event.REDUCE)
        is_put = is_put or (event == Event.ASYNC_ISSUE and site["copies"] == THREADS)
        if is_put or (event == Event.ASYNC_WRITE and flags & FLAG_ASYNC_PROXY != 0):
            if not is_global:
                put(record, site, numbers, loaded[warp], times[warp], sources, writers, runs, parts, told[0])
                time += 1
                put_rows(record, event, time, matrices)
    n[TIME] = time
    return len(records)


def take(record: Array, loaded: Array, times: Array, time: int, is_new: bool) -> None:
    """Lanes load; is_new: the others of the warp do not."""
    addresses, mask = record["addresses"], int(record["mask"])
    for lane in range(LANES):
        if mask >> lane & 1:
            loaded[lane], times[lane] = int(addresses[lane]), time
        elif is_new:
            times[lane] = 0


def put(
    record: Array, site: Array, numbers: Array, loaded: Array, times: Array, sources: Array, writers: Array, runs: Array, parts: Array, told: Array
) -> None:  # fmt: skip
    """Lanes write to units of shared memory."""
    addresses, mask, width = record["addresses"], int(record["mask"]), int(record["width"])
    for lane in range(LANES):
        address = int(addresses[lane])
        unit = address // UNIT
        if not mask >> lane & 1 or unit < 0 or unit >= len(sources):
            continue
        runs[unit] = 0
        came, newest = UNKNOWN, 0
        for k in range(site["first"], site["end"]):
            load = int(numbers[k])
            if times[load, lane] > newest:
                came, newest = int(loaded[load, lane] + site["offset"]), int(times[load, lane])
        first = address % UNIT // PART
        for part in range(first + 1, min(UNIT, address % UNIT + width) // PART):
            parts[unit, part] = GOES_ON
        parts[unit, first] = UNKNOWN if width < PART else came
        sources[unit] = came if width == UNIT else IN_PARTS
        if width != UNIT:
            told["asks"] = 1
        if address % UNIT == 0:
            writers[unit] = record["site"]


def put_rows(record: Array, event: int, time: int, matrices: Array) -> None:
    """Whether what lanes write to shared memory is rows of 8x8 matrices: of stmatrix, or of a store as fragments of accumulators take it."""
    addresses, mask, width = record["addresses"], int(record["mask"]), int(record["width"])
    are_rows = event == Event.STORE and mask == 0xFFFFFFFF and (width == 4 or width == 8)
    for lane in range(LANES if are_rows else 0):
        start = int(addresses[lane & ~(QUAD - 1)])
        are_rows = are_rows and start % UNIT == 0 and int(addresses[lane]) == start + lane % QUAD * width
    for lane in range(LANES):
        unit = int(addresses[lane]) // UNIT
        if mask >> lane & 1 and 0 <= unit < len(matrices):
            matrices[unit] = 0
            if event == Event.STMATRIX:
                matrices[unit] = time * LANES + lane
            elif are_rows:  # of rows of two units the second ones are another matrix
                matrices[unit] = time * LANES + lane % QUAD * width // UNIT * 8 + lane // QUAD


def put_unit(parts: Array, came: int) -> None:
    """A whole unit is written, from one place."""
    for part in range(1, UNIT // PART):
        parts[part] = GOES_ON
    parts[0] = came


def take_rows(record: Array, told: Array, rows: Array) -> None:
    """A tensor copy reads rows of a tensor."""
    addresses, mask, outside = (
        record["addresses"],
        int(record["mask"]),
        int(record["flags"]) >> OUTSIDE_SHIFT & MOST_OUTSIDE,
    )
    if told["site"] != record["site"] or told["done"] != 0:
        told["site"], told["rows"], told["done"] = record["site"], 0, 0
    told["width"] = record["width"]
    first = (int(told["rows"]) + LANES - 1) // LANES * LANES
    for row in range(told["rows"], min(len(rows), first + outside * LANES)):
        rows[row] = UNKNOWN
    first += outside * LANES
    for lane in range(LANES):
        if first + lane < len(rows):
            rows[first + lane] = int(addresses[lane]) if mask >> lane & 1 else UNKNOWN
        if mask >> lane & 1:
            told["rows"] = first + lane + 1
    if outside == MOST_OUTSIDE:  # or more
        told["rows"] = len(rows) + 1


def bring(
    record: Array, swizzle: int, told: Array, rows: Array, sources: Array, writers: Array, matrices: Array, runs: Array, parts: Array
) -> None:  # fmt: skip
    """It writes them to shared memory. What lies beyond the edge of the tensor is taken for what would be there."""
    addresses, mask, flags, width = record["addresses"], int(record["mask"]), int(record["flags"]), int(told["width"])
    is_known = told["site"] == record["site"] and told["rows"] <= len(rows) and flags & FLAG_OTHERWISE == 0
    pitch = UNIT << swizzle if swizzle != 0 else max(width, 1)
    for lane in range(LANES):
        for piece in range(int(record["width"]) // UNIT if mask >> lane & 1 else 0):
            at = int(addresses[lane]) + piece * UNIT
            if told["done"] == 0:
                told["start"] = at
            told["done"] += 1
            if at < 0 or at // UNIT >= len(sources):
                continue
            place = (at ^ (at >> 7 & (1 << swizzle) - 1) * UNIT) - int(told["start"])
            row, column = place // pitch, place % pitch
            sources[at // UNIT], writers[at // UNIT], matrices[at // UNIT] = UNKNOWN, record["site"], 0
            runs[at // UNIT] = 0
            if is_known and 0 <= row < told["rows"] and rows[row] != UNKNOWN:
                sources[at // UNIT] = int(rows[row]) + column
            put_unit(parts[at // UNIT], int(sources[at // UNIT]))


def take_run(record: Array, is_global: bool, told: Array, rows: Array) -> None:
    """A bulk copy reads a run of bytes."""
    if told["site"] != record["site"] or told["done"] != 0:
        told["site"], told["rows"], told["done"] = record["site"], is_global, 0
        rows[0] = int(record["addresses"][0])


def bring_run(
    record: Array, told: Array, rows: Array, number: int, sources: Array, writers: Array, matrices: Array, runs: Array, parts: Array
) -> None:  # fmt: skip
    """It writes them to shared memory."""
    for lane in range(LANES):
        for piece in range(int(record["width"]) // UNIT if int(record["mask"]) >> lane & 1 else 0):
            at = int(record["addresses"][lane]) + piece * UNIT
            if told["done"] == 0:
                told["start"] = at
            told["done"] += 1
            if 0 <= at < len(sources) * UNIT:
                is_known = told["site"] == record["site"] and told["rows"] != 0
                sources[at // UNIT] = int(rows[0]) + at - int(told["start"]) if is_known else UNKNOWN
                writers[at // UNIT], matrices[at // UNIT], runs[at // UNIT] = record["site"], 0, number
                put_unit(parts[at // UNIT], int(sources[at // UNIT]))


def settle(tiles: Tiles) -> None:
    """Look where units come from that have been stored in parts."""
    if tiles.told[0]["asks"]:
        tiles.told[0]["asks"] = 0
        units = np.flatnonzero(tiles.sources == IN_PARTS)
        tiles.sources[units] = whole(tiles.parts[units])


def whole(parts: np.ndarray) -> np.ndarray:
    """Where units come from, int64 (units,), whose parts, (units, parts), have been stored one by one or several at once; UNKNOWN of those whose parts come
    from places apart."""
    first, is_told = parts[:, 0], parts != GOES_ON
    numbers = np.arange(parts.shape[1])
    second = np.argmax(is_told[:, 1:], axis=1) + 1  # 1 if there is none
    step = np.where(
        is_told[:, 1:].any(axis=1), (np.take_along_axis(parts, second[:, None], 1)[:, 0] - first) // second, 1
    )
    is_even = (~is_told | (parts == first[:, None] + step[:, None] * numbers)).all(axis=1)
    return np.where((first >= 0) & is_even & (step > 0) & (step <= MOST_STEP), first, UNKNOWN)


def parts_from(places: np.ndarray, width: int, tiles: Tiles) -> np.ndarray | None:
    """Where so many bytes at addresses in shared memory come from, of the shape of `places`; None where that is not known of all, or not one place."""
    units, first = places // UNIT, places % UNIT // PART
    count = max(1, width // PART)
    if units.min() < 0 or units.max() >= len(tiles.parts) or (first + count > UNIT // PART).any():
        return None
    found = tiles.parts[units, first]
    for back in range(1, UNIT // PART):
        goes_on = (found == GOES_ON) & (first >= back)
        if not goes_on.any():
            break
        before = tiles.parts[units, first - back]
        found = np.where(
            goes_on & (before >= 0), before + back * PART, np.where(goes_on & (before == UNKNOWN), UNKNOWN, found)
        )
    for part in range(1, count):
        more = tiles.parts[units, first + part]
        if ((more != GOES_ON) & (more != found + part * PART)).any():
            return None
    return None if (found < 0).any() else found + places % PART

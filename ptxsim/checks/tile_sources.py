"""Where in global memory the bytes of shared memory come from, by units of 16 bytes. For `tile_layout`."""

from __future__ import annotations

from ptxsim.jit.body import Array, body, record
from ptxsim.lanes import LANES
from ptxsim.layout.tile_order import UNIT, UNKNOWN
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MORE, Event, Space

# Of a site. load: its number among those that load what is copied, or -1; first, end: in a list of such numbers, those whose bytes it
# writes, `offset` bytes after what they loaded; copies: whether it loads and writes itself; left: its products that are to be looked at.
SITE = record(("load", "<i4"), ("first", "<i4"), ("end", "<i4"), ("copies", "<i4"), ("left", "<i4"), ("offset", "<i8"))


@body(enough=500)
def follow(
    records: Array, at: int, sites: Array, numbers: Array, loaded: Array, times: Array, sources: Array, writers: Array, time: int
) -> tuple[int, int]:  # fmt: skip
    """Go over records of the first CTA, from one on, up to a product that is to be looked at.

    numbers: the list that sites tell of; loaded, times: by warp, number and lane, from where it loaded last, and when; sources,
    writers: by unit. Returns the record, or how many there are, and the time.
    """
    for i in range(at, records.shape[0]):
        record = records[i]
        event, warp, flags = int(record["event"]), int(record["warp"]), int(record["flags"])
        if record["cta"] != 0:
            continue
        site, is_global = sites[record["site"]], record["space"] == Space.GLOBAL
        if event == Event.MMA and site["left"] > 0:
            return i, time
        if event == Event.LOAD and is_global and site["load"] >= 0:
            time += 1
            take(
                record,
                loaded[warp, site["load"]],
                times[warp, site["load"]],
                time,
                site["copies"] != 0 and flags & FLAG_MORE == 0,
            )
        # Where bytes are replaced: of cp.async when it starts, of other copies when they land.
        is_put = event in (Event.STORE, Event.STMATRIX, Event.ATOMIC, Event.REDUCE)
        is_put = is_put or (event == Event.ASYNC_ISSUE and site["copies"] != 0)
        if is_put or (event == Event.ASYNC_WRITE and flags & FLAG_ASYNC_PROXY != 0):
            if not is_global:
                put(record, site, numbers, loaded[warp], times[warp], sources, writers)
    return records.shape[0], time


def take(record: Array, loaded: Array, times: Array, time: int, is_new: bool) -> None:
    """Lanes load; is_new: the others of the warp do not."""
    addresses, mask = record["addresses"], int(record["mask"])
    for lane in range(LANES):
        if mask >> lane & 1:
            loaded[lane], times[lane] = int(addresses[lane]), time
        elif is_new:
            times[lane] = 0


def put(
    record: Array, site: Array, numbers: Array, loaded: Array, times: Array, sources: Array, writers: Array
) -> None:
    """Lanes write to units of shared memory."""
    addresses, mask = record["addresses"], int(record["mask"])
    for lane in range(LANES):
        unit = int(addresses[lane]) // UNIT
        if not mask >> lane & 1 or unit < 0 or unit >= len(sources):
            continue
        came, newest = UNKNOWN, 0
        for k in range(site["first"], site["end"]):
            load = int(numbers[k])
            if times[load, lane] > newest:
                came, newest = int(loaded[load, lane] + site["offset"]), int(times[load, lane])
        if int(addresses[lane]) % UNIT == 0:
            sources[unit], writers[unit] = came, record["site"]
        elif site["first"] == site["end"]:  # something else is there now
            sources[unit] = UNKNOWN

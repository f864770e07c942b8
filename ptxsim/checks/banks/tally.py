"""What `checks.banks.counter` adds up for each instruction, and the body that does it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.jit.blocks import blocks_of
from ptxsim.jit.body import Array, body
from ptxsim.jit.vectors import are_moved
from ptxsim.lanes import LANES
from ptxsim.layout.wavefronts import AccessKind, cost, sectors_and_lines
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MORE, FLAG_READ, Event, Space
from ptxsim.machine.memory import RANK_SHIFT

NOTHING = -1  # an event that is not counted; a site whose accesses are counted as their events say
LEADER, ELSEWHERE = len(AccessKind), len(AccessKind) + 1  # an atomic of one lane; counted nowhere
SHARED, GLOBAL = 0, 1  # first index of the sums
SECTOR_BITS, SECTORS_OF_LINE, SECTORS_AT_ONCE = 5, 4, 59  # of a sector's bytes; as many as fit in a number
EACH_LINE = 0x1111111111111111  # the first sectors of lines
DIFFERENT = 32  # executions of an instruction that are kept as long as there are no more different ones
SLOTS = 2 * DIFFERENT
PATIENCE = 256  # executions after which an instruction without conflicts is not looked at so closely

_KINDS: dict[int, int] = {
        Event.LOAD: AccessKind.LD, Event.STORE: AccessKind.ST, Event.ATOMIC: AccessKind.ATOM, Event.CAS: AccessKind.CAS,
        Event.REDUCE: AccessKind.RED, Event.LDMATRIX: AccessKind.LDMATRIX, Event.STMATRIX: AccessKind.STMATRIX,
        Event.ASYNC_ISSUE: AccessKind.COPY,
}  # fmt: skip
KIND_OF_EVENT = tuple(_KINDS.get(event, NOTHING) for event in range(256))

_NUMBERS = {"kind": "i8", "width": "i8", "mask": "i8"}
_COSTS = {"cost": "i8", "ideal": "i8", "conflicts": "i8"}  # of global memory: sectors, the fewest, lines
_ADDRESSES = ("addresses", "u8", LANES)
SUM = np.dtype([
    ("runs", "i8"), *_COSTS.items(), ("ratio", "i8"),  # the worst one's cost over its ideal
    ("worst", "i8"), ("order", "i8"), *_NUMBERS.items(), _ADDRESSES,  # the costliest execution, of the first CTA and warp
])  # fmt: skip
LAST = np.dtype([*_NUMBERS.items(), *_COSTS.items(), ("pattern", "i8"), ("lanes", "i8", LANES)])  # the last execution
KEPT = np.dtype([("key", "i8"), ("count", "i8"), ("mask", "i8"), _ADDRESSES])  # one of the different executions
SITE = np.dtype([
    ("how", "i8"),  # what an access to shared memory is counted as, NOTHING for its event
    ("different", "i8"),  # executions kept
    ("reading", "i8"), ("sources", "i8", LANES),  # what a cp.async has read and not yet written
])  # fmt: skip

_PRIME = 0x100000001B3
_LOW = (1 << 63) - 1
# Of a sum that tells addresses apart.
_FACTORS = tuple((np.random.default_rng(1).integers(0, 2**62, LANES) | 1).tolist())


class Tallies(NamedTuple):
    """The state of the count of one launch."""

    sums: Array  # (SHARED or GLOBAL, site)
    last: Array  # (SHARED or GLOBAL, site); loops repeat an execution, moved by whole lines or words
    kept: Array  # (site, SLOTS): different executions of shared accesses, by hash
    sites: Array
    ranks: Array  # of each CTA in its cluster; none, where there are no clusters

    @classmethod
    def of(cls, sites: int, lowered: dict[int, int], ranks: np.ndarray | None = None) -> Tallies:
        """Of a program before it runs. lowered: what accesses of some sites are counted as; ranks: as above."""
        found = cls(
            np.zeros((2, sites), SUM), np.zeros((2, sites), LAST), np.zeros((sites, SLOTS), KEPT), np.zeros(sites, SITE),
            np.zeros(0, np.uint8) if ranks is None else ranks,
        )  # fmt: skip
        found.last["kind"] = found.sites["how"] = NOTHING
        for site, how in lowered.items():
            found.sites[site]["how"] = how
        return found


@body(enough=300, worth=1000)
def tally(records: Array, first: int, t: Tallies) -> int:
    """Add records from `first` on to the tallies; returns the number of the end."""
    address = [0] * LANES
    for i in range(first, len(records)):
        record = records[i]
        kind, space, flags = KIND_OF_EVENT[record["event"]], int(record["space"]), int(record["flags"])
        if kind == NOTHING or (space != Space.SHARED and space != Space.GLOBAL):
            continue
        where = GLOBAL if space == Space.GLOBAL else SHARED
        if kind == AccessKind.COPY and (where == GLOBAL or flags & (FLAG_ASYNC_PROXY | FLAG_READ)):
            continue
        site, width, mask = t.sites[record["site"]], int(record["width"]), int(record["mask"])
        total, last = t.sums[where, record["site"]], t.last[where, record["site"]]
        how = int(site["how"])
        addresses = record["addresses"]
        if where == SHARED:
            if len(t.ranks) and mask and int(addresses[lowest(mask)]) >> RANK_SHIFT != t.ranks[record["cta"]]:
                # Another CTA's: no wavefront, and one of an atomic (measured on an H200 with clusters of two: tests/data/wavefronts.json.gz).
                if not Event.ATOMIC <= record["event"] <= Event.REDUCE:
                    continue
                mask &= -mask
            if how == ELSEWHERE:
                continue
            if how == LEADER:
                mask &= -mask
            elif how != NOTHING:
                kind = how
        else:
            if how in (AccessKind.COPY, AccessKind.BYPASS):
                if not flags & FLAG_MORE:
                    site["reading"] = 0
                site["reading"] |= mask
                for lane in range(LANES):
                    if mask >> lane & 1:
                        site["sources"][lane] = int(addresses[lane])
            while width & (width - 1):  # cp.async may read a part of its aligned element
                width += 1
            if flags & FLAG_MORE:
                mask |= int(last["mask"])
                width = max(width, int(last["width"]))
                total["runs"] -= 1
                total["cost"] -= last["cost"]
                total["ideal"] -= last["ideal"]
                total["conflicts"] -= last["conflicts"]
        copies = kind in (AccessKind.COPY, AccessKind.BYPASS)  # whose cost depends on what they have read
        # A number of lines further, lanes cost the same; of shared memory a number of words: it is the banks that turn.
        base = int(addresses[0]) & (~127 if where == GLOBAL else ~3)
        lanes, is_same = last["lanes"], last["mask"] == mask and last["width"] == width and last["kind"] == kind
        if copies or not is_same or not are_moved(addresses, lanes, base):
            last["mask"], last["width"], last["kind"] = mask, width, kind
            for lane in range(LANES):
                address[lane] = int(addresses[lane])
                lanes[lane] = address[lane] - base
            if where == GLOBAL:
                atomic = AccessKind.ATOM <= kind <= AccessKind.CAS
                sectors, lines = 0, 0
                if not atomic:
                    sectors, lines = near_each_other(addresses, mask)
                if sectors == 0:
                    sectors, lines = sectors_and_lines(address, mask, atomic)
                fewest = max(1, (mask.bit_count() * width + 31) // 32)
                last["cost"], last["ideal"], last["conflicts"] = sectors, min(fewest, sectors), lines
            else:
                last["pattern"] = pattern_of(lanes, mask)
                wavefronts, conflicts, ideal, _ = cost(
                    kind, address, mask, width, site["sources"], mask & site["reading"]
                )
                last["cost"], last["ideal"], last["conflicts"] = wavefronts, ideal, conflicts
                if copies:
                    site["reading"] = 0
        if where == SHARED and site["different"] <= DIFFERENT:
            keep(t.kept[record["site"]], site, int(last["pattern"]) + base & _LOW, mask, addresses)
            if last["cost"] == last["ideal"] and total["runs"] == PATIENCE and total["ratio"] == 1:
                site["different"] = DIFFERENT + 1
        total["runs"] += 1
        total["cost"] += last["cost"]
        total["ideal"] += last["ideal"]
        total["conflicts"] += last["conflicts"]
        least = max(1, last["ideal"])
        total["ratio"] = max(1, total["ratio"], (last["cost"] + least - 1) // least)
        order = int(record["cta"]) << 16 | int(record["warp"])
        first = last["cost"] == total["worst"] and order < total["order"]
        if total["runs"] == 1 or last["cost"] > total["worst"] or first:
            total["worst"], total["order"], total["kind"] = last["cost"], order, kind
            total["width"], total["mask"] = width, mask
            total["addresses"] = addresses
    return len(records)


def lowest(lanes: int) -> int:
    return ((lanes & -lanes) - 1).bit_count()


def near_each_other(addresses: Array, mask: int) -> tuple[int, int]:
    """As sectors_and_lines, of lanes that lie within some sectors; (0, 0) of others."""
    first, found, inside = blocks_of(addresses, mask, 1, SECTOR_BITS)
    if inside != mask or found < 0 or found >> SECTORS_AT_ONCE != 0:
        return 0, 0
    lines = found << first % SECTORS_OF_LINE
    lines = (lines | lines >> 1 | lines >> 2 | lines >> 3) & EACH_LINE
    return found.bit_count(), lines.bit_count()


def pattern_of(lanes: Array, mask: int) -> int:
    """A number that tells apart the addresses of executions, relative to where the first lane is."""
    pattern = mask * _PRIME & _LOW
    for lane in range(LANES):
        pattern = pattern + int(lanes[lane]) * _FACTORS[lane] & _LOW
    return pattern


def keep(kept: Array, site: Array, key: int, mask: int, addresses: Array) -> None:
    """Count an execution under its key, in a hash table; `different` beyond DIFFERENT: no more of it."""
    slot = (((key ^ key >> 29) * _PRIME & _LOW) >> 20) % SLOTS
    while kept[slot]["count"] and kept[slot]["key"] != key:
        slot = (slot + 1) % SLOTS
    if kept[slot]["count"] == 0:
        site["different"] += 1
        kept[slot]["key"], kept[slot]["mask"] = key, mask
        kept[slot]["addresses"] = addresses
    kept[slot]["count"] += 1

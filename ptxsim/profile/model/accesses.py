"""What records of accesses come to: lines of memory and operations of L2."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.program.operation import Op
from ptxsim.lanes import word_mask
from ptxsim.layout import banks
from ptxsim.machine.event import LANE_SHIFT, Event, Space
from ptxsim.profile.figures import Figures
from ptxsim.profile.model.entries import ATOMIC, CONST, ENTRY, LOAD, STORE

ATOMICS = (Event.ATOMIC, Event.CAS, Event.REDUCE)
LOCAL = np.uint64(1 << 58)  # (LOCAL_LINES of the replay) where local memory lies among the addresses of lines


def new_entries(records: np.ndarray) -> np.ndarray:
    """Entries of these records, which do nothing yet."""
    entries = np.zeros(len(records), ENTRY)
    for name in ("cta", "warp", "site", "width"):
        entries[name] = records[name]
    entries["code"] = -1
    return entries


def by_lane(records: np.ndarray) -> np.ndarray:
    """Accesses of lanes; others move a tensor map, whose cost is the instruction's own."""
    found: np.ndarray = records["width"] <= max(banks.WIDTHS)
    return found


def outer(records: np.ndarray) -> np.ndarray:
    """Accesses of lanes to global and local memory."""
    space = records["space"]
    found: np.ndarray = (
        by_lane(records) & ((space == Space.GLOBAL) | (space == Space.LOCAL)) & (records["event"] <= Event.REDUCE)
    )
    return found


def is_constant(records: np.ndarray) -> np.ndarray:
    """Reads of constants."""
    found: np.ndarray = (records["space"] == Space.CONST) & (records["event"] == Event.LOAD)
    return found


def code_of(records: np.ndarray) -> np.ndarray:
    """Codes of the entries of those two."""
    loads = np.where(records["space"] == Space.CONST, CONST, LOAD)
    return np.where(np.isin(records["event"], ATOMICS), ATOMIC, np.where(records["event"] == Event.LOAD, loads, STORE))


def repeated(records: np.ndarray, bulk: np.ndarray) -> np.ndarray:
    """Those of the records of bulk copies that are of a lane whose copy is that of the lane before, too: ptxas starts the copies of a warp's lanes
    as one where what they name is uniform."""
    if not len(bulk):
        return bulk
    rows = records[bulk]
    lane = rows["flags"] >> LANE_SHIFT
    who = np.stack([rows["site"], rows["cta"], rows["warp"], lane], axis=1).astype(np.int64)
    changes = np.flatnonzero(np.diff(who, axis=0).any(axis=1)) + 1
    begins, ends = np.append(0, changes), np.append(changes, len(rows))
    first, length = rows["addresses"][begins, 0], ends - begins
    same = np.zeros(len(begins), bool)
    same[1:] = (who[begins[1:], :3] == who[begins[:-1], :3]).all(axis=1) & (who[begins[1:], 3] > who[begins[:-1], 3])
    same[1:] &= (first[1:] == first[:-1]) & (length[1:] == length[:-1])
    found: np.ndarray = bulk[np.repeat(same, length)]
    return found


def atomic_cost(
    figures: Figures, addresses: np.ndarray, width: int, mask: np.ndarray, on_floats: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cycles of a unit of L2 that atomics by lanes take on so many bytes each, (n, 32) addresses: an operation for each lane that has a word which
    another has, too, and one for the rest of a sector. Those on one word that add floats wait for each other. And how many bytes they change."""
    own = (addresses >> np.uint64(2)).astype(np.int64)[:, :, None] + np.arange(max(1, width // 4))
    words = np.sort(np.where(word_mask(mask)[:, :, None], own, -1).reshape(len(own), -1), axis=1)
    lanes = np.arange(words.shape[1])
    new = np.ones(words.shape, bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    run = lanes - np.maximum.accumulate(np.where(new, lanes, 0), axis=1) + 1  # how many have had this word, up to here
    sectors = words >> 3
    first = np.ones(words.shape, bool)
    first[:, 1:] = sectors[:, 1:] != sectors[:, :-1]
    begins = np.flatnonzero(first.ravel())  # sectors one after the other, row by row
    most = np.maximum.reduceat(run.ravel(), begins)
    whole = (np.add.reduceat(new.ravel(), begins) == 8) & (most == 1)
    each = np.where(whole, figures.atomic_whole, figures.atomic_operation)
    cost = each * most * (sectors.ravel()[begins] >= 0)
    rows = begins // len(lanes)
    total = np.bincount(rows, cost, len(words))
    longest = np.zeros(len(words))
    np.maximum.at(longest, rows, cost)
    changed = 4 * (new & (words >= 0)).sum(axis=1)
    return np.where(on_floats, np.maximum(total, figures.atomic_float * longest), total), changed


def is_float(op: Op) -> bool:
    """Whether an operation is on floating-point numbers."""
    kind = op.words.get("type")
    return kind is not None and kind.is_float


def lowest(mask: np.ndarray) -> np.ndarray:
    """Number of the lowest active lane of each mask."""
    found: np.ndarray = np.argmax(word_mask(mask), axis=1)
    return found


def distinct(addresses: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Different addresses per row, of lanes that take part, (n, 32)."""
    ordered = np.sort(np.where(lanes, addresses.astype(np.int64), -1), axis=1)
    new: np.ndarray = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    counts: np.ndarray = new.sum(axis=1) + (ordered[:, 0] >= 0)
    return counts


def interleaved(records: np.ndarray, local: np.ndarray) -> np.ndarray:
    """The addresses of all records; of local memory as the machine has it: word after word, of one word the lanes side by side."""
    addresses: np.ndarray = records["addresses"]
    rows = np.flatnonzero(local)
    if not len(rows):
        return addresses
    addresses = addresses.copy()
    own = addresses[rows].astype(np.uint64)
    warp = records["cta"][rows].astype(np.uint64) << np.uint64(6) | records["warp"][rows].astype(np.uint64) & np.uint64(
        63
    )
    word, byte = own >> np.uint64(2) & np.uint64(0x3FFFFF), own & np.uint64(3)
    lane = np.arange(32, dtype=np.uint64)
    addresses[rows] = LOCAL + (warp[:, None] << np.uint64(29)) + (word << np.uint64(7)) + (lane << np.uint64(2)) + byte
    return addresses


def lines_of(addresses: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """128-byte lines of every row, as line * 16 + mask of 32-byte sectors, and how many lines each row has."""
    sector = np.sort(np.where(word_mask(mask), (addresses >> np.uint64(5)).astype(np.int64), -1), axis=1)
    new = sector >= 0
    new[:, 1:] &= sector[:, 1:] != sector[:, :-1]
    row, column = np.nonzero(new)
    found = sector[row, column]
    line = found >> 2
    if not len(line):
        return np.zeros(0, np.int64), np.zeros(len(mask), np.int64)
    begins = np.ones(len(line), bool)
    begins[1:] = (line[1:] != line[:-1]) | (row[1:] != row[:-1])
    at = np.flatnonzero(begins)
    masks = np.add.reduceat(np.int64(1) << (found & 3), at)
    return line[at] * 16 + masks, np.bincount(row[at], minlength=len(mask))

"""Compare and swap that is tried again: lanes of all SMs that change a word at the same time take it in turn.

In the functional run warps come one after the other, so that nearly all of them hold at once. On the machine all that are there at the same time have seen the same
value, one of them changes it, and the others hear of that as their attempt fails: a round trip for each (`x_cas*` of tools/data/shares, 570 to 660
cycles for each that shares the word, as a lone one takes). So the turns of such a loop are as many as lanes have the word, those of all CTAs that are there at once,
each when it comes to the loop for the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Space
from ptxsim.profile.model.entries import ATOMIC, BLOCK

MOST_RECORDS = 100_000  # of attempts; of more, none are looked at
MOST_TURNS = 256  # that are replayed of one stay in a loop
_MIXED = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


@fact
def retries(program: Program) -> tuple[int, ...]:
    """Instructions that compare and swap in a loop of one block, on the same word until it holds: what is compared changes from turn to turn, the address does not."""
    graph = control_flow(program)
    loops = [block for number, block in enumerate(program.blocks) if number in graph.successors[number]]
    changes = [[op for op in block if any(access.writes for access in op.accesses)] for block in loops]
    return tuple(found[0].site for block, found in zip(loops, changes) if len(found) == 1 and _again(found[0], block))


def _again(op: Op, loop: Sequence[Op]) -> bool:
    """Whether an instruction of a loop compares and swaps, and what it has found decides about the next turn, which compares with something else at the same address."""
    if op.words.get("op") != "cas" or loop[-1].guard is None:
        return False
    address, compared, *_ = op.sources
    written, known = {slot for one in loop for slot in writes(one)}, set(writes(op))
    for one in loop[loop.index(op) + 1 :]:
        if known & set(reads(one)):
            known |= set(writes(one))
    expects = written & set(slots_of([compared]))
    return bool(expects) and loop[-1].guard[0] in known and not written & set(slots_of([address]))


class Contention:
    """Attempts of those instructions of a program."""

    def __init__(self, program: Program):
        self.sites = np.array(retries(program), np.int64)
        self.parts: list[np.ndarray] = []
        self.count = 0

    def note(self, records: np.ndarray) -> None:
        """Keep the attempts among these records."""
        if not len(self.sites) or self.count > MOST_RECORDS:
            return
        attempts = (records["event"] == Event.CAS) & (records["space"] == Space.GLOBAL)
        rows = np.flatnonzero(attempts & np.isin(records["site"], self.sites))
        self.parts.append(records[rows])
        self.count += len(rows)

    def settle(self, entries: np.ndarray, at_once: int) -> None:
        """Note in `need` how often the first turn of each stay is there. at_once: CTAs that are there at the same time."""
        if not 0 < self.count <= MOST_RECORDS:
            return
        records = np.concatenate(self.parts)
        records = records[_by_warp(records)]
        first = ~_goes_on(records)
        begins = np.flatnonzero(first)
        turns = np.diff(np.append(begins, len(records)))
        more = np.maximum(0, np.minimum(_lanes(records[begins], at_once), MOST_TURNS) - turns)
        rows = np.flatnonzero((entries["code"] == ATOMIC) & np.isin(entries["site"], self.sites))
        rows = rows[_by_warp(entries[rows])]
        kept = np.isin(records["cta"], entries["cta"][rows])
        if np.count_nonzero(kept) == len(rows):
            needed = np.ones(len(records), np.int64)
            needed[begins] += more
            entries["need"][rows] = needed[kept]


def _by_warp(rows: np.ndarray) -> np.ndarray:
    """The order of records or entries by instruction, CTA and warp, of each as they come."""
    return np.lexsort((rows["warp"], rows["cta"], rows["site"]))


def _new_warp(records: np.ndarray) -> np.ndarray:
    """Where another instruction or warp begins, of records in that order."""
    found = np.ones(len(records), bool)
    found[1:] = False
    for name in ("site", "cta", "warp"):
        found[1:] |= records[name][1:] != records[name][:-1]
    return found


def _goes_on(records: np.ndarray) -> np.ndarray:
    """Which attempts are of the stay in the loop of the one before: of some of its lanes, with their words."""
    found, mask = ~_new_warp(records), records["mask"]
    lanes = word_mask(mask[1:])
    same = (records["addresses"][1:] == records["addresses"][:-1]) | ~lanes
    found[1:] &= same.all(axis=1) & (mask[1:] & ~mask[:-1] == 0) & (mask[1:] != mask[:-1])
    return found


def _lanes(begins: np.ndarray, at_once: int) -> np.ndarray:
    """Of the first attempt of each stay, the most lanes that have one of its words: of all warps of CTAs that are there at once, each in its stay of that number."""
    new = _new_warp(begins)
    number = np.arange(len(begins)) - np.maximum.accumulate(np.where(new, np.arange(len(begins)), 0))
    row, lane = np.nonzero(word_mask(begins["mask"]))
    keys = begins["addresses"][row, lane].astype(np.uint64)
    for what, factor in zip((begins["site"], number, begins["cta"] // at_once), _MIXED):
        keys += what[row].astype(np.uint64) * factor
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    most = np.zeros(len(begins), np.int64)
    np.maximum.at(most, row, counts[which])
    return most


def tried_again(entries: np.ndarray, sites: tuple[int, ...]) -> np.ndarray:
    """Entries of whole warps, one after the other, with the turns that those attempts need. Who comes first has all words of a sector, so that in each turn one
    warp fewer is there of those that share them: in the mean over SMs, L2 has so much less to do."""
    again = np.flatnonzero((entries["code"] == ATOMIC) & (entries["need"] > 1) & np.isin(entries["site"], sites))
    if not len(again):
        return entries
    new = entries["code"] == BLOCK
    new[1:] |= (np.diff(entries["cta"]) != 0) | (np.diff(entries["warp"]) != 0)
    bounds = np.append(np.flatnonzero(new), len(entries))
    place = np.searchsorted(bounds, again, side="right")
    pieces, left, done = [], [], 0
    for begin, end, times in zip(bounds[place - 1].tolist(), bounds[place].tolist(), entries["need"][again].tolist()):
        pieces += [np.arange(done, begin), np.tile(np.arange(begin, end), times)]
        left += [np.ones(begin - done), np.repeat(1 - np.arange(times) / times, end - begin)]
        done = end
    found = entries.take(np.concatenate([*pieces, np.arange(done, len(entries))]))
    part = np.concatenate([*left, np.ones(len(entries) - done)])
    attempts = (found["code"] == ATOMIC) & np.isin(found["site"], sites)
    found["cycles"][attempts] *= part[attempts]
    return found

"""Traces of a run: per warp the blocks it executed and what its accesses cost. Kept for the CTAs of sampled SMs only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.engine.analysis.ptxas.accesses import LOOPS, Assembled, assembled_accesses
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import LANES, word_mask
from ptxsim.layout import banks
from ptxsim.layout.wavefronts import AccessKind
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_CORE, FLAG_ISSUED, FLAG_READ, ODD_PHASE, Event, Observer, Space
from ptxsim.machine.tensor_memory.core import Load
from ptxsim.profile.figures import Figures
from ptxsim.profile.model.accesses import (
    ATOMICS,
    atomic_cost,
    by_lane,
    code_of,
    distinct,
    interleaved,
    is_constant,
    is_float,
    lines_of,
    lowest,
    new_entries,
    outer,
    repeated,
)
from ptxsim.profile.model.arrivals import Arrivals, is_atomic, operations, sending_cycles
from ptxsim.profile.model.contention import Contention
from ptxsim.profile.model.different import different
from ptxsim.profile.model.encode import bypasses_l1
from ptxsim.profile.model.entries import (
    ARRIVE,
    BLOCK,
    BULK,
    COMMIT,
    DETOUR,
    ENTRY,
    LATE,
    LEAVE,
    MATCH,
    SHARED,
    TENSOR,
    WAIT,
)
from ptxsim.profile.model.sends import Sends, reduces
from ptxsim.profile.model.spins import Looks, look_sites, spin_loops
from ptxsim.profile.model.tensor_core import work_of

KINDS = {
    Event.LOAD: AccessKind.LD, Event.STORE: AccessKind.ST, Event.ATOMIC: AccessKind.ATOM, Event.CAS: AccessKind.CAS,
    Event.REDUCE: AccessKind.RED, Event.LDMATRIX: AccessKind.LDMATRIX, Event.STMATRIX: AccessKind.STMATRIX,
}  # fmt: skip
KIND_OF_EVENT = np.full(256, -1)
KIND_OF_EVENT[list(KINDS)] = list(KINDS.values())
NO_LOOKS = Looks(np.zeros(0, np.int64), np.zeros((0, LANES), np.int64))
MOST_BYTES = 400 * 2**20  # of traces; beyond, fewer SMs are kept


@dataclass(slots=True)
class Trace:
    """Entries in the order of the run, lines of global accesses (128-byte line * 16 + sector mask), work by CTA."""

    entries: np.ndarray
    lines: np.ndarray
    work: np.ndarray  # warp instructions of PTX by CTA, those of spin loops left out
    modulus: int  # SMs kept: those whose number is a multiple
    # line * SMs + SM, of each line of global memory that bulk copies of an SM read
    copied: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    # The same of those that they change by bulk reductions.
    reduced: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    looks: Looks = NO_LOOKS
    # Of the entries, side by side: each look at them within the rows takes several times as long.
    codes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.codes = self.entries["code"].copy()


class Tracer(Observer):
    """Listens to a run. CTAs are dealt to the SMs of `figures` in turn, of which each Nth is kept (`every`)."""

    events = frozenset(
        {
            *KINDS,
            Event.EXECUTE,
            Event.ARRIVE,
            Event.LEAVE,
            Event.MBARRIER_ARRIVE,
            Event.MBARRIER_WAIT,
            Event.ASYNC_ISSUE,
            Event.MATCH,
            Event.DETOUR,
            Event.TENSOR_WORK,
        }
    )

    def __init__(self, program: Program, ctas: int, cluster: int, figures: Figures, every: int = 1):
        self.program, self.figures, self.sms, self.cluster = program, figures, figures.sms, cluster
        self.work = np.zeros(ctas)
        self.modulus = every
        self.block_of = np.full(len(program.ops) + 1, -1)
        self.block_size = np.zeros(len(program.blocks))
        spinning = {number for _, body in spin_loops(program) for number in body}
        for number, block in enumerate(program.blocks):
            self.block_size[number] = 0 if number in spinning else len(block)
            if block:
                self.block_of[block[0].site] = number
        # By site: the kind an atomic is counted as, -1 for what its events say; atomics of which one lane accesses.
        self.kind_of = np.full(len(program.ops) + 1, -1)
        self.leads = np.zeros(len(program.ops) + 1, bool)
        for site, how in assembled_accesses(program).items():
            if how in (Assembled.COUNTED, *LOOPS):
                self.kind_of[site] = AccessKind[how.upper()]
            self.leads[site] = how is Assembled.REDUCED
        self.on_floats = np.zeros(len(program.ops) + 1, bool)
        self.on_floats[[op.site for op in program.ops if op.accesses and is_float(op)]] = True
        self.past_l1 = np.zeros(len(program.ops) + 1, bool)
        self.past_l1[[op.site for op in program.ops if bypasses_l1(op)]] = True
        self.looking = np.zeros(len(program.ops) + 1, bool)
        self.looking[look_sites(program)] = True
        in_bulk = [op for op in program.ops if op.copies_in_bulk]
        self.bulk_sites = np.array([op.site for op in in_bulk], np.int64)
        self.reductions = np.array([op.site for op in in_bulk if reduces(op)], np.int64)
        if len(self.reductions):
            self.events = self.events | {Event.ASYNC_WRITE}
        self.sends = Sends(program, cluster, figures)
        self.arrivals = Arrivals(program, ctas, cluster, figures)
        self.contention = Contention(program)
        self.parts: list[np.ndarray] = []
        self.lines: list[np.ndarray] = []
        self.copied: list[np.ndarray] = []
        self.reduced: list[np.ndarray] = []
        self.looks: list[Looks] = []
        self.count = self.line_count = self.bytes = 0
        self.replayed: int | None = (
            None  # the SM that will be, where that is known: of the others only the lines are kept
        )

    def consume(self, records: np.ndarray) -> None:
        executed = np.flatnonzero((records["event"] == Event.EXECUTE) & (self.block_of[records["site"]] >= 0))
        blocks = self.block_of[records["site"][executed]]
        np.add.at(self.work, records["cta"][executed], self.block_size[blocks])
        sm = records["cta"] % self.sms
        kept = sm % self.modulus == 0
        self._bulk_reads(records, kept)
        self.arrivals.note(records)
        self.contention.note(records)
        if self.replayed is not None:
            others = np.flatnonzero(kept & (sm != self.replayed) & (outer(records) | is_constant(records)))
            if len(others):
                self._keep(self._lines_alone(records[others]))
            kept = sm == self.replayed
        if kept.any():
            self._keep(self._in_full(records if kept.all() else records[kept]))

    def _keep(self, entries: np.ndarray) -> None:
        self.parts.append(entries)
        self.count += len(entries)
        self.bytes += entries.nbytes
        if self.bytes > MOST_BYTES:
            self._thin()

    def _lines_alone(self, records: np.ndarray) -> np.ndarray:
        """Entries of accesses to memory outside the SM: which lines they are of."""
        entries = new_entries(records)
        entries["code"] = code_of(records)
        self._lines(records, interleaved(records, records["space"] == Space.LOCAL), entries, np.arange(len(records)))
        return entries

    def _in_full(self, records: np.ndarray) -> np.ndarray:
        """Entries of all that the replay goes by."""
        entries, event = new_entries(records), records["event"]
        blocks = (event == Event.EXECUTE) & (self.block_of[records["site"]] >= 0)
        entries["code"][blocks] = BLOCK
        entries["site"][blocks] = self.block_of[records["site"][blocks]]
        self._accesses(records, entries)
        self._objects(records, entries)
        entries["object"][blocks] = records["mask"][blocks]
        detours = np.flatnonzero(event == Event.DETOUR)
        way = np.where(word_mask(records["mask"][detours]), records["addresses"][detours], 0).max(axis=1, initial=0)
        entries["code"][detours[way > 0]] = DETOUR
        entries["cycles"][detours] = way
        work = np.flatnonzero(event == Event.TENSOR_WORK)
        if len(work):
            loads = records["addresses"][work][:, : len(Load._fields)]
            entries["code"][work], entries["first"][work] = TENSOR, loads[:, -1]
            entries["cycles"][work], entries["width"][work] = work_of(self.figures, loads)
        kept = entries["code"] >= 0
        self._note_looks(
            records, np.cumsum(kept) - 1, np.flatnonzero(kept & self.looking[records["site"]] & outer(records))
        )
        return entries.take(np.flatnonzero(kept))

    def _note_looks(self, records: np.ndarray, places: np.ndarray, rows: np.ndarray) -> None:
        """Note which words lanes look at, of looks in spin loops, where those are several."""
        lanes, first = word_mask(records["mask"][rows]), lowest(records["mask"][rows])
        words = records["addresses"][rows].astype(np.int64)
        words = np.where(lanes, words, words[np.arange(len(rows)), first][:, None])
        several = (words != words[:, :1]).any(axis=1)
        self.looks.append(Looks(self.count + places[rows[several]], words[several]))

    def _accesses(self, records: np.ndarray, entries: np.ndarray) -> None:
        event, space = records["event"], records["space"]
        shared = by_lane(records) & (space == Space.SHARED) & (event <= Event.STMATRIX)
        site, masks = records["site"], records["mask"].astype(np.int64)
        kinds = np.where(self.kind_of[site] >= 0, self.kind_of[site], KIND_OF_EVENT[event])
        masks = np.where(self.leads[site], masks & -masks, masks)
        for kind in np.unique(kinds[shared]):
            for width in np.unique(records["width"][shared & (kinds == kind)]):
                rows = np.flatnonzero(shared & (kinds == kind) & (records["width"] == width))
                found = banks.analyze(records["addresses"][rows], int(width), banks.KINDS[kind], masks[rows])
                entries["cycles"][rows] = found.cycles
                entries["code"][rows] = SHARED
        if self.cluster > 1:
            atomic = is_atomic(records)
            rows = np.flatnonzero(shared & atomic)
            entries["count"][rows] = operations(self.figures, records[rows], self.cluster)
            rows = np.flatnonzero(shared & ~atomic)
            entries["count"][rows] = np.rint(sending_cycles(self.figures, records[rows], self.cluster))
        addresses = interleaved(records, space == Space.LOCAL)
        outside, constant = outer(records), is_constant(records)
        rows = np.flatnonzero(outside | constant)
        entries["code"][rows] = code_of(records[rows])
        for kind in np.unique(event[outside]):
            for width in np.unique(records["width"][outside & (event == kind)]):
                rows = np.flatnonzero(outside & (event == kind) & (records["width"] == width))
                if kind in ATOMICS:
                    on_floats = self.on_floats[records["site"][rows]]
                    mask = masks[rows].astype(np.uint32)
                    cycles, changed = atomic_cost(self.figures, addresses[rows], int(width), mask, on_floats)
                    entries["need"][rows] = changed
                    entries["cycles"][rows] = cycles * (self.figures.atomic_compare if kind == Event.CAS else 1.0)
                    continue
                cost = banks.global_access(addresses[rows].astype(np.int64), int(width), records["mask"][rows])
                entries["cycles"][rows] = cost.cycles
                written = np.bitwise_count(records["mask"][rows]).astype(np.int64) * int(width)
                entries["need"][rows] = np.minimum(written, 32 * cost.sectors)
        rows = np.flatnonzero(outside | constant)
        if len(rows):
            self._lines(records, addresses, entries, rows)
        self._copies(records, entries)
        entries["code"][event == Event.MATCH] = MATCH
        rows = np.flatnonzero(constant | (event == Event.MATCH))
        if len(rows):
            entries["cycles"][rows] = distinct(records["addresses"][rows], word_mask(records["mask"][rows]))

    def _lines(self, records: np.ndarray, addresses: np.ndarray, entries: np.ndarray, rows: np.ndarray) -> None:
        """Note the lines that these records touch."""
        lines, counts = lines_of(addresses[rows], records["mask"][rows])
        entries["first"][rows] = self.line_count + np.cumsum(counts) - counts
        entries["count"][rows] = counts
        self.lines.append(lines)
        self.line_count += len(lines)
        self.bytes += lines.nbytes

    def _copies(self, records: np.ndarray, entries: np.ndarray) -> None:
        """Cycles that the copies of lanes take of the path to shared memory, which is their second record.

        Past L1, what a line of 128 bytes brings to 128 bytes of shared memory is one write, in whatever order; through it, each line is looked
        up, and the words are written as a store does.
        """
        issued = np.flatnonzero((records["event"] == Event.ASYNC_ISSUE) & (records["space"] == Space.SHARED))
        issued = issued[(issued > 0) & ~np.isin(records["site"][issued], self.bulk_sites)]
        loads = issued - 1
        same = records["event"][loads] == Event.LOAD
        for name in ("site", "cta", "warp"):
            same &= records[name][loads] == records[name][issued]
        issued, loads = issued[same], loads[same]
        masks = records["mask"][loads] & records["mask"][issued]
        past = self.past_l1[records["site"][loads]]
        source, to = records["addresses"][loads], records["addresses"][issued]
        pieces = distinct(
            (source >> np.uint64(7) << np.uint64(16)) + (to >> np.uint64(7) & np.uint64(0xFFFF)), word_mask(masks)
        )
        cycles = np.maximum(entries["cycles"][loads], entries["count"][loads])
        for width in np.unique(records["width"][loads[~past]]):
            rows = np.flatnonzero(~past & (records["width"][loads] == width))
            found = banks.analyze(
                records["addresses"][issued[rows]], int(width), banks.KINDS[AccessKind.ST], masks[rows].astype(np.int64)
            )
            cycles[rows] = np.maximum(cycles[rows], found.cycles)
        entries["cycles"][loads] = np.where(past, pieces, cycles)

    def _objects(self, records: np.ndarray, entries: np.ndarray) -> None:
        event = records["event"]
        cluster = records["cta"].astype(np.int64) // self.cluster
        first = records["addresses"][np.arange(len(records)), lowest(records["mask"])].astype(np.int64)
        own = self.sends.own(records, first) if self.cluster > 1 else first
        barrier = (event == Event.ARRIVE) | (event == Event.LEAVE)
        number = records["addresses"][:, 0].astype(np.int64)
        wide = number > 15
        owner = np.where(wide, cluster, records["cta"].astype(np.int64))
        entries["object"] = np.where(
            barrier, -1 - (owner * 32 + np.minimum(number, 16)), (cluster << 32) | (own & 0xFFFFFFFF)
        )
        accesses = entries["code"] >= SHARED
        entries["object"][accesses] = first[accesses]
        entries["code"][(event == Event.ARRIVE) | (event == Event.MBARRIER_ARRIVE)] = ARRIVE
        issued = (event == Event.MBARRIER_ARRIVE) & ((records["flags"] & FLAG_ISSUED) != 0)
        by_core = (event == Event.MBARRIER_ARRIVE) & ((records["flags"] & FLAG_CORE) != 0)
        entries["code"][issued] = np.where(by_core[issued], COMMIT, -1)
        entries["code"][event == Event.LEAVE] = LEAVE
        phases = (event == Event.MBARRIER_ARRIVE) | (event == Event.MBARRIER_WAIT)
        entries["need"][phases] = first[phases] >> ODD_PHASE & 1
        entries["code"][event == Event.MBARRIER_WAIT] = WAIT
        late = (event == Event.MBARRIER_ARRIVE) & ((records["flags"] & FLAG_ASYNC_PROXY) != 0)
        entries["width"][late | (by_core & ~issued)] = LATE
        bulk = (event == Event.ASYNC_ISSUE) & (records["space"] == Space.SHARED)
        bulk &= np.isin(records["site"], self.bulk_sites)
        entries["code"][bulk] = BULK
        entries["cycles"][bulk] = np.bitwise_count(records["mask"][bulk]) * records["width"][bulk]
        entries["cycles"][repeated(records, np.flatnonzero(bulk))] = 0
        entries["need"][bulk] = np.isin(records["site"][bulk], self.reductions)
        if self.cluster > 1 or len(self.sends.sites):
            self.sends.note(records, first, entries)

    def _bulk_reads(self, records: np.ndarray, kept: np.ndarray) -> None:
        """Note the lines that bulk copies read, and those that bulk reductions change."""
        if not len(self.bulk_sites):
            return
        sources = kept & (records["event"] == Event.ASYNC_ISSUE) & (records["space"] == Space.GLOBAL)
        sources &= (records["flags"] & FLAG_READ != 0) & np.isin(records["site"], self.bulk_sites)
        self.copied += self._bulk_lines(records, np.flatnonzero(sources))
        targets = kept & (records["event"] == Event.ASYNC_WRITE) & (records["space"] == Space.GLOBAL)
        targets &= np.isin(records["site"], self.reductions)
        targets &= records["width"] <= self.figures.l1_line  # of a tensor map, rows may be longer
        self.reduced += self._bulk_lines(records, np.flatnonzero(targets))

    def _bulk_lines(self, records: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        """The lines of these records of bulk copies, with the SM of each; none of none."""
        if not len(rows):
            return []
        lines = (records["addresses"][rows] >> np.uint64(7)).astype(np.int64)
        pairs = lines * self.sms + (records["cta"][rows] % self.sms)[:, None]
        return [different(pairs[word_mask(records["mask"][rows])])]

    def _thin(self) -> None:
        """Keep every second of the SMs kept so far."""
        while self.bytes > MOST_BYTES and self.modulus < self.sms:
            self.modulus *= 2
            self.parts = [part[part["cta"] % self.sms % self.modulus == 0] for part in self.parts]
            self.bytes = sum(part.nbytes for part in self.parts) + 8 * self.line_count // self.modulus

    def trace(self, at_once: int = 1) -> Trace:
        """What was heard. at_once: CTAs that the GPU holds at the same time."""
        entries, lines = _joined(self.parts, ENTRY), _joined(self.lines, np.int64)
        self.arrivals.settle(entries)
        self.contention.settle(entries, at_once)
        looks = Looks(*map(np.concatenate, zip(NO_LOOKS, *self.looks))) if self.modulus == 1 else NO_LOOKS
        return Trace(
            entries, lines, self.work, self.modulus, self._pairs(self.copied), self._pairs(self.reduced), looks
        )

    def _pairs(self, found: list[np.ndarray]) -> np.ndarray:
        """Different lines with their SMs, of the SMs that have been kept."""
        pairs = different(np.concatenate(found)) if found else np.zeros(0, np.int64)
        kept: np.ndarray = pairs[pairs % self.sms % self.modulus == 0]
        return kept


def _joined(parts: list[np.ndarray], kind: Any) -> np.ndarray:
    """The parts as one array, which takes their place."""
    if len(parts) != 1:
        parts[:] = [np.concatenate(parts) if parts else np.zeros(0, kind)]
    return parts[0]

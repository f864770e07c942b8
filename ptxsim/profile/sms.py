"""The SMs of a launch for the replay: the one that takes longest, or all of them where warps wait for what other SMs write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.profile.figures import Figures
from ptxsim.profile.model.contention import retries
from ptxsim.profile.model.encode import Code, parameters
from ptxsim.profile.model.entries import ATOMIC, BLOCK, CONST, DETOUR, MOST_WARPS
from ptxsim.profile.model.sharing import Reads, atomic_rate, copied_first, places_of, reads, reduction_rate
from ptxsim.profile.model.spins import awaited, last_turns, spin_loops
from ptxsim.profile.model.trace import Trace
from ptxsim.profile.replay.entries import for_replay, in_order, warps_of

if TYPE_CHECKING:
    from ptxsim.profile.replay.state import Machine

MOST_TOGETHER = 20_000_000  # entries of a trace of which all SMs are replayed
ABREAST = 4  # reads of constants that a warp has under way
Flags: TypeAlias = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # of a Machine: when each is seen, its line, until when that is busy
NO_FLAGS = np.zeros(0), np.zeros(0, np.int64), np.zeros(0)
ROUTINE = 30  # instructions of one that operands need, at least (facts.detour)
CARVEOUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)  # KiB of shared memory an SM can be set to


def longest_warps(trace: Trace, program: Program, sms: int) -> np.ndarray:
    """Instructions of the longest warp of each SM: PTX, those of spin loops left out, and what operands need besides."""
    spinning = {number for _, body in spin_loops(program) for number in body}
    sizes = np.array([0 if number in spinning else len(block) for number, block in enumerate(program.blocks)], float)
    rows = np.flatnonzero((trace.codes == BLOCK) | (trace.codes == DETOUR))
    found = np.zeros(sms)
    if len(rows):
        warps, which = np.unique(warps_of(trace.entries, rows), return_inverse=True)
        blocks = trace.codes[rows] == BLOCK
        work = ROUTINE * trace.entries["cycles"][rows]
        work[blocks] = sizes[trace.entries["site"][rows[blocks]]]
        np.maximum.at(found, warps // MOST_WARPS % sms, np.bincount(which, work))
    return found


@dataclass(frozen=True)
class Sms:
    """The SMs of a launch, with what they run. slots: of the code's registers; residency: CTAs that one holds at a time; cold: the part of the data that L2 does not hold."""

    program: Program
    code: Code
    slots: int
    figures: Figures
    trace: Trace
    ctas: int
    threads: int
    shared_bytes: int
    residency: int
    cold: float

    @cached_property
    def read(self) -> Reads:
        """What they read of global memory."""
        return reads(self.trace, self.figures.sms)

    def flags(self) -> int:
        """Note in the trace which writes warps in spin loops wait for, if it has all SMs and is short enough to replay them; how many."""
        loops, entries = spin_loops(self.program), self.trace.entries
        if not loops or self.trace.modulus > 1 or len(entries) > MOST_TOGETHER:
            return 0
        order = np.lexsort((np.arange(len(entries)), entries["warp"], entries["cta"]))
        kept = last_turns(entries.take(order), loops)
        entries["awaits"], entries["sets"] = awaited(entries, order, kept, self.program, self.trace.looks)
        return int(entries["sets"].max(initial=0))

    def replay_one(self, sm: int) -> tuple[float, Machine]:
        """Replay the CTAs that one SM gets: (cycles in which it held any, the SM afterwards)."""
        from ptxsim.profile.replay.sm import replay

        p = self._parameters()
        m = self._machine(sm, p, NO_FLAGS)
        return replay(m, p, max(1, self.residency)), m

    def replay_all(self, flags: int) -> tuple[float, Machine, int]:
        """Replay all SMs, whose warps wait for so many of each other's writes: the same of the one that takes longest, and its number."""
        from ptxsim.profile.replay.sm import replay_together
        from ptxsim.profile.replay.state import INF

        p = self._parameters()
        writes = self.trace.entries[self.trace.entries["sets"] > 0]
        lines, which = np.unique(writes["object"] // self.figures.l1_line, return_inverse=True)
        line_of = np.zeros(flags, np.int64)
        line_of[writes["sets"] - 1] = which
        seen = np.full(flags, INF), line_of, np.zeros(len(lines))
        machines = [self._machine(sm, p, seen) for sm in range(min(self.figures.sms, self.ctas))]
        active = replay_together(machines, p, max(1, self.residency))
        slowest = int(np.argmax(active))
        return active[slowest], machines[slowest], slowest

    def _machine(self, sm: int, p: np.ndarray, flags: Flags) -> Machine:
        """An SM before the launch, with the CTAs that it gets: every 132nd, in launch order."""
        from ptxsim.profile.replay.state import CTA, START, new_machine

        figures, warps = self.figures, -(-self.threads // 32)
        ctas = np.arange(sm, self.ctas, figures.sms)
        entries, begins, objects = for_replay(self.trace, ctas, spin_loops(self.program), retries(self.program))
        owner = entries["cta"][begins] if len(begins) else np.zeros(0, np.int64)
        present = np.unique(owner)
        interval = max(figures.dispatch + figures.dispatch_warp * warps, figures.dispatch_warp_least * warps)
        rows, starts = np.zeros(len(present), CTA), np.zeros(len(begins), START)
        rows["first_warp"] = np.searchsorted(owner, present)
        rows["warps"] = np.bincount(np.searchsorted(present, owner), minlength=len(present))
        numbers = np.arange(len(present))
        rows["start"] = numbers * interval
        starts["begin"], starts["end"] = begins, np.append(begins[1:], len(entries))
        m = new_machine(
            self.code, self.slots, entries, self.trace.lines, rows, starts, objects, p, len(self.program.ops), flags
        )
        reads = self._constants
        own = reads[reads[:, 0] == sm]
        first = np.full(len(m.constant_far), len(self.trace.entries))
        mine = first.copy()
        np.minimum.at(first, reads[:, 1], reads[:, 2])
        np.minimum.at(mine, own[:, 1], own[:, 2])
        m.constant_far[:] = first + ABREAST < mine
        return m

    @cached_property
    def _constants(self) -> np.ndarray:
        """Reads of indexed constants: (SM, block of 256 bytes, how many such instructions the warp had before). Who comes first brings
        a block near to all SMs."""
        from ptxsim.profile.replay.state import CONSTANT_BLOCKS

        entries = self.trace.entries.take(np.flatnonzero(self.trace.codes == CONST))
        entries = entries.take(in_order(warps_of(entries)))
        warp, counts = warps_of(entries), entries["count"].astype(np.int64)
        at = places_of(entries["first"], counts)
        before = np.arange(len(warp)) - np.searchsorted(warp, warp)
        blocks = (self.trace.lines[at] >> 5) % CONSTANT_BLOCKS
        sms = np.repeat(entries["cta"] % self.figures.sms, counts)
        return np.stack([sms, blocks, np.repeat(before, counts)], axis=1).astype(np.int64)

    def _at_work(self) -> float:
        """How many SMs share L2 and DRAM while the one with most CTAs has work: where others have fewer, it gets some of what those leave."""
        sms = min(self.figures.sms, self.ctas)
        most = -(-self.ctas // sms)
        return float(sms * (self.ctas / (most * sms)) ** self.figures.l2_uneven)

    def _parameters(self) -> np.ndarray:
        """What the replay of each SM goes by."""
        figures, trace = self.figures, self.trace
        busy_sms = min(figures.sms, self.ctas)
        resident = min(self.residency, -(-self.ctas // figures.sms))
        shared = resident * (self.shared_bytes + figures.shared_reserved) / 1024
        carveout = next((c for c in CARVEOUTS if c >= shared), CARVEOUTS[-1])
        l1_bytes = max(8, figures.unified_bytes // 1024 - carveout - 8) * 1024
        # It is the same then who else reads.
        few = (
            figures.l2_bandwidth_all * figures.sms
            >= max(figures.l2_bandwidth_sm, figures.bulk_bandwidth) * self._at_work()
        )
        read = self.read
        return parameters(
            figures, busy_sms, self._at_work(), l1_bytes, self.cold,
            atomic_rate(figures, trace.entries.take(np.flatnonzero(trace.codes == ATOMIC)), trace.lines),
            read.sms, -(-self.threads // 32), read.lines, few, copied_first(trace, figures), read.first,
            reduction_rate(figures, trace.reduced, trace.modulus), read.scattered,
        )  # fmt: skip

"""mbarrier objects. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".

An object counts pending arrivals and pending transaction bytes of its current phase; the phase is over when both are
zero. The truth is kept here and mirrored as a 64-bit word into the shared memory where the object lives (the layout of
the word is our own: pending, expected, bytes, parity, valid), so that a program that overwrites it is found out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ptxsim.machine.cta import Cta
from ptxsim.machine.fault import Fault

MAX_COUNT = (1 << 20) - 1  # of arrivals, and of bytes in either direction
TOKEN_PHASE = 20  # a state token holds the pending count below this bit and the phase number from it up


@dataclass(slots=True, eq=False)
class MBarrier:
    """One object at `offset` of the shared memory `memory`; `address` is how the program calls it."""

    memory: np.ndarray
    offset: int
    address: int
    expected: int
    pending: int = 0
    bytes: int = 0  # announced and not yet transferred; below zero if data came first
    phase: int = 0
    announced: int = 0  # bytes announced in this phase
    last: str = "never"  # who arrived last
    polls: Counter[tuple[int, int]] = field(
        default_factory=Counter
    )  # by warp: failed polls and time-outs in this phase

    def __post_init__(self) -> None:
        self.pending = self.expected
        self._mirror()

    @property
    def word(self) -> int:
        """The 64 bits that stand in shared memory."""
        return (
            self.pending | self.expected << 20 | (self.bytes & (1 << 22) - 1) << 40 | (self.phase & 1) << 62 | 1 << 63
        )

    @property
    def token(self) -> int:
        """The opaque state that arrive returns."""
        return self.phase << TOKEN_PHASE | self.pending

    def check_intact(self) -> None:
        """Raise if the program has written over the object."""
        found = int(self.memory[self.offset : self.offset + 8].view("<u8")[0])
        if found != self.word:
            raise Fault(
                "mbarrier-init",
                f"the mbarrier at {self.address:#x} has been overwritten: its 64 bits are {found:#018x}, not {self.word:#018x}",
                help="keep other data off the mbarrier's 8 bytes, or mbarrier.inval it first",
            )

    # ---- what instructions and the async proxy do ----

    def arrive(self, count: int, who: str, drop: bool = False, may_complete: bool = True) -> int:
        """`count` arrivals; with `drop` later phases expect as many fewer. Returns the token of the state before."""
        token = self.token
        if not 1 <= count <= self.pending:
            raise Fault(
                "mbarrier-overflow",
                f"{count} arrivals on the mbarrier at {self.address:#x}, which waits for {self.pending} of {self.expected}",
                help="initialise it with the number of arrivals of one phase; wait for the phase before arriving again",
            )
        if not may_complete and count == self.pending:
            raise Fault(
                "mbarrier-phase",
                f"arrive.noComplete completes the phase of the mbarrier at {self.address:#x}",
                help="leave out .noComplete for the last arrival",
            )
        self.pending -= count
        self.last = who
        if drop:
            self.expected -= count
        self._settle()
        return token

    def add_pending(self, count: int) -> None:
        """More arrivals are expected in this phase (cp.async.mbarrier.arrive without .noinc)."""
        if self.pending + count > MAX_COUNT:
            raise Fault(
                "mbarrier-overflow", f"the pending count of the mbarrier at {self.address:#x} passes {MAX_COUNT}"
            )
        self.pending += count
        self._mirror()

    def expect_bytes(self, count: int) -> None:
        """Announce `count` bytes for this phase."""
        self.announced += count
        self._transfer(count)

    def complete_bytes(self, count: int) -> None:
        """`count` bytes have been transferred."""
        self._transfer(-count)
        self._settle()

    def _transfer(self, change: int) -> None:
        if not -MAX_COUNT <= self.bytes + change <= MAX_COUNT:
            raise Fault(
                "mbarrier-overflow",
                f"the transaction count of the mbarrier at {self.address:#x} becomes {self.bytes + change}, beyond {MAX_COUNT} bytes",
                help="announce at most 1048575 bytes per phase",
            )
        self.bytes += change
        self._mirror()

    def _settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending, self.announced = self.expected, 0
            self.polls.clear()
        self._mirror()

    def _mirror(self) -> None:
        self.memory[self.offset : self.offset + 8].view("<u8")[0] = self.word

    # ---- what waits ask ----

    def passed_parity(self, parity: int) -> bool:
        """Whether the phase of this parity (the current or the one before) is complete."""
        return (self.phase & 1) != (parity & 1)

    def passed_token(self, token: int) -> bool:
        """Whether the phase a token was given in is complete. Raises for tokens of no recent phase."""
        phase = token >> TOKEN_PHASE
        if not self.phase - 1 <= phase <= self.phase:
            raise Fault(
                "mbarrier-phase",
                f"the state waited for is of phase {phase}, the mbarrier at {self.address:#x} is in phase {self.phase}",
                help="wait with the state that the arrival of the current or the preceding phase returned",
            )
        return phase < self.phase

    def describe(self) -> str:
        """One line for reports: address, phase, arrivals, bytes, who came last."""
        announced = (
            f"{self.announced - self.bytes} of {self.announced} bytes" if self.announced or self.bytes else "no bytes"
        )
        return (
            f"mbarrier {self.address:#x}: phase {self.phase} (parity {self.phase & 1}), "
            f"{self.expected - self.pending} of {self.expected} arrived, {announced}, last arrival {self.last}"
        )


class MBarriers(dict[int, MBarrier]):
    """The live mbarriers of a CTA's shared memory by offset."""


def barriers(cta: Cta) -> MBarriers:
    """The live mbarriers of a CTA."""
    return cta.units.of(MBarriers)


def find(cta: Cta, offset: int, address: int) -> MBarrier:
    """The live mbarrier at an offset. Raises Fault `mbarrier-init` if there is none or it was written over."""
    found = barriers(cta).get(offset)
    if found is None:
        near = [o for o in barriers(cta) if o - 8 < offset < o + 8]
        where = f"; there is one at {near[0]:#x}" if near else ""
        raise Fault(
            "mbarrier-init", f"no mbarrier has been initialised at {address:#x}{where}",
            help="mbarrier.init it in one thread, then a barrier for the CTA before another thread uses it",
        )  # fmt: skip
    found.check_intact()
    return found

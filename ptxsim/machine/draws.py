"""Random numbers of a run with a seed other than 0: orders of CTAs and warps, moments of completion. The same in Python and native code.

A linear congruential generator of 63 bits (Knuth, "The Art of Computer Programming", 3.3.4, line 26), of which the upper 32 are used.
"""

from __future__ import annotations

import numpy as np

from ptxsim.jit.body import Numbers
from ptxsim.jit.record import I64, Record, record

FACTOR, STEP, LOW = 6364136223846793005, 1442695040888963407, (1 << 63) - 1
LOOKS = 16  # of so many looks at an mbarrier that could wait, so many give up at once, as if their time were over:
PATIENT, IMPATIENT = 4, 14
EVERY = 4  # one of so many seeds, the last of them, is impatient: what a loop does when it looks again, and again, shows there


@record
class Draws(Record):
    """What the next number comes of."""

    state: I64
    hasty: I64  # PATIENT or IMPATIENT

    @classmethod
    def of_seed(cls, seed: int) -> Draws:
        """The numbers of a seed."""
        state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) & LOW
        return cls(state, IMPATIENT if is_impatient(seed) else PATIENT)


def is_impatient(seed: int) -> bool:
    return seed % EVERY == EVERY - 1


def gives_up(draws: Draws) -> bool:
    """Whether a wait for an mbarrier that is not over gives up at once."""
    return draw(draws, LOOKS) < draws.hasty


def draw(draws: Draws, below: int) -> int:
    """A number from 0 to below - 1, which are at most 2**31."""
    draws.state = int(draws.state) * FACTOR + STEP & LOW
    return (int(draws.state) >> 31) * below >> 32


def shuffle(draws: Draws, order: Numbers, first: int, count: int) -> None:
    """Put the numbers from `first` on into as many places from there on, in any order."""
    for place in range(count):
        other = first + draw(draws, place + 1)
        order[first + place] = order[other]
        order[other] = first + place

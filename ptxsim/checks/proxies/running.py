"""Which CTAs run, and in which shadow of the proxy checks each is. For bodies.

Mostly CTAs end in the order in which they have begun. So a shadow is free again when the oldest one has exited, which is asked when
another begins; and that one has to go where too many run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.checks.proxies.state import ProxyShadow, begin, is_reading
from ptxsim.jit.body import Array
from ptxsim.jit.kinds import Alike

NONE = -1
NUMBERS = COUNT, THREADS, SIZE, FOUND, FULL = range(5)


class Running(NamedTuple):
    """`n`: how many run, threads of a CTA, CTAs of a cluster, problems that the scan has found, whether there may be no room for more."""

    n: Array
    ranks: Array  # of all CTAs of the grid, in their clusters
    place: Array  # of all of them: the number of its shadow, NONE if it does not run
    ctas: Array  # those that run, the oldest first, for as many as may
    used: Array  # by the number of a shadow: whether a CTA is in it

    @classmethod
    def of(cls, threads: int, ranks: np.ndarray, size: int, most: int) -> Running:
        """Before the first one. `most`: how many may run."""
        n = np.zeros(len(NUMBERS), np.int64)
        n[THREADS], n[SIZE] = threads, size
        return cls(n, ranks, np.full(len(ranks), NONE, np.int32), np.zeros(most, np.int32), np.zeros(most, np.bool_))


def admit(running: Running, shadows: Alike[ProxyShadow], cta: int) -> int:
    """Let a CTA begin; the number of its shadow. NONE: another shadow is needed, or the oldest CTA has ended while operations that it
    has not waited for read its memory."""
    n = running.n
    while is_to_go(running, shadows):
        if is_reading(shadows[running.place[running.ctas[0]]]):
            return NONE
        drop(running)
    number = 0
    while number < len(shadows) and running.used[number]:
        number += 1
    if number == len(shadows):
        return NONE
    begin(shadows[number], int(running.ranks[cta]), n[SIZE] > 1)
    running.ctas[n[COUNT]], running.place[cta], running.used[number] = cta, number, True
    n[COUNT] += 1
    return number


def is_to_go(running: Running, shadows: Alike[ProxyShadow]) -> bool:
    """Whether the oldest CTA is over, or there are too many, so that another may begin."""
    n = running.n
    if n[COUNT] == 0:
        return False
    shadow = shadows[running.place[running.ctas[0]]]
    return bool(n[COUNT] == len(running.ctas) or shadow.clock[5] >= n[THREADS])


def drop(running: Running) -> None:
    """The oldest CTA is over."""
    n, oldest = running.n, int(running.ctas[0])
    running.used[running.place[oldest]] = False
    running.place[oldest] = NONE
    n[COUNT] -= 1
    for k in range(n[COUNT]):
        running.ctas[k] = running.ctas[k + 1]

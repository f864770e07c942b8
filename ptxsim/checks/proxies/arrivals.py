"""Which proxy fences a thread knows of: those handed on before the last arrival at the mbarrier that it has waited for. For bodies.

A fence that comes after the arrival at one mbarrier, and before that at another, says nothing to who has waited for the first.
"""

from __future__ import annotations

from ptxsim.checks.proxies.state import HANDS, PHASES, ProxyShadow
from ptxsim.jit.body import Array
from ptxsim.machine.event import ODD_PHASE


def hashed(named: int) -> int:
    """The place of an mbarrier (8 bytes each) and the parity of its phase."""
    return ((named >> 3) * 2 + (named >> ODD_PHASE & 1)) % PHASES


def arrive_in_phases(shadow: ProxyShadow, addresses: Array, mask: int) -> None:
    """Lanes have arrived at mbarriers."""
    for lane in range(32):
        if mask >> lane & 1:
            place = shadow.phases[hashed(int(addresses[lane]))]
            place[0], place[1] = addresses[lane], shadow.clock[0]


def latest_arrival(shadow: ProxyShadow, named: int) -> int:
    """Up to when a thread that has waited for a phase knows of others: now where that is not remembered, or threads of other CTAs may have
    arrived."""
    place = shadow.phases[hashed(named)]
    if shadow.clock[6] != 0 or place[0] != named:
        return int(shadow.clock[0])
    return int(place[1])


def hand_on(shadow: ProxyShadow, warp: int, mask: int) -> None:
    """Threads tell others what they have done, their fences with it."""
    now, before = int(shadow.clock[0]), int(shadow.clock[4])
    for lane in range(32):
        thread = warp * 32 + lane
        if mask >> lane & 1:
            if shadow.handed[thread] != shadow.fenced[thread]:
                mine = shadow.hands[thread]
                at = 1 + mine[0] % HANDS * 2
                mine[0], mine[at], mine[at + 1] = mine[0] + 1, shadow.fenced[thread], now
            shadow.handed[thread] = shadow.fenced[thread]
            if shadow.unfenced[thread] == 2:
                shadow.unfenced[thread] = 0
                shadow.clock[4] -= 1
    if before != 0 and shadow.clock[4] == 0:
        shadow.settled[shadow.clock[3] % HANDS] = now - 1  # an atomic writes after it has handed on what came before
        shadow.clock[3] += 1


def settled_by(shadow: ProxyShadow, waited: int) -> int:
    """Up to when all that was written is known to be fenced, to who has waited until a time."""
    found = 0
    for place in range(HANDS):
        if shadow.settled[place] < waited:
            found = max(found, int(shadow.settled[place]))
    return found


def is_told(shadow: ProxyShadow, writer: int, written: int, waited: int) -> bool:
    """Whether a thread had handed on a fence after a time by when another has waited; also where that is forgotten."""
    mine = shadow.hands[writer]
    count = int(mine[0])
    for number in range(count - 1, max(count - HANDS, 0) - 1, -1):
        at = 1 + number % HANDS * 2
        if mine[at] < written:
            return False
        if mine[at + 1] <= waited:
            return True
    return count > HANDS

"""The barrier of a cluster. PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".

Every thread of the cluster that has not exited arrives once, then waits; a phase is over when all of them have arrived. The
record of the first CTA counts the threads; every CTA has the phase in its own. What happens to them are bodies, for both engines.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.jit.body import body
from ptxsim.jit.export import view
from ptxsim.jit.record import I32, U32
from ptxsim.machine.records import BARRIERS, CLUSTER, CtaRecord, WarpRecord

CLUSTER_BARRIER = 16  # its number in events, after the sixteen of a CTA
NONE = -1  # in place of a phase


def come(cta: CtaRecord, warp: WarpRecord) -> int:
    """The lanes of a warp that have come in this phase."""
    return warp.came[BARRIERS] if warp.came_in[BARRIERS] == cta.barriers[CLUSTER].phase else 0


@body
def come_again(cta: CtaRecord, warp: WarpRecord, mask: U32) -> U32:
    """Those of some lanes that have come already and not waited since, and must not come again."""
    return (come(cta, warp) | warp.arrived) & mask


@body
def come_to_cluster(cta: CtaRecord, warp: WarpRecord, mask: U32) -> I32:
    """Lanes come that have not yet; the phase."""
    phase = cta.barriers[CLUSTER].phase
    warp.came[BARRIERS] = come(cta, warp) | mask
    warp.came_in[BARRIERS] = phase
    warp.arrived = warp.arrived | mask
    barrier = view(cta.leader, CtaRecord, 1)[0].barriers[CLUSTER]
    barrier.arrived += mask.bit_count()
    barrier.here += mask.bit_count()
    end_phase_of_cluster(cta)
    return phase


@body
def arrived_in(cta: CtaRecord, warp: WarpRecord, mask: U32) -> I32:
    """The phase that lanes wait for from now on, the latest that one of them has come in; NONE, with nothing changed, if there
    is one that has not come since it last waited."""
    if mask & ~warp.arrived != 0:
        return NONE
    warp.arrived = warp.arrived & ~mask
    phase = cta.barriers[CLUSTER].phase
    return phase if come(cta, warp) & mask != 0 else phase - 1


def exit_from_cluster(cta: CtaRecord, warp: WarpRecord, mask: int) -> None:
    """Lanes leave the kernel: the barrier no longer waits for them."""
    if cta.leader != 0:
        barrier = view(cta.leader, CtaRecord, 1)[0].barriers[CLUSTER]
        barrier.expected -= mask.bit_count()
        barrier.here -= (come(cta, warp) & mask).bit_count()
        end_phase_of_cluster(cta)


def end_phase_of_cluster(cta: CtaRecord) -> None:
    """End the phase if some threads have arrived and none is missing."""
    barrier = view(cta.leader, CtaRecord, 1)[0].barriers[CLUSTER]
    if barrier.arrived != 0 and barrier.here == barrier.expected:
        barrier.arrived = 0
        barrier.here = 0
        phase = barrier.phase + 1
        address = cta.leader
        while address != 0:
            one = view(address, CtaRecord, 1)[0]
            one.barriers[CLUSTER].phase = phase
            address = one.next


def describe_cluster(warps: Iterable[tuple[CtaRecord, WarpRecord]]) -> str:
    """Who of the cluster is missing, for a deadlock report."""
    missing, phase = [], 0
    for cta, warp in warps:
        phase = cta.barriers[CLUSTER].phase
        if warp.live & ~come(cta, warp):
            missing.append(f"CTA {warp.cta} warp {warp.index}")
    more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
    return f"cluster barrier, phase {phase}: missing are {', '.join(missing[:8]) or 'none'}{more}"

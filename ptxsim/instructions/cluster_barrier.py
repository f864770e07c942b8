"""barrier.cluster. PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".

Service operations: they run in Python on the machine's barriers in both engines.
"""

from __future__ import annotations

from ptxsim.isa.facts import Facts, Mechanism, Role, Scope, Synchronisation, Word
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LaneValue, mask_word
from ptxsim.machine.cluster_barrier import CLUSTER_BARRIER, ClusterBarrier
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Wait
from ptxsim.machine.port import Port

COMMON: Options = {"requires": "7.8 sm_90"}
ARRIVES, WAITS = (
    Facts(family="cluster_barrier", scope=Scope.CLUSTER, synchronises=Synchronisation(Mechanism.CLUSTER_BARRIER, role))
    for role in (Role.ARRIVE, Role.WAIT)
)


@instruction(
    "barrier.cluster.arrive{.order}{.aligned}",
    name="barrier.cluster.arrive",
    order="release@8.0:sm_90 relaxed@8.0:sm_90",
    facts=ARRIVES,
    **COMMON,
)
def arrive(m: Port, *, order: Word) -> None:
    """Be counted, and go on. The event's third number is 1 if the arrival orders nothing (.relaxed)."""
    barrier = ClusterBarrier.of(m.cta.cluster)
    barrier.arrive(m.warp, m.mask)
    m.emit(Event.ARRIVE, addresses=[CLUSTER_BARRIER, barrier.arrived_in(m.warp, m.mask), order == "relaxed"])


@instruction(
    "barrier.cluster.wait{.acquire}{.aligned}",
    name="barrier.cluster.wait",
    acquire="acquire@8.0:sm_90",
    facts=WAITS,
    **COMMON,
)
def wait(m: Port) -> LaneValue:
    """Wait until every thread of the cluster has arrived or exited."""
    barrier = ClusterBarrier.of(m.cta.cluster)
    phase = barrier.arrived_in(m.warp, m.mask)
    warp, site, word, stream = m.warp, m.site, mask_word(m.mask), m.machine.stream

    def leave() -> None:
        if stream is not None:
            stream.emit(site, warp.cta.linear, warp.index, Event.LEAVE, mask=word, addresses=[CLUSTER_BARRIER, phase])

    return Wait("the cluster barrier", lambda: barrier.over(phase), barrier.describe, leave)

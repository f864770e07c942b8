"""barrier.cluster. PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".

The state is in the records of the CTAs (machine.barriers.cluster); native code uses them too (engine.compiled.codegen.cluster_barrier).
"""

from __future__ import annotations

from ptxsim.isa.facts import Facts, Mechanism, Role, Scope, Synchronisation, Word
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue, mask_word, word_mask
from ptxsim.machine.barriers import cluster as state
from ptxsim.machine.event import Event
from ptxsim.machine.fault import AtBarrier, Fault, first_lane
from ptxsim.machine.port import Port
from ptxsim.machine.records import CLUSTER

ARRIVES, WAITS = (
    Facts(family="cluster_barrier", scope=Scope.CLUSTER, synchronises=Synchronisation(Mechanism.CLUSTER_BARRIER, role))
    for role in (Role.ARRIVE, Role.WAIT)
)


class ClusterBarrier:
    """What lanes of a warp do at the barrier of their cluster."""

    def __init__(self, port: Port):
        self.port, self.cta, self.warp, self.lanes = port, port.cta.record, port.warp.record, mask_word(port.mask)

    def arrive(self, relaxed: bool) -> None:
        """Be counted, and go on. The event's third number is 1 if the arrival orders nothing."""
        again = state.come_again(self.cta, self.warp, self.lanes)
        if again:
            raise Fault(
                "barrier-count", "a thread arrives twice at the cluster barrier without a wait between",
                first_lane(word_mask(again)), "each barrier.cluster.arrive needs its barrier.cluster.wait",
            )  # fmt: skip
        phase = state.come_to_cluster(self.cta, self.warp, self.lanes)
        self.port.emit(Event.ARRIVE, addresses=[state.CLUSTER_BARRIER, phase, relaxed])

    def wait(self) -> AtBarrier:
        """Wait until every thread of the cluster has arrived or exited."""
        phase = state.arrived_in(self.cta, self.warp, self.lanes)
        if phase == state.NONE:
            raise Fault(
                "barrier-count", "barrier.cluster.wait without barrier.cluster.arrive before it",
                first_lane(word_mask(self.lanes & ~self.warp.arrived)),
                "arrive first: a wait is for the phase the thread has arrived in",
            )  # fmt: skip
        return AtBarrier(CLUSTER, phase)


@instruction(
    "barrier.cluster.arrive{.order}{.aligned}", name="barrier.cluster.arrive", order="release@8.0:sm_90 relaxed@8.0:sm_90",
    facts=ARRIVES, requires="7.8 sm_90",
)  # fmt: skip
def arrive(m: Port, *, order: Word) -> None:
    m.unit(ClusterBarrier).arrive(order == "relaxed")


@instruction(
    "barrier.cluster.wait{.acquire}{.aligned}", name="barrier.cluster.wait", acquire="acquire@8.0:sm_90",
    facts=WAITS, requires="7.8 sm_90",
)  # fmt: skip
def wait(m: Port) -> LaneValue:
    return m.unit(ClusterBarrier).wait()

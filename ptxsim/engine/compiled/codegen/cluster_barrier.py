"""barrier.cluster on the records of the CTAs (engine.compiled.runtime.cluster_lanes)."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.port import UNITS, EmitPort
from ptxsim.engine.compiled.runtime import abi
from ptxsim.instructions.cluster_barrier import ClusterBarrier
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER
from ptxsim.machine.event import Event


class EmitClusterBarrier:
    """Prints what one instruction does at the barrier of the cluster."""

    def __init__(self, port: EmitPort):
        self.port, self.w, self.e = port, port.writer, port.writer.emitter

    def arrive(self, relaxed: bool) -> None:
        phase, e = self._call("cluster_arrive"), self.e
        if self.w.options.wanted.has(Event.ARRIVE):
            numbers = e.splat(CLUSTER_BARRIER, "u64")
            text = numbers.text
            for place, number in enumerate((e.let(f"zext i32 {phase} to i64"), str(int(relaxed))), 1):
                text = e.let(f"insertelement <32 x i64> {text}, i64 {number}, i64 {place}")
            self.w.event_at(Event.ARRIVE, 0, 0, self.port.guard, type(numbers)(e, text, "u64"))

    def wait(self) -> None:
        """The split waits always; the scheduler lets it go on where the phase is over. Lanes that do not execute it do not wait."""
        if self.port.guard != self.w.mask:
            none, everyone = (self.e.let(f"icmp eq i32 {self.port.guard}, {mask}") for mask in ("0", self.w.mask))
            self.w.save_before_bail()
            self.w.bail_unless(self.e.let(f"or i1 {none}, {everyone}"))
        self._call("cluster_wait", ("i32", str(self.w.op.site)))
        self.w.wait_unless(self.e.let(f"icmp eq i32 {self.port.guard}, 0"), abi.WAITS)

    def _call(self, name: str, *arguments: tuple[str, str]) -> str:
        """Call a helper, whose i32 is the phase, below zero where nothing was done."""
        w = self.w
        w.save_before_bail()
        found = w.call(
            "i32", w.helper(name, ("cluster barrier",)), ("ptr", "%context"), ("ptr", "%warp"), *arguments,
            ("i32", self.port.guard),
        )  # fmt: skip
        w.bail_unless(self.e.let(f"icmp sge i32 {found}, 0"))
        return found


UNITS[ClusterBarrier] = EmitClusterBarrier

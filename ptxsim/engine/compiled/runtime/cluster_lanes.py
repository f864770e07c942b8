"""The barrier of a cluster in native code (machine.barriers.cluster); what is wrong is left to the slow path."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import Context
from ptxsim.engine.splits import wait_at
from ptxsim.jit.body import body
from ptxsim.jit.export import view
from ptxsim.jit.record import I32, U32
from ptxsim.machine.barriers.cluster import NONE, arrived_in, come_again, come_to_cluster
from ptxsim.machine.records import CLUSTER, CtaRecord, WarpRecord


@body
def cluster_arrive(context: Context, warp: WarpRecord, mask: U32) -> I32:
    """Lanes come; the phase, or NONE where one has come already and not waited."""
    cta = view(context.cta, CtaRecord, 1)[0]
    if come_again(cta, warp, mask) != 0:
        return NONE
    return come_to_cluster(cta, warp, mask)


@body
def cluster_wait(context: Context, warp: WarpRecord, site: I32, mask: U32) -> I32:
    """Let the split that runs wait, as far as these are its lanes; the phase, or NONE where one has not come. 0 for no lanes."""
    if mask == 0:
        return 0
    phase = arrived_in(view(context.cta, CtaRecord, 1)[0], warp, mask)
    if phase != NONE:
        split = warp.split[warp.chosen]
        wait_at(split, CLUSTER, phase, site)
        split.lanes = mask
    return phase


EXPORTS = cluster_arrive, cluster_wait

"""cp.async in native code: machine.copies.lane_copies, and what a seed other than 0 draws."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import Context
from ptxsim.engine.compiled.runtime.draws import delay
from ptxsim.jit.body import body
from ptxsim.jit.record import U32
from ptxsim.machine.copies import lane_copies
from ptxsim.machine.copies.lane_copies import land_later
from ptxsim.machine.records import WarpRecord


@body
def draw_landing(context: Context, warp: WarpRecord, lanes: U32) -> None:
    """When the copy that these lanes have just issued lands, if a seed draws that."""
    if context.draws != 0 and lanes != 0:
        land_later(warp, context.steps + delay(context))


EXPORTS = (*lane_copies.EXPORTS, draw_landing)

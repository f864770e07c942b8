"""movmatrix: an 8x8 matrix of 16-bit elements, transposed across the warp. PTX ISA, "movmatrix"."""

from __future__ import annotations

import numpy as np

from ptxsim.isa.facts import Facts, Scope
from ptxsim.isa.operand import Reg
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine.port import Port


@instruction(
    "movmatrix.sync.aligned.m8n8.trans.b16 d, a", requires="7.8 sm_75", facts=Facts(scope=Scope.WARP, reads_lanes=True),
    operands={"d": Reg("b32"), "a": Reg("b32")},
)  # fmt: skip
def movmatrix(m: Port, a: LaneValue) -> LaneValue:
    """The result's fragment is that of the transposed matrix: what a holds, read by columns."""
    source = fragment_layout("movmatrix", "m8n8", "A", "b16")
    result = fragment_layout("movmatrix", "m8n8", "D", "b16")
    return result.from_matrix(source.to_matrix(a[np.newaxis]))[0]

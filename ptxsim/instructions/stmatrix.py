"""stmatrix: fragments to rows of shared memory. PTX ISA, "Warp-level matrix store instruction: stmatrix"."""

from __future__ import annotations

from ptxsim.instructions.ldmatrix import NARROW, SPACES
from ptxsim.isa.facts import AccessKind, Facts, Scope, Word, access
from ptxsim.isa.operand import Reg, Vec
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine.matrix_rows import store_rows
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType

FACTS = Facts(
    family="stmatrix", scope=Scope.WARP, accesses=lambda words: (access(AccessKind.WRITE, words["space"]),), by_lanes=True
)  # fmt: skip


def stmatrix(
    m: Port, a: LaneValue, b: LaneValue, *, shape: Word, num: Word, trans: Word, space: Word, type: ScalarType
) -> None:
    tile = fragment_layout("stmatrix", f"{shape}.{num}", "D", type.name, "trans" if trans else None)
    store_rows(m, space, a, b, tile)


for _notation, _since, _shape, _type in [
    ("stmatrix.sync.aligned.shape.num{.trans}{.space}.type [a], b", "7.8 sm_90", "m8n8", "b16"),
    ("stmatrix.sync.aligned.shape.num.trans{.space}.type [a], b", NARROW, "m16n8", "b8"),
]:
    instruction(
        _notation, requires=_since, facts=FACTS, operands={"b": Vec("num", Reg("b32"))}, writes="",
        shape=_shape, num="x1 x2 x4", space=SPACES, type=_type,
        implies=None if "{.trans}" in _notation else {"trans": True},
    )(stmatrix)  # fmt: skip

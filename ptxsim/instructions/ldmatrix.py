"""ldmatrix: rows of shared memory to fragments. PTX ISA, "Warp-level matrix load instruction: ldmatrix"."""

from __future__ import annotations

from typing import Any

from ptxsim.instructions.mma import modeled_by
from ptxsim.isa.facts import Access, AccessKind, Facts, Scope, Word, Words, access
from ptxsim.isa.operand import Either, Reg, Vec
from ptxsim.isa.registry import Options, declare
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.layout.tables import ROW_FORMATS
from ptxsim.machine.matrix_rows import load_rows
from ptxsim.machine.port import Port

NARROW = "8.6 sm_100f sm_110f sm_120f"
SPACES = "shared shared::cta@7.8"


def accesses(words: Words) -> tuple[Access, ...]:
    return (access(AccessKind.READ, words["space"]),)


FACTS = Facts(family="ldmatrix", scope=Scope.WARP, accesses=accesses, by_lanes=True)


def registers(modifiers: Words) -> int:
    """Registers of all matrices: one for each 64 elements of 16 bits or 128 of 8."""
    return int(modifiers["num"][1:]) * (2 if modifiers["shape"] == "m16n16" else 1)


def ldmatrix(
    m: Port, a: LaneValue, *, shape: Word, num: Word, trans: Word, space: Word, type: Word, format: Word
) -> LaneValue:
    layout = "trans" if trans else None
    tile = fragment_layout("ldmatrix", f"{shape}.{num}", "D", type.name if type else "b8", layout)
    return load_rows(m, space, a, tile, format)


FORMATS: Options = {"format": " ".join(ROW_FORMATS)}
TABLE: list[tuple[str, str, str, str, Options]] = [
    ("ldmatrix.sync.aligned.shape.num{.trans}{.space}.type d, [a]", "6.5 sm_75", "m8n8", "x1 x2 x4", {"type": "b16"}),
    ("ldmatrix.sync.aligned.shape.num.trans{.space}.b8 d, [a]", NARROW, "m16n16", "x1 x2", {}),
    ("ldmatrix.sync.aligned.shape.num{.space}.b8x16.format d, [a]", NARROW, "m8n16", "x1 x2 x4", FORMATS),
    ("ldmatrix.sync.aligned.shape.num.trans{.space}.b8x16.format d, [a]", NARROW, "m16n16", "x1 x2", FORMATS),
]


def declare_row(
    declare: Any, element: Reg | Either, notation: str, since: str, shape: str, num: str, words: Options
) -> None:
    """Declare a row of the table through `declare`, with this kind of result registers."""
    declare(
        notation, requires=since, facts=FACTS, operands={"d": Vec(registers, element)},
        ordered=(("b8x16", "format"),), shape=shape, num=num, space=SPACES, **words,
        implies=None if "{.trans}" in notation else {"trans": "m16n16" in shape},
    )  # fmt: skip


for _row in TABLE:
    declare_row(modeled_by(ldmatrix), Reg("b32", sink=True), *_row)

# Four-bit integers as eight-bit ones: bound, not modeled.
declare(
    "ldmatrix.sync.aligned.shape.num{.space}.s8.s4 d, [a]", missing="no public source says how its rows are packed", shape="m8n16", num="x1 x2 x4", space=SPACES, facts=FACTS,
    requires="9.4 sm_90a sm_100f sm_110f sm_120f", operands={"d": Vec(registers, Reg("b32", sink=True))},
)  # fmt: skip

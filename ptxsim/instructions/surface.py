"""Surfaces: bound, not modeled. PTX ISA, "Surface Instructions: suld, sust, sured, suq"."""

from __future__ import annotations

from ptxsim.isa.facts import IMAGES
from ptxsim.isa.operand import Addr, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, declare

COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4}
CLAMP = {"clamp": "trap clamp zero"}
LENGTHS = (("", 1), (".v2", 2), (".v4", 4))
# Operations of sured.b and the types they take; sured.p takes b32 for all of them.
REDUCTIONS = (("add", "u32 u64 s32"), ("min max", "u32 s32 u64@8.1 s64@8.1"), ("and or", "b32"))


def place(geometry: str) -> Addr:
    """`[surface, coordinates]`."""
    return Addr("surf", (Vec(COORDINATES[geometry], Reg("u32"), bare=True),))


for geometry in COORDINATES:
    where = place(geometry)
    for length, count in LENGTHS:
        registers: Kinds = {
            "a": where,
            "d": Vec(count, Reg("type", wide=True), bare=True),
            "b": Vec(count, Value("type", wide=True), bare=True),
        }
        types = "b8 b16 b32 b64" if count < 4 else "b8 b16 b32"
        options: Options = {"type": types, "operands": registers, **CLAMP}
        declare(
            f"suld.b.{geometry}{{.cop}}{length}.type.clamp d, [a]",
            missing=IMAGES,
            name="suld.b",
            cop="ca cg cs cv",
            **options,
        )
        declare(
            f"sust.b.{geometry}{{.cop}}{length}.type.clamp [a], b",
            missing=IMAGES,
            name="sust.b",
            cop="wb cg cs wt",
            **options,
        )
        formatted: Options = {**options, "type": "b32"}
        declare(f"sust.p.{geometry}{length}.type.clamp [a], b", missing=IMAGES, name="sust.p", **formatted)
    for op, types in REDUCTIONS if not geometry.startswith("a") else ():
        reduction: Options = {"op": op, "operands": {"a": where, "b": Value("type")}, **CLAMP}
        declare(f"sured.b.op.{geometry}.type.clamp [a], b", missing=IMAGES, name="sured.b", type=types, **reduction)
        declare(f"sured.p.op.{geometry}.type.clamp [a], b", missing=IMAGES, name="sured.p", type="b32", **reduction)

declare(
    "suq.what.b32 d, [a]", missing=IMAGES, what="width height depth channel_data_type channel_order array_size memory_layout",
    operands={"d": Reg("b32"), "a": Addr("surf")},
)  # fmt: skip

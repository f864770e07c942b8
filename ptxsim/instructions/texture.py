"""Textures: bound, not modeled. PTX ISA, "Texture Instructions: tex, tld4, txq, istypep"."""

from __future__ import annotations

from ptxsim.isa.facts import IMAGES
from ptxsim.isa.operand import Addr, Either, Pred, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, declare

# Coordinates and gradients of each geometry; layered ones (a...) begin with the layer, vectors of three are padded to four.
COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4}
GRADIENTS = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 2, "cube": 4, "acube": 4}
RESULTS = (("v4", "u32 s32 f32 f16"), ("v2", "f16x2"))


def place(geometry: str, ctype: str) -> Either:
    """`[texture, coordinates]` or `[texture, sampler, coordinates]`. A layer is an integer."""
    element, count = Value(ctype), COORDINATES[geometry]
    each = (Value("u32"), *[element] * (count - 1)) if geometry.startswith("a") else ()
    where: list[Vec | Reg] = [Vec(count, element, each=each), *[Reg(ctype)] * (count == 1)]
    return Either(tuple(Addr("tex", (*sampler, place)) for sampler in ((), (Reg("u64"),)) for place in where))


for geometry, count in GRADIENTS.items():
    gradient = Vec(count, Value("f32"))
    for vector, types in RESULTS:
        kinds: Kinds = {"d": Vec(int(vector[1]), Reg("type")), "dx": gradient, "dy": gradient}
        words: Options = {"type": types, "requires": "5.0"}
        for ctype in ("s32", "f32") if "cube" not in geometry else ("f32",):
            operands: Kinds = {**kinds, "lod": Value(ctype), "t": place(geometry, ctype)}
            declare(f"tex.{geometry}.{vector}.type.{ctype} d, [t]", missing=IMAGES, operands=operands, **words)
            declare(f"tex.base.{geometry}.{vector}.type.{ctype} d, [t]", missing=IMAGES, operands=operands, **words)
            declare(
                f"tex.level.{geometry}.{vector}.type.{ctype} d, [t], lod", missing=IMAGES, operands=operands, **words
            )
        declare(f"tex.grad.{geometry}.{vector}.type.f32 d, [t], dx, dy", missing=IMAGES, operands=operands, **words)

for geometry in ("2d", "a2d", "cube", "acube"):
    declare(
        f"tld4.component.{geometry}.v4.type.f32 d, [t]", missing=IMAGES, component="r g b a", type="u32 s32 f32",
        operands={"d": Vec(4, Reg("type")), "t": place(geometry, "f32")},
    )  # fmt: skip

QUERY: Options = {"operands": {"d": Reg("b32"), "a": Addr("tex"), "lod": Value("u32")}}
declare(
    "txq.what.b32 d, [a]",
    missing=IMAGES,
    what="width height depth channel_data_type channel_order normalized_coords array_size num_mipmap_levels num_samples "
    "filter_mode addr_mode_0 addr_mode_1 addr_mode_2",
    **QUERY,
)
declare("txq.level.what.b32 d, [a], lod", missing=IMAGES, what="width height depth", **QUERY)
declare(
    "istypep.type p, a", missing=IMAGES, type="texref samplerref surfref", operands={"p": Pred(), "a": Reg("u64")}, writes="p"
)  # fmt: skip

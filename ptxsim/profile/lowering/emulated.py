"""PTX instructions that become sequences: the machine instructions by unit, and the latency of the whole.

Counts are what ptxas 13.0 emits for sm_90 on the path that is usually taken; latencies are measured. Definitions name these rows as
their cost.
"""

from __future__ import annotations

# After these comes a check whether the slow path is needed, and the convergence of the two.
CHECKED = ("div.rn.f32", "rcp.rn.f32", "sqrt.rn.f32", "div.f64", "rcp.f64", "sqrt.f64", "rsqrt.f64")
# Cycles of the routine on that path, and where it returns at once. Measured on an H200: loops of 64 in which some lanes need it, less the same
# without; the latter in proportion to the stall counts of both ways through its code (197 of 351, 98 of 146, 67 of 179).
DETOURS = {"div.rn.f32": (410.0, 230.0), "rcp.rn.f32": (175.0, 117.0), "sqrt.rn.f32": (190.0, 71.0)}

# What a division begins with that depends on the divisor alone: others by the same one have it.
INVERSES = {"div.s32": "inverse.s32", "div.u32": "inverse.u32"}

SEQUENCES: dict[str, tuple[list[str], float]] = {
    "free": ([], 0),  # a copy, which renaming of registers removes, or a constant
    "mufu.x2": (["mufu"] * 2, 17),
    "set": (["alu"] * 2, 4),
    "div.s32": (["alu"] * 9 + ["imad"] * 2 + ["imad.hi"], 58),  # with the divisor's inverse
    "div.u32": (["alu"] * 7 + ["imad"] + ["imad.hi"], 54),
    "inverse.s32": (["alu"] * 4 + ["imad"] * 3 + ["convert", "mufu", "convert", "imad.hi"], 80),
    "inverse.u32": (["alu"] * 3 + ["imad"] * 3 + ["convert", "mufu", "convert", "imad.hi"], 76),
    "div.64": (["alu"] * 40 + ["imad"] * 14 + ["imad.wide"] * 12 + ["convert"] * 2 + ["mufu"], 308),
    "div.rn.f32": (["mufu", "check", *["fma"] * 5], 58),
    "div.full.f32": (["fma"] * 4 + ["alu"] * 3 + ["mufu", "nothing"], 45),
    "div.approx.f32": (["fma"] * 2 + ["alu"] * 2 + ["mufu"], 41),
    "rcp.rn.f32": ([*["alu"] * 4, "mufu", *["fma"] * 3], 78),
    "rcp.approx.f32": (["fma"] * 2 + ["alu"] * 3 + ["mufu"], 41),
    "sqrt.rn.f32": (["alu", "alu", "mufu", *["fma"] * 4], 56),
    "scaled": (["alu", "fma", "mufu", "fma"], 39),  # denormals scaled before and after the function
    "ranged": (["fma", "mufu"], 23),
    "div.f64": ([*["alu"] * 7, "mufu", "fma", *["fp64"] * 8], 125),
    "rcp.f64": ([*["alu"] * 6, "mufu", *["fp64"] * 5], 74),
    "sqrt.f64": ([*["alu"] * 9, "mufu", *["fp64"] * 8], 94),
    "rsqrt.f64": ([*["alu"] * 5, "mufu", *["fp64"] * 5], 69),
    "min.f64": (["dsetp", "alu", "alu", "alu", "imad", "imad"], 25),
    "add.64": (["alu", "imad"], 5.3),
    "logic.64": (["alu", "alu"], 4),
    "shift.64": (["alu", "alu"], 8),
    "lea64": (["alu", "alu"], 8),
    "mul.64": (["imad", "imad", "imad.wide", "alu"], 17),
    "mul.64.half": (["imad.wide", "imad"], 10),  # where the upper half of one factor is zero
    "mul.64.low": (["imad.wide", "alu"], 11),  # and of both
    "mul.lo.64": (["imad.wide", "imad.wide", "alu", "imad.wide"], 17),  # of which the other half is made too
    "mul.hi.64.also": (["imad", "imad", "imad.wide"], 14),
    "mul.hi.64": (["imad.wide"] * 4 + ["alu"] * 3, 33),
    "minmax.64": (["alu"] * 4, 12),
    "select.64": (["alu"] * 2, 4),
    "predicate64": (["alu"] * 2, 8),
    "bfe": (["alu"] * 2, 8),
    "bfi": (["alu"] * 2, 10),
    "clz": (["find", "alu"], 23),
    "mul24": (["alu", "imad"], 10),
    "tf32.rna": (["alu", "imad", "alu"], 23),
    "fns": (["alu"] * 30 + ["convert"] * 4, 182),
    "call": (["branch", "alu", "branch"], 20),
}

# Registers that a sequence has in use beside its operands and results: what ptxas 13.0 says with -v of a kernel with it for sm_90, less the same with an addition.
HELD = {
    "div.rn.f32": 7, "rcp.rn.f32": 5, "sqrt.rn.f32": 4, "div.s32": 5, "div.u32": 3, "div.f64": 13, "rcp.f64": 5, "sqrt.f64": 11, "rsqrt.f64": 8,
    "div.64": 11, "mul.hi.64": 4,
}  # fmt: skip

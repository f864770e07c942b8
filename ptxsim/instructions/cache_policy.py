"""createpolicy. PTX ISA, "Data Movement and Conversion Instructions: createpolicy".

The 64 bits of a policy are opaque. Here the top byte says that it is a policy and its primary priority, the next digit the
sixteenths of addresses that get it, less one; so CUTLASS's constants come out. They have no effect on what is computed.
"""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import SEVERAL_GPUS, Word
from ptxsim.isa.operand import Addr, Reg, Value
from ptxsim.isa.registry import Kinds, Options, declare, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port

PRIMARY = "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"
SECONDARY = "L2::evict_first L2::evict_unchanged"
PRIORITY = {"L2::evict_normal": 0x16, "L2::evict_first": 0x12, "L2::evict_last": 0x14, "L2::evict_unchanged": 0x10}
CHOICES: Options = {"primary": PRIMARY, "secondary": SECONDARY, "requires": "7.4 sm_80"}
POLICY: Kinds = {
    "d": Reg("u64"), "fraction": Value("f32", literals=(0, 1)), "size": Value("u32"), "total": Value("u32"),
}  # fmt: skip


@instruction(
    "createpolicy.fractional.primary{.secondary}.b64 d{, fraction}", name="createpolicy.fractional",
    ordered=(("primary", "secondary"),), operands=POLICY, **CHOICES,
)  # fmt: skip
def fractional(m: Port, fraction: LaneValue, *, primary: Word) -> LaneValue:
    top = PRIORITY[primary] << 56
    if fraction is None:
        return lanes.cast(m.ballot(m.active()), "u64") * 0 + (top | 15 << 52)
    sixteenths = lanes.float_to_int(lanes.round_to_integral(fraction * 16, "rp"), "u64")
    return (lanes.minimum(lanes.maximum(sixteenths, sixteenths * 0 + 1), sixteenths * 0 + 16) - 1) << 52 | top


@instruction(
    "createpolicy.range{.global}.primary{.secondary}.b64 d, [a], size, total", name="createpolicy.range",
    ordered=(("primary", "secondary"),), operands=POLICY, **CHOICES,
)  # fmt: skip
def range_(a: LaneValue, size: LaneValue, total: LaneValue, *, primary: Word) -> LaneValue:
    return a * 0 + (PRIORITY[primary] << 56 | 15 << 52)


@instruction(
    "createpolicy.cvt.L2.b64 d, a", name="createpolicy.cvt", operands={"d": Reg("u64"), "a": Value("u64")},
    requires="7.4 sm_80",
)  # fmt: skip
def convert(a: LaneValue) -> LaneValue:
    return a


# Addresses of other devices are not modeled.
declare(
    "createpolicy.range.fabric.primary{.secondary}.b64 d, [a], size, total", missing=SEVERAL_GPUS, name="createpolicy.range",
    ordered=(("primary", "secondary"),), operands={**POLICY, "a": Addr("fabric", (Reg("u64"),))},
    **{**CHOICES, "requires": "9.4 sm_100"},
)  # fmt: skip

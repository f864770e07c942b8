"""Byte permutation. PTX ISA, "Data Movement and Conversion Instructions": prmt."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Value
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue


def _source_byte(mode: str, n: LaneValue, i: int) -> LaneValue:
    """Which of the eight source bytes (b.a, lowest first) goes to byte i, for the selector n = 0..3."""
    match mode:
        case "f4e":
            return n + i
        case "b4e":
            return n - i
        case "rc8":
            return n
        case "ecl":
            return lanes.maximum(n, i)
        case "ecr":
            return lanes.minimum(n, i)
        case "rc16":
            return (n & 1) * 2 + (i & 1)
    raise AssertionError(mode)


@instruction(
    "prmt.b32{.mode} d, a, b, c", cost="alu", mode="f4e b4e rc8 ecl ecr rc16", implies={"type": "b32"}, operands={"c": Value("u32")}
)  # fmt: skip
def permute(a: LaneValue, b: LaneValue, c: LaneValue, *, mode: Word) -> LaneValue:
    bytes_ = lanes.cast(a, "u64") | lanes.cast(b, "u64") << 32
    result = a ^ a
    for i in range(4):
        selector = lanes.shift_right(c, 4 * i) & 15 if mode is None else _source_byte(mode, c & 3, i)
        byte = lanes.cast(lanes.shift_right(bytes_, (selector & 7) * 8), "u32") & 0xFF
        if mode is None:  # the top bit of a selector spreads the byte's sign
            byte = lanes.where((selector & 8) != 0, lanes.where(byte >= 0x80, 0xFF, byte & 0), byte)
        result = result | byte << 8 * i
    return result

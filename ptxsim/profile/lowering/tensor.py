"""Tensor-core cost of mma, wmma and wgmma by shape and type. Cycles of one sub-core's tensor core per warp instruction."""

from __future__ import annotations

import re

SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
BITS = {
    "f64": 64,
    "tf32": 32,
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}

# (cycles, latency) of an mma.sync by bytes of a row of A (K times its width) and rows of A; measured.
_BY_ROW_BYTES = {16: (4.1, 17.0), 32: (6.2, 24.4), 64: (8.3, 24.5)}
# What sm_90 emulates: (machine instructions, latency of all) by rows and K.
_FOUR_BITS = {("8", "32"): (27, 174.0), ("16", "32"): (44, 231.0), ("16", "64"): (80, 463.0)}
_DOUBLE = {("8", "4"): (16, 26), ("16", "4"): (16.5, 34), ("16", "8"): (33, 50), ("16", "16"): (66, 82)}


def mma(opcode: str) -> tuple[int, float, float]:
    """(machine instructions, cycles each, latency of all) of an mma.sync or mma.sp."""
    m, n, k = SHAPE.search(opcode).groups()  # type: ignore[union-attr]
    types = [w for w in opcode.split(".") if w in BITS]
    a = types[1] if len(types) > 1 else types[0]
    if a == "f64":
        cycles, latency = _DOUBLE.get((m, k), (16, 26))
        return 1, cycles, latency
    sparse = ".sp" in opcode
    row = int(k) * BITS[a] // 8
    if a in ("e4m3", "e5m2"):
        return 10, 6.2, 62.0  # unpacked to f16, multiplied, added
    if m == "8" and a == "f16":
        return 40, 4.1, 427.0
    if a in ("s4", "u4"):
        count, latency = _FOUR_BITS[m, k]
        return count, 4.1, latency
    if a == "b1" and ".xor" in opcode:
        return (5, 4.1, 90.0) if m == "8" else (8, 4.1, 97.0)
    if m == "8":
        return 1, 4.0, 14.0
    if sparse:
        cycles, latency = (8.3, 24.5) if row >= 64 else (6.2, 17.3)
        return 1, cycles, latency
    cycles, latency = _BY_ROW_BYTES.get(row, (row / 5.2, 24.4))
    return 1, cycles, latency


def wmma(opcode: str) -> tuple[int, float, float]:
    """(machine instructions, cycles each, latency of all) of a wmma.mma."""
    types = [w for w in opcode.split(".") if w in BITS]
    if "f64" in types:
        return 2, 16, 42
    if "tf32" in types:
        return 4, 4.1, 29
    if {"s8", "u8"} & set(types):
        return 2, 4.1, 21
    return 2, 6.1, 24.4


def wgmma(opcode: str, a_in_registers: bool) -> float:
    """Cycles a wgmma holds the tensor cores: max(N / 2, shared bytes / 128)."""
    n = int(SHAPE.search(opcode).group(2))  # type: ignore[union-attr]
    if ".sp" in opcode:
        return max(n / 2, 31) if a_in_registers else 16 + n / 2
    return max(12.3, n / 2) if a_in_registers else max(n / 2, 16 + n / 4)

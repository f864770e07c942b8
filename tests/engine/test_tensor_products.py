"""Products on tensor memory give the same bits in both engines, for any bits of their operands."""

from dataclasses import replace

import numpy as np
import pytest

from ptxsim.layout.instruction_descriptor import KINDS, InstructionDescriptor
from ptxsim.layout.tensor_descriptor import TensorDescriptor
from tests.instructions.tcgen05.harness import COLUMNS, ROWS, SHARED, run

N = 32
F16, FP8 = ("f16", "f16", "bf16", "f32"), ("f8f6f4", "e4m3", "e5m2", "f32")
# Types, M, what else the descriptor says, CTAs, a word of the opcode, whether A is in tensor memory.
CASES = {
    "f16": (F16, 128, {}, 1, "", False),
    "f16 of 64 rows": (F16, 64, {}, 1, "", True),
    "f16 accumulators": (("f16", "f16", "f16", "f16"), 64, {"negate_b": True}, 1, "", False),
    "f16 of a pair": (F16, 128, {}, 2, "", True),
    "f16, M first": (F16, 128, {"transpose_a": True, "transpose_b": True}, 1, "", False),
    "tf32, sparse": (("tf32", "tf32", "tf32", "f32"), 128, {"sparse": True, "k": 16}, 1, "", True),
    "f16, sparse": (F16, 128, {"sparse": True, "k": 32}, 1, "", False),
    "fp8, stationary": (FP8, 32, {}, 1, ".ws", True),
    "fp8, M first": (FP8, 64, {"transpose_a": True, "transpose_b": True}, 1, "", False),
    "tf32, M first": (("tf32", "tf32", "tf32", "f32"), 128, {"transpose_a": True, "transpose_b": True}, 1, "", False),
    "fp6 and fp4": (("f8f6f4", "e2m3", "e2m1", "f32"), 128, {"negate_a": True}, 1, "", False),
    "fp4": (("f8f6f4", "e2m1", "e3m2", "f16"), 64, {}, 1, "", True),
    "i8 of memory": (("i8", "u8", "s8", "s32"), 128, {}, 1, "", True),
    "i8": (("i8", "s8", "u8", "s32"), 128, {"saturate": True}, 1, ".ws", False),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("case", "takes_d"), [*((case, 1) for case in CASES), ("f16", 0), ("f16 accumulators", 0), ("i8", 0)]
)
def test_any_bits(case, takes_d):
    (kind, a, b, d), m, more, ctas, opcode, from_memory = CASES[case]
    n = 64 if opcode else N
    words = replace(InstructionDescriptor(kind, m, n, KINDS[kind].k, d, a, b), **more)
    random = np.random.default_rng(7)
    memory = random.integers(0, 1 << 32, (ctas, ROWS, COLUMNS), np.uint32)
    image = random.integers(0, 256, (ctas, 32768), np.uint8)
    for bits in (memory, image.view(np.uint32)):  # not all extreme: half of the numbers are near 1
        bits[..., ::2] = bits[..., ::2] & 0x07FF07FF | 0x38003800
    if words.sparse:  # legal metadata: the second and the third of every four
        memory[:, :, 100:104] = 0x99999999 if kind == "f16" else 0xEEEE4444
    swizzle = "none" if words.transpose_a else "128B"
    tiles = [TensorDescriptor(SHARED + at, 2048, 1024, swizzle).encode() for at in (0, 16384)]
    place = "[%tmem+64]" if from_memory else "%a"
    metadata = ", [%tmem+100]" if words.sparse else ""
    sparse = ".sp" if words.sparse else ""
    body = (
        f"mov.b64 %a, {tiles[0]:#x}; mov.b64 %b, {tiles[1]:#x}; tcgen05.mma{opcode}{sparse}.cta_group::{ctas}.kind::{kind} [%tmem], "
        f"{place}, %b{metadata}, {words.encode():#x}, {takes_d};"
    )
    found = [run(body, image, memory, ctas, checks="none", engine=engine) for engine in ("interpreter", "compiled")]
    assert (found[0] == found[1]).all()
    assert (found[0] != memory).any()


@pytest.mark.thin(3)
@pytest.mark.parametrize(("ctas", "extreme"), [(1, False), (2, False), (1, True)])
def test_any_bits_with_block_scales(ctas, extreme):
    """Scales that f32 may have no room for are numpy's in both engines."""
    words = InstructionDescriptor(
        "mxf8f6f4", 128 * ctas, 64, 32, "f32", "e4m3", "e2m1", scale="ue8m0", scale_a=2, scale_b=1
    )
    random = np.random.default_rng(3)
    memory = random.integers(0, 1 << 32, (ctas, ROWS, COLUMNS), np.uint32)
    memory[..., :64] = memory[..., :64] & 0x07FF07FF | 0x38003800
    if not extreme:  # the same in all quarters
        near = random.integers(110, 140, (ctas, 32, 32, 4)).astype(np.uint8).view(np.uint32)[..., 0]
        memory[:, :, 96:] = np.tile(near, (1, 4, 1))
    image = random.integers(0, 256, (ctas, 32768), np.uint8)
    tiles = [TensorDescriptor(SHARED + at, 2048, 1024, "128B").encode() for at in (0, 16384)]
    body = (
        f"mov.b64 %a, {tiles[0]:#x}; mov.b64 %b, {tiles[1]:#x}; tcgen05.mma.cta_group::{ctas}.kind::mxf8f6f4.block_scale [%tmem], %a, "
        f"%b, {words.encode():#x}, [%tmem+100], [%tmem+120], 1;"
    )
    found = [run(body, image, memory, ctas, checks="none", engine=engine) for engine in ("interpreter", "compiled")]
    assert (found[0] == found[1]).all()
    assert (found[0] != memory).any()

"""Registers of one fragment used as another: what is told, and what correct kernels do and must not be told."""

import numpy as np
import pytest

import ptxsim
from ptxsim.engine.analysis.fragment_flow import types_match
from tests.helpers import launch, names, text_of

KERNEL = """.version 8.7
.target {target}
.address_size 64
.visible .entry k() {{
    .reg .b32 %r<40>;
    .reg .f32 %f<12>;
    .shared .align 128 .b8 tile[4096];
    mov.u32 %r0, %tid.x;
    mul.lo.u32 %r1, %r0, 0x9e3779b1;
    and.b32 %r1, %r1, 0x3fff3fff;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r0, 4;
    add.u32 %r3, %r2, %r3;
    xor.b32 %r4, %r1, 0x1111;
    xor.b32 %r5, %r1, 0x2222;
    st.shared.v4.b32 [%r3], {{%r1, %r4, %r5, %r1}};
    bar.warp.sync 0xffffffff;
    mov.f32 %f0, 0f00000000;
    mov.f32 %f1, %f0;
    mov.f32 %f2, %f0;
    mov.f32 %f3, %f0;
{body}
    ret;
}}
"""
A, B, D = "{%r10,%r11,%r12,%r13}", "{%r10,%r11}", "{%f0,%f1,%f2,%f3}"
WORDS = "{%r20,%r21,%r22,%r23}"
TO_WORDS = "".join(f"mov.b32 %r{20 + i}, %f{i};\n" for i in range(4))


def load(words=".m8n8.x4", type=".b16"):
    return f"ldmatrix.sync.aligned{words}.shared{type} {A}, [%r3];\n"


def mma(types="f16.f16", shape="m16n8k16", a=A, kind=""):
    return f"mma.sync.aligned.{shape}.row.col{kind}.f32.{types}.f32 {D}, {a}, {B}, {D};\n"


WMMA_A = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, [%r2];\n"
SYNC = "bar.warp.sync 0xffffffff;\n"  # lanes read what other lanes overwrite
STORE_D = SYNC + "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r2], {%f0,%f1,%f2,%f3,%f0,%f1,%f2,%f3};\n"
UNPACK4, FP4 = load(".m8n16.x4", ".b8x16.b4x16_p64"), mma("e2m1.e2m1", "m16n8k32", kind=".kind::f8f6f4")
UNPACK6 = load(".m8n16.x4", ".b8x16.b6x16_p32")
SHIFT = "".join(f"shl.b32 %r{i}, %r{i}, 2;\n" for i in range(10, 14))
BYTES = "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r10,%r11,%r12,%r13}, [%r3];\n"
STORED = SYNC + "stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%r3], {};\n"

# Name: target, body, level of the finding or None.
CASES = {
    "transposed halves as tf32": ("sm_90a", load(".m8n8.x4.trans") + mma("tf32.tf32", "m16n8k8"), "error"),
    "rows as tf32": ("sm_90a", load() + mma("tf32.tf32", "m16n8k8"), None),
    "transposed halves as f16": ("sm_90a", load(".m8n8.x4.trans") + mma(), None),
    "rows as bytes": ("sm_90a", load() + mma("e4m3.e5m2", "m16n8k32"), None),
    "an f32 D as f16": ("sm_90a", load() + mma() + TO_WORDS + mma(a=WORDS), "error"),
    "an f32 D as tf32": ("sm_90a", load() + mma() + TO_WORDS + mma("tf32.tf32", "m16n8k8", a=WORDS), None),
    "an f32 D as the next C": ("sm_90a", load() + mma() + mma("tf32.tf32", "m16n8k8"), None),
    "4-bit floats in the low bits": ("sm_120a", UNPACK4 + FP4, "error"),
    "4-bit floats shifted": ("sm_120a", UNPACK4 + SHIFT + FP4, None),
    "6-bit floats": ("sm_120a", UNPACK6 + mma("e3m2.e2m3", "m16n8k32", kind=".kind::f8f6f4"), None),
    "6-bit floats as 8-bit ones": ("sm_120a", UNPACK6 + mma("e4m3.e4m3", "m16n8k32"), "error"),
    "transposed bytes as bytes": ("sm_120a", BYTES + mma("e4m3.e4m3", "m16n8k32"), None),
    "transposed bytes as f16": ("sm_120a", BYTES + mma(), "error"),
    "an f32 D transposed in halves": (
        "sm_90a", load() + mma() + TO_WORDS + STORED.format(".trans", WORDS), "warning",
    ),
    "an f32 D stored in rows": ("sm_90a", load() + mma() + TO_WORDS + STORED.format("", WORDS), None),
    "halves loaded and stored transposed": ("sm_90a", load(".m8n8.x4.trans") + STORED.format(".trans", A), None),
    "a wmma A in mma": ("sm_90a", WMMA_A + mma(), "warning"),
    "the tile loaded both ways": ("sm_90a", WMMA_A + load() + mma(), None),
    "an mma D stored by wmma": ("sm_90a", load() + mma() + STORE_D, "warning"),
}  # fmt: skip
OVERWRITTEN = ("4-bit floats shifted", "the tile loaded both ways")


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", CASES)
def test_uses(name, engine):
    target, body, level = CASES[name]
    run = launch(KERNEL.format(target=target, body=body), engine=engine, checks="all")
    found = [(f.name, f.level) for f in run.findings if f.level != "note"]
    assert found == ([("fragment-mismatch", level)] if level else [])


@pytest.mark.parametrize("name", CASES)
def test_native_code_takes_what_cannot_mismatch(name):
    """The flow of registers tells every program with a finding, and of the others those that overwrite registers."""
    target, body, level = CASES[name]
    program = ptxsim.Module.from_text(KERNEL.format(target=target, body=body)).kernel("k").program(target)
    assert types_match(program) == (level is None and name not in OVERWRITTEN)


def wmma(operand, first, words, shape="m16n16k16", layout="row", type="f16", letter="r"):
    registers = ",".join(f"%{letter}{first + i}" for i in range(words))
    return f"wmma.load.{operand}.sync.aligned.{layout}.{shape}.shared.{type} {{{registers}}}, [%r2];\n"


EIGHT_A, EIGHT_B = ("{" + ",".join(f"%r{first + i}" for i in range(8)) + "}" for first in (10, 20))
EIGHT_D = "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}"


def multiply(layouts, shape="m16n16k16"):
    return f"wmma.mma.sync.aligned.{layouts}.{shape}.f32.f32 {EIGHT_D}, {EIGHT_A}, {EIGHT_B}, {EIGHT_D};\n"


def store(shape="m16n16k16", layout="row"):
    return f"wmma.store.d.sync.aligned.{layout}.{shape}.shared.f32 [%r2], {EIGHT_D};\n"


LOADED = wmma("a", 10, 8) + wmma("b", 20, 8, layout="col") + wmma("c", 0, 8, type="f32", letter="f")
WMMA_CASES = {
    "as it was loaded": (LOADED + multiply("row.col") + store(), []),
    "stored by columns": (LOADED + multiply("row.col") + store(layout="col"), []),
    "A of another layout": (LOADED + multiply("col.col"), ["fragment-mismatch"]),
    "B of another layout": (LOADED + multiply("row.row"), ["fragment-mismatch"]),
    "of another shape": (LOADED + multiply("row.col", "m32n8k16"), ["fragment-mismatch"]),
    "A for B": (
        wmma("a", 10, 8) + wmma("a", 20, 8, layout="col") + multiply("row.col"), ["fragment-mismatch"],
    ),
    "another type": (
        wmma("a", 10, 4, type="bf16") + wmma("b", 20, 4, type="bf16", layout="col")
        + "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 "
        + "{%r30,%r31,%r32,%r33,%r34,%r35,%r36,%r37}, {%r10,%r11}, {%r20,%r21}, {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0};\n",
        ["fragment-mismatch"],
    ),
    "D stored as another shape": (
        LOADED + multiply("row.col") + store("m32n8k16"), ["fragment-mismatch"],
    ),
}  # fmt: skip


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", WMMA_CASES)
def test_fragments_of_wmma(name, engine):
    body, expected = WMMA_CASES[name]
    zeros = "".join(f"mov.f32 %f{i}, %f0;\n" for i in range(4, 8))
    run = launch(KERNEL.format(target="sm_90a", body=zeros + body), engine=engine, checks="all")
    assert sorted(set(names(run.findings, "error"))) == expected


def test_accumulators_of_a_warpgroup(engine):
    """The D of wgmma, converted bit by bit rather than in value, as the A of the next."""
    text = text_of("machine/bits_of_accumulators.ptx")
    run = launch(text, [np.zeros(4)], block=128, engine=engine, checks="all")
    assert "fragment-mismatch" in names(run.findings)
    module = ptxsim.Module.from_text(text)
    assert not types_match(module.kernel("k").program())

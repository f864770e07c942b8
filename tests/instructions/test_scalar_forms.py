"""Which scalar forms exist where: answers of the assembler, one for each rule."""

from __future__ import annotations

import pytest

from ptxsim.isa.bind import Bound
from tests.instructions.scalar_form import bind

ACCEPTED = [
    ("add.f32.rz f1, f2, f3;", "sm_70", (6, 0)),  # the order of modifiers is free
    ("add.bf16 h1, h2, h3;", "sm_90", (7, 8)),
    ("add.u16x2 r1, r2, r3;", "sm_90", (8, 0)),
    ("add.f32x2 rd1, rd2, rd3;", "sm_100", (8, 6)),
    ("add.sat.u32 r1, r2, r3;", "sm_120a", (9, 2)),
    ("cvt.rn.satfinite.e4m3x2.f32 h1, f2, f3;", "sm_89", (8, 1)),
    ("cvt.rn.satfinite.e2m3x2.f32 h1, f2, f3;", "sm_120f", (8, 8)),
    ("cvt.u8.u32 r1, r2;", "sm_70", (6, 0)),  # a register wider than its type
    ("fma.rn.relu.bf16x2 r1, r2, r3, r4;", "sm_80", (7, 0)),
    ("lop3.b32 r1, r2, r3, r4, -1;", "sm_70", (6, 0)),
    ("max.NaN.xorsign.abs.f16 h1, h2, h3;", "sm_86", (7, 2)),
    ("max.f32 f1, f2, f3, f4;", "sm_100", (8, 8)),
    ("setp.lt.f16x2 p1|p2, r2, r3;", "sm_70", (6, 0)),
    ("vadd.s32.u32.s32.sat r1, r2.b1, r3.h0;", "sm_70", (6, 0)),
]
REFUSED = [
    ("add.bf16 h1, h2, h3;", "sm_80", (7, 8), "wrong-target"),
    ("add.bf16.sat h1, h2, h3;", "sm_90", (9, 0), "illegal-form"),
    ("add.f16.rz h1, h2, h3;", "sm_90", (9, 0), "illegal-form"),
    ("add.f32 f1, f2, 1;", "sm_90", (9, 0), "operand-mismatch"),
    ("add.f16x2 r1, r2, 1;", "sm_90", (9, 0), "operand-mismatch"),
    ("add.f32x2 rd1, rd2, rd3;", "sm_90", (9, 0), "wrong-target"),
    ("bmsk.clamp.b32 r1, r2, r3;", "sm_70", (7, 5), "wrong-version"),
    ("cvt.sat.u32.u8 r1, h2;", "sm_90", (9, 0), "illegal-form"),
    ("cvt.rn.bf16.u16 h1, r2;", "sm_90", (9, 0), "operand-mismatch"),
    ("cvt.rn.satfinite.e4m3x2.f32 h1, f2, f3;", "sm_80", (9, 0), "wrong-target"),
    ("cvt.s32.f32 r1, f2;", "sm_90", (9, 0), "illegal-form"),
    ("div.f32.full f1, f2, f3;", "sm_90", (9, 0), "illegal-form"),
    ("max.NaN.xorsign.f16 h1, h2, h3;", "sm_90", (9, 0), "illegal-form"),
    ("max.relu.u32 r1, r2, r3;", "sm_90", (9, 0), "illegal-form"),
    ("mul.u32.lo r1, r2, r3;", "sm_90", (9, 0), "illegal-form"),  # .lo belongs to the name
    ("setp.lt.b32 p1, r2, r3;", "sm_90", (9, 0), "illegal-form"),
    ("setp.s32.lo p1, r2, r3;", "sm_90", (9, 0), "illegal-form"),
    ("vadd.s32.s32.s32 r1, r2.b4, r3;", "sm_90", (9, 0), "operand-mismatch"),
]


@pytest.mark.parametrize(("text", "target", "version"), ACCEPTED)
def test_accepted(text, target, version):
    bound = bind(text, target, version)
    assert isinstance(bound, Bound), bound.message


@pytest.mark.parametrize(("text", "target", "version", "finding"), REFUSED)
def test_refused(text, target, version, finding):
    bound = bind(text, target, version)
    assert not isinstance(bound, Bound)
    assert bound.name == finding, bound.message

"""Packed floats of several types: which statements are bound, where and since when."""

import pytest

from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.registry import forms
from ptxsim.syntax.parser import parse_body
from ptxsim.types import parse_target
from tests.isa.generate import Names

FOUR = """\
add.rn.e4m3x4.e2m1x4 %r1, %h1, %r2;
add.satfinite.e5m2x4.e3m2x4 %r1, %r2, %r3;
sub.satfinite.e5m2x4.e2m1p4x4 %r1, %r2, %r3;
sub.rn.satfinite.e4m3x4.ue8m0x4 %r1, %r2, %r3;
mul.rn.satfinite.e4m3x4.e2m1x4.e2m1x4 %r1, %h1, %h2;
mul.e4m3x4.e2m1p4x4.e4m3x4.satfinite %r1, %r2, %r3;
fma.e4m3x4.e2m1x4.e3m2x4 %r1, %h1, %r2, %r3;
fma.rn.e5m2x4.ue8m0x4.e2m3x4 %r1, %r2, %r3, %r4;"""
TWO = """\
add.f32x2.f16x2.f32x2 %rd1, %r1, %rd2;
add.rp.f32x2.bf16x2.f32x2 %rd1, %r1, %rd2;
sub.rz.f32x2.f16x2.f32x2 %rd1, %r1, %rd2;
fma.rm.f32x2.bf16x2.f32x2.f32x2 %rd1, %r1, %rd2, %rd3;
add.rz.ftz.f16x2.f32x2.f32x2 %r1, %rd1, %rd2;
sub.rz.bf16x2.f32x2.f32x2 %r1, %rd1, %rd2;
mul.ftz.rz.f16x2.f32x2.f32x2 %r1, %rd1, %rd2;
mul.bf16x2.bf16x2.f16x2 %r1, %r2, %r3;
mul.f16x2.f16x2.bf16x2 %r1, %r2, %r3;"""


def bind(text: str, target: str, version=(9, 4)):
    return Binder(parse_target(target), version).bind(parse_body(text)[0], Names())


@pytest.mark.parametrize("text", FOUR.splitlines())
def test_four_narrow_floats(text):
    for target in ("sm_100a", "sm_103a"):
        bound = bind(text, target)
        assert isinstance(bound, Bound) and bound.definition.modeled
        assert bind(text, target, (9, 3)).name == "wrong-version"
    for target in ("sm_100", "sm_100f", "sm_103f", "sm_107a", "sm_120a", "sm_90a"):
        assert bind(text, target).name == "wrong-target"


@pytest.mark.parametrize("text", TWO.splitlines())
def test_halves_with_singles(text):
    for target in ("sm_107f", "sm_107a"):
        assert isinstance(bind(text, target), Bound)
    for target in ("sm_107", "sm_103f", "sm_120f"):
        assert bind(text, target).name == "wrong-target"


@pytest.mark.parametrize(
    "text",
    [
        "add.e4m3x4 %r1, %r2, %r3;",
        "add.rn.e2m1x4.e4m3x4 %r1, %r2, %r3;",
        "add.rz.e4m3x4.e5m2x4 %r1, %r2, %r3;",
        "sub.ftz.e4m3x4.e2m1x4 %r1, %h1, %r3;",
        "mul.rn.e4m3x4.e2m1p4x4 %r1, %r2, %r3;",
        "fma.rn.e4m3x4.e2m1x4 %r1, %h1, %r2, %r3;",
        "add.rn.e4m3x4.e2m1x4 %r1, %r2, %r3;",
        "add.rn.e4m3x4.e2m1p4x4 %r1, %h1, %r3;",
        "sub.rn.e4m3x4.e5m2x4 %h1, %r2, %r3;",
        "fma.rn.e4m3x4.e2m1x4.e3m2x4 %r1, %h1, %r2, %h2;",
        "add.rn.e4m3x4.e2m1x4 %r1, %h1;",
    ],
)
def test_what_there_is_not(text):
    assert bind(text, "sm_100a").name in ("illegal-form", "operand-mismatch")


def test_what_gives_halves_is_listed_as_missing():
    missing = [form for name in ("add", "sub", "mul", "fma") for form in forms(name) if not form.definition.modeled]
    assert all("f16x2" in form.notation or "fma.rounding" in form.notation for form in missing)
    assert sum("no public text" in form.definition.facts.missing for form in missing) == 8

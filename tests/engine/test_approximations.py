"""Reciprocals of approximations with .ftz, which the assembler takes out; each case was read from ptxas 13.0's machine code."""

import numpy as np
import pytest

import ptxsim

HEAD = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{ .reg .f32 %f<9>; .reg .b64 %a, %o; .reg .b32 %t; .reg .pred %p;
ld.param.u64 %a, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a; mad.wide.u32 %o, %t, 4, %o;
ld.global.f32 %f1, [%a]; setp.gt.f32 %p, %f1, 1.0; mov.f32 %f4, %f1;
"""
X = np.linspace(-7, 7, 32, dtype=np.float32) + np.float32(0.013)


def run(statements, engine):
    out = np.zeros(32, np.float32)
    text = f"{HEAD}{statements}\nst.global.f32 [%o], %f4; ret; }}"
    ptxsim.Module.from_text(text).kernel("k").launch(1, 32, [X.copy(), out], engine=engine)
    return out


def alone(name, x, engine):
    return run(f"{name}.approx.ftz.f32 %f4, {x};", engine)


EX2 = "ex2.approx.ftz.f32 %f3, %f1;"
RCP = "rcp.approx.ftz.f32 %f4, %f3;"


@pytest.mark.parametrize("between", ("", "add.f32 %f1, %f1, %f1;"))
def test_the_reciprocal_of_an_exponential_is_that_of_the_negative(between, engine):
    expected = run("neg.f32 %f3, %f1; ex2.approx.ftz.f32 %f4, %f3;", engine)
    assert np.array_equal(run(f"{EX2} {between} {RCP}", engine), expected)
    assert not np.array_equal(run(f"{EX2} add.f32 %f2, %f3, %f3; {RCP} st.global.f32 [%o], %f2;", engine), expected)
    assert not np.array_equal(run(EX2.replace(".ftz", "") + RCP, engine), expected)


def test_a_guard_leaves_the_other_lanes_as_they_were(engine):
    straight = run(f"{EX2} {RCP}", engine)
    assert np.array_equal(run(f"{EX2} @%p {RCP}", engine), np.where(X > 1, straight, X))


def test_what_some_lanes_computed_is_computed_again(engine):
    halves = run(f"mov.f32 %f3, %f1; @%p {EX2} {RCP}", engine)
    assert np.array_equal(halves[X <= 1], alone("rcp", "%f1", engine)[X <= 1])
    assert not np.array_equal(halves, run(f"{EX2} {RCP}", engine))


@pytest.mark.parametrize("after", ("", "add.f32 %f1, %f1, %f1;"))
def test_the_reciprocal_of_a_reciprocal_is_what_there_was(after, engine):
    assert np.array_equal(run(f"rcp.approx.ftz.f32 %f3, %f1; {after} {RCP}", engine), X)
    twice = run(f"rcp.approx.ftz.f32 %f3, %f1; {RCP} rcp.approx.ftz.f32 %f4, %f4;", engine)
    assert np.array_equal(twice, alone("rcp", "%f1", engine))

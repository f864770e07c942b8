"""Which unrounded products the assembler fuses into sums; each case was read from ptxas 13.0's machine code for sm_90.

With a = b = 1 + 2^-12 and c = -(1 + 2^-11), the fused sum is 2^-24 and the one with two roundings is 0.
"""

import numpy as np
import pytest

import ptxsim

A, C = 1 + 2.0**-12, -(1 + 2.0**-11)
FUSED = 2.0**-24
START = f"mov.f32 %f1, {A}; mov.f32 %f2, {A}; mov.f32 %f3, {C}; mov.f32 %f4, {C};"
DECLARE = ".reg .b32 %a; .reg .f32 %f<12>; .reg .pred %p<2>;"

CASES = {  # statements -> which registers hold a fused sum
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f3,%f5;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; add.f32 %f7,%f5,%f4;": {"%f6": True, "%f7": True},
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; mov.u32 %a, 1024; st.shared.f32 [%a], %f5;": {"%f6": False},
    "mul.rn.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; add.rn.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; add.rn.f32 %f7,%f5,%f4;": {"%f6": False, "%f7": False},
    "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; mul.f32 %f7,%f5,%f4;": {"%f6": False},
    "mul.sat.f32 %f5,%f1,0f3F000000; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.ftz.f32 %f5,%f1,%f2; add.ftz.f32 %f6,%f5,%f3;": {"%f6": True},
    "mul.ftz.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; bar.sync 0; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @%p1 add.f32 %f6,%f5,%f3;": {"%f6": True},
    "setp.eq.f32 %p1,%f1,%f2; mov.f32 %f5,%f4; @%p1 mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "setp.ne.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @%p1 exit; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; L: add.f32 %f6,%f5,%f3;": {"%f6": True},
}


@pytest.mark.parametrize("text", CASES)
def test_as_the_assembler_fuses(text, engine):
    s = ptxsim.snippet(DECLARE + START + text, shared=np.zeros(4, np.float32), engine=engine)
    for register, fused in CASES[text].items():
        value = float(s.registers[register].view("f4")[0])
        assert (value == FUSED) if fused else (value != FUSED), value


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f8,%f3,%f4; add.f32 %f6,%f5,%f8;", "first"),
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f8,%f3,%f4; add.f32 %f6,%f8,%f5;", "second"),
        ("mul.f32 %f8,%f3,%f4; mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f8;", "first"),
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f8,%f3,%f4; add.f32 %f6,%f5,%f8; add.f32 %f7,%f5,%f3;", "second"),
    ],
)
def test_a_sum_of_two_products_takes_one(text, factors, engine):
    rng = np.random.default_rng(1)
    f1, f2, f3, f4 = rng.standard_normal((4, 32)).astype(np.float32)
    given = {"%f1": f1, "%f2": f2, "%f3": f3, "%f4": f4}
    s = ptxsim.snippet(DECLARE + text, registers=given, engine=engine)
    wide = [x.astype(np.float64) for x in (f1, f2, f3, f4)]
    first = (wide[0] * wide[1] + (f3 * f4).astype(np.float64)).astype(np.float32)
    second = (wide[2] * wide[3] + (f1 * f2).astype(np.float64)).astype(np.float32)
    assert (first != second).any()
    assert np.array_equal(s.registers["%f6"].view("f4"), first if factors == "first" else second)


@pytest.mark.parametrize("operation", ["add", "sub"])
@pytest.mark.parametrize("swap", [False, True])
def test_differences_in_double_precision(operation, swap, engine):
    rng = np.random.default_rng(2)
    a, b, c = rng.integers(1, 1 << 30, (3, 32)).astype(np.float64) / 3
    operands = "%c,%p" if swap else "%p,%c"
    text = f".reg .f64 %a,%b,%c,%p,%d; mul.f64 %p,%a,%b; {operation}.f64 %d,{operands};"
    s = ptxsim.snippet(text, registers={"%a": a, "%b": b, "%c": c}, engine=engine)
    from fractions import Fraction

    for lane in range(32):
        product, rest = Fraction(a[lane]) * Fraction(b[lane]), Fraction(c[lane])
        exact = product + rest if operation == "add" else rest - product if swap else product - rest
        assert s.registers["%d"].view("f8")[lane] == float(exact)

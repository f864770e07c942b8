"""Which unrounded products the assembler fuses into sums; each case was read from ptxas 13.0's machine code for sm_90.

With a = b = 1 + 2^-12 and c = -(1 + 2^-11), the fused sum is 2^-24 and the one with two roundings is 0.
"""

import numpy as np
import pytest

import ptxsim

A, C = 1 + 2.0**-12, -(1 + 2.0**-11)
FUSED = 2.0**-24
GIVEN = {"%f1": A, "%f2": A, "%f3": C, "%f4": C}
CONSTANT = f"mov.f32 %f2, {A};"
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
    # What ptxas makes branches of.
    "mul.f32 %f5,%f1,%f2; sqrt.rn.f32 %f9,%f1; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; div.rn.f32 %f9,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; rcp.rn.f32 %f9,%f1; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; div.full.f32 %f9,%f1,%f2; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "mov.u32 %a,7; mul.f32 %f5,%f1,%f2; div.s32 %a,%a,%a; add.f32 %f6,%f5,%f3;": {"%f6": False},
    "mov.u32 %a,7; mul.f32 %f5,%f1,%f2; div.u32 %a,%a,%a; add.f32 %f6,%f5,%f3;": {"%f6": True},
    # Products with a constant, which goes through mov, are computed where they are used.
    CONSTANT + "setp.ne.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @%p1 exit; add.f32 %f6,%f5,%f3;": {"%f6": True},
    CONSTANT + "mul.f32 %f5,%f1,%f2; sqrt.rn.f32 %f9,%f1; add.f32 %f6,%f5,%f3;": {"%f6": True},
    CONSTANT
    + "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @!%p1 bra L; add.f32 %f6,%f5,%f3; L: add.f32 %f7,%f5,%f4;": {
        "%f6": True,
        "%f7": True,
    },
    CONSTANT + "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @!%p1 bra L; neg.f32 %f8,%f5; sub.f32 %f6,%f3,%f8; L:": {
        "%f6": True
    },
    CONSTANT + "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; mov.f32 %f1,%f4; @!%p1 bra L; add.f32 %f6,%f5,%f3; L:": {
        "%f6": True
    },
    CONSTANT
    + "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @!%p1 bra L; max.f32 %f7,%f5,%f4; L: add.f32 %f6,%f5,%f3;": {
        "%f6": False
    },
    # ... unless another value may have come, or the product's loop has been left.
    CONSTANT + "setp.ne.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @!%p1 bra L; mov.f32 %f5,%f4; L: add.f32 %f6,%f5,%f3;": {
        "%f6": False
    },
    CONSTANT
    + "mov.u32 %a,2; L: mul.f32 %f5,%f1,%f2; sub.u32 %a,%a,1; setp.ne.u32 %p1,%a,0; @%p1 bra L; add.f32 %f6,%f5,%f3;": {
        "%f6": False
    },
    CONSTANT
    + "mov.u32 %a,2; mul.f32 %f5,%f1,%f2; L: add.f32 %f6,%f5,%f3; sub.u32 %a,%a,1; setp.ne.u32 %p1,%a,0; @%p1 bra L;": {
        "%f6": True
    },
    CONSTANT
    + "mov.u32 %a,2; mov.f32 %f5,%f1; L: add.f32 %f6,%f5,%f3; mul.f32 %f5,%f1,%f2; sub.u32 %a,%a,1; setp.ne.u32 %p1,%a,0; @%p1 bra L;": {
        "%f6": False
    },
    # neg.ftz is a sum of its own where it is subtracted; so is a minimum of equal numbers.
    "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f9,%f5; sub.ftz.f32 %f6,%f3,%f9;": {"%f6": False},
    "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f9,%f5; mul.ftz.f32 %f7,%f9,%f3; add.ftz.f32 %f6,%f5,%f3;": {"%f6": False},
    "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f9,%f5; mul.ftz.f32 %f7,%f9,%f3; sub.ftz.f32 %f6,%f9,%f3;": {"%f7": False},
    "mul.ftz.f32 %f5,%f1,%f2; min.ftz.f32 %f9,%f5,%f5; mul.ftz.f32 %f7,%f9,%f3; add.ftz.f32 %f6,%f9,%f3;": {
        "%f6": True
    },
    "mul.ftz.f32 %f5,%f1,%f2; min.ftz.f32 %f9,%f5,%f5; mul.ftz.f32 %f7,%f9,%f3; add.ftz.f32 %f6,%f5,%f3;": {
        "%f6": False
    },
    # ... and sums look through it, but not through a copy of it.
    "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f8,%f5; neg.ftz.f32 %f9,%f8; add.ftz.f32 %f6,%f9,%f3;": {"%f6": False},
    "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f8,%f5; neg.f32 %f9,%f8; add.ftz.f32 %f6,%f9,%f3;": {"%f6": False},
    "mul.ftz.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; neg.ftz.f32 %f9,%f8; add.ftz.f32 %f6,%f9,%f3;": {"%f6": True},
    "mul.ftz.f32 %f5,%f1,%f2; min.ftz.f32 %f8,%f5,%f5; max.ftz.f32 %f9,%f8,%f8; add.ftz.f32 %f6,%f9,%f3;": {
        "%f6": False
    },
    # A comparison of a number with itself that may only come out one way is no use.
    "mul.f32 %f5,%f1,%f2; set.gt.u32.f32 %a,%f5,%f5; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; setp.geu.f32 %p1,%f5,%f5; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; setp.ge.f32 %p1,%f5,%f5; add.f32 %f6,%f5,%f3;": {"%f6": False},
    # That another lane has read a register before is no use of what is in it now.
    "shfl.sync.bfly.b32 %f7,%f5,1,31,-1; mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; mov.u32 %a,1024; "
    "st.shared.f32 [%a],%f6;": {"%f6": True},
    # Copies, whatever they are called.
    "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; selp.b32 %f9,%f5,%f5,%p1; add.f32 %f6,%f9,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; max.f32 %f9,%f5,%f5; add.f32 %f6,%f9,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; max.NaN.f32 %f9,%f5,%f5; add.f32 %f6,%f9,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f2; max.f32 %f9,%f5,%f1; add.f32 %f6,%f9,%f3;": {"%f6": False},
    "setp.eq.f32 %p1,%f1,%f2; mul.f32 %f5,%f1,%f2; @%p1 min.f32 %f5,%f5,%f5; add.f32 %f6,%f5,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f1; abs.f32 %f9,%f5; add.f32 %f6,%f9,%f3;": {"%f6": True},
    "mul.ftz.f32 %f5,%f1,%f1; abs.ftz.f32 %f9,%f5; mul.ftz.f32 %f7,%f9,%f3; add.ftz.f32 %f6,%f9,%f3;": {"%f6": True},
    "mul.f32 %f5,%f1,%f2; abs.f32 %f9,%f5; add.f32 %f6,%f9,%f3;": {"%f6": False},
    "mul.f32 %f5,%f1,%f1; neg.f32 %f9,%f5; abs.f32 %f9,%f9; add.f32 %f6,%f9,%f3;": {"%f6": False},
}


@pytest.mark.parametrize("text", CASES)
def test_as_the_assembler_fuses(text, engine):
    given = {name: np.full(32, value, np.float32) for name, value in GIVEN.items()}
    s = ptxsim.snippet(DECLARE + text, registers=given, shared=np.zeros(4, np.float32), engine=engine)
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


def test_what_neg_ftz_has_made_of_a_product_is_subtracted_from_the_product_itself(engine):
    rng = np.random.default_rng(6)
    f1, f2 = rng.standard_normal((2, 32)).astype(np.float32)
    text = "mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f8,%f5; sub.ftz.f32 %f6,%f8,%f8;"
    s = ptxsim.snippet(DECLARE + text, registers={"%f1": f1, "%f2": f2}, engine=engine)
    exact = (f1 * f2).astype(np.float64) - f1.astype(np.float64) * f2.astype(np.float64)
    assert np.array_equal(s.registers["%f6"].view("f4"), exact.astype(np.float32))


def test_a_product_is_fused_until_another_takes_one_of_its_sums(engine):
    """Two products that are used often: %f8 takes %f7 itself and %f5 rounded, %f6 before it still takes %f5 itself."""
    text = "mul.f32 %f5,%f1,%f2; add.f32 %f6,%f3,%f5; mul.f32 %f7,%f3,%f4; add.f32 %f8,%f7,%f5; add.f32 %f9,%f7,%f8;"
    rng = np.random.default_rng(5)
    f1, f2, f3, f4 = rng.standard_normal((4, 32)).astype(np.float32)
    s = ptxsim.snippet(DECLARE + text, registers={"%f1": f1, "%f2": f2, "%f3": f3, "%f4": f4}, engine=engine)
    a, b, c, d = (x.astype(np.float64) for x in (f1, f2, f3, f4))
    assert np.array_equal(s.registers["%f6"].view("f4"), (a * b + c).astype(np.float32))
    assert np.array_equal(s.registers["%f8"].view("f4"), (c * d + (f1 * f2)).astype(np.float32))


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


@pytest.mark.parametrize(
    ("text", "product"),
    [
        ("mul.f32 %f1,%f1,%f2; add.f32 %f6,%f1,%f3;", 1),  # into a factor's register
        ("mul.f32 %f5,%f1,%f2; mov.f32 %f1,%f4; add.f32 %f6,%f5,%f3;", 1),
        ("mul.f32 %f5,%f1,%f2; mov.f32 %f2,%f4; mov.f32 %f1,%f4; sub.f32 %f6,%f5,%f3;", 1),
        ("mul.f32 %f5,%f1,%f2; mov.f32 %f8,%f5; add.f32 %f6,%f8,%f3;", 1),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; add.f32 %f6,%f8,%f3;", -1),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; sub.f32 %f6,%f8,%f3;", -1),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; sub.f32 %f6,%f3,%f8;", 1),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; neg.f32 %f9,%f8; add.f32 %f6,%f9,%f3;", 1),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f8,%f5; add.f32 %f6,%f8,%f3; add.f32 %f7,%f5,%f4;", -1),
    ],
)
def test_values_are_fused_whatever_register_they_are_in(text, product, engine):
    rng = np.random.default_rng(3)
    f1, f2, f3, f4 = rng.standard_normal((4, 32)).astype(np.float32)
    s = ptxsim.snippet(DECLARE + text, registers={"%f1": f1, "%f2": f2, "%f3": f3, "%f4": f4}, engine=engine)
    rest = -f3 if "sub.f32 %f6,%f5,%f3" in text or "sub.f32 %f6,%f8,%f3" in text else f3
    exact = product * f1.astype(np.float64) * f2.astype(np.float64) + rest.astype(np.float64)
    assert np.array_equal(s.registers["%f6"].view("f4"), exact.astype(np.float32))


def test_a_quotient_is_a_product_with_a_reciprocal(engine):
    """div.full ends with a product, which a sum takes: a * rcp(b) + c with one rounding."""
    rng = np.random.default_rng(4)
    a, b, c = rng.uniform(1, 2, (3, 32)).astype(np.float32)
    given = {"%f1": a, "%f2": b, "%f3": c}
    alone = ptxsim.snippet(DECLARE + "rcp.approx.ftz.f32 %f5,%f2;", registers=given, engine=engine)
    reciprocal = alone.registers["%f5"].view("f4").astype(np.float64)
    s = ptxsim.snippet(DECLARE + "div.full.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3;", registers=given, engine=engine)
    assert np.array_equal(s.registers["%f6"].view("f4"), (a * reciprocal + c).astype(np.float32))
    assert np.array_equal(s.registers["%f5"].view("f4"), (a * reciprocal).astype(np.float32))


def test_what_nobody_wants_is_no_use(engine):
    """A product that a dead operation reads, too, is fused."""
    text = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b64 %a; .reg .f32 %f<7>;
    ld.param.u64 %a, [x];
    ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4];
    mul.f32 %f3, %f1, %f1;
    mul.f32 %f4, %f3, %f1;
    add.f32 %f5, %f3, %f2;
    st.global.f32 [%a+8], %f5;
    ret;
}
"""
    x = np.array([A, C, 0], np.float32)
    ptxsim.Module.from_text(text).kernel().launch(1, 1, [x], engine=engine)
    assert x[2] == FUSED


def test_packed_products_are_fused_until_a_sum_takes_another(engine):
    """The first sum takes the product of its first operand; the other product is needed rounded then, also by its second sum."""
    rng = np.random.default_rng(5)
    f = rng.uniform(1, 2, (5, 32)).astype(np.float16)
    given = {f"%r{n}": np.repeat(x, 2).view(np.uint32) for n, x in enumerate(f)}
    text = """.reg .b32 %r<12>;
    mul.f16x2 %r5,%r0,%r1; mul.f16x2 %r6,%r2,%r3; add.f16x2 %r7,%r5,%r6; sub.f16x2 %r8,%r5,%r4; sub.f16x2 %r9,%r6,%r4;"""
    s = ptxsim.snippet(text, registers=given, engine=engine)
    wide = f.astype(np.float64)
    first, rounded = wide[0] * wide[1], (f[2] * f[3]).astype(np.float64)
    for register, exact in {"%r7": first + rounded, "%r8": first - wide[4], "%r9": rounded - wide[4]}.items():
        assert np.array_equal(s.registers[register].view("f2")[::2], exact.astype(np.float16)), register


# Statement -> whether a sum of the negative product is fused: the assembler looks through neg but where it makes an operation of it.
NEGATIVES = {"f16": True, "bf16": True, "f16x2": True, "bf16x2": False, "ftz.f16": False, "ftz.f16x2": False}


@pytest.mark.parametrize("type", NEGATIVES)
def test_negative_products_of_halves(type, engine):
    """a = 1 + 2^-k for the least k of which a^2 rounds: the sum with what a^2 rounds to says whether it has been rounded."""
    word = type.removeprefix("ftz.")
    bits, one, ulp, twice = (16, 0x3F80, 0x3F81, 0x3F82) if word.startswith("bf16") else (16, 0x3C00, 0x3C01, 0x3C02)
    assert one < ulp < twice
    register = "b32" if word.endswith("x2") else "b16"
    a, square = (value << bits | value if register == "b32" else value for value in (ulp, twice))
    text = (
        f".reg .{register} %h<9>; mov.{register} %h1,{a}; mov.{register} %h2,{square}; mul.{type} %h3,%h1,%h1; neg.{type} %h4,%h3;"
        f"add.{type} %h5,%h4,%h2;"
    )
    s = ptxsim.snippet(text, engine=engine)
    assert (s.registers["%h5"] != 0).all() == NEGATIVES[type]


NAN = 0xFFC12345
# Statements on a NaN -> what they leave of its bits: copies and selections leave all, arithmetic makes it canonical.
OF_A_NAN = {
    "min.f32 %f2,%f1,%f1;": NAN,
    "max.f32 %f2,%f1,%f1;": NAN,
    "min.NaN.f32 %f2,%f1,%f1;": 0x7FFFFFFF,
    "max.ftz.f32 %f2,%f1,%f1;": 0x7FFFFFFF,
    "neg.f32 %f2,%f1;": 0x7FFFFFFF,
    "neg.ftz.f32 %f3,%f1; neg.ftz.f32 %f2,%f3;": 0x7FFFFFFF,
    "setp.eq.b32 %p1,%f1,%f1; @%p1 neg.f32 %f2,%f1;": NAN ^ 1 << 31,
    "setp.eq.b32 %p1,%f1,%f1; @%p1 abs.f32 %f2,%f1;": NAN & ~(1 << 31),
    "setp.eq.b32 %p1,%f1,%f1; @%p1 neg.ftz.f32 %f2,%f1;": 0x7FFFFFFF,
}


def test_negatives_of_different_types_undo_nothing(engine):
    text = ".reg .b32 %r<4>; mov.b32 %r1,0; neg.f32 %r2,%r1; neg.f16x2 %r3,%r2;"
    assert (ptxsim.snippet(text, engine=engine).registers["%r3"] == 0x8000).all()


@pytest.mark.parametrize("text", OF_A_NAN)
def test_what_copies_leave_of_a_nan(text, engine):
    """Read from the machine code of ptxas 13.0, and from what an H200 makes of it (tools/data/programs)."""
    given = np.full(32, NAN, np.uint32)
    s = ptxsim.snippet(".reg .f32 %f<4>; .reg .pred %p<2>;" + text, registers={"%f1": given.view("f4")}, engine=engine)
    assert (s.registers["%f2"].view("u4") == OF_A_NAN[text]).all()

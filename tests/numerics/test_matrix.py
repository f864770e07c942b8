"""Algorithms other than the plain fused one, each against a few lines of exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.lanes import fma
from ptxsim.numerics import find, product, sparse_product
from ptxsim.numerics.fma import fma_f64
from tests.numerics import reference
from tests.numerics.samples import random_codes

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25, deadline=None)


@quick
@given(seeds)
def test_fp8_mma_on_hopper_is_two_f16_blocks_and_an_addition(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(4, 32)), rng.normal(size=(32, 3))
    import ml_dtypes

    a, b = (x.astype(ml_dtypes.float8_e4m3fn) for x in (a, b))
    c = rng.normal(size=(4, 3)).astype(np.float32)
    d = product("mma.m16n8k32.f32.e4m3.e4m3.f32", a.view(np.uint8), b.view(np.uint8), c.view(np.uint32))
    a16, b16 = (x.astype(np.float16).view(np.uint16) for x in (a, b))
    order = [k for k in range(32) if k % 4 < 2] + [k for k in range(32) if k % 4 >= 2]
    for m in range(4):
        for n in range(3):
            bits = reference.chain(
                a16[m, order].tolist(), b16[order, n].tolist(), 0, "f16", "f16", "f32", 16, 25, -133, "f32"
            )
            assert d.view(np.float32)[m, n] == c[m, n] + np.array(bits, np.uint32).view(np.float32)


@quick
@given(seeds, st.sampled_from(["finite", "zeros", "tiny"]))
def test_m8n8k4_on_hopper_is_a_chain_of_fma(seed, kind):
    rng = np.random.default_rng(seed)
    a, b = random_codes(rng, (8, 4), "f16", kind), random_codes(rng, (4, 8), "f16", kind)
    c = random_codes(rng, (8, 8), "f32", "finite")
    d = product("mma.m8n8k4.f32.f16.f16.f32", a, b, c).view(np.float32)
    x, y, z = a.view(np.float16), b.view(np.float16), c.view(np.float32)
    for m in range(8):
        for n in range(8):
            total = Fraction(0)
            for k in range(4):
                total = Fraction(nearest_f32(Fraction(float(x[m, k])) * Fraction(float(y[k, n])) + total))
            assert d[m, n] == np.float32(z[m, n] + np.float32(float(total)))


def nearest_f32(exact: Fraction) -> float:
    if exact == 0:
        return 0.0
    exponent = max(-149, int(np.frexp(float(exact))[1]) - 24)
    return float(round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent)


@quick
@given(st.lists(st.tuples(*[st.floats(width=32)] * 3), min_size=1, max_size=20))
def test_fma_f32_rounds_once(rows):
    a, b, c = np.array(rows, np.float32).T
    with np.errstate(all="ignore"):
        rounded = fma(a, b, c)
    for x, y, z, got in zip(a, b, c, rounded):
        exact = None
        if np.isfinite([x, y, z]).all():
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if exact is not None and abs(exact) < 2**127 and exact != 0:
            assert got == nearest_f32(exact)


def beside(number, way):
    """The next number that way, after the largest one where it would be if there were one."""
    with np.errstate(over="ignore"):
        found = np.nextafter(number, way)
    return Fraction(float(found)) if np.isfinite(found) else Fraction(int(np.sign(found)) * 2**1024)


@quick
@given(st.lists(st.tuples(*[st.floats()] * 3), min_size=1, max_size=20), st.sampled_from(["rn", "rz", "rm", "rp"]))
@example([(0.0, 0.0, 1.7976931348623157e308), (0.0, 0.0, -1.7976931348623157e308)], "rz")
@example([(0.0, 0.0, 1.7976931348623157e308)], "rm")
@example([(0.0, 0.0, -1.7976931348623157e308)], "rp")
def test_fma_f64_rounds_once_in_every_mode(rows, rounding):
    a, b, c = np.array(rows).T
    for x, y, z, got in zip(a, b, c, fma_f64(a, b, c, rounding)):
        if not np.isfinite([x, y, z]).all():
            with np.errstate(all="ignore"):
                plain = z if np.isfinite(x) and np.isfinite(y) else x * y + z
            assert np.array_equal(got, plain, equal_nan=True)
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        limit = Fraction(np.finfo(np.float64).max)
        if abs(exact) > limit:
            continue
        value = Fraction(float(got))
        if rounding == "rn":
            neighbours = [np.nextafter(got, -np.inf), np.nextafter(got, np.inf)]
            assert all(abs(value - exact) <= abs(Fraction(float(v)) - exact) for v in neighbours if np.isfinite(v))
        elif rounding == "rm" or (rounding == "rz" and exact > 0):
            assert value <= exact < beside(got, np.inf)
        elif rounding == "rp" or (rounding == "rz" and exact < 0):
            assert beside(got, -np.inf) < exact <= value


def test_f64_zero_signs_follow_the_rounding():
    one, zero = np.array([1.0]), np.array([0.0])
    assert np.signbit(fma_f64(one, -one, one, "rm"))[0]
    assert not np.signbit(fma_f64(one, -one, one, "rn"))[0]
    assert np.signbit(fma_f64(-one, zero, -zero, "rn"))[0]


@pytest.mark.parametrize("a_type, b_type", [("s8", "u8"), ("u8", "u8"), ("s4", "u4"), ("u4", "s4")])
@given(seed=seeds)
@quick
def test_integers_wrap_or_clamp(a_type, b_type, seed):
    rng = np.random.default_rng(seed)
    a, b = random_codes(rng, (8, 32), a_type, "bits"), random_codes(rng, (32, 8), b_type, "bits")
    c = rng.integers(0, 2**32, (8, 8), dtype=np.uint32)

    def signed(codes, name):
        bits = int(name[1:])
        numbers = codes.astype(object)
        return numbers - (numbers >> (bits - 1) << bits) if name[0] == "s" else numbers

    exact = signed(a, a_type) @ signed(b, b_type) + signed(c, "s32")
    form = f"mma.m8n8k32.s32.{a_type}.{b_type}.s32"
    assert (product(form, a, b, c) == exact % 2**32).all()
    assert (product(form, a, b, c, satfinite=True) == np.clip(exact, -(2**31), 2**31 - 1) % 2**32).all()
    assert (
        product(form.replace(".s32.", ".satfinite.s32.", 1), a, b, c) == np.clip(exact, -(2**31), 2**31 - 1) % 2**32
    ).all()


def test_single_bits():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (8, 128), np.uint8), rng.integers(0, 2, (128, 8), np.uint8)
    c = np.full((8, 8), 2**32 - 10, np.uint32)
    both = (a[:, :, None] & b[None]).sum(axis=1)
    either = (a[:, :, None] ^ b[None]).sum(axis=1)
    assert (product("mma.m8n8k128.s32.b1.b1.s32.and.popc", a, b, c) == (both - 10) % 2**32).all()
    assert (product("mma.m8n8k128.s32.b1.b1.s32.xor.popc", a, b, c) == (either - 10) % 2**32).all()


def test_sparse_products_skip_what_is_not_kept():
    rng = np.random.default_rng(2)
    columns = np.sort(np.stack([rng.permuted(np.tile(np.arange(4), (16, 8, 1)), axis=2)[..., :2]])[0], axis=-1)
    columns = (columns + 4 * np.arange(8)[:, None]).reshape(16, 16)
    a, b = random_codes(rng, (16, 16), "f16", "finite"), random_codes(rng, (32, 8), "f16", "finite")
    c = random_codes(rng, (16, 8), "f32", "finite")
    d = sparse_product("mma.sp.m16n8k32.f32.f16.f16.f32", a, columns, b, c)
    for m in range(16):
        kept = b[columns[m]]
        assert np.array_equal(d[m], product("mma.m16n8k16.f32.f16.f16.f32", a[m : m + 1], kept, c[m : m + 1])[0])


def test_negated_operands():
    rng = np.random.default_rng(4)
    form = "wgmma.m64n8k16.f32.f16.f16"
    a, b = random_codes(rng, (64, 16), "f16", "finite"), random_codes(rng, (16, 8), "f16", "finite")
    c = random_codes(rng, (64, 8), "f32", "finite")
    flipped = product(form, a ^ np.uint16(0x8000), b, c)
    assert np.array_equal(product(form, a, b, c, negate_a=True), flipped)
    assert np.array_equal(product(form, a, b, c, negate_b=True), flipped)
    assert np.array_equal(product(form, a, b, c, negate_a=True, negate_b=True), product(form, a, b, c))


def test_f16_result_with_f32_accumulator_is_rounded_twice():
    a, b = np.full((1, 16), 0x3C00, np.uint16), np.zeros((16, 1), np.uint16)
    b[:2, 0] = 0x6800, 0x3C00  # 2048 + 1 + c
    c = np.array([[2.0**-20]], np.float32).view(np.uint32)
    d = product("wmma.m16n16k16.f16.f32", a, b, c)
    # f32 keeps 2049 alone, which ties to 2048 in f16; an exact sum would give 2050.
    assert d.view(np.float16)[0, 0] == 2048


def test_unknown_arithmetic_is_said():
    with pytest.raises(PtxError) as error:
        find("wgmma.m64n8k16.f32.f16.f16", "sm_80")
    assert error.value.findings[0].name == "not-modeled"
    with pytest.raises(PtxError) as error:
        find("mma.m16n8k16.f16", "sm_90")
    assert "more than one meaning" in str(error.value)
    with pytest.raises(PtxError):
        find("ld.global.f32", "sm_90")

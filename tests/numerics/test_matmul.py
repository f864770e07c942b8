"""The compiled bulk kernel and the public matmul against the instruction-sized path."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.numerics import find, matmul, product
from ptxsim.numerics.formats import code_dtype
from tests.numerics.samples import KINDS, random_codes

FORMS = [
    ("mma.m16n8k16.f32.f16.f16.f32", "sm_80"),
    ("mma.m16n8k32.f32.e4m3.e5m2.f32", "sm_89"),
    ("wgmma.m64n256k16.f32.f16.f16", "sm_90a"),
    ("wgmma.m64n256k16.f16.f16.f16", "sm_90a"),
    ("wgmma.m64n256k16.f32.bf16.bf16", "sm_90a"),
    ("wgmma.m64n256k8.f32.tf32.tf32", "sm_90a"),
    ("wgmma.m64n256k32.f32.e4m3.e5m2", "sm_90a"),
    ("mma.m16n8k32.f32.e4m3.e4m3.f32", "sm_90"),
    ("wmma.m16n16k16.f16.f32", "sm_90"),
    ("mma.m16n8k8.f32.tf32.tf32.f32", "sm_80"),
    ("mma.m8n8k4.f32.f16.f16.f32", "sm_70"),
    ("mma.m8n8k4.f16.f16.f16.f16", "sm_75"),
    ("wgmma.m64n256k32.f16.e5m2.e5m2", "sm_90a"),
    ("mma.m16n8k16.f16.e5m2.e4m3.f16", "sm_90"),
    ("tcgen05.m128n256k32.f32.e5m2.e4m3.f32", "sm_100a"),
    ("mma.m16n8k32.f16.e3m2.e2m1.f16", "sm_120a"),
]


@pytest.mark.slow
@pytest.mark.parametrize("form, target", FORMS)
def test_bulk_equals_the_instruction(form, target):
    rng = np.random.default_rng(len(form))
    rule = find(form, target)
    for kind in KINDS:
        m, n, k = 10, 150, 2 * rule.form.k + 3
        a, b = random_codes(rng, (m, k), rule.form.a, kind), random_codes(rng, (k, n), rule.form.b, kind)
        c = random_codes(rng, (m, n), rule.form.c, kind)
        if kind == "bits":  # not a special value in every row
            a[4:], b[:, 9:] = a[4:] & ~np.uint32(1 << 2), np.minimum(b[:, 9:], b.dtype.type(1 << (8 * b.itemsize - 4)))
        if kind == "zeros":
            a[:, ::2] = random_codes(rng, a[:, ::2].shape, rule.form.a, "finite")
        d = matmul(a, b, c, form, target)
        assert d.dtype == code_dtype(rule.form.d)
        assert np.array_equal(d, product(rule, a, b, c))


@pytest.mark.slow
@pytest.mark.parametrize("form, target", FORMS[:8:2])
@pytest.mark.parametrize("shape", [(3, 24, 150), (40, 16, 8), (300, 1, 1)], ids=str)
def test_many_small_products(form, target, shape):
    rng = np.random.default_rng(len(form))
    rule = find(form, target)
    items, m, n = shape
    for kind in KINDS:
        for k in (2 * rule.form.k, rule.form.k + 3):
            k = max(k, 64) if shape == (300, 1, 1) else k
            a, b = (
                random_codes(rng, (items, m, k), rule.form.a, kind),
                random_codes(rng, (items, k, n), rule.form.b, kind),
            )
            c = random_codes(rng, (items, m, n), rule.form.c, kind)
            expected = np.stack([product(rule, *item) for item in zip(a, b, c, strict=True)])
            assert np.array_equal(matmul(a, b, c, form, target), expected)
            one = matmul(a[:1], b, np.repeat(c[:1], items, 0), form, target)  # one A for all
            assert np.array_equal(one, np.stack([product(rule, a[0], y, c[0]) for y in b]))


@pytest.mark.slow
@pytest.mark.parametrize("values", [(np.inf,), (np.nan, -np.inf, 3e38, 1e-40)])
@pytest.mark.parametrize("whole", [False, True], ids=["scattered", "dense"])
def test_extreme_outputs_among_ordinary_ones(values, whole):
    """What float32 cannot hold is computed by the numpy form: one output in each row, or all of some rows and columns."""
    rng = np.random.default_rng(1)
    rule = find("wgmma.m64n256k16.f32.f16.f16", "sm_90a")
    a, b = (rng.normal(size=s).astype(np.float16).view(np.uint16) for s in ((64, 48), (48, 150)))
    c = rng.normal(size=(64, 150)).astype(np.float32)
    if whole:
        c[3:9, 20:60] = rng.choice(values, (6, 40))
    else:
        np.fill_diagonal(c, rng.choice(values, 64))
    c = c.view(np.uint32)
    assert np.array_equal(matmul(a, b, c, "wgmma.m64n256k16.f32.f16.f16"), product(rule, a, b, c))


@pytest.mark.slow
@pytest.mark.parametrize("items", [1, 127, 128, 1030])
def test_many_pairs_in_any_number_and_read_only(items):
    """Lanes that a stripe has too many, rows of more words than are turned at once, special values in some lanes."""
    rng = np.random.default_rng(items)
    form, target = "mma.m16n8k16.f32.f16.f16.f32", "sm_90"
    k = 16 * -(-(1 << 14) // (16 * items))
    a, b = random_codes(rng, (items, 1, k), "f16", "finite"), random_codes(rng, (items, k, 1), "f16", "finite")
    a[::7, 0, 3], a[::5, 0, :2] = 0x7C00, 1  # infinite, subnormal
    b[::11, 4, 0] = 0x7E00  # NaN
    c = random_codes(rng, (items, 1, 1), "f32", "finite")
    expected = np.stack([product(find(form, target), *item) for item in zip(a, b, c, strict=True)])
    for array in (a, b, c):
        array.flags.writeable = False
    assert np.array_equal(matmul(a, b, c, form, target), expected)


@pytest.mark.slow
def test_operands_that_cannot_be_written():
    a, b = np.ones((64, 32), np.float16), np.ones((32, 64), np.float16)
    a.flags.writeable = b.flags.writeable = False
    assert (matmul(a, b) == 32).all()
    c = np.broadcast_to(np.float32(1), (64, 64))
    assert (matmul(a, b, c) == 33).all()


def test_small_and_large_exponents_leave_the_fast_path_and_come_back():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(16, 64)).astype(ml_dtypes.bfloat16)
    b = (rng.normal(size=(64, 128)) * 2.0 ** rng.integers(-120, 127, 128)).astype(ml_dtypes.bfloat16)
    c = np.zeros((16, 128), np.float32)
    form = "wgmma.m64n256k16.f32.bf16.bf16"
    d = matmul(a, b, c, form)
    assert d.dtype == np.float32
    assert np.array_equal(d.view(np.uint32), product(form, a.view(np.uint16), b.view(np.uint16), c.view(np.uint32)))


def test_what_is_cut_to_nothing_is_positive():
    """A C of -0 and tiny negative products that lie below the last bit kept: +0, since not every term is a zero."""
    a, b = np.full((64, 16), 0x0080, np.uint16), np.full((16, 256), 0x8080, np.uint16)
    c = np.full((64, 256), 0x80000000, np.uint32)
    assert not matmul(a, b, c, "wgmma.m64n256k16.f32.bf16.bf16").any()


@pytest.mark.parametrize(
    "shape", [(1, 1, 16), (7, 5, 16), (64, 256, 16), (3, 300, 48), (200, 1, 100), (0, 4, 16), (3, 4, 0)]
)
def test_any_shape(shape):
    m, n, k = shape
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(m, k)).astype(np.float16), rng.normal(size=(k, n)).astype(np.float16)
    d = matmul(a, b)
    assert d.shape == (m, n) and d.dtype == np.float32
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(d, expected, atol=1e-4)


def test_leading_axes():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(5, 1, 16)).astype(np.float16), rng.normal(size=(5, 16, 1)).astype(np.float16)
    d = matmul(a, b, form="mma.m16n8k16.f32.f16.f16.f32", target="sm_80")
    for i in range(5):
        assert np.array_equal(d[i], matmul(a[i], b[i], form="mma.m16n8k16.f32.f16.f16.f32", target="sm_80"))


def test_other_number_kinds():
    rng = np.random.default_rng(2)
    a, b = rng.integers(-128, 128, (40, 64), np.int8), rng.integers(-128, 128, (64, 40), np.int8)
    assert np.array_equal(matmul(a, b, form="wgmma.m64n8k32.s32.s8.s8"), a.astype(np.int32) @ b.astype(np.int32))
    x, y = rng.normal(size=(8, 12)), rng.normal(size=(12, 8))
    assert np.allclose(matmul(x, y, form="mma.m8n8k4.f64"), x @ y)


def test_every_instruction_of_a_chain_clamps():
    a, b = np.full((1, 64), 127, np.int8), np.full((64, 1), 127, np.int8)
    b[32:] = -128
    c = np.array([[2**31 - 1]], np.int32)
    form = "mma.m16n8k32.satfinite.s32.s8.s8.s32"
    assert matmul(a, b, c, form)[0, 0] == 2**31 - 1 - 32 * 127 * 128


def test_exact_mode():
    a = np.array([[1.0, 2**-11, -1.0] + [0] * 13], np.float16)
    b = np.array([[2.0**15], [2.0**-14], [2.0**15]] + [[0]] * 13, np.float16)
    assert matmul(a, b)[0, 0] == 0.0
    assert matmul(a, b, numerics="exact")[0, 0] == 2.0**-25


@pytest.mark.parametrize(
    "arguments, name",
    [
        ((np.zeros((4, 16), np.float32), np.zeros((16, 4), np.float16)), "operand-mismatch"),
        ((np.zeros((4, 16), np.float16), np.zeros((8, 4), np.float16)), "operand-mismatch"),
        (
            (np.zeros((4, 16), np.float16), np.zeros((16, 4), np.float16), np.zeros((4, 5), np.float32)),
            "operand-mismatch",
        ),
        ((np.zeros((4, 16), np.float16), np.zeros((16, 4), np.float16), None, "add.f32"), "syntax-error"),
        ((np.zeros((4, 16), np.float16), np.zeros((16, 4), np.float16), None, "mma.m16n8k16.f16"), "illegal-form"),
        (
            (np.zeros((4, 16), np.float16), np.zeros((16, 4), np.float16), None, "mma.m16n8k16.f32.f16.f16", "sm_1x"),
            "wrong-target",
        ),
    ],
)
def test_errors_say_what_is_wrong(arguments, name):
    with pytest.raises(PtxError) as error:
        matmul(*arguments)
    assert error.value.findings[0].name == name


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16", "mma.m8n8k4.f64"])
def test_compiled_kernels_give_equal_bits(form):
    rng = np.random.default_rng(8)
    rule = find(form)
    f = rule.form
    kind = "bits" if f.a == "f16" else "finite"
    a, b = random_codes(rng, (f.m, f.k), f.a, kind), random_codes(rng, (f.k, f.n), f.b, kind)
    c = random_codes(rng, (f.m, f.n), f.c, kind)
    plain, compiled = (product(rule, a, b, c, compiled=compiled) for compiled in (False, True))
    assert np.array_equal(compiled, plain)


@pytest.mark.slow
def test_a_broken_cache_is_replaced(tmp_path, monkeypatch):
    """What lies in numba's cache may be cut short: the kernel is compiled anew."""
    import os
    import subprocess
    import sys

    program = (
        "import numpy as np; from ptxsim.numerics import matmul;"
        "x = np.ones((64, 16), np.float16); print(matmul(x, np.ones((16, 64), np.float16))[3, 4])"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert run.stdout.strip() == "16.0", run.stderr
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        for path in files:
            path.write_bytes(path.read_bytes()[:7])

"""Native matrix products against the interpreter's, on words of every kind: random bits, ordinary numbers, zeros, tiny and huge ones."""

import ctypes
from functools import cache

import numpy as np
import pytest

from ptxsim.engine.compiled.codegen.function import described
from ptxsim.engine.compiled.library import Library, library
from ptxsim.engine.compiled.tensor import dot_f64
from ptxsim.engine.compiled.tensor import warp_product as products
from ptxsim.jit.compiler import Jit
from ptxsim.jit.store import ObjectStore
from ptxsim.machine.product import multiply, product_of
from ptxsim.numerics.fused import HIGHEST, LOWEST

# Family, shape, types of D, A, B and C, target, sparse.
FORMS = [
    ("mma", "m16n8k16", "f32 f16 f16 f32", "sm_90a", False),
    ("mma", "m16n8k8", "f16 f16 f16 f16", "sm_80", False),
    ("mma", "m16n8k8", "f32 bf16 bf16 f32", "sm_90a", False),
    ("mma", "m16n8k4", "f32 tf32 tf32 f32", "sm_80", False),
    ("mma", "m16n8k32", "f32 e4m3 e5m2 f32", "sm_90a", False),
    ("mma", "m16n8k32", "f16 e4m3 e5m2 f16", "sm_90a", False),
    ("mma", "m16n8k32", "f32 e4m3 e4m3 f32", "sm_89", False),
    ("mma", "m16n8k32", "f16 e5m2 e4m3 f16", "sm_120a", False),
    ("mma", "m16n8k32", "s32 s8 u8 s32", "sm_90a", False),
    ("mma", "m8n8k32", "s32 u4 s4 s32", "sm_90a", False),
    ("mma", "m16n8k16", "f32 f16 f16 f32", "sm_90a", True),
    ("mma", "m16n8k32", "f16 f16 f16 f16", "sm_90a", True),
    ("mma", "m16n8k8", "f32 tf32 tf32 f32", "sm_90a", True),
    ("mma", "m16n8k64", "f32 e4m3 e5m2 f32", "sm_90a", True),
    ("mma", "m16n8k64", "s32 s8 u8 s32", "sm_90a", True),
    ("mma", "m16n8k64", "s32 s4 u4 s32", "sm_90a", True),
    ("wmma", "m16n16k16", "f16 f16 f16 f32", "sm_90a", False),
    ("wmma", "m32n8k16", "f32 f16 f16 f16", "sm_90a", False),
    ("wmma", "m8n32k16", "f32 bf16 bf16 f32", "sm_90a", False),
    ("wmma", "m8n32k16", "s32 s8 s8 s32", "sm_90a", False),
    ("wmma", "m16n16k8", "f32 tf32 tf32 f32", "sm_90a", False),
    ("wmma", "m16n16k16", "f32 f16 f16 f32", "sm_70", False),
]


@cache
def native(product, selector: int, ordered: bool):
    """A function of the addresses of the words of A, B, C, D and the metadata."""
    return function_of(library(), product, selector, ordered)


def function_of(known: Library, product, selector: int = 0, ordered: bool = False):
    description = products.describe(product, selector, ordered)
    name = described(known.prefix, "product", description)
    known.provide({name: description})
    return ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 5)(known.jit.address(name))


def words(rng: np.random.Generator, count: int, kind: str) -> np.ndarray:
    raw = rng.integers(0, 2**32, (count, 32), np.uint32)
    if kind == "ordinary":  # exponents of every small float near the middle
        return raw & np.uint32(0xBFBFBFBF) | np.uint32(0x30303030)
    if (
        kind == "tiny"
    ):  # products of bf16 and tf32 that f32 has no room to scale, some of them so small that they are cut
        return raw & np.uint32(0x8FFF8FFF) | np.uint32(0x20002000)
    if kind == "zeros":
        return raw & np.uint32(0x80008000) * rng.integers(0, 2, raw.shape, np.uint32)
    return raw


def accumulators(rng: np.random.Generator, fragment, kind: str) -> np.ndarray:
    if fragment.type == "f32" and kind != "bits":
        sizes = 2.0 ** rng.integers(-148, 120, (fragment.words, 32)) * (kind == "ordinary")
        return (rng.normal(size=sizes.shape) * sizes).astype(np.float32).view(np.uint32)
    return words(rng, fragment.words, kind)


@pytest.mark.thin(5)
@pytest.mark.parametrize("family, shape, types, target, sparse", FORMS)
def test_native_products_equal_the_interpreters(family, shape, types, target, sparse):
    product = product_of(family, shape, tuple(types.split()), target, sparse=sparse)
    assert products.supported(product)
    rng = np.random.default_rng(3)
    for selector in range(product.sparsity.selectors if sparse else 1):
        run = native(product, selector, False)
        for kind in ("bits", "ordinary", "zeros", "tiny", "bits", "ordinary"):
            a, b = (words(rng, f.words, kind) for f in (product.a, product.b))
            c, d = accumulators(rng, product.c, kind), np.zeros((product.d.words, 32), np.uint32)
            legal = [4, 14] if "tf32" in types else [4, 8, 12, 9, 13, 14, 1]
            nibbles = rng.choice(np.array(legal, np.uint32), (32, 8)) << np.arange(0, 32, 4, np.uint32)
            metadata = nibbles.sum(1).astype(np.uint32)
            assert run(*(x.ctypes.data for x in (a, b, c, d, metadata)))
            wanted = multiply(product, a, b, c, metadata if sparse else None, selector)
            np.testing.assert_array_equal(d, wanted)


def test_the_largest_products_of_one_sign_fit():
    """A block of 32 is summed in two parts: all would not fit an i32."""
    product = product_of("mma", "m16n8k32", ("f32", "e4m3", "e4m3", "f32"), "sm_120a")
    a, b = (np.full((f.words, 32), 0x3F3F3F3F, np.uint32) for f in (product.a, product.b))  # 1.875
    c, d = (np.zeros((f.words, 32), np.uint32) for f in (product.c, product.d))
    assert native(product, 0, False)(*(x.ctypes.data for x in (a, b, c, d, c)))
    np.testing.assert_array_equal(d.view(np.float32), 32 * 1.875**2)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("last, wanted", [((-24, -24), 0), ((-18, -18), 1), ((-14, -14), 1)])
def test_small_f16_results(target, last, wanted):
    """2^-25 is in the middle between two numbers: something more is cut, if it is below 2^-44 or so, or counts."""
    product = product_of("mma", "m16n8k8", ("f16",) * 4, target)
    a, b = (np.full((f.words, 32), small(first) | small(second) << 16, np.uint32)
            for f, first, second in zip((product.a, product.b), (-12, -13), last, strict=True))  # fmt: skip
    b[:, np.arange(32) % 4 > 0] = 0  # the first two k alone count
    c, d = (np.zeros((f.words, 32), np.uint32) for f in (product.c, product.d))
    assert native(product, 0, False)(*(x.ctypes.data for x in (a, b, c, d, c)))
    np.testing.assert_array_equal(d, multiply(product, a, b, c))
    assert (d == wanted * 0x10001).all()


def small(exponent: int) -> int:
    """The code of a power of two as f16."""
    return int(np.float16(2.0**exponent).view(np.uint16))


@pytest.mark.parametrize("c", [0.0, -0.0, 2.0**-149, -(2.0**-149), 2.0**-126])
@pytest.mark.parametrize("sign", [0, 0x8000])
def test_products_that_are_cut_to_nothing(sign, c):
    product = product_of("mma", "m16n8k8", ("f32", "bf16", "bf16", "f32"), "sm_90a")
    code = 127 - 80 << 7
    a, b = (np.full((f.words, 32), x * 0x10001, np.uint32) for f, x in ((product.a, sign | code), (product.b, code)))
    c, d = np.full((product.c.words, 32), c, np.float32).view(np.uint32), np.zeros((product.d.words, 32), np.uint32)
    assert native(product, 0, False)(*(x.ctypes.data for x in (a, b, c, d, a)))
    np.testing.assert_array_equal(d, multiply(product, a, b, c))


@pytest.mark.parametrize("by_c", [False, True])
def test_ordinary_exponents_do_not_take_the_long_way(monkeypatch, by_c):
    """What takes it has another result here."""

    def wrong(name, rule, module) -> str:
        head = f"@{name}(ptr %s, ptr %f, <32 x float> %c, <32 x i16> %l, ptr %ks, i64 %n) noinline #0"
        return f"define internal <32 x float> {head} {{\n  ret <32 x float> splat (float 0x7FF8000000000000)\n}}\n"

    monkeypatch.setattr(dot_f64, "text", wrong)
    product = product_of("mma", "m16n8k8", ("f32", "bf16", "bf16", "f32"), "sm_90a")
    apart = Library(Jit(store=ObjectStore("")))
    apart.prefix = "apart_"  # names are those of the process: nobody else is to link this
    run = function_of(apart, product)
    for top in (LOWEST - 1, LOWEST, -1, 0, 1, HIGHEST, HIGHEST + 1):
        powers = (top - top // 2, top // 2) if not by_c else (LOWEST, LOWEST)
        a, b = (
            np.full((f.words, 32), (max(127 + n, 1) << 7) * 0x10001, np.uint32)
            for f, n in zip((product.a, product.b), powers, strict=True)
        )
        c = np.full((product.c.words, 32), -(2.0**top) if by_c else 0, np.float32)
        d = np.zeros_like(c)
        assert run(*(x.ctypes.data for x in (a, b, c, d, a)))
        if LOWEST <= top <= HIGHEST:
            np.testing.assert_array_equal(d.view(np.uint32), multiply(product, a, b, c.view(np.uint32)))
        else:
            assert np.isnan(d).all()
    # Neither do zeros.
    for zeros in (np.arange(32) >= 0, np.arange(32) // 4 % 2 == 0, np.arange(32) // 4 % 2 == 1):  # of B's columns
        a, b = (np.full((f.words, 32), 0x40004000, np.uint32) for f in (product.a, product.b))
        b[:, zeros] = 0
        c, d = (np.zeros((product.c.words, 32), np.float32) for _ in "cd")
        assert run(*(x.ctypes.data for x in (a, b, c, d, a)))
        np.testing.assert_array_equal(d.view(np.uint32), multiply(product, a, b, c.view(np.uint32)))


@pytest.mark.parametrize(
    "shape, kind, metadata, ordered, good",
    [
        ("m16n8k16", "f16", 0x44444444, True, True),
        ("m16n8k16", "f16", 0x44444440, False, False),
        ("m16n8k16", "f16", 0x44444441, True, False),
        ("m16n8k16", "f16", 0x44444445, True, False),
        ("m16n8k8", "tf32", 0x444444E4, False, True),
        ("m16n8k8", "tf32", 0x44444484, False, False),
    ],
)
def test_metadata_that_means_nothing_is_left_to_the_interpreter(shape, kind, metadata, ordered, good):
    product = product_of("mma", shape, ("f32", kind, kind, "f32"), "sm_90a", sparse=True)
    operands = [np.zeros((f.words, 32), np.uint32) for f in (product.a, product.b, product.c, product.d)]
    codes = np.full(32, metadata, np.uint32)
    assert native(product, 0, ordered)(*(x.ctypes.data for x in (*operands, codes))) == good

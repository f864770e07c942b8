"""Native matrix products against the interpreter's, on words of every kind: random bits, ordinary numbers, zeros, tiny and huge ones."""

import ctypes
from functools import cache

import numpy as np
import pytest

from ptxsim.engine.compiled.codegen.function import described
from ptxsim.engine.compiled.library import library
from ptxsim.engine.compiled.tensor import warp_product as products
from ptxsim.machine.product import multiply, product_of

# Family, shape, types of D, A, B and C, target, sparse.
FORMS = [
    ("mma", "m16n8k16", "f32 f16 f16 f32", "sm_90a", False),
    ("mma", "m16n8k8", "f16 f16 f16 f16", "sm_80", False),
    ("mma", "m16n8k8", "f32 bf16 bf16 f32", "sm_90a", False),
    ("mma", "m16n8k4", "f32 tf32 tf32 f32", "sm_80", False),
    ("mma", "m16n8k32", "f32 e4m3 e5m2 f32", "sm_90a", False),
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
    known = library()
    description = products.describe(product, selector, ordered)
    name = described(known.prefix, "product", description)
    known.provide({name: description})
    return ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 5)(known.jit.address(name))


def words(rng: np.random.Generator, count: int, kind: str) -> np.ndarray:
    raw = rng.integers(0, 2**32, (count, 32), np.uint32)
    if kind == "ordinary":  # exponents of every small float near the middle
        return raw & np.uint32(0xBFBFBFBF) | np.uint32(0x30303030)
    if kind == "zeros":
        return raw & np.uint32(0x80008000) * rng.integers(0, 2, raw.shape, np.uint32)
    return raw


def accumulators(rng: np.random.Generator, fragment, kind: str) -> np.ndarray:
    if fragment.type == "f32" and kind != "bits":
        sizes = 2.0 ** rng.integers(-148, 120, (fragment.words, 32)) * (kind != "zeros")
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
        for kind in ("bits", "ordinary", "zeros", "bits", "ordinary"):
            a, b = (words(rng, f.words, kind) for f in (product.a, product.b))
            c, d = accumulators(rng, product.c, kind), np.zeros((product.d.words, 32), np.uint32)
            legal = [4, 14] if "tf32" in types else [4, 8, 12, 9, 13, 14, 1]
            nibbles = rng.choice(np.array(legal, np.uint32), (32, 8)) << np.arange(0, 32, 4, np.uint32)
            metadata = nibbles.sum(1).astype(np.uint32)
            assert run(*(x.ctypes.data for x in (a, b, c, d, metadata)))
            wanted = multiply(product, a, b, c, metadata if sparse else None, selector)
            np.testing.assert_array_equal(d, wanted)


def test_metadata_that_means_nothing_is_left_to_the_interpreter():
    product = product_of("mma", "m16n8k16", ("f32", "f16", "f16", "f32"), "sm_90a", sparse=True)
    operands = [np.zeros((f.words, 32), np.uint32) for f in (product.a, product.b, product.c, product.d)]
    for metadata, ordered, good in ((0x44444444, True, True), (0x44444440, False, False), (0x44444441, True, False)):
        codes = np.full(32, metadata, np.uint32)
        assert native(product, 0, ordered)(*(x.ctypes.data for x in (*operands, codes))) == good

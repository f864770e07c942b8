"""Full and short names of matrix instructions, and one instruction on whole matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ptxsim

RNG = np.random.default_rng(3)
E4M3, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn


@pytest.mark.parametrize(
    ("form", "operand", "family", "shape", "type"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "A", "mma", (16, 16), "f16"),
        ("mma.m16n8k16.f16", "A", "mma", (16, 16), "f16"),
        ("mma.m16n8k8.tf32", "D", "mma", (16, 8), "f32"),
        ("mma.sp.m16n8k32.f16", "A", "mma.sp", (16, 16), "f16"),
        ("mma.m8n8k4.f64", "B", "mma", (4, 8), "f64"),
        ("wgmma.m64n256k16.f32.f16.f16", "D", "wgmma", (64, 256), "f32"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16", "A", "wgmma", (64, 16), "bf16"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "A", "wmma", (16, 16), "f16"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", "C", "wmma", (16, 16), "f32"),
        ("ldmatrix.m8n8.x4", "D", "ldmatrix", (4, 8, 8), "b16"),
    ],
)
def test_fragment_of_a_form(form, operand, family, shape, type):
    found = ptxsim.fragment(form, operand)
    assert (found.family, found.shape, found.type) == (family, shape, type)


def test_layout_comes_from_the_form_or_the_argument():
    assert ptxsim.fragment("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "D").majority == "trans"
    assert ptxsim.fragment("mma.m8n8k4.col.row.f32.f16.f16.f32", "A").majority == "col"
    assert ptxsim.fragment("mma.m8n8k4.f16", "A", layout="col").majority == "col"


def test_what_has_more_than_one_meaning_names_them():
    with pytest.raises(ptxsim.PtxError, match=r"mma\.m16n8k16\.f16\.f16\.f16\.f16, mma\.m16n8k16\.f32\.f16\.f16\.f32"):
        ptxsim.fragment("mma.m16n8k16.f16", "C")


@pytest.mark.parametrize(
    ("form", "words"), [("mmma.m16n8k16", "did you mean mma"), ("mma.m16n9k16.f16", "m16n8k"), ("", "no matrix")]
)
def test_unknown_forms_name_the_nearest(form, words):
    with pytest.raises(ptxsim.PtxError, match=words):
        ptxsim.fragment(form, "A")


def test_default_stride():
    assert ptxsim.wmma_stride("m8n32k16", "A", "col") == 8
    assert ptxsim.wmma_stride("wmma.load.b.sync.aligned.row.m8n32k16.f16", "B", "row") == 32


def normal(*shape, dtype=np.float16):
    return RNG.normal(size=shape).astype(dtype)


def test_execute_is_near_the_true_product():
    a, b, c = normal(16, 16), normal(16, 8), normal(16, 8, dtype=np.float32)
    d = ptxsim.execute("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, c)
    assert d.dtype == np.float32 and np.allclose(d, a.astype(float) @ b.astype(float) + c, atol=1e-5)


def test_execute_takes_codes_and_gives_them():
    a, b, c = normal(16, 16), normal(16, 8), normal(16, 8)
    form = "mma.m16n8k16.f16.f16.f16.f16"
    codes = ptxsim.execute(form, a.view(np.uint16), b.view(np.uint16), c.view(np.uint16))
    assert (codes == ptxsim.execute(form, a, b, c).view(np.uint16)).all()


def test_execute_scales_and_transposes():
    a, b, c = normal(64, 16), normal(16, 8), normal(64, 8, dtype=np.float32)
    form = "wgmma.m64n8k16.f32.f16.f16"
    d = ptxsim.execute(form, a, b, c, scale_d=0)
    assert (d == ptxsim.execute(form, a, b)).all()
    assert (ptxsim.execute(form, a, b, negate_a=True) == -d).all()
    assert (ptxsim.execute(form, a.T, b.T, trans_a=True, trans_b=True) == d).all()


def test_execute_of_the_oldest_shape_takes_stacks_of_four():
    a, b = normal(4, 8, 4), normal(4, 4, 8)
    d = ptxsim.execute("mma.m8n8k4.row.col.f32.f16.f16.f32", a, b)
    assert np.allclose(d, a.astype(float) @ b.astype(float), atol=1e-5)


@pytest.mark.parametrize("given", ["whole", "words", "nibbles"])
def test_execute_of_a_sparse_product(given):
    from ptxsim.layout.sparsity import sparsity

    storage = sparsity("mma.sp", "m16n8k32", "f16")
    a, b = np.zeros((16, 32), np.float16), normal(32, 8)
    a.reshape(16, 8, 4)[:, :, [1, 3]] = normal(16, 8, 2)
    compressed, nibbles = storage.compress(a.view(np.uint16))
    arguments = {
        "whole": (a, None), "words": (compressed, storage.words(nibbles, 1)), "nibbles": (compressed, nibbles),
    }[given]  # fmt: skip
    d = ptxsim.execute("mma.sp.m16n8k32.f32.f16.f16.f32", arguments[0], b, metadata=arguments[1], selector=1)
    assert np.allclose(d, a.astype(float) @ b.astype(float), atol=1e-5)


def test_execute_with_block_scales():
    a, b = normal(16, 32, dtype=E4M3), normal(32, 8, dtype=E4M3)
    form = "mma.m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
    scales = np.full((16, 1), 129, np.uint8), np.full((1, 8), 126, np.uint8)
    d = ptxsim.execute(form, a, b, target="sm_120a", scale_a=scales[0], scale_b=scales[1])
    assert np.allclose(d, 2 * (a.astype(float) @ b.astype(float)), rtol=1e-5)


def test_execute_of_a_sparse_block_scaled_product():
    a, b = np.zeros((16, 128), np.uint8), RNG.integers(0, 16, (128, 8)).astype(np.uint8)
    a.reshape(16, 16, 8)[:, :, 2:4] = RNG.integers(0, 16, (16, 16, 2))
    form = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    one = np.full((16, 4), 0x38, np.uint8), np.full((4, 8), 0x38, np.uint8)
    d = ptxsim.execute(form, a, b, target="sm_120a", scale_a=one[0], scale_b=one[1])
    assert (d == a.view(E2M1).astype(float) @ b.view(E2M1).astype(float)).all()


def test_execute_of_integers_and_bits():
    a, b = RNG.integers(-128, 128, (16, 32)).astype(np.int8), RNG.integers(0, 256, (32, 8)).astype(np.uint8)
    assert (ptxsim.execute("mma.m16n8k32.s32.s8.u8.s32", a, b) == a.astype(int) @ b.astype(int)).all()
    a, b = RNG.integers(0, 2, (16, 256)).astype(bool), RNG.integers(0, 2, (256, 8)).astype(bool)
    d = ptxsim.execute("mma.m16n8k256.s32.b1.b1.s32.xor.popc", a, b)
    assert (d == (a[:, :, None] ^ b[None]).sum(axis=1)).all()


@pytest.mark.parametrize(
    ("form", "shapes", "words"),
    [
        ("mma.m16n8k16.f32.f16.f16.f32", ((16, 16), (4, 8)), "B is"),
        ("wgmma.m64n8k16.f32.f16.f16", ((16, 16), (16, 8)), "A is"),
        ("mma.sp.m16n8k32.f32.f16.f16.f32", ((16, 16), (32, 8)), "metadata"),
    ],
)
def test_execute_refuses_matrices_that_do_not_fit(form, shapes, words):
    with pytest.raises(ptxsim.PtxError, match=words):
        ptxsim.execute(form, normal(*shapes[0]), normal(*shapes[1]))


def test_execute_names_a_target_that_is_none():
    with pytest.raises(ptxsim.PtxError, match="sm_9000x"):
        ptxsim.execute("mma.m16n8k16.f32.f16.f16.f32", normal(16, 16), normal(16, 8), target="sm_9000x")

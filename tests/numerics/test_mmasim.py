"""Against MMA-Sim 2.1.1 on every architecture it models: tests/data/mmasim.npz, written by tools/conformance mmasim."""

import dataclasses

import numpy as np
import pytest
from suites import mmasim
from suites.vectors import vectors

import ptxsim
from ptxsim.numerics import find, matmul_numba, product
from tests.helpers import DATA

RESULTS = mmasim.recorded(DATA)


@pytest.mark.thin(3)
@pytest.mark.parametrize("architecture", list(mmasim.TARGETS))
def test_dot_products(architecture):
    names = [name for name in RESULTS if name.startswith(f"{architecture}|")]
    wrong = {}
    for name in names:
        opcode = name.split("|")[1]
        v = vectors(opcode, mmasim.RECORDED, architecture)
        for target in mmasim.TARGETS[architecture]:
            wrong[name, target] = mmasim.compare(opcode, target, v, RESULTS[name])[0]
    assert wrong and not any(wrong.values()), {key: count for key, count in wrong.items() if count}


@pytest.mark.thin(3)
@pytest.mark.parametrize("architecture", [a for a in mmasim.TARGETS if a != "Volta"])
def test_whole_instructions(architecture):
    """The same through ptxsim.execute: eight of the vectors are the diagonal of one instruction."""
    for name in RESULTS:
        opcode = name.split("|")[1]
        if name.split("|")[0] != architecture or not opcode.startswith(("mma", "wgmma")):
            continue
        v = vectors(opcode, mmasim.RECORDED, architecture)
        m, n = v.form.m, v.form.n
        a, b, c = np.zeros((m, v.form.k), v.a.dtype), np.zeros((v.form.k, n), v.b.dtype), np.zeros((m, n), v.c.dtype)
        a[:8], b[:, :8], c[range(8), range(8)] = v.a[:8], v.b[:8].T, v.c[:8]
        options = {}
        if v.scale_a is not None:
            options["scale_a"] = np.full((m, v.scale_a.shape[1]), 0x38, np.uint8)
            options["scale_b"] = np.full((v.scale_b.shape[1], n), 0x38, np.uint8)
            options["scale_a"][:8], options["scale_b"][:, :8] = v.scale_a[:8], v.scale_b[:8].T
        form = opcode.replace("block32", "block_scale").replace("block16", "block_scale")
        if v.scale_a is not None and v.form.kind == "mxf4nvf4":
            form = form.replace("block_scale", f"block_scale.scale_vec::{v.scale_a.shape[1]}X")
        if m == 8 and v.form.a == "f16":  # four computations
            a, b, c = (np.broadcast_to(x, (4, *x.shape)) for x in (a, b, c))
        d = ptxsim.execute(form, a, b, c, target=mmasim.TARGETS[architecture][0], **options)
        d = np.diagonal(d.reshape(-1, m, n)[-1])[:8]
        theirs = RESULTS[name][:8]
        known = (d == 1 << 8 * d.dtype.itemsize - 1) & (theirs == 0)  # what mmasim.DIFFERENCES tells
        if v.form.d == "f64":
            known |= np.isnan(d.copy().view(np.float64)) & np.isnan(theirs.view(np.float64))
        assert ((d == theirs) | known).all(), name


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Ampere|mma.m16n8k16.f32.f16.f16.f32", {"length": 16}),
        ("Turing|mma.m16n8k8.f32.f16.f16.f32", {"fraction": 23}),
        ("Hopper|mma.m16n8k16.f32.bf16.bf16.f32", {"zero_exponent": -132}),
        ("Ampere|mma.m16n8k8.f32.tf32.tf32.f32", {"zero_exponent": -133}),
        ("Ampere|mma.m16n8k16.f16.f16.f16.f16", {"zero_exponent": -21}),
        ("Hopper|wgmma.m64n64k32.f32.e4m3.e4m3", {"fraction": 14}),
        ("Hopper|wgmma.m64n64k32.f32.e5m2.e5m2", {"accumulator": "f32"}),
        ("RTX Blackwell|mma.m16n8k64.kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0", {"fraction": 34}),
        ("RTX Blackwell|mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", {"fraction": 36}),
        ("RTX Blackwell|mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0", {"fraction": 24}),
    ],
)
def test_the_vectors_tell_parameters_apart(name, change):
    architecture, opcode = name.split("|")
    v = vectors(opcode, mmasim.RECORDED, architecture)
    rule = dataclasses.replace(find(opcode, mmasim.TARGETS[architecture][0]), **change)
    scales = {} if v.scale_a is None else {"scale_a": v.scale_a[:, None, :], "scale_b": v.scale_b[:, :, None]}
    d = product(rule, v.a[:, None, :], v.b[:, :, None], v.c[:, None, None], **scales)[:, 0, 0]
    negative_zero = d == 1 << 8 * d.dtype.itemsize - 1
    assert ((d != RESULTS[name]) & ~negative_zero).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in RESULTS if "|mma" in name and name.endswith((".f16.f16.f16.f16", "tf32.f32"))]
)
def test_compiled_kernels(name):
    """The same through the kernels of numerics.matmul, which take over when there is much to do."""
    architecture, opcode = name.split("|")
    rule = find(opcode, mmasim.TARGETS[architecture][0])
    v = vectors(opcode, mmasim.RECORDED, architecture)
    for start in range(0, mmasim.RECORDED, 64):
        part = slice(start, start + 64)
        c = np.zeros((64, 64), v.c.dtype)
        np.fill_diagonal(c, v.c[part])
        d = np.diagonal(matmul_numba.product(rule, v.a[part], np.ascontiguousarray(v.b[part].T), c))
        theirs = RESULTS[name][part]
        known = (d == 1 << 8 * d.dtype.itemsize - 1) & (theirs == 0)
        assert ((d == theirs) | known).all()


def test_arithmetic_is_all_but_m_and_n():
    like = [f"Blackwell|tcgen05.{shape}k16.kind::f16.f32.f16.f16" for shape in ("m64n8", "m128n256")]
    others = [
        "Blackwell|tcgen05.m64n8k16.kind::f16.f16.f16.f16",
        "Blackwell|tcgen05.m64n8k16.kind::f16.f32.bf16.bf16",
        "Blackwell|tcgen05.m64n8k32.kind::f8f6f4.f32.e4m3.e5m2",
        "Blackwell|tcgen05.m64n8k32.kind::f8f6f4.f32.e5m2.e4m3",
    ]
    assert list(mmasim.by_arithmetic([*like, *others]).values()) == [like, *([name] for name in others)]

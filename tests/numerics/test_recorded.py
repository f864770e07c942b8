"""Bits recorded on GPUs, thinned. products.npz: matrices of tensor-core instructions on an H200, one tile of every
operand class. dot.npz: dot products of eight GPUs from north-numerical-computing/MATLAB-tensor-core (BSD 2-Clause,
Copyright (c) 2025, Faizan A. Khattak and Mantas Mikaitis). mufu.npz: approximations on an H200.
"""

from functools import cache

import numpy as np
import pytest

from ptxsim.numerics import find, product, sparse_product
from ptxsim.numerics.mufu import FORMS, evaluate
from tests.helpers import DATA

TARGETS = {
    "V100": "sm_70",
    "A100": "sm_80",
    "A2": "sm_86",
    "Ada": "sm_89",
    "L40S": "sm_89",
    "H100": "sm_90",
    "H200": "sm_90",
    "B200": "sm_100",
}


@cache
def load(name):
    with np.load(DATA / name) as archive:
        return {key: archive[key] for key in archive.files}


@pytest.mark.parametrize("opcode", sorted({key.split("|")[0] for key in load("products.npz")}))
def test_products_of_the_h200(opcode):
    data = {key.split("|")[1]: value for key, value in load("products.npz").items() if key.split("|")[0] == opcode}
    rule = find(opcode, "sm_90a")
    assert rule.evidence == "recorded"
    if "columns" in data:
        d = sparse_product(rule, data["a"], data["columns"].astype(int), data["b"], data["c"])
    else:
        d = product(rule, data["a"], data["b"], data["c"])
    assert np.array_equal(d, data["d"])


@pytest.mark.parametrize("key", [key for key in load("dot.npz") if ".d_" in key])
def test_dot_products_of_eight_gpus(key):
    gpu, kind, output = key.split(".")
    data, output = load("dot.npz"), output[2:]
    a, b, c = (data[f"{gpu}.{kind}.{operand}"] for operand in "abc")
    shape = {"tf32": "m16n8k4", "e4m3": "m16n8k32", "e5m2": "m16n8k32"}.get(kind, "m16n8k16")
    form = f"mma.{'m8n8k4' if gpu == 'V100' else shape}.{output}.{kind}.{kind}.{output}"
    if gpu in ("H100", "H200") and kind[0] == "e" and output == "f32":  # recorded on wgmma without C
        form, c = f"wgmma.m64n8k32.f32.{kind}.{kind}", c * 0
    if output == "f16":
        c = c.view(np.float32).astype(np.float16).view(np.uint16)
    d = product(find(form, TARGETS[gpu]), a[:, None, :], b[:, :, None], c[:, None, None])[:, 0, 0]
    if output == "f16":
        d = d.view(np.float16).astype(np.float32).view(np.uint32)
    assert np.array_equal(d, data[key])


@pytest.mark.parametrize("key", sorted(load("mufu.npz")))
def test_approximations(key):
    *operands, expected = load("mufu.npz")[key]
    opcode = key.removeprefix("dense.").rsplit(".", 1)[0] if key.startswith("dense.") else key
    assert np.array_equal(evaluate(opcode, *operands), expected)


def test_every_approximation_is_recorded_or_follows_from_one():
    recorded = {key for key in load("mufu.npz") if not key.startswith("dense.")}
    assert set(FORMS) - recorded == {"rcp.approx.ftz.f32", "ex2.approx.ftz.bf16x2"}
    dense = [key for key in load("mufu.npz") if key.startswith("dense.rcp")]
    assert dense

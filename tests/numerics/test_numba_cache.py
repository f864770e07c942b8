"""Kernels that numba keeps on disk do not get in each other's way, whichever process compiled which."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import ml_dtypes
import numpy as np
from ptxsim.numerics import matmul, matmul_numba, product
rng = np.random.default_rng(0)
for kind, k in (("f16", 16), ("e4m3", 32)):
    if kind in sys.argv[1:]:
        t = {"f16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn}[kind]
        form = f"wgmma.m64n256k{k}.f32.{kind}.{kind}"
        for items in (1, 100):
            shapes = ((64, k), (k, 256)) if items == 1 else ((items, 8, k), (items, k, 8))
            a, b = (rng.normal(size=shape).astype(t).view(f"u{np.dtype(t).itemsize}") for shape in shapes)
            c = np.zeros((*a.shape[:-1], b.shape[-1]), np.uint32)
            expected = [product(form, *item) for item in zip(a, b, c)] if items > 1 else product(form, a, b, c)
            assert np.array_equal(matmul(a, b, c, form), expected)
"""


@pytest.mark.slow
def test_kernels_of_several_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    kept = []
    for kinds in ([], ["f16"], ["e4m3"], ["f16", "e4m3"]):  # the first one only imports
        subprocess.run([sys.executable, "-c", PROGRAM, *kinds], env=environment, check=True)
        kept.append({file.name for file in tmp_path.rglob("*.nbc")})
    assert kept[0] < kept[1] < kept[2] == kept[3]  # the last one has compiled nothing

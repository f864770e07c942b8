"""Kernels that numba keeps on disk do not get in each other's way, whichever process compiled which."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from ptxsim.numerics import matmul
for kind, k in (("f16", 16), ("e4m3", 32)):
    if kind in sys.argv[1:]:
        import ml_dtypes
        t = {"f16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn}[kind]
        for _ in range(2):
            d = matmul(np.ones((64, k), t), np.ones((k, 256), t), None, f"wgmma.m64n256k{k}.f32.{kind}.{kind}")
            assert (d == k).all()
"""


@pytest.mark.slow
def test_kernels_of_several_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    kept = []
    for kinds in (["f16"], ["e4m3"], ["f16", "e4m3"]):
        subprocess.run([sys.executable, "-c", PROGRAM, *kinds], env=environment, check=True)
        kept.append({file.name for file in tmp_path.rglob("*.nbc")})
    assert kept[0] < kept[1] == kept[2]  # the last one has compiled nothing

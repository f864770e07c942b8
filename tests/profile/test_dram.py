"""Streams over more memory than L2 holds, against those measured: what is read and what is written, by how much more takes longer."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.session.options import LaunchOptions
from tests.helpers import ROOT

FOLDER = ROOT / "tools" / "data" / "dram"
THREADS = 256


@cache
def measured() -> dict[tuple[str, str, int], float]:
    with (FOLDER / "measured.tsv").open() as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {(row["gpu"], row["kernel"], int(row["mib"])): float(row["us"]) for row in rows}


def predicted(gpu: str, name: str, mib: int, **how):
    kernel = Module.from_file(FOLDER / "kernels.ptx").kernel(name)
    arrays = [np.zeros(mib << 18, np.float32) for _ in kernel.parameters]
    grid = (mib << 20) // 16 // THREADS
    options = LaunchOptions(grid=grid, block=THREADS, checks="none", profile=1, gpu=gpu, **how)
    return kernel.run(arrays, options).cycles


@pytest.mark.slow
@pytest.mark.parametrize(
    "gpu, name, small, large",
    [("H200", "copy", 64, 128), ("H100", "add", 24, 64), ("H200", "fill", 64, 128), ("H100", "sum", 64, 128)],
)
def test_bandwidth(gpu, name, small, large):
    """What the smaller one takes less: how long a launch takes beside its work is the same for both."""
    more = predicted(gpu, name, large).time_us - predicted(gpu, name, small).time_us
    assert more == pytest.approx(measured()[gpu, name, large] - measured()[gpu, name, small], rel=0.05)


@pytest.mark.slow
def test_what_is_read_and_written_is_told():
    cycles = predicted("H200", "copy", 32)
    assert (
        cycles.memory["dram_sectors"] == cycles.memory["dram_written"] == pytest.approx((32 << 20) / 32 / 132, rel=0.02)
    )
    held = predicted("H200", "copy", 8)
    assert held.memory["dram_sectors"] == held.memory["dram_written"] == 0


@pytest.mark.slow
def test_a_sample_of_the_ctas_says_that_l2_does_not_hold_all():
    whole, sampled = (predicted("H200", "copy", 64, **how) for how in ({}, {"every": 33, "sample": True}))
    assert sampled.memory["dram_written"] > 0
    assert sampled.cycles == pytest.approx(whole.cycles, rel=0.1)

"""Fences in rounds and atomics that SMs contend for, against launches of one mechanism each that were measured."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ROOT

FOLDER = ROOT / "tools" / "data" / "contended"
DTYPES = {"u32": np.uint32, "f32": np.float32}
LAUNCHES = (
    [f"ct_{what}_2_8x{threads}" for what in (0, 2, 4, 16, 70) for threads in (64, 256)]
    + ["red_f32_again_256x128_4_1", "red_random_u32_1_16_22", "red_u32_264x128_8_1_8"]
)  # fmt: skip


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.from_text(gzip.decompress((FOLDER / "kernels" / "micro.ptx.gz").read_bytes()).decode())


@pytest.mark.slow
@pytest.mark.parametrize("name", LAUNCHES)
def test_as_measured(module, name):
    launch = next(row for row in json.loads((FOLDER / "kernels.json").read_text()) if row["id"] == name)
    memory = {key: np.zeros(spec["n"], DTYPES[spec["dtype"]]) for key, spec in launch["buffers"].items()}
    arguments = [memory[value["buf"]] if "buf" in value else value["i32"] for value in launch["args"]]
    run = module.kernel(launch["entry"]).launch(launch["grid"], launch["block"], arguments, profile=True, gpu="H100")
    assert run.cycles.cycles == pytest.approx(launch["h100"]["active_max"], rel=0.2)

"""What CTAs of a cluster send each other, and bulk reductions that SMs contend for, against launches of one mechanism each that were measured."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ROOT

FOLDER = ROOT / "tools" / "data" / "exchange"
LAUNCHES = {row["id"]: row for row in json.loads((FOLDER / "kernels.json").read_text())}


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    names = ("exchange", "bulk_sums")
    return {
        name: Module.from_text(gzip.decompress((FOLDER / "kernels" / f"{name}.ptx.gz").read_bytes()).decode())
        for name in names
    }


def predicted(modules: dict[str, Module], name: str) -> tuple[float, float]:
    """Cycles of a launch: (predicted, measured)."""
    launch = LAUNCHES[name]
    memory = {key: np.zeros(spec["n"], np.uint32) for key, spec in launch["buffers"].items()}
    arguments = [memory[value["buf"]] if "buf" in value else value["i32"] for value in launch["args"]]
    kernel = modules[launch["kernel"]].kernel(launch["entry"])
    run = kernel.launch(launch["grid"], launch["block"], arguments, profile=True, checks="none")
    return run.cycles.cycles, launch["warm"]["active_max"]


@pytest.mark.parametrize(
    "name",
    [
        "x_v4_c2_b128_g2", "x_b32_c2_b32_g2", "x_v4x4_c2_b256_g2", "x_lead_c4_b128_g4", "x_relaxed_c2_b128_g2", "x_bulk_c2_b256_g2",
        "x_plain_c2_b32_g2", "b_u32_4096_g1_p1",
    ],
)  # fmt: skip
def test_as_measured(modules, name):
    cycles, measured = predicted(modules, name)
    assert cycles == pytest.approx(measured, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["b_u32_512_g132_p1", "b_u32_4096_g132_p8", "b_u32_16384_g132_p1", "b_four_4096_g132_p8"]
)
def test_reductions_to_few_places(modules, name):
    cycles, measured = predicted(modules, name)
    assert cycles == pytest.approx(measured, rel=0.2)

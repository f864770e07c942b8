"""What SMs share of L2, against launches that were measured: reads and stores in turn, lines that L2 has lost, work that not all SMs have."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ROOT

FOLDER = ROOT / "tools" / "data" / "l2"
IN_TURN = ["rw_1_1_16_132x512_4", "rw_2_1_4_132x1024_4", "rw_1_1_16_132x1024_4", "l2_update_12", "l2_copy_24"]
NOT_HELD = ["l2_copy_36", "l2_write_32", "l2_update_48", "l2_add_48"]
UNEVEN = ["l2_copy_18", "l2_copy_12", "uneven_read_144x256_4_0", "uneven_read_198x512_4_8"]


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.from_text(gzip.decompress((FOLDER / "kernels" / "l2.ptx.gz").read_bytes()).decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "gpu, name", [(gpu, name) for gpu in ("H100", "H200") for name in (*IN_TURN, *NOT_HELD, *UNEVEN)]
)
def test_as_measured(module, gpu, name):
    launch = next(row for row in json.loads((FOLDER / "kernels.json").read_text()) if row["id"] == name)
    memory = {key: np.zeros(spec["n"], np.float32) for key, spec in launch["buffers"].items()}
    arguments = [memory[value["buf"]] if "buf" in value else value["i32"] for value in launch["args"]]
    run = module.kernel(launch["entry"]).launch(
        launch["grid"], launch["block"], arguments, profile=True, gpu=gpu, checks="none"
    )
    measured = launch["warm" if gpu == "H200" else "h100"]
    assert run.cycles.cycles == pytest.approx(measured["active_max"], rel=0.2)

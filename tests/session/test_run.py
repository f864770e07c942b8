"""What a Run says about itself: bank counts on demand, fidelity by target."""

from pathlib import Path

import numpy as np
import pytest

import ptxsim

SAMPLES = Path(__file__).parents[2] / "samples"


def gemm(name="mma_gemm_conflicts.ptx", **options):
    a, b = ptxsim.ints((64, 64), "f16", seed=1), ptxsim.ints((64, 64), "f16", seed=2)
    kernel = ptxsim.Module.from_file(SAMPLES / name).kernel("gemm")
    return kernel.launch(grid=1, block=128, args=[a, b, np.zeros((64, 64), np.float32)], **options)


def test_banks_are_counted_when_asked_for():
    run = gemm()
    assert not run.banks_counted
    assert run.banks.worst == 8
    assert run.banks_counted and run.banks.wavefronts == gemm(banks=True).banks.wavefronts
    assert run.to_dict()["banks"]["worst"] == 8


def test_banks_that_were_not_wanted_are_no_zero():
    run = gemm(banks=False)
    assert run.to_dict()["banks"] is None
    with pytest.raises(ValueError, match="not counted"):
        _ = run.banks


def test_counting_late_leaves_the_results_alone():
    run = gemm()
    before = run.outputs["D"].copy()
    _ = run.banks
    assert np.array_equal(run.outputs["D"], before) and before.any()


@pytest.mark.parametrize(("target", "expected"), [("sm_80", "modeled"), ("sm_90", "exact"), ("sm_100", "modeled")])
def test_tensor_products_are_exact_where_recorded(target, expected):
    fidelity = gemm(target=target).fidelity
    assert fidelity["mma"] == expected
    assert fidelity["ldmatrix"] == "exact"

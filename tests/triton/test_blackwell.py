"""Triton's and Gluon's products on tensor memory (sm_100), exact against torch with small whole numbers, without a finding."""

import pytest

import ptxsim.triton

triton = pytest.importorskip("triton", minversion="3.8")
torch = pytest.importorskip("torch")

from tests.triton.programs import blackwell as programs  # noqa: E402  # once it is known that it can be imported

FP8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
PRODUCTS = {
    "f16": (lambda: programs.product(torch.float16), "kind::f16"),
    "bf16_64_rows_sums": (lambda: programs.product(torch.bfloat16, m=64, epilogue="sums"), "16x32bx2"),
    "tf32_relu": (lambda: programs.product(torch.float32, k=32, epilogue="relu"), "kind::tf32"),
    "e4m3_transposed": (lambda: programs.product(FP8["e4m3"], n=64, k=128, epilogue="transposed"), "kind::f8f6f4"),
    "e5m2_halves": (
        lambda: programs.product(FP8["e5m2"], k=128, epilogue="halves", order="tt", warps=8),
        "kind::f8f6f4",
    ),
    "f16_to_f16": (lambda: programs.product(torch.float16, n=256, order="nt", result=torch.float16), "kind::f16"),
    "mxfp8": (lambda: programs.scaled("e4m3", 32), "kind::mxf8f6f4"),
    "mxfp4": (lambda: programs.scaled("e2m1", 32), "kind::mxf4.block_scale"),
    "nvfp4": (lambda: programs.scaled("e2m1", 16), "kind::mxf4nvf4"),
    "pair": (lambda: programs.pair(256), "tcgen05.mma.cta_group::2"),
    "pair_of_64_rows": (lambda: programs.pair(128), "tcgen05.mma.cta_group::2"),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_exact(name):
    torch.manual_seed(len(name))
    program, words = PRODUCTS[name]
    with ptxsim.triton.active("sm_100") as runs:
        compiled = program()
    assert words in compiled.asm["ptx"]
    assert [finding for run in runs for finding in run.findings if finding.level != "note"] == []


ATTENTION = {
    "forward": lambda programs: programs.forward(False),
    "causal": lambda programs: programs.forward(True, rows=64, columns=128, warps=8),
    "backward": lambda programs: programs.backward(True),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_exact(name):
    from tests.triton.programs import exact_attention

    with ptxsim.triton.active("sm_100") as runs:
        compiled = ATTENTION[name](exact_attention)
    assert "tcgen05.mma" in compiled.asm["ptx"]
    assert [finding for run in runs for finding in run.findings if finding.level != "note"] == []

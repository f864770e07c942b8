"""Triton's and Gluon's products on tensor memory (sm_100), exact against torch with small whole numbers, without a finding."""

import pytest

import ptxsim.triton

triton = pytest.importorskip("triton", minversion="3.8")
torch = pytest.importorskip("torch")

from tests.triton.programs import blackwell as programs  # noqa: E402  # once it is known that it can be imported
from tests.triton.programs import epilogues  # noqa: E402

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


HALF, BRAIN = {"kind": torch.float16}, {"kind": torch.bfloat16}
EPILOGUES = [
    ("ld.sync.aligned.32x32b.x64", (128, 64, "32x32b"), {"by_copy": True}),
    ("ld.sync.aligned.16x32bx2.x16", (64, 32, "32x32b"), BRAIN),
    ("ld.sync.aligned.16x64b.x64", (128, 128, "16x64b"), {**HALF, "by_copy": True}),
    ("ld.sync.aligned.16x128b.x8", (128, 32, "16x128b"), BRAIN),
    ("ld.sync.aligned.16x256b.x16", (64, 256, "16x256b"), {"by_copy": True, "warps": 8}),
    ("st.sync.aligned.16x128b.x16", (128, 64, "16x64b"), {**HALF, "back": "16x128b"}),
    ("st.sync.aligned.16x32bx2.x16.unpack::16b", (64, 64, "16x256b"), {"back": "32x32b", "halves": True}),
    ("ld.sync.aligned.32x32b.x32.pack::16b", (128, 64, "32x32b"), {**BRAIN, "back": "16x256b", "halves": True}),
]


@pytest.mark.parametrize(("words", "shape", "options"), EPILOGUES, ids=[words for words, _, _ in EPILOGUES])
def test_epilogues_are_exact(words, shape, options):
    torch.manual_seed(shape[1])
    with ptxsim.triton.active("sm_100") as runs:
        compiled = epilogues.epilogue(*shape, **options)
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

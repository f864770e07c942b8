import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.layout.wmma_stride import fragment_bytes, wmma_stride

# The manual's table: A row, A column, B row, B column, accumulator row, accumulator column.
TABLE = {
    "m16n16k16": (16, 16, 16, 16, 16, 16),
    "m16n16k8": (8, 16, 16, 8, 16, 16),
    "m32n8k16": (16, 32, 8, 16, 8, 32),
    "m8n32k16": (16, 8, 32, 16, 32, 8),
    "m8n8k32": (32, 8, 8, 32, 8, 8),
    "m8n8k128": (128, 8, 8, 128, 8, 8),
    "m8n8k4": (4, 8, 8, 4, 8, 8),
}


@pytest.mark.parametrize("shape", TABLE)
def test_default_strides(shape):
    found = [wmma_stride(shape, operand, layout) for operand in "ABC" for layout in ("row", "col")]
    assert tuple(found) == TABLE[shape]
    assert wmma_stride(shape, "D", "row") == TABLE[shape][4]


def test_types_narrow_the_shapes():
    assert wmma_stride("m16n16k8", "A", "row", "tf32") == 8
    assert wmma_stride("m16n16k16", "C", "col", "f32") == 16
    for wrong in [("m16n16k16", "A", "row", "tf32"), ("m16n8k16", "A", "row"), ("m8n8k4", "C", "row", "f32"),
                  ("m16n16k16", "E", "row"), ("m16n16k16", "A", "diagonal")]:  # fmt: skip
        with pytest.raises(PtxError):
            wmma_stride(*wrong)


def test_alignment():
    assert fragment_bytes("m16n16k16", "A", "f16") == 32
    assert fragment_bytes("m16n16k16", "A", "s8") == 8
    assert fragment_bytes("m8n8k4", "C", "f64") == 16

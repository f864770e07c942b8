"""Rows that are taken in another pattern than they were written: an error where a tensor copy swizzles, else a matrix may be kept so."""

from pathlib import Path

import numpy as np
import pytest

import ptxsim
from ptxsim.checks.tiles.sources import GOES_ON, UNKNOWN, whole
from ptxsim.session.ptxfile.file import run_file
from tests.helpers import launch

CASES = Path(__file__).parents[1] / "cases" / "tensor_copy"


@pytest.mark.parametrize(
    "name, level", [("rows_without_the_swizzle", "error"), ("rows_swizzled_in_memory", "warning"), ("stored_without_the_swizzle", "error")]
)  # fmt: skip
def test_levels(name, level):
    found = run_file(CASES / f"{name}.ptx")
    assert not found.findings
    assert [(finding.name, finding.level) for finding in found.expected] == [("swizzle-mismatch", level)]


@pytest.mark.parametrize(
    "height", [0, -1]
)  # of the filter's tap: over the edge, the first row of pixels is not in the tensor
@pytest.mark.parametrize("name", ["rows_without_the_swizzle", "rows_with_the_swizzle"])
def test_im2col(name, height, engine):
    """Pixels of an image are rows, too; those outside of it come from nowhere."""
    text = (CASES / f"{name}.ptx").read_text()
    text = text.replace("tensor.2d", "tensor.4d").replace(".tile.mbarrier", ".im2col.mbarrier")
    text = text.replace("[%A, {0, 0}], [%full]", f"[%A, {{0, 0, {height}, 0}}], [%full], {{%tap, %tap}}")
    text = text.replace(".reg .pred", ".reg .b16 %tap;\n    .reg .pred").replace(
        "    mov.b64 %A, A;", "    mov.u16 %tap, 0;\n    mov.b64 %A, A;"
    )
    images = np.arange(2 * 8 * 8 * 64, dtype=np.uint16).reshape(2, 8, 8, 64)
    corners = {"lower_corner": (0, height), "upper_corner": (0, height), "channels": 64, "pixels": 16}
    tensor_map = ptxsim.TensorMap(images, swizzle="128B", **corners)
    found = launch(
        text,
        [tensor_map, np.zeros((8, 16), np.float16), np.zeros((16, 8), np.float32)],
        block=32,
        engine=engine,
        checks="all",
    )
    assert [finding.name for finding in found.findings] == ["swizzle-mismatch"] * (name == "rows_without_the_swizzle")


@pytest.mark.parametrize(
    "words, came",
    [
        ((64, 68, 72, 76), 64), ((64, GOES_ON, 72, GOES_ON), 64), ((64, GOES_ON, GOES_ON, GOES_ON), 64),
        ((64, 72, 80, 88), 64),  # f32 that become f16
        ((0, 256, 512, 768), UNKNOWN),  # a tile that is transposed on the way
        ((64, 68, 72, UNKNOWN), UNKNOWN), ((64, 60, 56, 52), UNKNOWN), ((UNKNOWN, 68, 72, 76), UNKNOWN),
    ],
)  # fmt: skip
def test_a_unit_comes_from_one_place_if_its_words_do(words, came):
    in_parts = [part for word in words for part in (word, word if word == UNKNOWN else GOES_ON)]
    assert whole(np.array([in_parts])) == [came]

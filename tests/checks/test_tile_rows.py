"""Rows that are taken in another pattern than they were written: an error where a tensor copy swizzles, else a matrix may be kept so."""

from pathlib import Path

import pytest

from ptxsim.session.ptxfile.file import run_file

CASES = Path(__file__).parents[1] / "cases" / "tensor_copy"


@pytest.mark.parametrize(
    "name, level", [("rows_without_the_swizzle", "error"), ("rows_swizzled_in_memory", "warning"), ("stored_without_the_swizzle", "error")]
)  # fmt: skip
def test_levels(name, level):
    found = run_file(CASES / f"{name}.ptx")
    assert not found.findings
    assert [(finding.name, finding.level) for finding in found.expected] == [("swizzle-mismatch", level)]

"""The same bits, findings and counts however a file is run (the whole: tools/determinism.py)."""

import determinism
import pytest

from tests.helpers import ROOT


@pytest.mark.slow
def test_a_few_files_in_every_way():
    few = sorted((ROOT / "tests" / "cases").rglob("*.ptx"))[50::100]
    given = determinism.files([*few, ROOT / "samples" / "mma_gemm_swizzled.ptx"])
    ways = set()
    for file in given:
        _, found = determinism.judge(determinism.Task(file, False))
        assert [(file, way, differs) for way, differs in found if differs] == []
        ways |= {way for way, _ in found}
    assert ways == {way.name for way in determinism.WAYS}


def test_what_differs_is_seen():
    file = str(ROOT / "tests" / "cases" / "races" / "two_values.ptx")
    first = determinism.results(file, determinism.FIRST)
    other = determinism.results(file, determinism.Way("", (("checks", "none"), ("seed", 5))))
    assert "findings" in determinism.differences(first, other)
    assert determinism.order_can_show(str(ROOT / "tests" / "cases" / "atomics" / "histogram.ptx"))

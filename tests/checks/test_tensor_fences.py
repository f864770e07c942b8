"""The two fences for tensor memory: a program whose threads meet relaxed needs each of them, one with releases and acquires few."""

from __future__ import annotations

import pytest

from tests.helpers import CASES, ENGINES, names, run_text

TEXT = (CASES / "tcgen05" / "fences_relaxed.ptx").read_text()
LINES = TEXT.split("\n")
FENCES = [number for number, line in enumerate(LINES) if "tcgen05.fence" in line]
STORED, COPIED, PRODUCT, LOAD = range(4)  # before the arrivals, before the product, before the load


def without(*fences: int) -> str:
    return "\n".join("" if number in {FENCES[each] for each in fences} else line for number, line in enumerate(LINES))


@pytest.mark.thin(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fence", range(4))
def test_each_fence_is_missed_where_it_is_missing(fence, engine):
    assert set(names(run_text(without(fence), engine=engine).run.findings)) == {"tensor-memory-order"}


@pytest.mark.parametrize("fences", [(), (STORED, PRODUCT, LOAD)])
def test_releases_and_acquires_order_what_is_complete(fences):
    assert not run_text(without(*fences).replace(".relaxed.cta", "")).run.findings


def test_a_release_does_not_order_what_goes_on_after_its_thread():
    run = run_text(without(COPIED).replace(".relaxed.cta", "")).run
    (finding,) = run.findings
    assert finding.name == "tensor-memory-order" and "tcgen05.mma" in finding.message
    assert LINES[finding.labels[0].line - 1].lstrip().startswith("tcgen05.cp")


@pytest.mark.slow
def test_the_fence_after_takes_what_was_released():
    relaxed_waits = TEXT.replace("arrive.relaxed.cta", "arrive")
    assert not run_text(relaxed_waits).run.findings
    assert names(run_text(without(PRODUCT).replace("arrive.relaxed.cta", "arrive")).run.findings)

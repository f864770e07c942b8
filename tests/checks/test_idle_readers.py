"""Warps that load what another one stores in place: no error where nothing that they store comes of it."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT


@pytest.mark.parametrize(
    "name, level",
    [("order/replicas_read", "note"), ("order/racy_replicas_store", "error"), ("races/replicas_at_times", "error")],
)
def test_a_race_that_no_result_shows_is_a_note(name, level, engine):
    run = run_file(ROOT / f"tests/cases/{name}.ptx", options=Options(engine=engine))
    found = [each for each in (*run.findings, *run.expected) if each.name == "race-global"]
    assert [each.level for each in found] == [level]


def test_lanes_of_one_warp_use_what_they_load(engine):
    run = run_file(ROOT / "tests/cases/order/racy_row_of_one_warp.ptx", options=Options(engine=engine))
    assert [(each.name, each.level) for each in (*run.findings, *run.expected)] == [("race-warp", "error")]

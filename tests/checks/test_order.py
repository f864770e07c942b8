"""Litmus tests of the memory model: what races is reported whatever the schedule, what is in order on none."""

import re

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import ROOT

SCOPES = ("cta", "cluster", "gpu", "sys")
FILES = sorted((ROOT / "tests/cases/order").glob("*.ptx"))


@pytest.mark.thin(5)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_verdict_is_of_all_schedules(path, engine):
    for seed in range(1, 4) if engine == "compiled" else range(1):
        result = run_file(path, options=Options(engine=engine, checks="all", seed=seed))
        assert result.passed, [f"{f.line}: {f.name}: {f.message}" for f in result.findings]


STRONG = ["iriw", "isa2", "isa2_by_fences", "load_buffering", "r", "s", "two_and_two_writes", "wrc"]  # free of races


@pytest.mark.thin(7)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("place", ["cluster", "gpu"])
@pytest.mark.parametrize("name", STRONG)
def test_litmus_tests_race_where_the_scope_does_not_reach(name, place, scope):
    """The files of the scope of the device, in each scope, by CTAs of one cluster or of the grid."""
    text = (ROOT / f"tests/cases/order/{name}.ptx").read_text().replace(".gpu", f".{scope}")
    if place == "cluster":
        text = re.sub(r"grid=(\d)", r"grid=\1 cluster=\1", text)
    result = run_file(Source(text, "litmus.ptx"), options=Options(checks="all"))
    races = {finding.name for finding in result.findings}
    assert races == (set() if SCOPES.index(scope) >= SCOPES.index(place) else {"race-global"})

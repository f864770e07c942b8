"""How far predictions are off, by kind of kernel, and what that says of one launch and of two."""

from __future__ import annotations

import math

import pytest

from ptxsim.profile import accuracy
from ptxsim.profile.accuracy import ANY, FEW, KINDS, PAIRS, Judged, bar_of, bars, bound_by, inside, ratio
from ptxsim.report import against_profile


def test_what_a_launch_is_bound_by():
    assert bound_by(900, {}, {"long_scoreboard": 9.0}) == "start"
    assert bound_by(9000, {"tensor": 0.7}, {"wait": 1.0}) == "tensor"
    assert bound_by(9000, {"lsu": 0.8}, {"wait": 1.0}) == "shared"
    assert bound_by(9000, {}, {"barrier": 4.0, "wait": 6.0}) == "synchronisation"
    assert bound_by(9000, {}, {"lg_throttle": 5.0, "wait": 5.0}) == "memory"
    assert bound_by(9000, {"alu": 0.9}, {"wait": 1.0}) == "issue"
    assert bound_by(9000, {}, {"long_scoreboard": 9.0}) == "latency"


@pytest.mark.parametrize("machine", ["H200", "H100"])
def test_the_table_has_bars_of_both_codes(machine):
    for assembled in (True, False):
        for kind in KINDS:
            bar = bar_of(kind, assembled, machine)
            assert 0 < bar.low <= bar.high and bar.launches >= FEW and 0 < bar.mean < 1
        low, high = ratio(100, 80, assembled, machine)
        assert low < 0.8 < high and math.isclose(low * high, 0.64, rel_tol=0.01)


def test_three_quarters_are_inside_the_bar_of_the_others_and_a_table_holds_what_was_written(tmp_path):
    launches = [Judged("latency", 1000 + 10 * i, 1000, "f" if i < 2 else "") for i in range(16)]
    rows = {bar.kind: bar for bar in bars(launches)}
    bar = rows["latency"]
    assert sum(bar.low <= j.measured / j.predicted <= bar.high for j in launches) == 14
    assert rows[ANY].launches == 16 and rows[PAIRS].launches == 1 and inside(launches) == 12
    table = tmp_path / "accuracy.tsv"
    accuracy.written(rows.values(), "assembled", table)
    accuracy.written(rows.values(), "estimated", table)
    accuracy.written(rows.values(), "assembled", table)
    accuracy.written(rows.values(), "assembled", table, "H100")
    assert len(table.read_text().splitlines()) == 1 + 3 * len(rows)


def profile(cycles):
    return {"profile": {"machine": "H200", "cycles": cycles, "judged": 9, "no_assembly": "", "issue": 0.1, "issued": 5}}


def test_two_variants_are_compared_with_a_bar_of_their_own():
    def said(before, after):
        return "\n".join(against_profile.text(against_profile.changes(profile(before), profile(after))))

    assert "faster (three quarters" in said(10000, 2000) and "slower (three quarters" in said(2000, 10000)
    assert "does not tell which is faster" in said(10000, 9999)
    assert "faster" not in said(10000, 10000)

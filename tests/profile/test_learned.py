"""The table that corrects registers: how trees are read and added up, which number is said, and how the tool makes them of rows."""

from __future__ import annotations

import sys
from math import log
from pathlib import Path

import pytest

from ptxsim.profile.lowering.learned import FEWEST, MOST, Node, corrected, is_near, likeliest, read, table, written
from ptxsim.profile.lowering.lower import Lowering
from ptxsim.profile.lowering.regions import merged
from tests.profile.kernels import kernel

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import fit_registers

HALVES = [Node("code", 40.0, 1, 2), Node("", 0.0), Node("", log(2))]
PRODUCT = "mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; ld.param.u64 %d0, [place]; add.s64 %d2, %d0, %d1; "


def test_the_number_that_is_said_is_near_most_of_what_ptxas_may_say():
    assert likeliest(log(14.9)) == 15  # within 10 % of both 14 and 16, which are as likely; ptxas says few odd numbers
    assert likeliest(log(21)) == 22  # of 20, 22 and 24
    assert all(is_near(likeliest(log(n)), n) for n in range(10, 240))
    assert FEWEST <= likeliest(log(1.0)) < likeliest(log(1000.0)) <= MOST


@pytest.mark.parametrize(
    "estimate, said, near", [(11, 10, True), (9, 10, True), (18, 20, True), (17, 19, False), (8, 9, False)]
)
def test_exactly_10_per_cent_is_near(estimate, said, near):
    assert is_near(estimate, said) is near


@pytest.mark.parametrize("code, times", [(40, 1), (41, 2)])
def test_trees_add_up_to_the_logarithm_of_registers_by_what_rules_say(code, times):
    assert corrected(32, {"code": code}, [HALVES]) == likeliest(log(32 * times))
    assert corrected(32, {"code": code}, [[Node("", log(2))], HALVES]) == likeliest(log(64 * times))


def test_trees_that_are_written_are_read_again():
    trees = [[Node("", -0.25)], [Node("code", 40.0, 1, 2), Node("", 0.0), Node("", 0.5)]]
    assert read(written(trees, ["of", "nothing"])) == trees


def test_the_table_goes_by_traits_that_there_are():
    program = kernel(PRODUCT + "st.global.u32 [%d2], %r0;").program("sm_90a")
    lowering = Lowering(merged(program), "sm_90a", 255)
    made = lowering.lower()
    assert {node.name for tree in table() for node in tree} - {""} <= set(lowering.traits)
    assert made.registers == corrected(lowering.rules.estimate, lowering.traits)


def test_no_more_registers_are_said_than_a_launch_allows():
    sums = "".join(f"ld.global.u32 %r{i}, [%d2+{4 * i}];" for i in range(1, 16))
    sums += "".join(f"st.global.u32 [%d2+{4 * i}], %r{16 - i};" for i in range(1, 16))
    assert Lowering(merged(kernel(PRODUCT + sums).program("sm_90a")), "sm_90a", 16).lower().registers <= 16


def _rows(families: int) -> list[fit_registers.Row]:
    """Kernels of which those with much code take half as much again as rules say."""
    return [
        fit_registers.Row(
            f"f{k}", f"{k}.ptx", "k", 48 if code > 40 else 32, 32, {"code": float(code), "blocks": float(k % 3)}
        )
        for k in range(families)
        for code in (20, 60)
    ]


def test_trees_find_what_rules_have_not():
    trees = fit_registers.fit(_rows(80))
    assert [
        is_near(corrected(32, {"code": c, "blocks": 1.0}, trees), said) for c, said in ((20.0, 32), (60.0, 48))
    ] == [True, True]
    assert trees == fit_registers.fit(_rows(80))


def test_a_quarter_of_the_families_judges():
    rows = _rows(400)
    judging = {row.family for row in rows if fit_registers.judges(row)}
    assert 60 < len(judging) < 140


def test_rows_name_what_ptxas_says_and_traits(tmp_path):
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d0, [p]; "
        "st.global.u32 [%d0], 1; ret; }"
    )
    path = tmp_path / "k.ptx"
    path.write_text(text)
    (row,) = fit_registers.rows_of(path, "family", {"k": 8})
    assert (row.family, row.file, row.kernel, row.said) == ("family", "k.ptx", "k", 8)
    assert row.traits["target"] == 80 and row.traits["unit.global"] == 1

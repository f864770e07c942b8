"""A plain look that only says whether an atomic is needed is a note where the place goes one way or only sets a bit; else a race."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT


@pytest.mark.parametrize(
    "name, level",
    [
        ("maximum_looked_up_first", "note"),
        ("float_maximum_looked_up_first", "note"),
        ("maximum_looked_up_as_unsigned", "error"),
        ("maximum_looked_up_for_more", "error"),
        ("float_maximum_added_to", "error"),
        ("maximum_of_either_sign", "error"),
        ("maximum_tried_once", "error"),
        ("bit_looked_up_first", "note"),
        ("bit_looked_up_first_as_compiled", "note"),
        ("bits_looked_up_first", "error"),
        ("bit_that_is_counted", "error"),
    ],
)
def test_only_what_goes_one_way_is_a_note(name, level, engine):
    run = run_file(ROOT / f"tests/cases/races/{name}.ptx", options=Options(engine=engine))
    assert min(each.level for each in (*run.findings, *run.expected) if each.name == "race-global") == level

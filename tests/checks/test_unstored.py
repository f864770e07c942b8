"""Reads of shared memory that nobody has stored to: an error where some value there would show, else a note."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT


@pytest.mark.parametrize(
    "name, level",
    [
        ("maximum_of_what_nobody_stored", "error"),  # which a NaN there does not change
        ("turns_that_nobody_stored", "error"),  # the repetition is cut off
        ("places_of_warps_that_are_not_there", "note"),
    ],
)
def test_only_what_shows_is_an_error(name, level, engine):
    run = run_file(ROOT / f"tests/cases/races/{name}.ptx", options=Options(engine=engine))
    found = [each for each in (*run.findings, *run.expected) if each.name == "uninitialized-read"]
    assert [each.level for each in found] == [level]

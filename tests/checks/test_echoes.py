"""One cause, one finding: an mbarrier that overflows because a copy into another CTA's shared memory was not waited for."""

from __future__ import annotations

import pytest

from ptxsim.checks.covered import without_overflows_of_missing_waits
from ptxsim.diagnostic import Finding, Label
from ptxsim.session.module import Module
from tests.helpers import CASES

MODULE = Module.from_file(CASES / "clusters" / "arrives_too_late.ptx")
PROGRAM = MODULE.kernel().program()
COPY = next(op for op in PROGRAM.ops if op.copies_in_bulk)
OVERFLOW = Finding("mbarrier-overflow", "one arrival too many", COPY.line + 1)


@pytest.mark.parametrize("name", ["missing-wait", "race-shared", "tile-overwritten"])
def test_what_comes_too_early_for_a_copy_is_why_an_mbarrier_overflows(name):
    early = Finding(name, "too early", COPY.line + 5, labels=(Label(COPY.line, "the copy"),))
    (told,) = without_overflows_of_missing_waits(PROGRAM, [early, OVERFLOW])
    assert told.name == name and "mbarrier-overflow" in told.notes[-1]


def test_a_race_that_has_nothing_to_do_with_copies_is_another_one():
    early = Finding("race-shared", "too early", 1)
    assert without_overflows_of_missing_waits(PROGRAM, [early, OVERFLOW]) == [early, OVERFLOW]

"""Phases that nobody waits for are told of the CTA that comes first, however many threads run."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import ROOT


def said(jobs):
    run = run_file(
        ROOT / "tests/machine/long/phases_nobody_waits_for.ptx",
        options=Options(engine="compiled", checks="all", jobs=jobs),
    )
    return [(each.name, each.count, each.notes) for each in run.expected]


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_tell_the_same(jobs):
    alone = said(1)
    assert [(name, count, "last arrival CTA 0" in notes[0]) for name, count, notes in alone] == [
        ("mbarrier-phase", 64, True)
    ]
    assert said(jobs) == alone

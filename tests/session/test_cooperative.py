"""Cooperative launches: barriers of the whole grid, as cooperative_groups builds them on the workspace that the driver passes."""

import numpy as np
import pytest

import ptxsim
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.session.options import LaunchOptions
from tests.helpers import text_of

KERNEL = text_of("session/barrier_of_the_grid.ptx")  # whose own directives launch it without a workspace


@pytest.mark.slow
def test_a_barrier_of_the_grid(engine):
    data = np.zeros(128, np.uint32)
    options = LaunchOptions(grid=64, block=1, checks="all", engine=engine, cooperative=True)
    run = ptxsim.Module.from_text(KERNEL).kernel().run([data], options)
    assert run.findings == []
    assert (data[64:] == np.arange(64)[::-1]).all()
    assert run.warp_instructions < 50_000  # all CTAs are there at once, none spins until others come in


def test_checks_have_room_for_all_that_are_there(monkeypatch):
    def more(checker):
        raise AssertionError("room was made anew, and all that is known copied")

    monkeypatch.setattr(OrderChecker, "_add_slots", more)
    options = LaunchOptions(grid=64, block=1, checks="all", cooperative=True)
    assert ptxsim.Module.from_text(KERNEL).kernel().run([np.zeros(128, np.uint32)], options).findings == []

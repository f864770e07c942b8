"""vprintf and __assertfail as nvcc calls them, through a whole launch."""

import numpy as np
import pytest

import ptxsim
from tests.helpers import CASES, launch

PRINT, ASSERTION = ((CASES / "control" / f"{name}.ptx").read_text() for name in ("prints", "assertion_fails"))


def test_every_lane_prints_a_line(capsys):
    launch(PRINT, [np.zeros(1, np.uint32)], engine="interpreter")
    assert capsys.readouterr().out == "lane 0:  0.00 ok\nlane 1:  0.50 ok\nlane 2:  1.00 ok\n"


def test_a_failed_assertion_is_a_trap_that_says_what_failed():
    with pytest.raises(ptxsim.KernelError, match=r"i < n.*a\.cu:12"):
        launch(ASSERTION, block=1, engine="interpreter", on_error="raise")


def test_runs_that_look_again_print_nothing(capsys):
    run = launch(PRINT, [np.zeros(1, np.uint32)])
    said = capsys.readouterr().out
    assert said.startswith("lane 0:") and run.banks.worst == 1  # counted by a second run
    assert capsys.readouterr().out == ""

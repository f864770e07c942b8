"""Which launch a program was ended in."""

import numpy as np
import pytest

from ptxsim.programs import records
from ptxsim.programs.collector import Collector
from ptxsim.programs.wanted import Wanted
from ptxsim.session.module import Kernel, Module
from ptxsim.session.options import LaunchOptions
from tests.helpers import ROOT


def test_the_launch_that_runs_is_known_until_it_ends(tmp_path, monkeypatch):
    kernel = Module.from_file(ROOT / "tests/cases/races/one_value_twice.ptx").kernel()
    collector, run, seen = Collector(Wanted(results=str(tmp_path), told="nothing")), Kernel.run, []

    def watched(*given):
        seen.append(records.unfinished(tmp_path))
        return run(*given)

    monkeypatch.setattr(Kernel, "run", watched)
    arguments = [np.zeros(64, np.uint32)] * len(kernel.parameters)
    for _ in range(2):
        collector.launch(kernel, arguments, LaunchOptions(grid=1, block=64))
    assert seen == [[f"{kernel.name}, launch 0"], [f"{kernel.name}, launch 1"]]
    assert records.unfinished(tmp_path) == []

    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Kernel, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collector.launch(kernel, arguments, LaunchOptions(grid=1, block=64))
    assert records.unfinished(tmp_path) == [f"{kernel.name}, launch 2"]
    assert records.summary([], seen[1]).splitlines() == [
        f"{kernel.name}, launch 1: ended before it was done",
        "0 launches, no findings; 0 warp instructions",
    ]

"""Memory that a launch leaves as it is: what it reads there is in order, unless it writes there all the same."""

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.session import execution
from ptxsim.session.launch import Launch
from ptxsim.session.left_memory import left_memory
from ptxsim.session.options import LaunchOptions
from tests.helpers import ROOT

CASES = ROOT / "tests" / "cases"


def names_left(path, arguments):
    """Arguments whose memory the first kernel of a case leaves as it is."""
    module = Module.from_file(CASES / path)
    kernel = module.kernel()
    launch = Launch(kernel.code("sm_90"), arguments, LaunchOptions())
    found = {first for first, _ in left_memory(launch.program, launch.memory).tolist()}
    return {name for name, (_, place) in launch.arguments.buffers.items() if place.address in found}


def test_what_is_only_read_is_left():
    x, y = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    assert names_left("memory/racy_address_made_of_bits.ptx", [x, y]) == {"x"}
    assert names_left("memory/racy_address_made_of_bits.ptx", [x, x]) == set()


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_a_write_that_strays_is_found_by_a_repetition(engine, monkeypatch):
    passes = []
    whole = execution._order_checker
    monkeypatch.setattr(execution, "_order_checker", lambda *given: passes.append(given[3]) or whole(*given))
    module = Module.from_file(CASES / "memory" / "racy_address_made_of_bits.ptx")
    x, y = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    run = module.kernel().launch(2, 32, [x, y], engine=engine, checks="all", on_error="report")
    assert [finding.name for finding in run.findings] == ["race-global"]
    assert len(passes) == 2 and len(passes[0]) == 1 and passes[1] is None

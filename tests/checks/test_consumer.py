"""Native code hands batches of records over without Python, once the scan's code is there; the same is found."""

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.checks.banks.tally import tally
from ptxsim.checks.order.scan import scan
from ptxsim.engine.compiled.run import context
from ptxsim.machine.event import EventStream
from tests.helpers import text_of

CTAS = 200


@pytest.fixture
def flushes(monkeypatch):
    """How often Python has looked."""
    found, flush = [], EventStream.flush
    monkeypatch.setattr(
        EventStream, "flush", lambda stream, first=0: (found.append(stream.count), flush(stream, first))
    )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 100, CTAS - 1, CTAS])
@pytest.mark.parametrize("checks", ["all", "none"])
def test_native_code_consumes_records(first, checks, flushes, monkeypatch):
    def launch():
        kernel, out = Module.from_text(text_of("checks/late_reads.ptx")).kernel(), np.zeros(CTAS * 128, np.uint32)
        run = kernel.launch(
            CTAS, 128, [out, first], checks=checks, banks=checks == "none", jobs=1, engine="compiled", on_error="report"
        )
        return [(each.name, each.line, each.message) for each in run.findings], repr(
            run.banks.rows
        ) if checks == "none" else ""

    monkeypatch.setenv("PTXSIM_BODIES", "python")
    wanted = launch()
    assert bool(wanted[0]) == (first < CTAS and checks == "all")
    monkeypatch.setenv("PTXSIM_BODIES", "native")
    launch()  # the code is made
    for entry in (scan if checks == "all" else tally).compiled.entries.values():
        entry.improve()
    for batch in (1, 7, context.BATCH):
        monkeypatch.setattr(context, "BATCH", batch)
        flushes.clear()
        assert launch() == wanted
        assert first < CTAS or len(flushes) <= 2

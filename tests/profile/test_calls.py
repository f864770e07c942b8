"""What calls take without an assembler, against loops of them on an H200 (tools/data/clocked)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from ptxsim import Module
from tests.helpers import ROOT

FOLDER = ROOT / "tools" / "data" / "clocked"
MEASURED = {
    (kernel, int(threads)): float(cycles)
    for kernel, ctas, threads, cycles in (
        line.split("\t") for line in (FOLDER / "calls.tsv").read_text().splitlines()[1:]
    )
    if ctas == "1"
}


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.from_text(gzip.decompress((FOLDER / "kernels" / "calls.ptx.gz").read_bytes()).decode())


@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("name", ["c_one1", "c_one16", "c_two4", "c_four4", "c_deep4"])
def test_a_turn_with_calls_takes_as_long_as_measured(monkeypatch, module, name, threads):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    data, out, clocks = (
        np.linspace(0.1, 0.9, 32, dtype=np.float32),
        np.zeros(threads, np.uint32),
        np.zeros(threads, np.uint32),
    )
    short, long = (
        module.kernel(name).launch(1, threads, [data, out, clocks, turns], profile=True, checks="none").cycles.cycles
        for turns in (32, 96)
    )
    assert (long - short) / 64 == pytest.approx(MEASURED[name, threads], rel=0.2)

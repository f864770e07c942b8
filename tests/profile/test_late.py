"""Barriers, places of warps and what CTAs of a cluster change of each other's memory, against launches of one mechanism each (tools/data/late)."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.profile.replay.state import SUBS
from tests.helpers import ROOT
from tests.profile.kernels import kernel

FOLDER = ROOT / "tools" / "data" / "late"
LAUNCHES = {row["id"]: row for row in json.loads((FOLDER / "kernels.json").read_text())}
PLACES = [line.split("\t") for line in (FOLDER / "places.tsv").read_text().splitlines()[1:]]
SPIN = "mov.u32 %r2, 4000; turn: add.u32 %r2, %r2, -1; setp.ne.u32 %p3, %r2, 0; @%p3 bra turn;"


@pytest.fixture(autouse=True)
def _no_assembler(monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.from_text(gzip.decompress((FOLDER / "kernels" / "late.ptx.gz").read_bytes()).decode())


def predicted(module: Module, name: str) -> tuple[float, float]:
    """Cycles of a launch: (predicted, measured)."""
    launch = LAUNCHES[name]
    memory = {key: np.zeros(spec["n"], np.uint32) for key, spec in launch["buffers"].items()}
    arguments = [memory[value["buf"]] if "buf" in value else next(iter(value.values())) for value in launch["args"]]
    run = module.kernel(launch["entry"]).launch(launch["grid"], launch["block"], arguments, profile=True, checks="none")
    return run.cycles.cycles, launch["warm"]["active_max"]


@pytest.mark.parametrize("name", ["b_loop0_1", "b_loop0_8", "b_loop1_32", "b_code0_4", "b_code1_16", "b_loop4_4"])
def test_a_warp_goes_on_after_a_barrier_with_what_is_no_access(module, name):
    cycles, measured = predicted(module, name)
    assert cycles == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("name", ["f_red_4_0_128_4", "f_atom_8_0_512_4", "f_sred_4_0_128_16", "f_sred_8_0_512_16"])
def test_neighbouring_words_of_another_cta_are_changed_at_once(module, name):
    cycles, measured = predicted(module, name)
    assert cycles == pytest.approx(measured, rel=0.17)


@pytest.mark.parametrize(("threads", "ctas", "first"), PLACES)
def test_warps_take_the_sub_cores_in_turn(threads, ctas, first):
    """The sub-core of each CTA's first warp, after that of the SM's first CTA."""
    run = kernel(SPIN).launch(132 * int(ctas), int(threads), [np.zeros(1024, np.float32), 0], profile=True)
    warps = run.cycles.timeline.warps
    begins = [warps[(warps[:, 1] == cta)] for cta in range(int(ctas))]
    found = [int(rows[np.lexsort((rows[:, 0], rows[:, 3]))][0, 0]) % SUBS for rows in begins]
    assert [(sub - found[0]) % SUBS for sub in found] == [int(sub) for sub in first.split()]

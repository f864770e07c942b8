"""Launches with a seed other than 0 are native like those without: what is drawn is drawn there, and nothing else changes."""

import numpy as np
import pytest

from ptxsim.engine.turns import Turns
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import CASES, facts, launch, same_on_both

# One thread of each CTA adds to a counter and waits until all have, three times; the others wait for it at a barrier.
GRID_BARRIER = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 counter, .param .u64 out)
{
    .reg .b64 %c, %o, %i; .reg .b32 %t, %v, %g, %turn, %goal, %n; .reg .pred %p, %q;
    ld.param.u64 %c, [counter]; ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %turn, 0; mov.u32 %goal, 0;
again:
    add.u32 %goal, %goal, %n;
    bar.sync 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra passed;
    fence.acq_rel.gpu;
    red.relaxed.gpu.global.add.u32 [%c], 1;
spin:
    ld.relaxed.gpu.global.u32 %v, [%c];
    setp.lt.u32 %q, %v, %goal;
    @%q bra spin;
    fence.acq_rel.gpu;
passed:
    bar.sync 0;
    add.u32 %turn, %turn, 1;
    setp.lt.u32 %q, %turn, 3;
    @%q bra again;
    mad.lo.u32 %g, %g, 64, %t; mul.wide.u32 %i, %g, 4; add.u64 %o, %o, %i; st.global.u32 [%o], %turn;
    ret;
}
"""


@pytest.fixture
def rounds(monkeypatch) -> list[int]:
    """A number for each round that Python gives."""
    found, run = [], Turns._round

    def note(self):
        found.append(self.rounds)
        return run(self)

    monkeypatch.setattr(Turns, "_round", note)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("checks", ["none", "all"])
def test_a_barrier_of_the_grid(seed, checks):
    def outcome(engine):
        memory = [np.zeros(1, np.uint32), np.zeros(20 * 64, np.uint32)]
        return *memory, facts(launch(GRID_BARRIER, memory, 20, 64, engine=engine, seed=seed, checks=checks))

    counter, out, (_, findings, _) = same_on_both(outcome)
    assert counter[0] == 60 and (out == 3).all() and findings == []


def test_who_spins_while_its_warp_waits_spins_in_native_code(rounds):
    memory = [np.zeros(1, np.uint32), np.zeros(20 * 64, np.uint32)]
    run = launch(GRID_BARRIER, memory, 20, 64, engine="compiled", seed=1, checks="none")
    assert run.warp_instructions > 10_000 and len(rounds) < 300


@pytest.mark.parametrize(
    "name",
    [
        "cp_async/groups",
        "mbarrier/ring",
        "tensor_copy/tile_in_and_out",
        "tensor_copy/read_by_wgmma",
        "wgmma/two_groups",
    ],
)
@pytest.mark.parametrize("seed", [0, 5])
def test_asynchronous_work_leaves_native_code_under_no_seed(rounds, name, seed):
    result = run_file(CASES / f"{name}.ptx", options=Options(engine="compiled", seed=seed))
    assert result.passed and result.checked > 0 and rounds == []

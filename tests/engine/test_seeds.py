"""Launches with a seed other than 0 are native like those without: what is drawn is drawn there, and nothing else changes."""

import pytest

from ptxsim.engine.compiled.run.cta_runner import NativeCluster
from ptxsim.engine.turns import Turns
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import CASES, facts, plain, same_on_both

GRID_BARRIER = CASES / "waiting" / "barrier_of_the_grid.ptx"


@pytest.fixture
def rounds(monkeypatch) -> list[int]:
    """A number for each round that Python gives, or the rest of one."""
    found, run = [], Turns.run

    def note(self, *given):
        found.append(self.standing.rounds)
        return run(self, *given)

    monkeypatch.setattr(Turns, "run", note)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("checks", ["none", "all"])
def test_a_barrier_of_the_grid(seed, checks):
    def outcome(engine):
        result = run_file(GRID_BARRIER, options=Options(engine=engine, seed=seed, checks=checks))
        assert result.passed
        return plain(result.values), facts(result.run)

    same_on_both(outcome)


def test_clusters_have_their_slices_in_native_code(monkeypatch):
    """A round each, thousands of them: Python sees those that come in, end or need it."""
    entered, enter = [], NativeCluster.enter_for
    monkeypatch.setattr(NativeCluster, "enter_for", lambda self, *how: entered.append(self) or enter(self, *how))
    result = run_file(GRID_BARRIER, options=Options(engine="compiled", seed=1, checks="none"))
    assert result.passed and len(entered) < result.run.warp_instructions / 500


@pytest.mark.parametrize("limit", [900, 3000])
def test_a_limit_ends_slices(limit):
    """Where it does for the interpreter."""
    same_on_both(
        lambda engine: facts(run_file(GRID_BARRIER, options=Options(engine=engine, seed=1, max_steps=limit)).run)
    )


def test_who_spins_while_its_warp_waits_spins_in_native_code(rounds):
    result = run_file(GRID_BARRIER, options=Options(engine="compiled", seed=1, checks="none"))
    assert result.passed and rounds == []


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

"""Sweeps: the same runs in the same order wherever they are made, whatever dies."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import ptxsim
from ptxsim import PtxError
from ptxsim.cli import main
from ptxsim.session import workers
from ptxsim.session.workers import spread
from tests.helpers import facts, plain, text_of

TEXT = text_of("session/add.ptx")


def kernel():
    module = ptxsim.Module.from_text(TEXT, "add.ptx")
    module.symbol("more")[...] = 7
    return module.kernel()


def configurations():
    """Some that are right, one with findings, one that cannot start, one made where it runs, one on another target."""
    usual = {"grid": 1, "block": 32}
    a = np.arange(32, dtype=np.uint32)
    for seed in range(6):
        yield {**usual, "args": [a + seed, np.zeros(32, np.uint32), 32], "seed": seed, "checks": "all"}
    yield {**usual, "args": [a[:4].copy(), np.zeros(32, np.uint32), 32]}
    yield {**usual, "args": [a, np.zeros(32, np.uint32)]}
    yield {**usual, "args": ["ints(32,seed=3):u32", "zeros(32):u32", 32], "target": "sm_90", "banks": True}
    yield {**usual, "args": [a, np.zeros(32, np.uint32), 32], "engine": "interpreter"}


def shown(runs):
    return [(run.entry, run.target, run.seed, facts(run), plain(dict(run.outputs)), run.stopped_at) for run in runs]


def test_runs_are_equal_wherever_they_are_made():
    given = list(configurations())
    here = ptxsim.sweep(kernel(), given)
    assert [run.has_errors for run in here] == [False] * 6 + [True, True, False, False]
    assert (here[2].outputs["B"] == np.arange(32) + 2 + 7).all()
    assert not given[0]["args"][1].any()  # the caller's arrays stay as they are
    assert [finding.source.text for finding in here[6].findings] == [TEXT] * len(here[6].findings)
    for executor in (2, ThreadPoolExecutor(2)):
        assert shown(ptxsim.sweep(kernel(), given, executor, batch=3)) == shown(here)


def test_outputs_may_be_left_out():
    assert not ptxsim.sweep(kernel(), list(configurations())[:1], outputs=False)[0].outputs


@pytest.mark.parametrize("given", [{"gird": 1}, 3, {"args": [np.zeros(workers.WIRE // 8 + 1)]}])
def test_configurations_that_are_none(given):
    with pytest.raises(PtxError):
        ptxsim.sweep(kernel(), [given])


@pytest.mark.parametrize("executor", ["x", "dask://", -1, 1.5])
def test_executors_that_are_none(executor):
    with pytest.raises(PtxError, match="no workers"):
        ptxsim.sweep(kernel(), [], executor)


# ---- one grid on several workers ----

SPREAD = TEXT.replace(
    "mov.u32 %i, %tid.x;", "mov.u32 %i, %ctaid.x; shl.b32 %i, %i, 5; mov.u32 %r, %tid.x; add.u32 %i, %i, %r;"
)


def test_the_ctas_of_a_grid_are_split(engine):
    split = ptxsim.Module.from_text(SPREAD).kernel()
    a, b = np.arange(640, dtype=np.uint32), np.full(640, 5, np.uint32)
    given = {"grid": 20, "block": 32, "args": [a, b, 630], "engine": engine}
    (whole,) = ptxsim.sweep(split, [given])
    for executor, parts in ((None, 3), (ThreadPoolExecutor(2), 7), (ThreadPoolExecutor(2), 40)):
        assert shown([ptxsim.split_grid(split, given, executor, parts=parts)]) == shown([whole])
    assert (b == 5).all() and (whole.outputs["B"][:630] == np.arange(630)).all()
    wrong = given | {"args": [a[:600], b, 640]}
    assert shown([ptxsim.split_grid(split, wrong, parts=4)]) == shown(ptxsim.sweep(split, [wrong]))


def test_grids_that_are_not_split():
    atomic = ptxsim.Module.from_text(
        SPREAD.replace("st.global.u32 [%b], %r;", "atom.global.add.u32 %r, [%b], 1;")
    ).kernel()
    given = {"grid": 4, "block": 32, "args": [np.zeros(128, np.uint32), np.zeros(128, np.uint32), 128]}
    with pytest.raises(PtxError, match="in which order"):
        ptxsim.split_grid(atomic, given)
    for more in ({"checks": "all"}, {"banks": True}, {"part": (0, 1)}):
        with pytest.raises(PtxError):
            ptxsim.split_grid(kernel(), given | more)


# ---- workers that die ----


def _square(number):
    return number * number


def _deadly(folder, number):
    """Some kill their worker the first time, one each time."""
    mark = folder / str(number)
    if number == 9 or (number % 7 == 3 and not mark.exists()):
        mark.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def _failing(number):
    if number == 5:
        raise ValueError("five")
    return number


def _unkept(number):
    class Odd(Exception):
        pass

    raise Odd(number)


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["own", "given"])
def test_workers_that_die(tmp_path, whose):
    with ProcessPoolExecutor(2) as given:
        executor = 2 if whose == "own" else given
        found = list(spread(partial(_deadly, tmp_path), range(20), executor, batch=3, lost=lambda number: -number))
    assert found == [-n if n == 9 else n * n for n in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError("handle is closed"), RuntimeError("cannot schedule new futures")])
def test_an_executor_that_takes_no_more(error):
    class Closing(ThreadPoolExecutor):
        def submit(self, *_):
            raise error

    with Closing(1) as closing:
        assert list(spread(_square, range(5), closing, batch=2)) == [0, 1, 4, 9, 16]


@pytest.mark.slow
def test_processes_that_cannot_be_made_at_once(monkeypatch):
    """A pool that breaks while it makes a process may end the server that makes them."""
    failing = iter([OSError(9, "Bad file descriptor"), ConnectionRefusedError(111, "Connection refused")])

    class Refused(ProcessPoolExecutor):
        def submit(self, *given):
            if (error := next(failing, None)) is not None:
                raise error
            return super().submit(*given)

    monkeypatch.setattr("ptxsim.session.workers.ProcessPoolExecutor", Refused)
    assert list(spread(_square, range(5), 2, batch=2)) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("where", [None, ThreadPoolExecutor(2)])
def test_what_is_raised_comes_back_in_order(where):
    results = spread(_failing, range(9), where, batch=2)
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="five"):
        next(results)
    with pytest.raises(RuntimeError, match="Odd: 0"):
        list(spread(_unkept, range(2), where))


def test_work_is_taken_as_it_is_wanted():
    taken = []
    results = spread(_square, (taken.append(n) or n for n in range(100_000)), ThreadPoolExecutor(2), batch=2)
    assert [next(results) for _ in range(4)] == [0, 1, 4, 9]
    assert len(taken) <= 2 * (workers.AHEAD + 2)


# ---- the command ----


def test_the_command(tmp_path, capsys):
    file = tmp_path / "add.ptx"
    file.write_text(TEXT.replace("// ptxsim: launch", "//ptxsim:launch"))  # which is one, too
    varied = ["--arg", "n=40", "--block", "32", "--block", "64", "--target", "sm_80", "--target", "sm_90"]
    words = ["sweep", str(tmp_path), "--seeds", "3", *varied]
    assert main([*words, "--workers", "1"]) == 1
    here = capsys.readouterr().out
    assert here.splitlines()[-1].startswith("12 runs: 6 clean, 6 with findings; ")
    assert "target=sm_90 block=64x1x1 seed=2: error out-of-bounds" in here
    assert main([*words, "--workers", "2"]) == 1
    assert capsys.readouterr().out == here
    assert main(["sweep", str(file), "--workers", "1", "--format", "json"]) == 0
    assert '"warp_instructions"' in capsys.readouterr().out
    assert main(["sweep", str(tmp_path / "nothing"), "--workers", "1"]) == 2
    assert main(["sweep", str(file), "--workers", "some"]) == 2


# ---- Dask ----


@pytest.mark.slow
def test_dask_with_a_worker_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    given = list(configurations()) * 12
    here = shown(ptxsim.sweep(kernel(), given))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            runs = spread(_slowly, range(60), client.get_executor(), batch=2)
            assert next(runs) == 0
            os.kill(pids[0], signal.SIGKILL)
            assert list(runs) == list(range(1, 60))
            assert shown(ptxsim.sweep(kernel(), given, client.get_executor(), batch=5)) == here
        address = cluster.scheduler_address.removeprefix("tcp://")
        assert shown(ptxsim.sweep(kernel(), given[:20], f"dask://{address}", batch=5)) == here[:20]


def _slowly(number):
    import time

    time.sleep(0.05)
    return number

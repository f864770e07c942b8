"""Autotuning and benchmarks: predicted time, samples of the CTAs, and results that are made where they are asked for."""

import functools

import numpy as np
import pytest

import ptxsim.triton
from ptxsim.programs import records

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import triton.language as tl  # noqa: E402

from tests.triton.programs.kernels import add, add_kernel, matmul_kernel, persistent_kernel  # noqa: E402


@triton.jit
def counting_kernel(count):
    tl.atomic_add(count, 1)


@triton.jit
def last_kernel(x, index, out, BLOCK: tl.constexpr):
    """Only the last CTA writes, at a place that it loads."""
    if tl.program_id(0) == tl.num_programs(0) - 1:
        at = tl.arange(0, BLOCK)
        tl.store(out + tl.load(index + at), tl.load(x + at))


@triton.jit
def table_kernel(table, x, BLOCK: tl.constexpr):
    """As above, into a tensor whose address lies in memory."""
    if tl.program_id(0) == tl.num_programs(0) - 1:
        at = tl.arange(0, BLOCK)
        tl.store(tl.load(table).to(tl.pointer_type(tl.float32)) + at, tl.load(x + at))


@triton.jit
def two_tables_kernel(froms, tos, BLOCK: tl.constexpr):
    """As above, from a tensor whose address lies in memory, too."""
    if tl.program_id(0) == tl.num_programs(0) - 1:
        at = tl.arange(0, BLOCK)
        x = tl.load(tl.load(froms).to(tl.pointer_type(tl.float32)) + at)
        tl.store(tl.load(tos).to(tl.pointer_type(tl.float32)) + at, x)


@triton.jit
def racy_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.program_id(0))


def test_the_autotuner_goes_by_predicted_time(capsys):
    a = torch.randn(128, 64).half()
    b, c = a.T.contiguous(), torch.empty(128, 128).half()
    matmul_kernel.cache.clear()
    with ptxsim.triton.active() as runs:
        matmul_kernel[lambda meta: (triton.cdiv(128, meta["M"]) * triton.cdiv(128, meta["N"]),)](
            a, b, c, 128, 128, 64, *a.stride(), *b.stride(), *c.stride()
        )
        assert [run.cycles is not None for run in runs] == [True, True, False]
        found = triton.testing.do_bench(lambda: add(a.view(-1), a.view(-1), torch.empty(8192).half(), 500))
        assert found == pytest.approx(runs[-1].cycles.time_us / 1000) and found > 0
        assert triton.testing.do_bench(
            lambda: add(a.view(-1), a.view(-1), c, 500), quantiles=[0.5, 0.2]
        ) == pytest.approx([found] * 2)
        assert triton.testing.do_bench(lambda: a + a) > 0


def test_untuned_programs_take_the_first_configuration_that_runs():
    a = torch.randn(128, 64).half()
    b, c = a.T.contiguous(), torch.empty(128, 128).half()
    too_large = triton.Config({"M": 256, "N": 256, "K": 256, "GROUP": 1}, num_stages=4)
    tuned = triton.autotune([too_large, *matmul_kernel.configs], key=["m"])(matmul_kernel.fn)

    def launch(m):
        with ptxsim.triton.active(untuned=True) as runs:
            tuned[lambda meta: (triton.cdiv(m, meta["M"]) * triton.cdiv(128, meta["N"]),)](
                a, b, c, m, 128, 64, *a.stride(), *b.stride(), *c.stride()
            )
        assert tuned.best_config is matmul_kernel.configs[0]
        return [run.cycles is not None for run in runs]

    assert launch(128) == [True, False] and launch(128) == [False] and launch(64) == [True, False]
    assert torch.allclose(c[:64], (a[:64].float() @ b.float()).half(), atol=1e-2, rtol=1e-2)


def test_what_a_benchmark_measures_is_the_best_of_the_trials_not_all_of_them():
    a = torch.randn(128, 64).half()
    b, c = a.T.contiguous(), torch.empty(128, 128).half()
    matmul_kernel.cache.clear()
    with ptxsim.triton.active() as runs:
        launch = lambda: matmul_kernel[  # noqa: E731
            lambda meta: (triton.cdiv(128, meta["M"]) * triton.cdiv(128, meta["N"]),)
        ](a, b, c, 128, 128, 64, *a.stride(), *b.stride(), *c.stride())
        first = triton.testing.do_bench(launch)
        assert len(runs) == 3 and first == pytest.approx(runs[-1].cycles.time_us / 1000)
        assert first == pytest.approx(min(run.cycles.time_us for run in runs) / 1000)
        assert triton.testing.do_bench(launch) == first


def test_trials_of_the_autotuner_run_a_sample_of_the_ctas(tmp_path):
    x, out = torch.rand(600 * 128), torch.zeros(600 * 128)
    count = torch.zeros(1, dtype=torch.int32)
    with ptxsim.triton.active(results=str(tmp_path)) as runs:
        clock = triton.runtime.driver.active.clock
        launch = lambda: add_kernel[(600,)](x, x, out, x.numel(), BLOCK=128)  # noqa: E731
        sampled = clock.trial(launch)
        assert runs[-1].is_sample and (out == 0).all()  # nobody reads what it has written
        assert clock.benchmark(launch) == pytest.approx(sampled, rel=0.05)
        assert (out == 2 * x).all() and [run.is_sample for run in runs] == [True, True, False]
        clock.trial(lambda: counting_kernel[(600,)](count))
        assert count.item() == 600  # CTAs that notice each other run all
    assert runs[0].warp_instructions < runs[2].warp_instructions / 10
    told = records.read(tmp_path)
    assert [record["sample"] for record in told] == [run.is_sample for run in runs]
    added, counted = records.summary(told).splitlines()[:2]
    assert added.startswith("add_kernel: 3 launches, ") and added.endswith(
        " cycles (2 launches by a sample of the CTAs)"
    )
    assert "counting_kernel: 1 launch" in counted and "sample" not in counted


def test_a_benchmark_runs_a_sample_unless_its_results_are_asked_for():
    x, kept = torch.rand(600 * 128), []

    def twice(x):
        out = torch.full_like(x, 7)
        add_kernel[(600,)](x, x, out, x.numel(), BLOCK=128)
        return out

    with ptxsim.triton.active() as runs:
        bench = triton.testing.do_bench
        once = bench(lambda: twice(x))
        assert [run.is_sample for run in runs] == [True]
        # The second reads what the first has written, but goes no other way by it.
        assert bench(lambda: twice(twice(x))) == pytest.approx(2 * once, rel=0.05)
        assert [run.is_sample for run in runs[1:]] == [True, True]
        bench(lambda: kept.append(twice(twice(x)) / 2))
        assert [run.is_sample for run in runs[3:]] == [True, True, False, False]
        before = 2 * x

        def and_then():
            kept.append(twice(x))
            x.mul_(3)

        for look in (
            lambda out: out,
            lambda out: out + 0,
            lambda out: out.numpy().copy(),
            lambda out: torch.tensor(out.tolist()),
        ):
            bench(lambda look=look: kept.append(look(twice(x))))
        bench(and_then)
    assert all(np.array_equal(out, before) for out in kept) and len(kept) == 6


def test_what_a_marked_function_prepares_is_part_of_its_benchmark(monkeypatch):
    x, index, kept = torch.rand(128), torch.randperm(128, dtype=torch.int32), []

    def run(mark):  # as of perf_report, without its tables
        return [mark.fn(**{bench.line_arg: value}) for bench in mark.benchmarks for value in bench.line_vals]

    monkeypatch.setattr(triton.testing.Mark, "run", run)
    lines = triton.testing.Benchmark(["n"], [1], "how", ["drop", "index", "keep"], [""] * 3, "plot", {})

    @triton.testing.perf_report([lines])
    def marked(how):
        first, last = torch.zeros(128), torch.zeros(128)
        last_kernel[(600,)](x, index, first, BLOCK=128)
        assert torch.empty_like(first).shape == first.shape
        if how == "index":  # it says where the next one writes
            first = torch.zeros(128, dtype=torch.int32)
            last_kernel[(600,)](index, index, first, BLOCK=128)
        found = triton.testing.do_bench(
            lambda: last_kernel[(600,)](x, first if how == "index" else index, last, BLOCK=128)
        )
        if how == "keep":
            kept.append(first)
        return found

    function = marked.fn
    with ptxsim.triton.active() as runs:
        assert all(marked.run())
    assert [run.is_sample for run in runs] == [True] * 2 + [True, True, False, False, True] + [True, True, False]
    assert marked.fn is function
    expected = torch.zeros(128)
    expected[index.long()] = x
    assert (kept[0] == expected).all()


class Permuted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(x, index)
        ctx.again = lambda: (ctx, x)  # a circle
        out = torch.zeros_like(x)
        last_kernel[(600,)](x, index, out, BLOCK=128)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, index = ctx.saved_tensors
        out = torch.zeros_like(x)
        last_kernel[(600,)](x, index, out, BLOCK=128)
        return out, None


def test_gradients_that_nobody_holds_any_longer_are_not_made(monkeypatch):
    index, kept = torch.randperm(128, dtype=torch.int32), []
    monkeypatch.setattr(triton.testing.Mark, "run", lambda mark: [mark.fn(how=how) for how in ("drop", "keep")])

    @triton.testing.perf_report([])
    def marked(how):
        x = torch.rand(128, requires_grad=True)
        if how == "keep":
            kept.append(x)
        out = Permuted.apply(x, index)
        grad = torch.rand(128)
        return triton.testing.do_bench(lambda: out.backward(grad, retain_graph=True))

    with ptxsim.triton.active() as runs:
        assert all(marked.run())
    assert [run.is_sample for run in runs] == [True, True] + [True, True, False]
    expected = torch.zeros(128)
    expected[index.long()] = kept[0].detach()
    assert (kept[0].grad == expected).all()


def test_what_tables_of_addresses_lead_to_is_there_until_it_is_needed_no_more(monkeypatch):
    other, kept, right = torch.zeros(128), [], []

    def run(mark):
        return [mark.fn(how=value) for bench in mark.benchmarks for value in bench.line_vals]

    monkeypatch.setattr(triton.testing.Mark, "run", run)

    @triton.testing.perf_report([triton.testing.Benchmark(["n"], [1], "how", ["drop", "keep"], ["", ""], "plot", {})])
    def marked(how):
        x, out = torch.rand(128), torch.zeros(128)
        froms, tos = torch.tensor([x.data_ptr()]), torch.tensor([out.data_ptr()])
        if how == "keep":
            kept.append(out)
            right.append(x.tolist())
        return triton.testing.do_bench(lambda: two_tables_kernel[(600,)](froms, tos, BLOCK=128))

    with ptxsim.triton.active() as runs:
        assert other.data_ptr()  # a tensor that nothing leads to
        assert all(marked.run())
    assert [run.is_sample for run in runs] == [True, True, False] and not any(run.has_errors for run in runs)
    assert kept[0].tolist() == right[0]


def test_a_large_launch_between_events_is_predicted_from_some_of_its_sms():
    x, out, other = torch.rand(3000 * 128), torch.zeros(3000 * 128), torch.zeros(3000 * 128)
    with ptxsim.triton.active() as runs:
        launch = functools.partial(add_kernel[(3000,)], x, x, n=x.numel(), BLOCK=128)
        sampled = triton.testing.do_bench(lambda: launch(out))
        interface = triton.runtime.driver.active.get_device_interface()
        begin, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        begin.record()
        launch(other)
        end.record()
        assert begin.elapsed_time(end) == pytest.approx(sampled, rel=0.1)
    assert not runs[-1].is_sample and (other == 2 * x).all()


def test_quick_benchmarks_make_no_results():
    x, out = torch.rand(600 * 128), torch.zeros(600 * 128)

    def twice():
        add_kernel[(600,)](x, x, out, x.numel(), BLOCK=128)

    with ptxsim.triton.active(quick=True) as runs:
        assert triton.testing.do_bench(twice) > 0 and (out == 0).all()
        assert [run.is_sample for run in runs] == [True]
        twice()
        assert (out == 2 * x).all()


def test_what_a_benchmark_may_have_written_is_made_in_full_whatever_its_sample_has_changed():
    x, index = torch.rand(128), torch.randperm(128, dtype=torch.int32)
    with ptxsim.triton.active() as runs:
        bench = triton.testing.do_bench
        out = torch.zeros(128)
        bench(lambda: last_kernel[(600,)](x, index, out, BLOCK=128))
        assert (out[index.long()] == x).all() and [run.is_sample for run in runs] == [True, False]
        bench(lambda: last_kernel[(600,)](x, index, torch.zeros(128), BLOCK=128))  # what is only read costs nothing
        assert [run.is_sample for run in runs[2:]] == [True]
        out = torch.zeros(128)
        table = torch.tensor([out.data_ptr()])
        bench(lambda: table_kernel[(600,)](table, x, BLOCK=128))
        assert (out == x).all()


def test_a_benchmark_writes_through_a_descriptor_of_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, b, c = torch.randn(1024, 64).half(), torch.randn(64, 64).half(), torch.zeros(1024, 64).half()
    maps = [TensorDescriptor(x, x.shape, x.stride(), [64, 64]) for x in (a, b, c)]
    with ptxsim.triton.active() as runs:
        triton.testing.do_bench(lambda: persistent_kernel[(16,)](*maps, 1024, 64, 64, M=64, N=64, K=64))
    assert [run.is_sample for run in runs] == [True, False]
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=4e-2, rtol=1e-2)


def test_a_benchmark_keeps_what_it_has_written_before_it_is_stopped_and_into_memory_of_others():
    x, index, array = torch.rand(128), torch.arange(128, dtype=torch.int32), np.zeros(128, np.float32)
    out = torch.zeros(128)

    def stopped():
        last_kernel[(600,)](x, index, out, BLOCK=128)
        raise ValueError("stopped")

    with ptxsim.triton.active():
        with pytest.raises(ValueError, match="stopped"):
            triton.testing.do_bench(stopped)
        assert (out == x).all()
        triton.testing.do_bench(lambda: last_kernel[(600,)](x, index, torch.from_numpy(array), BLOCK=128))
        assert (torch.from_numpy(array) == x).all()


def test_a_small_launch_writes_over_what_a_sample_has_read_only_after_it():
    x, y, out, index = torch.rand(128), torch.rand(128), torch.zeros(128), torch.arange(128, dtype=torch.int32)
    before = x.clone()

    def both():
        last_kernel[(600,)](x, index, out, BLOCK=128)
        last_kernel[(1,)](y, index, x, BLOCK=128)

    with ptxsim.triton.active():
        triton.testing.do_bench(both)
    assert (out == before).all() and (x == y).all()


def test_a_benchmark_within_one_reads_what_the_outer_one_has_written():
    x, index, out, last = torch.rand(128), torch.arange(128, dtype=torch.int32), torch.zeros(128), torch.zeros(128)

    def outer():
        last_kernel[(600,)](x, index, out, BLOCK=128)
        triton.testing.do_bench(lambda: last_kernel[(600,)](out, index, last, BLOCK=128))

    with ptxsim.triton.active():
        triton.testing.do_bench(outer)
    assert (last == x).all()


def test_what_is_measured_is_checked_once():
    x, out, both = torch.rand(16), torch.zeros(16), ["race-global", None, "race-global"]
    with ptxsim.triton.active() as runs:
        racy_kernel[(2,)](x, out, BLOCK=16)
        triton.testing.do_bench(lambda: racy_kernel[(2,)](x, out, BLOCK=16))
        racy_kernel[(2,)](x, out, BLOCK=16)
    assert [next((f.name for f in run.findings if f.level == "error"), None) for run in runs] == both

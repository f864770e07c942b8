"""Triton programs with wrong numbers and no finding: what is told of an element, and of a comparison that fails."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402  # once it is known that it can be imported

from ptxsim.programs import comparisons  # noqa: E402
from ptxsim.programs.collector import Collector  # noqa: E402
from ptxsim.programs.wanted import Wanted  # noqa: E402
from ptxsim.triton import _driver, repeats  # noqa: E402


@triton.jit
def row_sums(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * stride + tl.program_id(0), mask=at < n, other=0.0)  # a column, not a row
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def row_maxima(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0)  # of all that is left out, 0
    tl.store(out_ptr + tl.program_id(0), tl.max(x, axis=0))  # of negative numbers


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    m, n = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + m * K + k + n)
        b = tl.load(b_ptr + (k + m) * BLOCK + n)
        total = tl.dot(a, b)  # = for +=
    tl.store(c_ptr + m * BLOCK + n, total)


def line(mark):
    text = Path(__file__).read_text().splitlines()
    return f"test_why.py:{next(number for number, one in enumerate(text, 1) if one.endswith(mark))}"


@pytest.fixture
def ask():
    said = []

    def run(program, *questions):
        collector = Collector(Wanted(target="sm_90", why=questions))
        collector.answers.say = said.append
        with _driver(collector).installed():
            program(collector)
        return said

    return run


def test_a_column_for_a_row(ask):
    x, out = torch.rand(32, 32), torch.zeros(32)
    (said,) = ask(lambda _: row_sums[(32,)](out, x, 32, 32, BLOCK=32), "out_ptr[5]")
    assert f"depends on x_ptr[:,5], all that the program loads at {line('a column, not a row')}" in said
    assert "lanes that the mask" not in said and "by program (5,0,0)" in said


def test_lanes_that_the_mask_leaves_out(ask):
    x, out = -torch.rand(4, 20), torch.zeros(4)
    (said,) = ask(lambda _: row_maxima[(4,)](out, x, 20, BLOCK=32), "out_ptr[1]")
    assert "depends on x_ptr[1,:]" in said
    assert (
        f"depends on lanes that the mask at {line('of all that is left out, 0')} leaves out, which hold 0 (other=): right where that changes nothing"
        in said
    )


def test_a_product_that_is_not_added_up(ask):
    a, b, c = torch.rand(16, 64).half(), torch.rand(64, 16).half(), torch.zeros(16, 16)
    (said,) = ask(lambda _: matmul[(1,)](a, b, c, 64, BLOCK=16), "c_ptr[3,7]")
    assert "depends on a_ptr[3,48:64], 16 of the 1024 elements" in said
    assert "depends on b_ptr[48:64,7], 16 of the 1024 elements" in said


def test_a_comparison_that_fails_is_told_of(ask, monkeypatch):
    monkeypatch.setattr(comparisons, "_is_listening", [True])
    monkeypatch.setattr(comparisons, "_asked", [])
    monkeypatch.setattr(comparisons, "_told", [])
    close = comparisons._listening(torch.testing.assert_close)
    x, out, other = torch.rand(32, 32), torch.zeros(32), torch.zeros(32)

    def program(collector):
        row_sums[(32,)](out, x, 32, 32, BLOCK=32)
        row_sums[(32,)](other, x, 32, 32, BLOCK=32)
        close(out, x.sum(0))
        for _ in range(5):
            with pytest.raises(AssertionError):
                close(out[4:], x.sum(1)[4:])
        with pytest.raises(AssertionError):
            close(torch.zeros(3), torch.ones(3))

    said = ask(program)
    assert len(said) == 2 * 3
    assert (
        said[0].startswith("result == expected does not hold: result[0] is ")
        and "28 of 28 elements are wrong, every one" in said[0]
    )
    assert "out_ptr[4] is" in said[1] and "launch 0" in said[1] and "depends on x_ptr[:,4]" in said[1]


def test_a_launch_that_was_not_made_again_is_told_of(ask, monkeypatch):
    monkeypatch.setattr(comparisons, "_is_listening", [True])
    monkeypatch.setattr(comparisons, "_asked", [])
    monkeypatch.setattr(comparisons, "_told", [])
    monkeypatch.setattr(repeats, "_SPEED", 1e30)  # small launches, too, are known
    close = comparisons._listening(torch.testing.assert_close)
    x = torch.rand(32, 32)

    def program(collector):
        collector.keep = True
        outs = [row_sums_of(x) for _ in range(4)]
        outs[3].zero_()
        row_maxima[(4,)](outs[3], x, 20, BLOCK=32)
        row_sums_of(x)  # after it, as the first
        assert len({id(run) for run in collector.runs}) == 2
        for out in outs[2:]:
            with pytest.raises(AssertionError):
                close(out, x.sum(1))

    _, rows, _, maxima = ask(program)
    assert "out_ptr[0] is" in rows and "row_sums, launch 0" in rows and "depends on x_ptr[:,0]" in rows
    assert "row_maxima, launch 4" in maxima


def row_sums_of(x):
    out = torch.zeros(32)
    row_sums[(32,)](out, x, 32, 32, BLOCK=32)
    return out


def test_a_launch_that_is_measured_by_a_sample_is_not_remembered(ask, monkeypatch):
    monkeypatch.setattr(comparisons, "_is_listening", [True])
    x, out = torch.rand(600, 32), torch.zeros(600)

    def program(collector):
        clock = triton.runtime.driver.active.clock
        clock.trial(lambda: row_sums[(600,)](out, x, 32, 32, BLOCK=32))
        assert not collector.answers._past
        row_sums[(600,)](out, x, 32, 32, BLOCK=32)
        assert len(collector.answers._past) == 1

    assert ask(program) == []

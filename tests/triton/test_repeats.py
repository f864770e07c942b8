"""Launches and products that are repeated on what has not changed are known; what they leave is as if they had run."""

import json
import subprocess
import sys

import pytest

import ptxsim.triton

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")

from ptxsim.triton import repeats  # noqa: E402
from tests.triton.programs.kernels import add_kernel  # noqa: E402


@pytest.fixture(autouse=True)
def small_launches(monkeypatch):
    """Small launches take no longer than their memory is compared in."""
    monkeypatch.setattr(repeats, "_SPEED", 1e30)


def double(x, out):
    add_kernel[(1,)](x, x, out, x.numel(), BLOCK=128)
    return out


def distinct(runs):
    return len({id(run) for run in runs})


def test_a_launch_on_what_has_not_changed_is_not_run():
    x, out = torch.rand(100), torch.zeros(100)
    with ptxsim.triton.active() as runs:
        for _ in range(6):
            assert (double(x, out) == 2 * x).all()
        assert len(runs) == 6 and distinct(runs) == 2  # the first found zeros there, the others the result
        x[3] = 7
        assert double(x, out)[3] == 14 and distinct(runs) == 3
        out.zero_()
        assert (double(x, out) == 2 * x).all()
        assert (double(x[:50], out) == torch.cat([2 * x[:50], 2 * x[50:]])).all()


def test_a_launch_that_changes_what_it_reads_runs_each_time():
    x = torch.ones(100)
    with ptxsim.triton.active() as runs:
        for power in range(1, 8):
            assert (double(x, x) == 2**power).all()
        assert distinct(runs) == 7


def test_addresses_that_the_program_has_are_no_repetition():
    x, out = torch.rand(100), torch.zeros(100)
    with ptxsim.triton.active() as runs:
        assert out.data_ptr()
        for _ in range(5):
            double(x, out)
        assert distinct(runs) == 5


PROGRAM = """
import numpy as np, torch, triton
from ptxsim.triton import products, repeats
from tests.triton.programs.kernels import add_kernel
repeats._SPEED, products._LARGE = 1e30, 1
x = torch.rand(200, device="cuda")

def double(use=None):
    out = torch.empty_like(x)
    if use is not None:
        use(out)
    add_kernel[(1,)](x, x, out, 100, BLOCK=128)
    return out

def shares(tensor):
    return torch._C._is_cow_tensor(tensor)

outs = [double() for _ in range(5)]
assert [shares(out) for out in outs] == [False, True, True, True, True]
assert all((out[:100] == 2 * x[:100]).all() for out in outs)
outs[3][0] = -1  # others do not see it
assert outs[4][0] == 2 * x[0] and double()[0] == 2 * x[0]
for use in (lambda out: out.fill_(7), lambda out: out.numpy().fill(7), lambda out: out.data.fill_(7), lambda out: out[5:].fill_(7)):
    assert (double(use)[100:] == 7).all()  # it is none that may hold anything
half = torch.empty_like(x)
whole = half.view(10, 20)  # two tensors of one storage
add_kernel[(1,)](x, x, half, 100, BLOCK=128)
assert whole[0, 0] == half[0] == 2 * x[0]

a, b = torch.randn(64, 32, device="cuda").half(), torch.randn(48, 32, device="cuda").half()
found = [a @ b.T for _ in range(4)]
assert [shares(one) for one in found] == [False, True, True, True] and all(torch.equal(one, found[0]) for one in found)
found[1][0, 0] = 99
assert torch.equal(a @ b.T, found[0])
b[0, 0] += 1
assert not torch.equal(a @ b.T, found[0])
table = torch.tensor([x.data_ptr(), x[4:].data_ptr()], device="cuda")
assert table[1] - table[0] == 16 and table[0] != x.untyped_storage().data_ptr()
"""


def test_results_share_memory_until_they_are_written(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)
    assert [record["launch"] for record in records] == list(range(11))
    assert records[3] == records[0] | {"launch": 3} and records[0]["warp_instructions"]


PROFILED = """
import torch, triton, triton.language as tl
import triton.profiler as proton

def what(grid, kernel, args):
    return {"name": f"double [{args['n']}]", "flops32": float(args["n"])}

@triton.jit(launch_metadata=what)
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

x = torch.rand(100, device="cuda")
proton.start("found", hook="triton")
proton.deactivate()
double[(1,)](x, torch.empty_like(x), 100, BLOCK=128)
proton.activate(0)
for _ in range(3):
    double[(1,)](x, torch.empty_like(x), 100, BLOCK=128)
proton.deactivate(0)
proton.finalize()
"""


def test_the_profiler_is_told_predicted_times(tmp_path):
    pytest.importorskip("triton.profiler")
    (tmp_path / "profiled.py").write_text(PROFILED)
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", "profiled.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    time = json.loads(done.stdout)[0]["profile"]["time_us"]
    nodes = json.loads((tmp_path / "found.hatchet").read_text())[0]["children"]
    [found] = [node["metrics"] for node in nodes if node["frame"]["name"] == "double [100]"]
    assert (
        found["count"] == 3 and found["flops32"] == 300 and found["time (ns)"] == pytest.approx(3000 * time, rel=0.02)
    )  # which JSON rounds

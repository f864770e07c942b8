"""Programs of numba-cuda run under `ptxsim exec` as they are: launches, memory, streams and events of the CUDA driver."""

import ctypes.util
import importlib.util
import json
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]

START = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda, float32
"""
RIGHT = """
@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]

@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            part[t] += part[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])

TABLE = np.arange(10, dtype=np.float32)

@cuda.jit
def constant(out):
    out[cuda.grid(1)] = cuda.const.array_like(TABLE)[cuda.grid(1)]

@cuda.jit
def double(x):
    if cuda.grid(1) < x.size:
        x[cuda.grid(1)] *= 2

a = np.arange(1000, dtype=np.float32)
da, db, dc = cuda.to_device(a), cuda.to_device(2 * a), cuda.device_array_like(a)
add[8, 128](da, db, dc)
cuda.synchronize()
assert (dc.copy_to_host() == 3 * a).all()

out = np.zeros(1, np.float32)
total[8, 128](np.ones(1000, np.float32), out)
assert out[0] == 1000

stream, start, end = cuda.stream(), cuda.event(), cuda.event()
start.record(stream)
add.forall(a.size, stream=stream)(da, dc, dc)
end.record(stream)
end.synchronize()
assert (dc.copy_to_host(stream=stream) == 4 * a).all()
assert cuda.event_elapsed_time(start, end) > 0  # predicted

out = np.zeros(10, np.float32)
constant[1, 10](out)
assert (out == TABLE).all()

for shared in (cuda.managed_array(4, np.float32), cuda.mapped_array(4, np.float32)):
    shared[:] = 3
    double[1, 32](shared)
    cuda.synchronize()
    assert (shared == 6).all()

d = cuda.device_array(6, np.int32)
d[:] = 5
d[2:4] = np.array([1, 2], np.int32)
assert d.copy_to_host().tolist() == [5, 5, 1, 2, 5, 5] and d[3] == 2
free, size = cuda.current_context().get_memory_info()
assert 0 < free < size and cuda.get_current_device().compute_capability == (9, 0)
print("right")
"""
WRONG = """
@cuda.jit(lineinfo=True)
def shift(x):
    x[cuda.grid(1) + 1] = 1  # the last thread writes past the array

shift[1, 128](cuda.device_array(128, np.float32))
"""


def run(program, folder, *options):
    path = folder / "program.py"
    path.write_text(START + program)
    command = [sys.executable, "-m", "ptxsim", "exec", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


def test_a_program_is_right_and_has_no_findings(tmp_path):
    done = run(RIGHT, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout and "no findings" in done.stdout + done.stderr
    assert "__main__::add: 1 launch\n" in done.stdout + done.stderr


def test_a_finding_names_the_python_line(tmp_path):
    line = (START + WRONG).splitlines().index(
        "    x[cuda.grid(1) + 1] = 1  # the last thread writes past the array"
    ) + 1
    done = run(WRONG, tmp_path, "--format", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    (launch,) = json.loads(done.stdout)
    (finding,) = [found for found in launch["findings"] if found["level"] == "error"]
    assert finding["name"] == "out-of-bounds" and finding["source_line"] == line
    assert "program.py" in finding["source_file"]


BLUR = """
@cuda.jit(lineinfo=True)
def blur(src, dst):
    i, j = cuda.grid(2)
    if i < dst.shape[0] and j < dst.shape[1]:
        right = src[i, min(j + 2, 15)]  # j + 1
        dst[i, j] = src[i, j] + right

src = np.arange(256, dtype=np.float32).reshape(16, 16)
d = cuda.to_device(np.zeros((16, 16), np.float32))
blur[(1, 1), (16, 16)](src, d)
got = d.copy_to_host()
print(np.allclose(got, src + np.c_[src[:, 1:], src[:, -1:]]))
"""


def test_wrong_numbers_are_explained_by_the_arrays_names_and_indices(tmp_path):
    done = run(BLUR, tmp_path, "--why", "dst[3,5]")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    line = (START + BLUR).splitlines().index("        right = src[i, min(j + 2, 15)]  # j + 1") + 1
    assert "dst[3,5] is 108 after __main__::blur, launch 0" in said
    assert f"depends on src[3,7], 1 of the 224 elements that the block loads at program.py:{line}" in said
    assert "result == expected does not hold: result[0,0] is 2, expected 1" in said  # unasked
    assert "dst[0,0] is 2 after __main__::blur" in said and "depends on src[0,2]" in said


def test_what_cannot_be_linked_says_so(tmp_path):
    program = """
@cuda.jit
def grid(y):
    cuda.cg.this_grid().sync()

grid[2, 32](cuda.device_array(4, np.int32))
"""
    done = run(program, tmp_path)
    assert done.returncode != 0
    assert "is not PTX: only PTX is linked" in done.stderr


@pytest.mark.skipif(bool(ctypes.util.find_library("cuda")), reason="this machine has a driver")
def test_other_libraries_find_no_driver(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import ctypes\nctypes.CDLL('libcuda.so.1')\n")
    command = [sys.executable, "-m", "ptxsim", "exec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "libcuda.so.1: cannot open" in done.stderr

"""Programs in CuTe DSL run under `ptxsim exec` as they are: compiled host code, launches, tensors of torch, memory of the driver, tensor maps."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("nvidia_cutlass_dsl") is None, reason="nvidia-cutlass-dsl is not installed"
    ),
]

PRODUCTS = Path(__file__).with_name("cute_products.py")
KERNEL = """
import cutlass
import numpy as np
from cutlass import cute

@cute.kernel
def total(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    part = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128))
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    part[t] = cutlass.Float32(0)
    if b * 128 + t < n:
        part[t] = x[b * 128 + t]
    cute.arch.sync_threads()
    if t == 0:
        found = cutlass.Float32(0)
        for i in range(128):
            found += part[i]
        out[b] = found

@cute.kernel
def shift(x: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    if t < n:
        x[t + 1] = cutlass.Float32(1)  # the last thread writes past the tensor
"""
TORCH = """
import torch
from cutlass.cute.runtime import from_dlpack

@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
    total(x, out, n).launch(grid=((n + 127) // 128, 1, 1), block=(128, 1, 1))

x, out = torch.arange(1000, dtype=torch.float32, device="cuda"), torch.zeros(10, device="cuda")
compiled = cute.compile(host, from_dlpack(x), from_dlpack(out[2:]), 1000)
for _ in range(2):
    compiled(from_dlpack(x), from_dlpack(out[2:]), 1000)
    assert (out[2:].sum(), out[:2].sum()) == (x.sum(), 0), out
    x += 1  # seen by the second launch
print("right")
"""
DRIVER = """
from cuda.bindings import driver
from cutlass.cute.runtime import make_ptr

@cute.jit
def host(x: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):
    blocks = (n + 127) // 128
    total(cute.make_tensor(x, cute.make_layout(n)), cute.make_tensor(out, cute.make_layout(blocks)), n).launch(
        grid=(blocks, 1, 1), block=(128, 1, 1)
    )

def memory(array):
    _, place = driver.cuMemAlloc(array.nbytes)
    driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes)
    return place, make_ptr(cutlass.Float32, int(place), cute.AddressSpace.gmem, assumed_align=16)

driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
x, out = np.arange(1000, dtype=np.float32), np.zeros(8, np.float32)
(_, p), (place, q) = memory(x), memory(out)
host(p, q, 1000)
driver.cuMemcpyDtoH(out.ctypes.data, place, out.nbytes)
assert out.sum() == x.sum()
print("right")
"""
WRONG = """
import torch
from cutlass.cute.runtime import from_dlpack

@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    shift(x, n).launch(grid=(1, 1, 1), block=(128, 1, 1))

host(from_dlpack(torch.zeros(100, device="cuda")), 100)
"""

TMA = """
import cutlass
import numpy as np
from cuda.bindings import driver
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_ptr

ROWS, COLUMNS = 96, 64
TILE = (32, 32)


@cute.kernel
def transposed(load: cute.CopyAtom, x: cute.Tensor, out: cute.Tensor):
    # Tiles of x by TMA, their elements to the transposed place.
    t, _, _ = cute.arch.thread_idx()
    i, j, _ = cute.arch.block_idx()
    storage = cutlass.utils.SmemAllocator()
    part = storage.allocate_tensor(cutlass.Float32, cute.make_layout(TILE, stride=(TILE[1], 1)), 128)
    full = storage.allocate_array(cutlass.Int64, 1)
    if t == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile = cute.local_tile(x, TILE, (i, j))
    to, of = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(part, 0, 2), cute.group_modes(tile, 0, 2))
    if cute.arch.make_warp_uniform(t // 32) == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * TILE[0] * TILE[1])
        cute.copy(load, of, to, tma_bar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    for k in range(TILE[0] * TILE[1] // 128):
        at = k * 128 + t
        out[j * TILE[1] + at % TILE[1], i * TILE[0] + at // TILE[1]] = part[at // TILE[1], at % TILE[1]]


@cute.jit
def host(x: cute.Pointer, out: cute.Pointer):
    a = cute.make_tensor(x, cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1)))
    layout = cute.make_layout(TILE, stride=(TILE[1], 1))
    load, places = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE)
    result = cute.make_tensor(out, cute.make_layout((COLUMNS, ROWS), stride=(ROWS, 1)))
    transposed(load, places, result).launch(grid=(ROWS // TILE[0], COLUMNS // TILE[1], 1), block=(128, 1, 1))


def memory(array):
    _, place = driver.cuMemAlloc(array.nbytes)
    driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes)
    return place, make_ptr(cutlass.Float32, int(place), cute.AddressSpace.gmem, assumed_align=16)

driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
x, out = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS), np.zeros((COLUMNS, ROWS), np.float32)
(_, p), (place, q) = memory(x), memory(out)
host(p, q)
driver.cuMemcpyDtoH(out.ctypes.data, place, out.nbytes)
assert (out == x.T).all()
print("right")
"""


def run(program, folder, *options):
    path = folder / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "ptxsim", "exec", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


@pytest.mark.parametrize("given", [TORCH, DRIVER], ids=["torch", "driver"])
def test_a_program_is_right_and_has_no_findings(given, tmp_path):
    if given == TORCH:
        pytest.importorskip("torch")
    done = run(KERNEL + given, tmp_path, "--target", "sm_90")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout and "no findings" in done.stderr
    assert not list(tmp_path.glob("*.ptx"))


def test_tensor_maps_of_the_host_code_are_read(tmp_path):
    done = run(TMA, tmp_path, "--target", "sm_100a")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout and "no findings" in done.stderr


HARDWARE = """
from cutlass import utils

hardware = utils.HardwareInfo()  # loads the machine code of a kernel that it compiles
assert hardware.get_max_active_clusters(2) == hardware.get_device_multiprocessor_count() // 2
print("right")
"""


def test_what_persistent_kernels_ask_the_hardware(tmp_path):
    done = run(HARDWARE, tmp_path, "--target", "sm_100a")
    assert "right" in done.stdout, done.stdout + done.stderr


def test_products_on_tensor_memory_are_exact(tmp_path):
    done = run(PRODUCTS.read_text(), tmp_path, "--target", "sm_100a")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == 4 and "4 launches, no findings" in done.stderr


def test_a_finding_names_the_python_line(tmp_path):
    pytest.importorskip("torch")
    done = run(KERNEL + WRONG, tmp_path, "--format", "json")
    (launch,) = json.loads(done.stdout)
    (finding,) = [found for found in launch["findings"] if found["level"] == "error"]
    line = next(i for i, text in enumerate(KERNEL.splitlines(), 1) if "past the tensor" in text)
    assert (finding["name"], finding["source_line"]) == ("out-of-bounds", line)
    assert "program.py" in finding["source_file"]

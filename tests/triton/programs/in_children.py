"""Threads and processes of a program have the same GPU as the program. A program for `ptxsim exec`."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import torch
import torch.multiprocessing as mp
import triton
import triton.language as tl
from torch.utils.data import DataLoader, TensorDataset


@triton.jit
def twice(x_ptr, BLOCK: tl.constexpr):
    at = x_ptr + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) * 2)


def launch(n):
    x = torch.full((128,), float(n), device="cuda")
    twice[(1,)](x, BLOCK=128)
    return x[5].item()


def launch_on_nothing(n):
    twice[(1,)](torch.empty(n, device="cuda"), BLOCK=128)


def threads():
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(launch, range(12))] == [2.0 * n for n in range(12)]


def processes(context):
    with ProcessPoolExecutor(1, mp_context=mp.get_context(context)) as pool:
        assert pool.submit(launch, 3).result() == 6
        error = pool.submit(launch_on_nothing, 64).exception()
        assert isinstance(error, RuntimeError) and "out-of-bounds" in str(error), error


def other_pythons():
    code = "import torch; print(torch.ones(2, device='cuda').device)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "cuda:0\n", done.stderr


def loaders():
    loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=1, pin_memory=True)
    assert [batch.cuda().tolist() for (batch,) in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


if __name__ == "__main__":
    threads()
    processes("spawn")
    other_pythons()
    loaders()
    print("right")

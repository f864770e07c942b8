"""A tensor of torch's in a kernel that is launched by the driver's functions. A program for `ptxsim exec`."""

import ctypes

import torch
from cuda.bindings import driver, nvrtc


def ask(found):
    code, *results = found
    assert int(code) == 0, code
    return results[0] if len(results) == 1 else results


SOURCE = b'extern "C" __global__ void square(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= x[i]; }'
ask(driver.cuInit(0))
ask(driver.cuCtxSetCurrent(ask(driver.cuDevicePrimaryCtxRetain(ask(driver.cuDeviceGet(0))))))
program = ask(nvrtc.nvrtcCreateProgram(SOURCE, b"square.cu", 0, [], []))
ask(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
code = b" " * ask(nvrtc.nvrtcGetCUBINSize(program))
ask(nvrtc.nvrtcGetCUBIN(program, code))
kernel = ask(driver.cuModuleGetFunction(ask(driver.cuModuleLoadData(code)), b"square"))


def square(x):
    given = (x.__cuda_array_interface__["data"][0], x.numel()), (ctypes.c_void_p, ctypes.c_int)
    ask(driver.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, 0, given, 0))


early = torch.arange(4, dtype=torch.float32, device="cuda")


def square_at(x):
    given = (x.data_ptr(), x.numel()), (ctypes.c_void_p, ctypes.c_int)
    ask(driver.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, 0, given, 0))


square_at(early[2:])
assert early.tolist() == [0, 1, 4, 9]
# An address that Triton's kernels are given is good for others, whichever of the two asked first.
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def negate(table, n, BLOCK: tl.constexpr):
    x = tl.load(table).to(tl.pointer_type(tl.float32)) + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    tl.store(x, -tl.load(x, mask), mask)


for there in (early, torch.full((4,), 2.0, device="cuda")):
    table = torch.tensor([there.data_ptr()], device="cuda")
    negate[(1,)](table, 4, BLOCK=4)
    ask(driver.cuMemAlloc(4096))
    square_at(there)
assert early.tolist() == [0, 1, 16, 81] and there.tolist() == [4] * 4
whole = torch.arange(20, dtype=torch.float32, device="cuda")
square(whole[10:])
assert whole.tolist() == [*range(10), *(n * n for n in range(10, 20))]
whole += 1
square(whole)
assert whole[3].item() == 16 and whole[10].item() == 101**2
told = torch.ones(3, 4, device="cuda").t().__cuda_array_interface__
assert (told["typestr"], told["shape"], told["strides"]) == ("<f4", (4, 3), (4, 16))
assert not hasattr(torch.ones(2, dtype=torch.bfloat16, device="cuda"), "__cuda_array_interface__")
print("right")

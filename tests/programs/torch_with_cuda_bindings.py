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

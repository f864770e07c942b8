"""NVRTC, the driver and graphs of it through cuda.bindings. A program for `ptxsim exec`."""

import ctypes

import numpy as np
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

x = np.arange(100, dtype=np.float32)
pointer = ask(driver.cuMemAlloc(x.nbytes))
ask(driver.cuMemcpyHtoD(pointer, x.ctypes.data, x.nbytes))
kinds = driver.CUpointer_attribute
asked = [
    kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    kinds.CU_POINTER_ATTRIBUTE_HOST_POINTER,
    kinds.CU_POINTER_ATTRIBUTE_IS_MANAGED,
]
kind, host, is_managed = ask(driver.cuPointerGetAttributes(len(asked), asked, pointer))
assert int(kind) == driver.CUmemorytype.CU_MEMORYTYPE_DEVICE and not int(host) and not is_managed
assert [int(one) for one in ask(driver.cuPointerGetAttributes(1, asked[:1], x.ctypes.data))] == [0]

stream = ask(driver.cuStreamCreate(0))
ask(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
given = (pointer, 100), (None, ctypes.c_int)
ask(driver.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, stream, given, 0))
graph = ask(driver.cuStreamEndCapture(stream))
assert ask(driver.cuGraphGetNodes(graph))[1] == 1
fill = driver.CUDA_MEMSET_NODE_PARAMS()
fill.dst, fill.value, fill.elementSize, fill.width, fill.height = pointer, 0, 4, 1, 1
ask(
    driver.cuGraphAddMemsetNode(graph, ask(driver.cuGraphGetNodes(graph, 1))[0], 1, fill, ask(driver.cuCtxGetCurrent()))
)
executable = ask(driver.cuGraphInstantiate(graph, 0))
for _ in range(2):
    ask(driver.cuGraphLaunch(executable, stream))
ask(driver.cuStreamSynchronize(stream))
out = np.empty_like(x)
ask(driver.cuMemcpyDtoH(out.ctypes.data, pointer, x.nbytes))
assert np.allclose(out, x**4)
ask(driver.cuGraphExecDestroy(executable))
ask(driver.cuGraphDestroy(graph))
print("right")

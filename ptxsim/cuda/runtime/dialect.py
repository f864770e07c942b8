"""What code calls that CuTe DSL has compiled for the host: functions of the runtime and of the driver whose names begin with an underscore.
Its own library has them with a static runtime behind them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptxsim.cuda.runtime.functions import FUNCTIONS, Dim3, function
from ptxsim.cuda.runtime.launches import launch
from ptxsim.cuda.runtime.state import Runtime

# As in the documented interfaces but for the name.
SAME = [
    "cuDeviceGet",
    "cuKernelGetAttribute",
    "cuLibraryGetGlobal",
    "cuLibraryGetKernel",
    "cuLibraryGetModule",
    "cuLibraryLoadData",
    "cuLibraryUnload",
    "cuTensorMapEncodeTiled",
    "cudaDeviceGetAttribute",
    "cudaDeviceSynchronize",
    "cudaEventCreate",
    "cudaEventDestroy",
    "cudaEventElapsedTime",
    "cudaEventRecord",
    "cudaFree",
    "cudaFreeAsync",
    "cudaFreeHost",
    "cudaFuncSetAttribute",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetDeviceProperties",
    "cudaGraphDestroy",
    "cudaGraphExecDestroy",
    "cudaGraphInstantiate",
    "cudaGraphLaunch",
    "cudaKernelSetAttributeForDevice",
    "cudaLibraryGetGlobal",
    "cudaLibraryGetKernel",
    "cudaLibraryLoadData",
    "cudaLibraryUnload",
    "cudaMalloc",
    "cudaMallocAsync",
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    "cudaProfilerStart",
    "cudaProfilerStop",
    "cudaSetDevice",
    "cudaStreamAddCallback",
    "cudaStreamBeginCapture",
    "cudaStreamCreate",
    "cudaStreamDestroy",
    "cudaStreamEndCapture",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
]

for name in SAME:
    FUNCTIONS[f"_{name}"] = replace(FUNCTIONS[name], name=f"_{name}")
FUNCTIONS["_cudaLaunchKernelEx"] = replace(FUNCTIONS["cudaLaunchKernelExC"], name="_cudaLaunchKernelEx")


@function("_cudaLaunchKernel(const void *kernel, int gx, int gy, int gz, int bx, int by, int bz, void **args, size_t shared, "
          "void *stream)")  # fmt: skip
def launch_kernel(runtime: Runtime, kernel: int | None, *given: Any) -> int:
    *shape, args, shared, stream = given
    return launch(runtime, kernel, Dim3(*shape[:3]), Dim3(*shape[3:]), args, shared, stream)

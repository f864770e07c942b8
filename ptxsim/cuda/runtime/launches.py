"""Kernels are launched, and what came of it. CUDA Runtime API, "Execution Control"."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, Dim3, function
from ptxsim.cuda.runtime.kernels import (
    blocks_held,
    cluster_required,
    dynamic_limit,
    kernel_at,
    most_threads,
    static_shared,
)
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Kind, Step
from ptxsim.cuda.runtime.streams import check_stream, in_order
from ptxsim.demangle import demangle
from ptxsim.diagnostic import ASSERTION, PtxError
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.state import max_shared_bytes
from ptxsim.session.launch_checks import LIMITS
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run

INVALID_CONFIGURATION, COOPERATIVE_TOO_LARGE, INVALID_CLUSTER_SIZE = 9, 720, 912
LAUNCH_FAILURE, ASSERT = 719, 710
MOST_THREADS = 1024  # of a block
PORTABLE_CLUSTER = 8  # blocks (CUDA C++ Programming Guide, "Thread Block Clusters")
COOPERATIVE, CLUSTER_DIMENSION, PROGRAMMATIC = 2, 4, 6  # cudaLaunchAttributeID

# What a device reports where a finding stops it; it stays until the process ends, as on a device.
STOPS = {
    "out-of-bounds": 700, "misaligned-address": 716, "wrong-space": 717, "illegal-instruction": 715, "deadlock": 702,
    "read-only-write": 700, "trap": LAUNCH_FAILURE, "stack-overflow": LAUNCH_FAILURE,
}  # fmt: skip


class LaunchAttribute(ctypes.Structure):
    """cudaLaunchAttribute."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_uint32 * 16)]


class LaunchConfiguration(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = [
        ("grid", Dim3), ("block", Dim3), ("shared", ctypes.c_size_t), ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint),
    ]  # fmt: skip

    @property
    def cluster(self) -> tuple[int, int, int]:
        return cluster_of(self)


class KernelParameters(ctypes.Structure):
    """cudaKernelNodeParams."""

    _fields_ = [
        ("function", ctypes.c_void_p), ("grid", Dim3), ("block", Dim3), ("shared", ctypes.c_uint),
        ("args", ctypes.c_void_p), ("extra", ctypes.c_void_p),
    ]  # fmt: skip


def attribute_of(configuration: Any, number: int) -> list[int] | None:
    """The words of an attribute of a launch (cudaLaunchConfig_t, CUlaunchConfig), or None."""
    c = configuration
    found = (c.attributes[i] for i in range(c.count) if c.attributes[i].id == number)
    return next((list(attribute.value) for attribute in found), None)


def cluster_of(configuration: Any) -> tuple[int, int, int]:
    """The shape of the launch's clusters."""
    x, y, z = (attribute_of(configuration, CLUSTER_DIMENSION) or [1, 1, 1])[:3]
    return x or 1, y or 1, z or 1


def is_cooperative(configuration: Any) -> bool:
    """Whether the launch is a cooperative one."""
    return bool((attribute_of(configuration, COOPERATIVE) or [0])[0])


def is_programmatic(configuration: Any) -> bool:
    """Whether the launch may begin before the one before it in its stream is over."""
    return bool((attribute_of(configuration, PROGRAMMATIC) or [0])[0])


def launch(
    runtime: Runtime, host: int | None, grid: Dim3, block: Dim3, args: Any, shared: int, stream: int | None,
    cluster: tuple[int, int, int] = (1, 1, 1), cooperative: bool = False, programmatic: bool = False,
) -> int:  # fmt: skip
    """Run a kernel to its end, or keep it for a graph, whose launches are taken to begin one after the other. Raises CudaError where it
    cannot start."""
    check_stream(runtime, stream)
    place = None if (stream or 0) in runtime.captures else (stream or 0, programmatic)
    step = step_of(runtime, host, grid, block, args, shared, cluster, cooperative, place)
    return in_order(runtime, stream, step.kind, step.work, step.given) or 0


def step_of(
    runtime: Runtime, host: int | None, grid: Dim3, block: Dim3, args: Any, shared: int,
    cluster: tuple[int, int, int] = (1, 1, 1), cooperative: bool = False, place: tuple[int, bool] | None = None,
) -> Step:  # fmt: skip
    """A launch that may be run, with its arguments as they are now. place: its stream, and whether it is a programmatic dependent one there.
    Raises CudaError where it cannot start."""
    kernel = kernel_at(runtime, host)
    shapes = {"grid": (grid.x, grid.y, grid.z), "block": (block.x, block.y, block.z), "cluster": cluster}
    _check(runtime, kernel, host, shapes, shared)
    if cooperative and blocks_held(runtime, host, shapes["block"], shared) < grid.x * grid.y * grid.z:
        raise CudaError(COOPERATIVE_TOO_LARGE)
    passed = [ctypes.string_at(args[i], size_of(p)) for i, p in enumerate(kernel.parameters)]
    like = (host, *shapes.values(), shared)
    options = LaunchOptions(
        grid=shapes["grid"], block=shapes["block"], cluster=cluster, shared_mem=shared, cooperative=cooperative or None,
    )  # fmt: skip
    sizes = Dim3(grid.x, grid.y, grid.z), Dim3(block.x, block.y, block.z)

    def given() -> bytes:
        texts = [ctypes.create_string_buffer(each, len(each)) for each in passed]
        places = (ctypes.c_void_p * len(texts))(*[ctypes.addressof(text) for text in texts])
        runtime.kept += [texts, places]
        return bytes(KernelParameters(host, *sizes, shared, ctypes.addressof(places)))

    return Step(Kind.KERNEL, lambda: _run(runtime, kernel, passed, options, like, place), given)


def _run(
    runtime: Runtime, kernel: Kernel, passed: list[bytes], options: LaunchOptions, like: Any, place: tuple[int, bool] | None
) -> int:  # fmt: skip
    """Run a kernel to its end. like: what launches have in common that take as long; place: see step_of."""
    prior = None if place is None else runtime.in_flight.prior(*place)
    options = replace(options, prior=prior)
    if runtime.times and like not in runtime.predicted:
        options = replace(options, profile=1)
    try:
        with runtime.around():
            run = runtime.collector.launch(kernel, passed, options, again=_again(runtime, (*like, *passed)))
    except PtxError as error:
        runtime.collector.refuse(error)
        raise CudaError(INVALID_VALUE) from None
    if place is not None and prior is not None:
        runtime.in_flight.launched(place[0], kernel.name, prior, None if run is None else run.left)
    if run is not None:
        if run.cycles is not None:
            runtime.predicted[like] = run.cycles.time_us
        runtime.sticky = _stopped(run)
    runtime.microseconds += runtime.predicted.get(like, 0)
    return runtime.sticky


def _again(runtime: Runtime, like: tuple[Any, ...]) -> Any:
    """Who knows what a launch gives that has been before."""
    repeats = runtime.repeats
    return None if repeats is None else lambda options, execute: repeats.run((like, options), execute)


def _check(
    runtime: Runtime, kernel: Kernel, host: int | None, shapes: dict[str, tuple[int, int, int]], shared: int
) -> None:  # fmt: skip
    """The errors of a launch that cannot start. Raises CudaError."""
    launched = f"{demangle(kernel.name)} is launched with"
    for name, shape in shapes.items():
        for axis, number, limit in zip("xyz", shape, LIMITS[name]):
            if not 1 <= number <= limit:
                code = INVALID_CLUSTER_SIZE if name == "cluster" else INVALID_CONFIGURATION
                raise CudaError(code, f"{launched} {name}.{axis} = {number}: it may be 1 to {limit}")
    threads = math.prod(shapes["block"])
    if threads > MOST_THREADS:
        raise CudaError(INVALID_CONFIGURATION, f"{launched} {threads} threads in a block: there may be {MOST_THREADS}")
    if threads > most_threads(kernel):
        allowed = f"its __launch_bounds__ (.maxntid) allow {most_threads(kernel)}"
        raise CudaError(INVALID_VALUE, f"{launched} {threads} threads in a block: {allowed}")
    required = cluster_required(kernel)
    cluster = shapes["cluster"] if required is None else required
    if any(g % c for g, c in zip(shapes["grid"], cluster)):
        why = f"{launched} a grid of {shapes['grid']} blocks, which clusters of {cluster} do not divide"
        raise CudaError(INVALID_CLUSTER_SIZE, why)
    if math.prod(cluster) > PORTABLE_CLUSTER and not runtime.large_clusters.get(host or 0):
        raise CudaError(
            INVALID_CLUSTER_SIZE,
            f"{demangle(kernel.name)} is launched in clusters of {math.prod(cluster)} blocks, it may have {PORTABLE_CLUSTER}: "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) allows more",
        )
    most = dynamic_limit(runtime, host, kernel)
    if shared > most or static_shared(runtime, kernel) + shared > max_shared_bytes(runtime.target):
        raise CudaError(
            INVALID_VALUE,
            f"{demangle(kernel.name)} is launched with {shared} bytes of dynamic shared memory, it may have {most}: "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows more",
        )


def _stopped(run: Run) -> int:
    """The error of a launch that ended early, or 0."""
    if run.stopped_at is None:
        return 0
    errors = [finding for finding in run.findings if finding.level == "error"]
    if any(finding.case == ASSERTION for finding in errors):
        return ASSERT
    names = [finding.name for finding in errors]
    return next((STOPS[name] for name in names if name in STOPS), LAUNCH_FAILURE)


@function("__cudaGetKernel(void **kernel, const void *host)", "cudaGetKernel(void **kernel, const void *host)")
@function("cudaGetFuncBySymbol(void **kernel, const void *host)")
def get_kernel(runtime: Runtime, kernel: Any, host: int | None) -> None:
    runtime.binaries.function(host)
    kernel[0] = host


@function(
    "cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, void *stream)",
    "__cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared, void *stream)",
)
def launch_kernel(
    runtime: Runtime, kernel: int | None, grid: Dim3, block: Dim3, args: Any, shared: int, stream: int | None
) -> int:  # fmt: skip
    return launch(runtime, kernel, grid, block, args, shared, stream)


@function(
    "cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, void *stream)"
)
def launch_cooperative(
    runtime: Runtime, kernel: int | None, grid: Dim3, block: Dim3, args: Any, shared: int, stream: int | None
) -> int:  # fmt: skip
    return launch(runtime, kernel, grid, block, args, shared, stream, cooperative=True)


@function("cudaLaunchKernelExC(const void *configuration, const void *kernel, void **args)")
def launch_extended(runtime: Runtime, configuration: int | None, kernel: int | None, args: Any) -> int:
    if configuration is None:
        raise CudaError(INVALID_VALUE)
    c = LaunchConfiguration.from_address(configuration)
    return launch(
        runtime, kernel, c.grid, c.block, args, c.shared, c.stream, c.cluster, is_cooperative(c), is_programmatic(c)
    )

"""What programs ask and set of kernels. CUDA Runtime API, "Execution Control", "Occupancy"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.kernels import (
    blocks_held,
    blocks_per_sm,
    cluster_required,
    constant_bytes,
    dynamic_limit,
    kernel_at,
    local_bytes,
    most_threads,
    registers,
    static_shared,
)
from ptxsim.cuda.runtime.launches import LaunchConfiguration
from ptxsim.cuda.runtime.properties import values
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.state import max_shared_bytes, shared_start

MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14  # cudaFuncAttribute


class Attributes(ctypes.Structure):
    """cudaFuncAttributes."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("shared", "constant", "local")),
        *((name, ctypes.c_int) for name in (
            "threads", "registers", "ptx_version", "binary_version", "cache_mode", "dynamic", "carveout", "cluster_must",
            "cluster_x", "cluster_y", "cluster_z", "policy", "non_portable",
        )),
    ]  # fmt: skip


@function("cudaFuncGetAttributes(void *attributes, const void *kernel)")
def get_attributes(runtime: Runtime, attributes: int | None, host: int | None) -> None:
    if attributes is None:
        raise CudaError(INVALID_VALUE)
    kernel, number = kernel_at(runtime, host), runtime.target.number
    a = Attributes.from_address(attributes)
    a.shared, a.constant, a.local = (size(runtime, kernel) for size in (static_shared, constant_bytes, local_bytes))
    a.threads, a.registers = min(most_threads(kernel), 1024), registers(runtime, host or 0, kernel)
    a.ptx_version, a.binary_version, a.cache_mode, a.carveout = kernel.module.target.number, number, 0, -1
    a.dynamic = dynamic_limit(runtime, host, kernel)
    cluster = cluster_required(kernel)
    a.cluster_must, (a.cluster_x, a.cluster_y, a.cluster_z) = int(cluster is not None), cluster or (0, 0, 0)
    a.policy, a.non_portable = 0, runtime.large_clusters.get(host or 0, 0)


@function("cudaFuncSetAttribute(const void *kernel, int attribute, int value)")
def set_attribute(runtime: Runtime, host: int | None, attribute: int, value: int) -> None:
    kernel = kernel_at(runtime, host)
    if attribute == MAX_DYNAMIC_SHARED:
        if value < 0 or value + static_shared(runtime, kernel) > max_shared_bytes(runtime.target):
            raise CudaError(INVALID_VALUE)
        runtime.shared_limits[host or 0] = value
    elif attribute == NON_PORTABLE_CLUSTER:
        runtime.large_clusters[host or 0] = value
    elif not MAX_DYNAMIC_SHARED < attribute <= NON_PORTABLE_CLUSTER + 1:
        raise CudaError(INVALID_VALUE)


@function("cudaFuncSetCacheConfig(const void *kernel, int configuration)")
@function("cudaFuncSetSharedMemConfig(const void *kernel, int configuration)")
def set_cache(runtime: Runtime, host: int | None, configuration: int) -> None:
    runtime.binaries.function(host)


@function("cudaFuncGetName(char **name, const void *kernel)")
def get_name(runtime: Runtime, name: Any, host: int | None) -> None:
    text = ctypes.create_string_buffer(runtime.binaries.function(host)[1].encode())
    runtime.kept.append(text)
    name[0] = ctypes.addressof(text)


@function("cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *size)")
def get_parameter(runtime: Runtime, host: int | None, index: int, offset: Any, size: Any) -> None:
    kernel = kernel_at(runtime, host)
    if index >= len(kernel.parameters):
        raise CudaError(INVALID_VALUE)
    parameter = kernel.parameters[index]
    offset[0] = kernel.code(runtime.target.name).decoded.linkage.parameter_offsets[parameter.name]
    if size:
        size[0] = size_of(parameter)


# ---- occupancy ----


@function(
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *kernel, int threads, size_t shared)",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *kernel, int threads, size_t shared, unsigned flags)",
)
def active_blocks(runtime: Runtime, count: Any, host: int | None, threads: int, shared: int, flags: int = 0) -> None:
    count[0] = blocks_per_sm(runtime, host, threads, shared)


@function("cudaOccupancyAvailableDynamicSMemPerBlock(size_t *size, const void *kernel, int blocks, int threads)")
def available_shared(runtime: Runtime, size: Any, host: int | None, blocks: int, threads: int) -> None:
    kernel = kernel_at(runtime, host)
    start = shared_start(runtime.target)
    held = int(values(runtime.target)["sharedMemPerMultiprocessor"]) // max(blocks, 1) // 128 * 128 - start
    size[0] = max(0, min(held, max_shared_bytes(runtime.target)) - static_shared(runtime, kernel))


@function("cudaOccupancyMaxActiveClusters(int *count, const void *kernel, const void *configuration)")
def active_clusters(runtime: Runtime, count: Any, host: int | None, configuration: int | None) -> None:
    if configuration is None:
        raise CudaError(INVALID_VALUE)
    c, kernel = LaunchConfiguration.from_address(configuration), kernel_at(runtime, host)
    x, y, z = cluster_required(kernel) or c.cluster
    # CuTe DSL asks of a kernel for one thread about blocks of 128, and gets an answer.
    threads = min(c.block.x * c.block.y * c.block.z, most_threads(kernel))
    count[0] = blocks_held(runtime, host, (threads, 1, 1), c.shared) // (x * y * z)


@function("cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const void *configuration)")
def potential_cluster(runtime: Runtime, size: Any, host: int | None, configuration: int | None) -> None:
    kernel_at(runtime, host)
    # The portable size (CUDA C++ Programming Guide, "Thread Block Clusters").
    size[0] = 8 if runtime.target.number >= 90 else 1

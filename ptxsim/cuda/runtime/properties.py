"""What a program reads of the device: cudaDeviceProp, and attributes. CUDA Runtime API, "Device Management"."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

from ptxsim.cuda.runtime.arena import SPACE
from ptxsim.machine.special import multiprocessors, resident_warps
from ptxsim.machine.state import max_shared_bytes, shared_start
from ptxsim.profile.figures import figures_of
from ptxsim.types import Target

# cudaDeviceProp, in order; a number before a field: only this version of the runtime has it.
_FIELDS = """
char name[256]; char uuid[16]; char luid[8]; unsigned luidDeviceNodeMask; size_t totalGlobalMem;
size_t sharedMemPerBlock; int regsPerBlock; int warpSize; size_t memPitch; int maxThreadsPerBlock; int maxThreadsDim[3];
int maxGridSize[3]; 12 int clockRate; size_t totalConstMem; int major; int minor; size_t textureAlignment;
size_t texturePitchAlignment; 12 int deviceOverlap; int multiProcessorCount; 12 int kernelExecTimeoutEnabled;
int integrated; int canMapHostMemory; 12 int computeMode; int maxTexture1D; int maxTexture1DMipmap;
12 int maxTexture1DLinear; int maxTexture2D[2]; int maxTexture2DMipmap[2]; int maxTexture2DLinear[3];
int maxTexture2DGather[2]; int maxTexture3D[3]; int maxTexture3DAlt[3]; int maxTextureCubemap; int maxTexture1DLayered[2];
int maxTexture2DLayered[3]; int maxTextureCubemapLayered[2]; int maxSurface1D; int maxSurface2D[2]; int maxSurface3D[3];
int maxSurface1DLayered[2]; int maxSurface2DLayered[3]; int maxSurfaceCubemap; int maxSurfaceCubemapLayered[2];
size_t surfaceAlignment; int concurrentKernels; int ECCEnabled; int pciBusID; int pciDeviceID; int pciDomainID;
int tccDriver; int asyncEngineCount; int unifiedAddressing; 12 int memoryClockRate; int memoryBusWidth; int l2CacheSize;
int persistingL2CacheMaxSize; int maxThreadsPerMultiProcessor; int streamPrioritiesSupported; int globalL1CacheSupported;
int localL1CacheSupported; size_t sharedMemPerMultiprocessor; int regsPerMultiprocessor; int managedMemory;
int isMultiGpuBoard; int multiGpuBoardGroupID; int hostNativeAtomicSupported; 12 int singleToDoublePrecisionPerfRatio;
int pageableMemoryAccess; int concurrentManagedAccess; int computePreemptionSupported;
int canUseHostPointerForRegisteredMem; int cooperativeLaunch; 12 int cooperativeMultiDeviceLaunch;
size_t sharedMemPerBlockOptin; int pageableMemoryAccessUsesHostPageTables; int directManagedMemAccessFromHost;
int maxBlocksPerMultiProcessor; int accessPolicyMaxWindowSize; size_t reservedSharedMemPerBlock;
int hostRegisterSupported; int sparseCudaArraySupported; int hostRegisterReadOnlySupported;
int timelineSemaphoreInteropSupported; int memoryPoolsSupported; int gpuDirectRDMASupported;
unsigned gpuDirectRDMAFlushWritesOptions; int gpuDirectRDMAWritesOrdering; unsigned memoryPoolSupportedHandleTypes;
int deferredMappingCudaArraySupported; int ipcEventSupported; int clusterLaunch; int unifiedFunctionPointers;
12 int reserved[63]; 13 int deviceNumaConfig; 13 int deviceNumaId; 13 int mpsEnabled; 13 int hostNumaId;
13 unsigned gpuPciDeviceID; 13 unsigned gpuPciSubsystemID; 13 int hostNumaMultinodeIpcSupported; 13 int reserved[56]
"""
_TYPES: dict[str, Any] = {
    "char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t,
}  # fmt: skip

# cudaDeviceAttr by number: a property, one of its elements, or a value of `_values` that is no property.
_ATTRIBUTES = """
1 maxThreadsPerBlock; 2 maxThreadsDim[0]; 3 maxThreadsDim[1]; 4 maxThreadsDim[2]; 5 maxGridSize[0]; 6 maxGridSize[1];
7 maxGridSize[2]; 8 sharedMemPerBlock; 9 totalConstMem; 10 warpSize; 11 memPitch; 12 regsPerBlock; 13 clockRate;
14 textureAlignment; 15 deviceOverlap; 16 multiProcessorCount; 17 kernelExecTimeoutEnabled; 18 integrated;
19 canMapHostMemory; 20 computeMode; 30 surfaceAlignment; 31 concurrentKernels; 32 ECCEnabled; 33 pciBusID;
34 pciDeviceID; 35 tccDriver; 36 memoryClockRate; 37 memoryBusWidth; 38 l2CacheSize; 39 maxThreadsPerMultiProcessor;
40 asyncEngineCount; 41 unifiedAddressing; 50 pciDomainID; 51 texturePitchAlignment; 75 major; 76 minor;
78 streamPrioritiesSupported; 79 globalL1CacheSupported; 80 localL1CacheSupported; 81 sharedMemPerMultiprocessor;
82 regsPerMultiprocessor; 83 managedMemory; 84 isMultiGpuBoard; 85 multiGpuBoardGroupID; 86 hostNativeAtomicSupported;
87 singleToDoublePrecisionPerfRatio; 88 pageableMemoryAccess; 89 concurrentManagedAccess; 90 computePreemptionSupported;
91 canUseHostPointerForRegisteredMem; 95 cooperativeLaunch; 96 cooperativeMultiDeviceLaunch; 97 sharedMemPerBlockOptin;
99 hostRegisterSupported; 100 pageableMemoryAccessUsesHostPageTables; 101 directManagedMemAccessFromHost;
102 virtualMemoryManagement; 106 maxBlocksPerMultiProcessor; 108 persistingL2CacheMaxSize; 109 accessPolicyMaxWindowSize;
111 reservedSharedMemPerBlock; 112 sparseCudaArraySupported; 113 hostRegisterReadOnlySupported;
114 timelineSemaphoreInteropSupported; 115 memoryPoolsSupported; 116 gpuDirectRDMASupported;
117 gpuDirectRDMAFlushWritesOptions; 118 gpuDirectRDMAWritesOrdering; 119 memoryPoolSupportedHandleTypes;
120 clusterLaunch; 121 deferredMappingCudaArraySupported; 125 ipcEventSupported; 126 memSyncDomainCount;
130 deviceNumaConfig; 131 deviceNumaId; 133 mpsEnabled; 134 hostNumaId
"""
_LAST_ATTRIBUTE = 147


@cache
def layout(version: int) -> type[ctypes.Structure]:
    """cudaDeviceProp as a version of the runtime (12, 13) has it."""
    fields = []
    for only, type, name, count in re.findall(
        r"(?:(\d+) )?(\w+) (\w+)(?:\[(\d+)\])?(?:;|$)", " ".join(_FIELDS.split())
    ):
        if not only or int(only) == version:
            fields.append((name, _TYPES[type] * int(count) if count else _TYPES[type]))
    return type_of(fields)


def type_of(fields: list[tuple[str, Any]]) -> type[ctypes.Structure]:
    return type("cudaDeviceProp", (ctypes.Structure,), {"_fields_": fields})


@cache
def values(target: Target) -> dict[str, Any]:
    """The properties of a target that are not 0: limits from the CUDA C++ Programming Guide, "Technical Specifications per
    Compute Capability", sizes and rates from the cycle model's figures."""
    figures = figures_of(target.number)
    opt_in, warps = max_shared_bytes(target), resident_warps(target)
    ones = """concurrentKernels asyncEngineCount canMapHostMemory unifiedAddressing managedMemory concurrentManagedAccess
        computePreemptionSupported streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported
        cooperativeLaunch hostRegisterSupported memoryPoolsSupported deviceOverlap memSyncDomainCount virtualMemoryManagement"""
    return dict.fromkeys(ones.split(), 1) | {
        "name": f"ptxsim {target.name}".encode(), "uuid": b"ptxsim", "totalGlobalMem": SPACE,
        "sharedMemPerBlock": 48 << 10, "sharedMemPerBlockOptin": opt_in,
        "sharedMemPerMultiprocessor": opt_in + shared_start(target), "reservedSharedMemPerBlock": shared_start(target),
        "regsPerBlock": figures.registers, "regsPerMultiprocessor": figures.registers, "warpSize": 32,
        "memPitch": 2**31 - 1, "maxThreadsPerBlock": 1024, "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535), "totalConstMem": 64 << 10, "major": target.number // 10,
        "minor": target.number % 10, "textureAlignment": 512, "texturePitchAlignment": 32, "surfaceAlignment": 512,
        "multiProcessorCount": multiprocessors(target), "maxThreadsPerMultiProcessor": 32 * warps,
        "maxBlocksPerMultiProcessor": figures.ctas, "l2CacheSize": figures.l2_bytes, "persistingL2CacheMaxSize": figures.l2_bytes * 5 // 8,
        "accessPolicyMaxWindowSize": 128 << 20, "memoryBusWidth": 5120,
        "clockRate": int(figures.clock_mhz * 1000), "memoryClockRate": 2619000, "clusterLaunch": int(target.number >= 90),
        "hostNumaId": -1, "singleToDoublePrecisionPerfRatio": 2,
    }  # fmt: skip


def fill(pointer: int, target: Target, version: int) -> None:
    """Write the cudaDeviceProp of a target to an address."""
    properties: Any = layout(version).from_address(pointer)
    ctypes.memset(pointer, 0, ctypes.sizeof(properties))
    for name, value in values(target).items():
        if hasattr(properties, name):
            field = getattr(properties, name)
            setattr(properties, name, type(field)(*value) if isinstance(value, tuple) else value)


def attribute(number: int, target: Target) -> int | None:
    """The value of an attribute of the device; None where there is no such attribute."""
    found = re.search(rf"\b{number} (\w+)(?:\[(\d)\])?", _ATTRIBUTES)
    if found is None:
        return 0 if 1 <= number <= _LAST_ATTRIBUTE else None
    value = values(target).get(found[1], 0)
    return int(value[int(found[2])] if found[2] else value)

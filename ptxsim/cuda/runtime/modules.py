"""The driver's modules, libraries and kernels, and its linker, and the runtime's libraries. CUDA Driver API, "Module Management",
"Library Management", "Execution Control"; CUDA Runtime API, "Library Management".

What is linked is PTX, and stays PTX: the "machine code" that the linker gives is the text it was given.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptxsim.cuda import linking
from ptxsim.cuda.runtime import attributes
from ptxsim.cuda.runtime.functions import CudaError, Dim3, NotModeled, function
from ptxsim.cuda.runtime.kernels import blocks_per_sm, kernel_at, most_threads
from ptxsim.cuda.runtime.launches import (
    INVALID_CONFIGURATION,
    LaunchAttribute,
    LaunchConfiguration,
    cluster_of,
    is_cooperative,
    is_programmatic,
    launch,
)
from ptxsim.cuda.runtime.properties import values
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.isa.variable_layout import size_of

NOT_FOUND, INVALID_HANDLE, FILE_NOT_FOUND = 500, 400, 301
PTX, LIBRARY = 1, 4  # CUjitInputType


@function("int cuLibraryLoadData(void **library, const void *code, void *jit, void *given, unsigned count, void *options, void *values, "
          "unsigned more)")  # fmt: skip
@function("cudaLibraryLoadData(void **library, const void *code, void *jit, void *given, unsigned count, void *options, "
          "void *values, unsigned more)")  # fmt: skip
@function("int cuModuleLoadDataEx(void **module, const void *code, unsigned count, void *options, void *values)")
@function("int cuModuleLoadData(void **module, const void *code)", "int cuModuleLoadFatBinary(void **module, const void *code)")  # fmt: skip
def load(runtime: Runtime, module: Any, code: int | None, *options: Any) -> None:
    """PTX, or a fat binary with PTX. What the assembler is told makes no difference."""
    if code is None:
        raise CudaError(INVALID_VALUE)
    handle = runtime.handle()
    runtime.binaries.add(handle, code)
    runtime.loaded(handle)
    module[0] = handle


@function("int cuLibraryLoadFromFile(void **library, const char *path, void *jit, void *given, unsigned count, void *options, void *values, "
          "unsigned more)")  # fmt: skip
@function("cudaLibraryLoadFromFile(void **library, const char *path, void *jit, void *given, unsigned count, void *options, "
          "void *values, unsigned more)")  # fmt: skip
@function("int cuModuleLoad(void **module, const char *path)")
def load_file(runtime: Runtime, module: Any, path: bytes | None, *options: Any) -> None:
    load(runtime, module, ctypes.addressof(_held(runtime, path)))


def _held(runtime: Runtime, path: bytes | None) -> Any:
    """The bytes of a file, which stay. Raises CudaError."""
    if path is None:
        raise CudaError(INVALID_VALUE)
    try:
        data = Path(os.fsdecode(path)).read_bytes()
    except OSError:
        raise CudaError(FILE_NOT_FOUND) from None
    runtime.kept.append(held := ctypes.create_string_buffer(data))
    return held


@function("int cuLibraryUnload(void *library)", "int cuModuleUnload(void *module)", "cudaLibraryUnload(void *library)")
def unload(runtime: Runtime, module: int | None) -> None:
    """Its variables stay where they are: a launch of it may be in a graph."""


@function("int cuLibraryGetKernel(void **kernel, void *library, const char *name)")
@function("cudaLibraryGetKernel(void **kernel, void *library, const char *name)")
@function("int cuModuleGetFunction(void **kernel, void *module, const char *name)")
def get_kernel(runtime: Runtime, kernel: Any, module: int | None, name: bytes) -> None:
    text = name.decode()
    if module is None or text not in runtime.loaded(module).module.entries:
        raise CudaError(NOT_FOUND)
    kernel[0] = runtime.binaries.known_by(module, text, runtime.handle)


@function("int cuLibraryGetKernelCount(unsigned *count, void *library)")
def count_kernels(runtime: Runtime, count: Any, library: int | None) -> None:
    count[0] = len(runtime.loaded(library or 0).module.entries)


@function("int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)")
def enumerate_kernels(runtime: Runtime, kernels: Any, count: int, library: int | None) -> None:
    for place, name in zip(range(count), runtime.loaded(library or 0).module.entries):
        kernels[place] = runtime.binaries.known_by(library or 0, name, runtime.handle)


@function("int cuLibraryGetModule(void **module, void *library)", "int cuKernelGetFunction(void **function, void *kernel)")  # fmt: skip
def same(runtime: Runtime, answer: Any, handle: int | None) -> None:
    """A library is its module, a kernel its function: there is one context."""
    answer[0] = handle


@function("int cuKernelGetLibrary(void **library, void *kernel)", "int cuFuncGetModule(void **module, void *function)")
def module_of(runtime: Runtime, module: Any, kernel: int | None) -> None:
    module[0] = runtime.binaries.function(kernel)[0]


@function("int cuLibraryGetGlobal(void **pointer, size_t *size, void *library, const char *name)")
@function("cudaLibraryGetGlobal(void **pointer, size_t *size, void *library, const char *name)")
@function("int cuModuleGetGlobal_v2(void **pointer, size_t *size, void *module, const char *name)")
def get_variable(runtime: Runtime, pointer: Any, size: Any, module: int | None, name: bytes) -> None:
    try:
        address, length = runtime.loaded(module or 0).variable(name.decode())
    except CudaError:
        raise CudaError(NOT_FOUND) from None
    if pointer:
        pointer[0] = address
    if size:
        size[0] = length


@function("int cuModuleGetLoadingMode(int *mode)")
def loading_mode(runtime: Runtime, mode: Any) -> None:
    mode[0] = 1  # CU_MODULE_EAGER_LOADING


# ---- kernels ----

# CUfunction_attribute, as cudaFuncAttributes has them.
_ATTRIBUTES = (
    "threads", "shared", "constant", "local", "registers", "ptx_version", "binary_version", "cache_mode", "dynamic", "carveout",
    "cluster_must", "cluster_x", "cluster_y", "cluster_z", "non_portable", "policy",
)  # fmt: skip


@function("int cuFuncGetAttribute(int *value, int attribute, void *kernel)")
@function("int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)")
def get_attribute(runtime: Runtime, value: Any, attribute: int, kernel: int | None, device: int = 0) -> None:
    runtime.check_device(device)
    if not 0 <= attribute < len(_ATTRIBUTES):
        raise CudaError(INVALID_VALUE)
    found = attributes.Attributes()
    attributes.get_attributes(runtime, ctypes.addressof(found), kernel)
    value[0] = getattr(found, _ATTRIBUTES[attribute])


@function("int cuFuncSetAttribute(void *kernel, int attribute, int value)")
def set_attribute(runtime: Runtime, kernel: int | None, attribute: int, value: int) -> None:
    attributes.set_attribute(runtime, kernel, attribute, value)


@function("int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)")
def set_kernel_attribute(runtime: Runtime, attribute: int, value: int, kernel: int | None, device: int) -> None:
    runtime.check_device(device)
    attributes.set_attribute(runtime, kernel, attribute, value)


@function("cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)")
def set_attribute_for(runtime: Runtime, kernel: int | None, attribute: int, value: int, device: int) -> None:
    set_kernel_attribute(runtime, attribute, value, kernel, device)


@function("int cuFuncSetCacheConfig(void *kernel, int configuration)")
@function("int cuKernelSetCacheConfig(void *kernel, int configuration, int device)")
def set_cache(runtime: Runtime, kernel: int | None, configuration: int, device: int = 0) -> None:
    attributes.set_cache(runtime, kernel, configuration)


@function("int cuFuncGetName(char **name, void *kernel)", "int cuKernelGetName(char **name, void *kernel)")
def get_name(runtime: Runtime, name: Any, kernel: int | None) -> None:
    attributes.get_name(runtime, name, kernel)


@function("int cuKernelGetParamInfo(void *kernel, size_t index, size_t *offset, size_t *size)")
@function("int cuFuncGetParamInfo(void *kernel, size_t index, size_t *offset, size_t *size)")
def get_parameter(runtime: Runtime, kernel: int | None, index: int, offset: Any, size: Any) -> None:
    attributes.get_parameter(runtime, kernel, index, offset, size)


@function("int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *kernel, int threads, size_t shared)")
@function("int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, void *kernel, int threads, size_t shared, "
          "unsigned flags)")  # fmt: skip
def active_blocks(runtime: Runtime, count: Any, kernel: int | None, threads: int, shared: int, flags: int = 0) -> None:
    count[0] = blocks_per_sm(runtime, kernel, threads, shared)


@function("int cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, void *kernel, int blocks, int threads)")
def available_shared(runtime: Runtime, size: Any, kernel: int | None, blocks: int, threads: int) -> None:
    attributes.available_shared(runtime, size, kernel, blocks, threads)


@function("int cuOccupancyMaxActiveClusters(int *count, void *kernel, const void *configuration)")
def active_clusters(runtime: Runtime, count: Any, kernel: int | None, configuration: int | None) -> None:
    if configuration is None:
        raise CudaError(INVALID_VALUE)
    c = Configuration.from_address(configuration)
    same = LaunchConfiguration(c.grid, c.block, c.shared, c.stream, c.attributes, c.count)
    attributes.active_clusters(runtime, count, kernel, ctypes.addressof(same))


@function("int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *kernel, void *shared_of, size_t shared, int limit)")  # fmt: skip
@function("int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *kernel, void *shared_of, size_t shared, "
          "int limit, unsigned flags)")  # fmt: skip
def potential_block(
    runtime: Runtime, grid: Any, block: Any, kernel: int | None, shared_of: int | None, shared: int, limit: int,
    flags: int = 0,
) -> None:  # fmt: skip
    """The block with which most threads are resident: of several the largest."""
    most = min(most_threads(kernel_at(runtime, kernel)), limit or 1024)
    ask = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(shared_of) if shared_of else lambda threads: shared

    def held(threads: int) -> int:
        return blocks_per_sm(runtime, kernel, threads, ask(threads))

    best = max(range(32, most + 1, 32), key=lambda threads: (held(threads) * threads, threads), default=most)
    block[0], grid[0] = best, held(best) * int(values(runtime.target)["multiProcessorCount"])


# ---- launches ----


class Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", Dim3), ("block", Dim3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint),
    ]  # fmt: skip


@function("int cuLaunchKernelEx(const void *configuration, void *kernel, void **args, void **extra)")
def launch_extended(runtime: Runtime, configuration: int | None, kernel: int | None, args: Any, extra: Any) -> int:
    if configuration is None:
        raise CudaError(INVALID_VALUE)
    c = Configuration.from_address(configuration)
    args = _of_buffer(runtime, kernel, extra) or args
    return _launch(
        runtime, kernel, c.grid, c.block, args, c.shared, c.stream, cluster_of(c), is_cooperative(c), is_programmatic(c)
    )


_EXTRA = 1, 2  # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE
_SHAPE = "void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **args"


@function(f"int cuLaunchKernel({_SHAPE}, void **extra)")
def launch_kernel(runtime: Runtime, kernel: int | None, *given: Any) -> int:
    *shape, shared, stream, args, extra = given
    args = _of_buffer(runtime, kernel, extra) or args
    return _launch(runtime, kernel, Dim3(*shape[:3]), Dim3(*shape[3:]), args, shared, stream)


@function(f"int cuLaunchCooperativeKernel({_SHAPE})")
def launch_cooperative(runtime: Runtime, kernel: int | None, *given: Any) -> int:
    *shape, shared, stream, args = given
    return _launch(runtime, kernel, Dim3(*shape[:3]), Dim3(*shape[3:]), args, shared, stream, cooperative=True)


def _launch(*given: Any, **more: Any) -> int:
    """As the runtime does it; the driver has one error for arguments and shapes. Raises CudaError."""
    try:
        return launch(*given, **more)
    except CudaError as error:
        raise CudaError(INVALID_VALUE if error.code == INVALID_CONFIGURATION else error.code) from None


def _of_buffer(runtime: Runtime, kernel: int | None, extra: Any) -> Any:
    """The addresses of a launch's arguments that lie in one buffer, at the offsets that parameters have; None where there is no such buffer.
    Raises CudaError."""
    if not extra or not extra[0]:
        return None
    given = {}
    for i in range(0, 2 * len(_EXTRA), 2):
        if not extra[i]:
            break
        given[extra[i]] = extra[i + 1]
    buffer, size = (given.get(name) for name in _EXTRA)
    if not buffer or not size:
        raise CudaError(INVALID_VALUE)
    found = kernel_at(runtime, kernel)
    offsets = found.code(runtime.target.name).decoded.linkage.parameter_offsets
    ends = [offsets[parameter.name] + size_of(parameter) for parameter in found.parameters]
    if max(ends, default=0) > ctypes.c_size_t.from_address(size).value:
        raise CudaError(INVALID_VALUE)
    places = [buffer + offsets[parameter.name] for parameter in found.parameters]
    return (ctypes.c_void_p * max(len(places), 1))(*places)


# ---- the linker ----


@dataclass
class Link:
    """What has been added."""

    texts: list[bytes] = field(default_factory=list)
    result: Any = None  # what the program was given the address of


_links: dict[int, Link] = {}


@function("int cuLinkCreate_v2(unsigned count, void *options, void *values, void **state)")
def link_create(runtime: Runtime, count: int, options: int | None, given: int | None, state: Any) -> None:
    state[0] = runtime.handle()
    _links[state[0]] = Link()


@function("int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned count, void *options, "
          "void *values)")  # fmt: skip
def link_add(
    runtime: Runtime, state: int | None, type: int, data: int | None, size: int, name: bytes | None, *options: Any
) -> None:  # fmt: skip
    link = _links.get(state or 0)
    if link is None or data is None:
        raise CudaError(INVALID_HANDLE if link is None else INVALID_VALUE)
    if type != PTX:
        what = (name or b"").decode() or "what is linked"
        raise NotModeled("cuLinkAddData", f"{what} is not PTX: only PTX is linked")
    link.texts.append(ctypes.string_at(data, size).rstrip(b"\0"))


@function("int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, void *options, void *values)")
def link_add_file(runtime: Runtime, state: int | None, type: int, path: bytes | None, *options: Any) -> None:
    held = _held(runtime, path)
    link_add(runtime, state, type, ctypes.addressof(held), len(held), path)


@function("int cuLinkComplete(void *state, void **code, size_t *size)")
def link_complete(runtime: Runtime, state: int | None, code: Any, size: Any) -> None:
    link = _links.get(state or 0)
    if link is None:
        raise CudaError(INVALID_HANDLE)
    if not link.texts:
        raise CudaError(INVALID_VALUE)
    text = linking.link([text.decode(errors="replace") for text in link.texts]).encode()
    link.result = ctypes.create_string_buffer(text)
    code[0], size[0] = ctypes.addressof(link.result), len(text) + 1


@function("int cuLinkDestroy(void *state)")
def link_destroy(runtime: Runtime, state: int | None) -> None:
    if _links.pop(state or 0, None) is None:
        raise CudaError(INVALID_HANDLE)


# ---- functions by name ----


# What a runtime asks the driver for, static or not, as programs of CUDA 12 and 13 do it. Others ask for tables of their own: NVRTC does.
RUNTIMES_TABLE = bytes.fromhex("6bd5fb6c5bf4e74a8987d93912fd9df9")
STATIC = (
    "a library of the program has a CUDA runtime of its own, linked statically, whose launches cannot come to ptxsim; "
    "run its PTX instead (docs/front-ends shows how)"
)


@function("int cuGetExportTable(void **table, const void *id)", is_plain=True)
def export_table(runtime: Runtime, table: Any, id: int | None) -> int:
    """Tables of functions that are not documented: there are none here."""
    is_runtime = id is not None and ctypes.string_at(id, len(RUNTIMES_TABLE)) == RUNTIMES_TABLE
    if is_runtime and STATIC not in runtime.remarks:
        runtime.remarks.append(STATIC)
    return NOT_FOUND


@function("int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)", is_plain=True)
@function("int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *result)", is_plain=True)  # fmt: skip
def find_function(runtime: Runtime, name: bytes, function: Any, version: int, flags: int, result: Any = None) -> int:
    """Programs ask for all names at once: whoever calls what there is not says so."""
    text = name.decode()
    names = [
        f"{text}{suffix}" for suffix in ("_v3", "_v2", "") if text.startswith("cu") and not text.startswith("cuda")
    ]
    found = next((runtime.addresses[name] for name in names if name in runtime.addresses), None)
    function[0] = found
    if result:
        result[0] = 0 if found else 1  # CU_GET_PROC_ADDRESS_SUCCESS, SYMBOL_NOT_FOUND
    return 0 if found else NOT_FOUND

"""Nodes of graphs: what each kind does, and how it is made, asked and changed. CUDA Runtime API, "Graph Management".

A maker reads the parameters of its kind and gives the step; what adds a node, changes it in a graph and in an executable one is
registered for each maker alike.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ptxsim.cuda.runtime.copies import Copy3D, copy, fill_rows, place, work_of_copy
from ptxsim.cuda.runtime.functions import CudaError, NotModeled, function
from ptxsim.cuda.runtime.graphs import copy_of, graph_of, handles, holder_of, keep
from ptxsim.cuda.runtime.launches import KernelParameters, step_of
from ptxsim.cuda.runtime.memory import nothing
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Graph, Kind, Node, Step
from ptxsim.cuda.runtime.streams import check_event, host_work, mark


class FillParameters(ctypes.Structure):
    """cudaMemsetParams."""

    _fields_ = [
        ("to", ctypes.c_void_p), ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("element", ctypes.c_uint),
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
    ]  # fmt: skip


class HostParameters(ctypes.Structure):
    """cudaHostNodeParams."""

    _fields_ = [("function", ctypes.c_void_p), ("data", ctypes.c_void_p)]


class AllocationParameters(ctypes.Structure):
    """cudaMemAllocNodeParams; what the pool and who may reach it are is not looked at."""

    _fields_ = [
        ("pool", ctypes.c_char * 88), ("accesses", ctypes.c_void_p), ("count", ctypes.c_size_t), ("size", ctypes.c_size_t),
        ("pointer", ctypes.c_void_p),
    ]  # fmt: skip


# ---- steps ----


def _read(type: Any, address: int | None) -> Any:
    if address is None:
        raise CudaError(INVALID_VALUE)
    return type.from_address(address)


def kernel(runtime: Runtime, parameters: int | None) -> Step:
    p = _read(KernelParameters, parameters)
    if p.extra:
        raise NotModeled("cudaGraphAddKernelNode", "a graph's kernel with its parameters in one buffer is not modeled")
    return step_of(runtime, p.function, p.grid, p.block, (ctypes.c_void_p * 4096).from_address(p.args or 0), p.shared)


def memcpy(runtime: Runtime, parameters: int | None) -> Step:
    given = bytes(_read(Copy3D, parameters))
    return Step(Kind.MEMCPY, work_of_copy(runtime, given), lambda: given)


def memcpy_1d(runtime: Runtime, to: int | None, source: int | None, size: int, kind: int) -> Step:
    return Step(Kind.MEMCPY, lambda: copy(runtime, to, source, size, kind))


def to_symbol(runtime: Runtime, symbol: int | None, source: int | None, size: int, offset: int, kind: int) -> Step:
    return memcpy_1d(runtime, place(runtime, symbol)[0] + offset, source, size, kind)


def from_symbol(runtime: Runtime, to: int | None, symbol: int | None, size: int, offset: int, kind: int) -> Step:
    return memcpy_1d(runtime, to, place(runtime, symbol)[0] + offset, size, kind)


def memset(runtime: Runtime, parameters: int | None) -> Step:
    given = bytes(_read(FillParameters, parameters))
    p = FillParameters.from_buffer_copy(given)
    if p.element not in (1, 2, 4):
        raise CudaError(INVALID_VALUE)
    value = struct.pack("<I", p.value)[: p.element]
    work = fill_rows(runtime, p.to, p.pitch, value, p.width, p.height)
    return Step(Kind.MEMSET, work, lambda: given)


def host(runtime: Runtime, parameters: int | None) -> Step:
    p = HostParameters.from_buffer_copy(bytes(_read(HostParameters, parameters)))
    return Step(Kind.HOST, host_work(p.function, p.data), lambda: bytes(p))


def child(runtime: Runtime, graph: int | None) -> Step:
    """The child is a copy of what the graph is now, with a handle of its own."""
    inner = copy_of(runtime, graph)
    return Step.of(inner, keep(runtime, inner))


def empty(runtime: Runtime) -> Step:
    return Step(Kind.EMPTY, nothing)


def record(runtime: Runtime, event: int | None) -> Step:
    number = check_event(runtime, event)
    return Step(Kind.RECORD_EVENT, lambda: mark(runtime, number), lambda: struct.pack("<Q", number))


def wait(runtime: Runtime, event: int | None) -> Step:
    number = check_event(runtime, event)
    return Step(Kind.WAIT_EVENT, nothing, lambda: struct.pack("<Q", number))


def allocation(runtime: Runtime, parameters: int | None) -> Step:
    """The address is known when the node is made, and stays."""
    p = _read(AllocationParameters, parameters)
    p.pointer = runtime.arena.allocate(p.size)
    runtime.graph_memory.add(p.pointer)
    given = bytes(p)
    return Step(Kind.ALLOCATE, nothing, lambda: given)


def release(runtime: Runtime, pointer: int | None) -> Step:
    if pointer not in runtime.graph_memory:
        raise CudaError(INVALID_VALUE)
    return Step(Kind.FREE, nothing, lambda: struct.pack("<Q", pointer))


# ---- functions ----

Maker = Callable[..., Step]
_ADD = "void **node, void *graph, void **after, size_t count"


def add_step(runtime: Runtime, node: Any, graph: int | None, after: Any, count: int, step: Step) -> None:
    nodes, before = graph_of(runtime, graph).nodes, frozenset(handles(after, count))
    if not before <= nodes.keys():
        raise CudaError(INVALID_VALUE)
    handle = node[0] = runtime.handle()
    nodes[handle] = Node(step, before)


def _replace(graph: Graph, node: int | None, step: Step) -> None:
    if node not in graph.nodes or graph.nodes[node].step.kind != step.kind:
        raise CudaError(INVALID_VALUE)
    graph.nodes[node] = replace(graph.nodes[node], step=step)


def _register(name: str, given: str, maker: Maker, setter: str = "SetParams", suffix: str = "") -> None:
    more = f", {given}" if given else ""

    def add(runtime: Runtime, node: Any, graph: int | None, after: Any, count: int, *parameters: Any) -> None:
        add_step(runtime, node, graph, after, count, maker(runtime, *parameters))

    def change(runtime: Runtime, node: int | None, *parameters: Any) -> None:
        _replace(holder_of(runtime, node), node, maker(runtime, *parameters))

    def change_executable(runtime: Runtime, executable: int | None, node: int | None, *parameters: Any) -> None:
        _replace(graph_of(runtime, executable), node, maker(runtime, *parameters))

    function(f"cudaGraphAdd{name}{suffix}({_ADD}{more})")(add)
    if setter:
        function(f"cudaGraph{name}{setter}{suffix}(void *node{more})")(change)
        function(f"cudaGraphExec{name}{setter}{suffix}(void *executable, void *node{more})")(change_executable)


_COPIED = "size_t size, size_t offset, int kind"
_register("KernelNode", "const void *parameters", kernel)
_register("MemcpyNode", "const void *parameters", memcpy)
_register("MemcpyNode", "void *to, const void *from, size_t size, int kind", memcpy_1d, suffix="1D")
_register("MemcpyNode", f"const void *symbol, const void *from, {_COPIED}", to_symbol, suffix="ToSymbol")
_register("MemcpyNode", f"void *to, const void *symbol, {_COPIED}", from_symbol, suffix="FromSymbol")
_register("MemsetNode", "const void *parameters", memset)
_register("HostNode", "const void *parameters", host)
_register("ChildGraphNode", "void *child", child)
_register("EmptyNode", "", empty, setter="")
_register("EventRecordNode", "void *event", record, setter="SetEvent")
_register("EventWaitNode", "void *event", wait, setter="SetEvent")
_register("MemAllocNode", "void *parameters", allocation, setter="")
_register("MemFreeNode", "void *pointer", release, setter="")


@function(
    "cudaGraphKernelNodeGetParams(void *node, void *given)", "cudaGraphMemcpyNodeGetParams(void *node, void *given)"
)
@function(
    "cudaGraphMemsetNodeGetParams(void *node, void *given)", "cudaGraphHostNodeGetParams(void *node, void *given)"
)
@function(
    "cudaGraphMemAllocNodeGetParams(void *node, void *given)", "cudaGraphMemFreeNodeGetParams(void *node, void *given)"
)
@function("cudaGraphChildGraphNodeGetGraph(void *node, void *given)")
@function(
    "cudaGraphEventRecordNodeGetEvent(void *node, void *given)",
    "cudaGraphEventWaitNodeGetEvent(void *node, void *given)",
)
def parameters_of(runtime: Runtime, node: int | None, given: int | None) -> None:
    step = holder_of(runtime, node).nodes[node or 0].step
    if given is None:
        raise CudaError(INVALID_VALUE)
    if step.given is None:
        raise NotModeled("cudaGraphNode", "the parameters of a captured copy or fill are not kept")
    found = step.given()
    ctypes.memmove(given, found, len(found))


@function("cudaGraphNodeGetType(void *node, int *type)")
def type_of(runtime: Runtime, node: int | None, type: Any) -> None:
    type[0] = holder_of(runtime, node).nodes[node or 0].step.kind


@function("cudaGraphDestroyNode(void *node)")
def destroy(runtime: Runtime, node: int | None) -> None:
    graph = holder_of(runtime, node)
    del graph.nodes[node or 0]
    graph.nodes = {handle: replace(each, after=each.after - {node}) for handle, each in graph.nodes.items()}


@function("cudaGraphNodeSetEnabled(void *executable, void *node, unsigned enabled)")
def enable(runtime: Runtime, executable: int | None, node: int | None, enabled: int) -> None:
    nodes = graph_of(runtime, executable).nodes
    if node not in nodes or nodes[node].step.kind not in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET):
        raise CudaError(INVALID_VALUE)
    nodes[node] = replace(nodes[node], is_enabled=bool(enabled))


@function("cudaGraphNodeGetEnabled(void *executable, void *node, unsigned *enabled)")
def is_enabled(runtime: Runtime, executable: int | None, node: int | None, enabled: Any) -> None:
    nodes = graph_of(runtime, executable).nodes
    if node not in nodes:
        raise CudaError(INVALID_VALUE)
    enabled[0] = int(nodes[node].is_enabled)


@function("cudaGraphKernelNodeSetAttribute(void *node, int attribute, const void *value)")
@function("cudaGraphKernelNodeCopyAttributes(void *node, void *other)")
def set_attribute(runtime: Runtime, node: int | None, *given: Any) -> None:
    """Priorities and what stays in L2 make no difference here."""
    holder_of(runtime, node)


# ---- nodes of any kind ----

# Of cudaGraphNodeParams: where the parameters of a kind begin, and the maker that reads them there.
_PARAMETERS = 16
_BY_ADDRESS: dict[int, tuple[int, Maker]] = {
    Kind.KERNEL: (0, kernel), Kind.MEMCPY: (16, memcpy), Kind.MEMSET: (0, memset), Kind.HOST: (0, host),
    Kind.ALLOCATE: (0, allocation),
}  # fmt: skip
_BY_VALUE: dict[int, Maker] = {
    Kind.GRAPH: child, Kind.WAIT_EVENT: wait, Kind.RECORD_EVENT: record, Kind.FREE: release,
}  # fmt: skip


def _step(runtime: Runtime, parameters: int | None) -> Step:
    kind = int(_read(ctypes.c_int, parameters).value)
    at = (parameters or 0) + _PARAMETERS
    if kind in _BY_ADDRESS:
        offset, maker = _BY_ADDRESS[kind]
        return maker(runtime, at + offset)
    if kind in _BY_VALUE:
        return _BY_VALUE[kind](runtime, ctypes.c_void_p.from_address(at).value)
    if kind != Kind.EMPTY:
        what = f"cudaGraphAddNode: nodes of type {kind} (conditional ones, semaphores) are not modeled"
        raise NotModeled("cudaGraphAddNode", what)
    return empty(runtime)


@function(f"cudaGraphAddNode_v2({_ADD.replace('size_t', 'void *edges, size_t')}, void *parameters)")
def add_node(
    runtime: Runtime, node: Any, graph: int | None, after: Any, edges: int | None, count: int, parameters: int | None
) -> None:  # fmt: skip
    add_step(runtime, node, graph, after, count, _step(runtime, parameters))


@function(f"cudaGraphAddNode({_ADD.replace('size_t', 'void *edges, size_t')}, void *parameters)")
def add_node_of_version(runtime: Runtime, node: Any, graph: int | None, after: Any, *given: Any) -> None:
    """Until CUDA 13 nothing is said of edges."""
    edges, count, parameters = given if runtime.version >= 13 else (None, given[0] or 0, given[1] or None)
    add_node(runtime, node, graph, after, edges, count, parameters)


@function("cudaGraphNodeSetParams(void *node, void *parameters)")
def change_node(runtime: Runtime, node: int | None, parameters: int | None) -> None:
    _replace(holder_of(runtime, node), node, _step(runtime, parameters))


@function("cudaGraphExecNodeSetParams(void *executable, void *node, void *parameters)")
def change_executable_node(runtime: Runtime, executable: int | None, node: int | None, parameters: int | None) -> None:
    _replace(graph_of(runtime, executable), node, _step(runtime, parameters))


# ---- memory of graphs ----


@function("cudaDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)")
def graph_memory(runtime: Runtime, device: int, attribute: int, value: Any) -> None:
    """All four say how much graphs have allocated: it stays."""
    runtime.check_device(device)
    holders = (runtime.arena.memory.holder(address) for address in runtime.graph_memory)
    value[0] = sum(holder.size for holder in holders if holder is not None)


@function(
    "cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)", "cudaDeviceGraphMemTrim(int device)"
)
def change_graph_memory(runtime: Runtime, device: int, *given: Any) -> None:
    runtime.check_device(device)

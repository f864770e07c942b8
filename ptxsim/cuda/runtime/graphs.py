"""Graphs: captured from streams, launched, compared, taken apart. CUDA Runtime API, "Graph Management".

A graph's steps are done one after the other, each after those it depends on. `graph_nodes` has what nodes are made of.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Capture, Graph, Kind, Node
from ptxsim.cuda.runtime.streams import CAPTURE_INVALIDATED, CAPTURE_UNSUPPORTED, check_stream, in_order, is_capturing
from ptxsim.cuda.runtime.user_objects import destroy_unused

OPERATING_SYSTEM, ILLEGAL_STATE, UNMATCHED, UNJOINED, UPDATE_FAILURE = 304, 401, 903, 904, 910
_UPDATE_TOPOLOGY, _UPDATE_TYPE = 2, 3  # cudaGraphExecUpdateResult
_LEGACY = (None, 0, 1)  # the default stream, which cannot be captured


def graph_of(runtime: Runtime, handle: int | None) -> Graph:
    """A graph, or an executable one. Raises CudaError."""
    found = runtime.graphs.get(handle or 0) or runtime.executables.get(handle or 0)
    if found is None:
        raise CudaError(INVALID_VALUE)
    return found


def holder_of(runtime: Runtime, node: int | None) -> Graph:
    """The graph that a node is in. Raises CudaError."""
    found = next((graph for graph in runtime.graphs.values() if node in graph.nodes), None)
    if found is None:
        raise CudaError(INVALID_VALUE)
    return found


def keep(runtime: Runtime, graph: Graph) -> int:
    """The handle of a graph."""
    handle = runtime.handle()
    runtime.graphs[handle] = graph
    return handle


def copy_of(runtime: Runtime, graph: int | None) -> Graph:
    """A copy of a graph, whose nodes have handles of their own, as have the graphs among them. Raises CudaError."""
    return graph_of(runtime, graph).copy(runtime.handle, partial(keep, runtime))


def handles(places: Any, count: int) -> list[int]:
    """The handles of an array. Raises CudaError where it is not there."""
    if count and not places:
        raise CudaError(INVALID_VALUE)
    return [places[i] or 0 for i in range(count)]


def _answer(found: Sequence[int], places: Any, count: Any) -> None:
    """Write handles to an array of `count` places, and how many there are."""
    if places:
        for i in range(count[0]):
            places[i] = found[i] if i < len(found) else None
        count[0] = min(count[0], len(found))
    else:
        count[0] = len(found)


# ---- capture ----


def _begin(runtime: Runtime, stream: int | None, graph: int, after: Sequence[int] = ()) -> None:
    check_stream(runtime, stream)
    if stream in _LEGACY:
        raise CudaError(CAPTURE_UNSUPPORTED)
    assert stream is not None
    if stream in runtime.captures:
        raise CudaError(ILLEGAL_STATE)
    runtime.captures[stream] = Capture(stream, graph, runtime.graphs[graph], {stream: frozenset(after)})


@function("cudaStreamBeginCapture(void *stream, int mode)", "int cuStreamBeginCapture_v2(void *stream, int mode)")
def begin(runtime: Runtime, stream: int | None, mode: int) -> None:
    handle = keep(runtime, Graph())
    try:
        _begin(runtime, stream, handle)
    except CudaError:
        del runtime.graphs[handle]
        raise


@function(
    "cudaStreamBeginCaptureToGraph(void *stream, void *graph, void **after, const void *edges, size_t count, int mode)"
)
def begin_into(
    runtime: Runtime, stream: int | None, graph: int | None, after: Any, edges: int | None, count: int, mode: int
) -> None:  # fmt: skip
    graph_of(runtime, graph)
    _begin(runtime, stream, graph or 0, handles(after, count))


@function("cudaStreamEndCapture(void *stream, void **graph)", "int cuStreamEndCapture(void *stream, void **graph)")
def end(runtime: Runtime, stream: int | None, graph: Any) -> None:
    check_stream(runtime, stream)
    capture = runtime.captures.get(stream or 0)
    if capture is None:
        raise CudaError(ILLEGAL_STATE)
    if capture.origin != stream:
        raise CudaError(UNMATCHED)
    runtime.captures = {handle: each for handle, each in runtime.captures.items() if each is not capture}
    graph[0] = None
    if not capture.is_valid:
        raise CudaError(CAPTURE_INVALIDATED)
    if not frozenset().union(*capture.ends.values()) <= capture.graph.before(capture.ends[stream]):
        raise CudaError(UNJOINED)
    graph[0] = capture.handle


@function("cudaThreadExchangeStreamCaptureMode(int *mode)")
def exchange_mode(runtime: Runtime, mode: Any) -> None:
    """What other threads may do during a capture makes no difference here."""


_INFO = "void *stream, int *status, uint64_t *id, void **graph, void **after, "


@function("cudaStreamGetCaptureInfo_v3(" + _INFO + "void **edges, size_t *count)")
def capture_info(
    runtime: Runtime, stream: int | None, status: Any, id: Any, graph: Any, after: Any, edges: Any, count: Any
) -> None:  # fmt: skip
    is_capturing(runtime, stream, status)  # says whether it is invalid, too
    capture = runtime.captures.get(stream or 0)
    if capture is None:
        return
    ends = sorted(capture.ends[stream or 0])
    places = (ctypes.c_void_p * len(ends))(*ends)
    runtime.kept.append(places)
    found = (id, capture.origin), (graph, capture.handle), (after, ctypes.addressof(places)), (edges, None), (count, len(ends))  # fmt: skip
    for place, value in found:
        if place:
            place[0] = value


@function("cudaStreamGetCaptureInfo_v2(" + _INFO + "size_t *count)")
def capture_info_12(
    runtime: Runtime, stream: int | None, status: Any, id: Any, graph: Any, after: Any, count: Any
) -> None:  # fmt: skip
    capture_info(runtime, stream, status, id, graph, after, None, count)


@function("cudaStreamGetCaptureInfo(" + _INFO + "void **edges, size_t *count)")
def capture_info_of_version(runtime: Runtime, stream: int | None, status: Any, id: Any, *more: Any) -> None:
    """Until CUDA 13 it says no more than the state and a number."""
    capture_info(runtime, stream, status, id, *(more if runtime.version >= 13 else (None,) * 4))


# ---- graphs ----


@function("cudaGraphCreate(void **graph, unsigned flags)")
def create(runtime: Runtime, graph: Any, flags: int) -> None:
    graph[0] = keep(runtime, Graph())


@function("cudaGraphClone(void **clone, void *graph)")
def clone(runtime: Runtime, clone: Any, graph: int | None) -> None:
    clone[0] = keep(runtime, copy_of(runtime, graph))


@function("cudaGraphNodeFindInClone(void **node, void *original, void *clone)")
def find_in_clone(runtime: Runtime, node: Any, original: int | None, clone: int | None) -> None:
    found = graph_of(runtime, clone).copies.get(original or 0)
    if found is None:
        raise CudaError(INVALID_VALUE)
    node[0] = found


@function(
    "cudaGraphInstantiate(void **executable, void *graph, uint64_t flags)",
    "cudaGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags)",
)
@function("cudaGraphInstantiateWithParams(void **executable, void *graph, void *parameters)")
def instantiate(runtime: Runtime, executable: Any, graph: int | None, how: int | None) -> None:
    nodes = graph_of(runtime, graph).copy()
    handle = executable[0] = runtime.handle()
    runtime.executables[handle] = nodes


@function("cudaGraphExecGetFlags(void *executable, uint64_t *flags)")
def flags_of(runtime: Runtime, executable: int | None, flags: Any) -> None:
    graph_of(runtime, executable)
    flags[0] = 0


@function("cudaGraphExecUpdate(void *executable, void *graph, int *result)")
def update(runtime: Runtime, executable: int | None, graph: int | None, result: Any) -> None:
    """It does from now on what another graph of the same shape does. The first member of cudaGraphExecUpdateResultInfo is the
    result."""
    old, new = graph_of(runtime, executable), graph_of(runtime, graph)
    names = dict(zip(new.nodes, old.nodes))
    problem = 0
    for node, other in zip(old.nodes.values(), new.nodes.values()):
        if node.step.kind != other.step.kind:
            problem = _UPDATE_TYPE
        elif node.after != frozenset(names.get(each, 0) for each in other.after):
            problem = _UPDATE_TOPOLOGY
    if len(old.nodes) != len(new.nodes):
        problem = _UPDATE_TOPOLOGY
    if result:
        result[0] = problem
    if problem:
        raise CudaError(UPDATE_FAILURE)
    for mine, other in zip(list(old.nodes), new.nodes.values()):
        old.nodes[mine] = replace(old.nodes[mine], step=other.step)
    old.objects = dict(new.objects)
    destroy_unused(runtime)


@function("cudaGraphLaunch(void *executable, void *stream)")
def launch(runtime: Runtime, executable: int | None, stream: int | None) -> int | None:
    return in_order(runtime, stream, Kind.GRAPH, graph_of(runtime, executable).run)


@function("cudaGraphUpload(void *executable, void *stream)")
def upload(runtime: Runtime, executable: int | None, stream: int | None) -> None:
    check_stream(runtime, stream)
    graph_of(runtime, executable)


@function("cudaGraphDestroy(void *graph)")
def destroy(runtime: Runtime, graph: int | None) -> None:
    found = runtime.graphs.pop(graph or 0, None)
    if found is None:
        raise CudaError(INVALID_VALUE)
    inner = [node.step.graph for node in found.nodes.values() if node.step.graph is not None]
    for handle in [handle for handle, each in runtime.graphs.items() if any(each is one for one in inner)]:
        destroy(runtime, handle)
    destroy_unused(runtime)


@function("cudaGraphExecDestroy(void *executable)")
def destroy_executable(runtime: Runtime, executable: int | None) -> None:
    if runtime.executables.pop(executable or 0, None) is None:
        raise CudaError(INVALID_VALUE)
    destroy_unused(runtime)


# ---- what a graph is made of ----


@function("cudaGraphGetId(void *graph, unsigned *id)", "cudaGraphExecGetId(void *graph, unsigned *id)")
def number(runtime: Runtime, graph: int | None, id: Any) -> None:
    graph_of(runtime, graph)
    id[0] = graph or 0


@function("cudaGraphDebugDotPrint(void *graph, const char *path, unsigned flags)")
def draw(runtime: Runtime, graph: int | None, path: bytes | None, flags: int) -> None:
    """The nodes with their kinds, for Graphviz."""
    found = graph_of(runtime, graph).nodes
    kinds = [f'n{handle} [label="{node.step.kind.name}"];' for handle, node in found.items()]
    edges = [f"n{before} -> n{handle};" for handle, node in found.items() for before in sorted(node.after)]
    try:
        Path(os.fsdecode(path or b"")).write_text("\n".join(["digraph {", *kinds, *edges, "}\n"]))
    except OSError as error:
        raise CudaError(OPERATING_SYSTEM, f"the graph cannot be drawn: {error}") from error


@function("cudaGraphGetNodes(void *graph, void **nodes, size_t *count)")
def nodes(runtime: Runtime, graph: int | None, nodes: Any, count: Any) -> None:
    """Each launch, copy and fill is one."""
    _answer(list(graph_of(runtime, graph).nodes), nodes, count)


@function("cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)")
def roots(runtime: Runtime, graph: int | None, nodes: Any, count: Any) -> None:
    found = graph_of(runtime, graph).nodes
    _answer([handle for handle, node in found.items() if not node.after], nodes, count)


def _ends(graph: Graph) -> list[tuple[int, int]]:
    return [(before, handle) for handle, node in graph.nodes.items() for before in sorted(node.after)]


def _with_edges(name: str, parameters: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register body(runtime, ..., count) for the function's forms with places for what edges carry, which is nothing here, and without:
    until CUDA 13 the names without a suffix have none."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        kind = "size_t" if parameters.startswith("!") else "size_t *"
        own = parameters.lstrip("!")

        def plain(runtime: Runtime, *given: Any) -> Any:
            *mine, edges, count = given
            if runtime.version < 13:
                count = edges if kind == "size_t" else ctypes.cast(edges or 0, ctypes.POINTER(ctypes.c_size_t))
            return body(runtime, *mine, count or 0 if kind == "size_t" else count)

        def second(runtime: Runtime, *given: Any) -> Any:
            return body(runtime, *given[:-2], given[-1])

        space = " " if kind == "size_t" else ""
        function(f"{name}({own}, void *edges, {kind}{space}count)")(plain)
        function(f"{name}_v2({own}, void *edges, {kind}{space}count)")(second)
        return body

    return register


@_with_edges("cudaGraphGetEdges", "void *graph, void **from, void **to")
def edges(runtime: Runtime, graph: int | None, start: Any, to: Any, count: Any) -> None:
    found = _ends(graph_of(runtime, graph))
    room = count[0]
    _answer([pair[0] for pair in found], start, count)
    if to:
        count[0] = room
        _answer([pair[1] for pair in found], to, count)


@_with_edges("cudaGraphNodeGetDependencies", "void *node, void **nodes")
def dependencies(runtime: Runtime, node: int | None, nodes: Any, count: Any) -> None:
    _answer(sorted(holder_of(runtime, node).nodes[node or 0].after), nodes, count)


@_with_edges("cudaGraphNodeGetDependentNodes", "void *node, void **nodes")
def dependents(runtime: Runtime, node: int | None, nodes: Any, count: Any) -> None:
    found = holder_of(runtime, node).nodes.items()
    _answer([handle for handle, each in found if node in each.after], nodes, count)


@_with_edges("cudaGraphAddDependencies", "!void *graph, void **from, void **to")
def add_dependencies(runtime: Runtime, graph: int | None, start: Any, to: Any, count: int) -> None:
    _change(graph_of(runtime, graph), handles(start, count), handles(to, count), lambda node, one: node.after | {one})


@_with_edges("cudaGraphRemoveDependencies", "!void *graph, void **from, void **to")
def remove_dependencies(runtime: Runtime, graph: int | None, start: Any, to: Any, count: int) -> None:
    _change(graph_of(runtime, graph), handles(start, count), handles(to, count), lambda node, one: node.after - {one})


def _change(graph: Graph, start: list[int], to: list[int], change: Callable[[Node, int], frozenset[int]]) -> None:
    kept = dict(graph.nodes)
    if not {*start, *to} <= kept.keys():
        raise CudaError(INVALID_VALUE)
    for before, after in zip(start, to):
        node = graph.nodes[after]
        graph.nodes[after] = replace(node, after=change(node, before))
    if graph.order() is None:
        graph.nodes = kept
        raise CudaError(INVALID_VALUE)

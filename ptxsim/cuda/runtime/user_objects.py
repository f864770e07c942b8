"""User objects: what a program wants to be destroyed when neither it nor a graph needs it any more. CUDA Runtime API, "Graph
Management"; CUDA Programming Guide, "CUDA User Objects".

Graphs hold references, and so do what is cloned or instantiated of them, and graphs that are nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Graph, Work
from ptxsim.cuda.runtime.streams import host_work

_NO_DESTRUCTOR_SYNC = 1  # the only flag, which must be given
_MOVE = 1  # the graph takes the caller's references


@dataclass
class UserObject:
    """What destroys it, and the program's own references."""

    destroy: Work
    count: int


def destroy_unused(runtime: Runtime) -> None:
    """Destroy what nobody refers to any more."""
    if not runtime.user_objects:
        return
    held = set(chain.from_iterable(map(_held, chain(runtime.graphs.values(), runtime.executables.values()))))
    for handle in [handle for handle, each in runtime.user_objects.items() if each.count == 0 and handle not in held]:
        runtime.user_objects.pop(handle).destroy()


def _held(graph: Graph) -> Iterator[int]:
    """What a graph and those that are its nodes hold."""
    yield from graph.objects
    for node in graph.nodes.values():
        if node.step.graph is not None:
            yield from _held(node.step.graph)


def _object(runtime: Runtime, handle: int | None, count: int) -> UserObject:
    found: UserObject | None = runtime.user_objects.get(handle or 0)
    if found is None or count == 0:
        raise CudaError(INVALID_VALUE)
    return found


def _graph(runtime: Runtime, handle: int | None) -> Graph:
    found = runtime.graphs.get(handle or 0)
    if found is None:
        raise CudaError(INVALID_VALUE)
    return found


@function("cudaUserObjectCreate(void **object, void *data, void *destroy, unsigned count, unsigned flags)")
def create(runtime: Runtime, object: Any, data: int | None, destroy: int | None, count: int, flags: int) -> None:
    if count == 0 or flags != _NO_DESTRUCTOR_SYNC:
        raise CudaError(INVALID_VALUE)
    work = host_work(destroy, data)
    handle = object[0] = runtime.handle()
    runtime.user_objects[handle] = UserObject(work, count)


@function("cudaUserObjectRetain(void *object, unsigned count)")
def retain(runtime: Runtime, object: int | None, count: int) -> None:
    _object(runtime, object, count).count += count


@function("cudaUserObjectRelease(void *object, unsigned count)")
def release(runtime: Runtime, object: int | None, count: int) -> None:
    found = _object(runtime, object, count)
    if count > found.count:
        raise CudaError(INVALID_VALUE, f"{count} references are released, and the program has {found.count}")
    found.count -= count
    destroy_unused(runtime)


@function("cudaGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags)")
def retain_in_graph(runtime: Runtime, graph: int | None, object: int | None, count: int, flags: int) -> None:
    holder, found = _graph(runtime, graph), _object(runtime, object, count)
    if flags & ~_MOVE or (flags and count > found.count):
        raise CudaError(INVALID_VALUE)
    holder.objects[object or 0] = holder.objects.get(object or 0, 0) + count
    found.count -= count if flags else 0


@function("cudaGraphReleaseUserObject(void *graph, void *object, unsigned count)")
def release_in_graph(runtime: Runtime, graph: int | None, object: int | None, count: int) -> None:
    _object(runtime, object, count)
    held = _graph(runtime, graph).objects
    left = held.get(object or 0, 0) - count
    if left < 0:
        raise CudaError(INVALID_VALUE, f"{count} references are released, and the graph has {left + count}")
    held[object or 0] = left
    if left == 0:
        del held[object or 0]
    destroy_unused(runtime)

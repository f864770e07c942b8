"""The driver's forms of the runtime's functions of graphs, streams and memory that are alike but for the name. CUDA Driver API, "Graph
Management", "Stream Management", "Unified Addressing"."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

from ptxsim.cuda.runtime.contexts import pointer_attribute
from ptxsim.cuda.runtime.functions import FUNCTIONS, CudaError, function
from ptxsim.cuda.runtime.graph_nodes import add_step, memset
from ptxsim.cuda.runtime.graphs import capture_info
from ptxsim.cuda.runtime.state import Runtime

# By the driver's name, the runtime's.
_SAME = {
    **{f"cu{name}": f"cuda{name}" for name in (
        "GraphCreate", "GraphClone", "GraphNodeFindInClone", "GraphInstantiateWithFlags", "GraphInstantiateWithParams",
        "GraphExecGetFlags", "GraphLaunch", "GraphUpload", "GraphDestroy", "GraphExecDestroy", "GraphGetNodes", "GraphGetRootNodes",
        "GraphGetEdges_v2", "GraphNodeGetDependencies_v2", "GraphNodeGetDependentNodes_v2", "GraphAddDependencies_v2",
        "GraphRemoveDependencies_v2", "GraphNodeGetType", "GraphDestroyNode", "GraphNodeSetEnabled", "GraphNodeGetEnabled",
        "GraphAddEmptyNode", "GraphAddHostNode", "GraphAddChildGraphNode", "GraphAddEventRecordNode", "GraphAddEventWaitNode",
        "GraphAddMemFreeNode", "GraphHostNodeGetParams", "GraphHostNodeSetParams", "GraphChildGraphNodeGetGraph",
        "GraphEventRecordNodeGetEvent", "GraphEventWaitNodeGetEvent", "GraphAddNode_v2", "GraphNodeSetParams", "GraphExecNodeSetParams",
        "GraphKernelNodeCopyAttributes", "StreamBeginCaptureToGraph", "ThreadExchangeStreamCaptureMode",
        "UserObjectCreate", "UserObjectRetain", "UserObjectRelease", "GraphRetainUserObject", "GraphReleaseUserObject", "GraphGetId",
        "GraphExecGetId", "GraphDebugDotPrint",
    )},
    "cuGraphInstantiate": "cudaGraphInstantiate", "cuGraphExecUpdate_v2": "cudaGraphExecUpdate",
    "cuGraphAddKernelNode_v2": "cudaGraphAddKernelNode", "cuGraphKernelNodeGetParams_v2": "cudaGraphKernelNodeGetParams",
    "cuGraphKernelNodeSetParams_v2": "cudaGraphKernelNodeSetParams",
    "cuGraphExecKernelNodeSetParams_v2": "cudaGraphExecKernelNodeSetParams",
}  # fmt: skip
# CUpointer_attribute: what is a truth value, what is a number. The others are addresses and sizes.
_TRUTH, _NUMBERS = {6, 8, 10, 13, 15, 21}, {2, 9, 16}

for name, known in _SAME.items():
    FUNCTIONS[name] = replace(FUNCTIONS[known], name=name)


@function(
    "int cuGraphAddMemsetNode(void **node, void *graph, void **after, size_t count, const void *parameters, void *context)"
)
def add_memset(
    runtime: Runtime, node: Any, graph: int | None, after: Any, count: int, parameters: int | None, context: int | None
) -> None:
    add_step(runtime, node, graph, after, count, memset(runtime, parameters))


@function(
    "int cuStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *id, void **graph, void **after, void **edges, size_t *count)"
)
def stream_capture_info(runtime: Runtime, *given: Any) -> None:
    capture_info(runtime, *given)


@function("int cuPointerGetAttributes(unsigned count, int *attributes, void **data, void *pointer)")
def pointer_attributes(runtime: Runtime, count: int, attributes: Any, data: Any, pointer: int | None) -> None:
    """As cuPointerGetAttribute, but that what is not known is 0."""
    for i in range(count):
        try:
            pointer_attribute(runtime, data[i], attributes[i], pointer)
        except CudaError:
            if data[i] is None:
                raise
            _size(attributes[i]).from_address(data[i]).value = 0


def _size(attribute: int) -> Any:
    """The type of what an attribute writes."""
    return ctypes.c_bool if attribute in _TRUTH else ctypes.c_uint32 if attribute in _NUMBERS else ctypes.c_uint64

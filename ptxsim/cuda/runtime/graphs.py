"""Graphs that are captured from streams. CUDA Runtime API, "Graph Management".

What a stream is given while it is captured is kept, and done in that order whenever the graph is launched. Graphs that are built
of nodes are not there.
"""

from __future__ import annotations

from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Capture, Runtime, Work
from ptxsim.cuda.runtime.streams import CAPTURE_UNSUPPORTED, check_stream, in_order

ILLEGAL_STATE, UNMATCHED = 401, 903


def _graph(runtime: Runtime, handle: int | None) -> list[Work]:
    if handle not in runtime.graphs:
        raise CudaError(INVALID_VALUE)
    assert handle is not None
    return runtime.graphs[handle]


@function("cudaStreamBeginCapture(void *stream, int mode)")
def begin(runtime: Runtime, stream: int | None, mode: int) -> None:
    check_stream(runtime, stream)
    if stream not in runtime.streams:  # the default one cannot be captured
        raise CudaError(CAPTURE_UNSUPPORTED)
    assert stream is not None
    if stream in runtime.captures:
        raise CudaError(ILLEGAL_STATE)
    runtime.captures[stream] = Capture(stream)


@function("cudaStreamEndCapture(void *stream, void **graph)")
def end(runtime: Runtime, stream: int | None, graph: Any) -> None:
    check_stream(runtime, stream)
    capture = runtime.captures.get(stream or 0)
    if capture is None:
        raise CudaError(ILLEGAL_STATE)
    if capture.origin != stream:
        raise CudaError(UNMATCHED)
    runtime.captures = {handle: each for handle, each in runtime.captures.items() if each is not capture}
    handle = graph[0] = runtime.handle()
    runtime.graphs[handle] = capture.work


@function("cudaThreadExchangeStreamCaptureMode(int *mode)")
def exchange_mode(runtime: Runtime, mode: Any) -> None:
    """What other threads may do during a capture makes no difference here."""


@function(
    "cudaGraphInstantiate(void **executable, void *graph, uint64_t flags)",
    "cudaGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags)",
)
@function("cudaGraphInstantiateWithParams(void **executable, void *graph, void *parameters)")
def instantiate(runtime: Runtime, executable: Any, graph: int | None, how: int | None) -> None:
    work = list(_graph(runtime, graph))
    handle = executable[0] = runtime.handle()
    runtime.graphs[handle] = work


@function("cudaGraphClone(void **clone, void *graph)")
def clone(runtime: Runtime, clone: Any, graph: int | None) -> None:
    instantiate(runtime, clone, graph, None)


@function("cudaGraphExecUpdate(void *executable, void *graph, int *result)")
def update(runtime: Runtime, executable: int | None, graph: int | None, result: Any) -> None:
    """It does from now on what another graph does. The first member of cudaGraphExecUpdateResultInfo is the result."""
    _graph(runtime, executable)[:] = _graph(runtime, graph)
    if result:
        result[0] = 0


@function("cudaGraphLaunch(void *executable, void *stream)")
def launch(runtime: Runtime, executable: int | None, stream: int | None) -> int | None:
    work = _graph(runtime, executable)
    return in_order(runtime, stream, lambda: next(filter(None, (one() for one in work)), None))


@function("cudaGraphUpload(void *executable, void *stream)")
def upload(runtime: Runtime, executable: int | None, stream: int | None) -> None:
    check_stream(runtime, stream)
    _graph(runtime, executable)


@function("cudaGraphDestroy(void *graph)", "cudaGraphExecDestroy(void *executable)")
def destroy(runtime: Runtime, graph: int | None) -> None:
    _graph(runtime, graph)
    assert graph is not None
    del runtime.graphs[graph]


@function("cudaGraphGetNodes(void *graph, void **nodes, size_t *count)")
def nodes(runtime: Runtime, graph: int | None, nodes: Any, count: Any) -> None:
    """How many there are; each launch, copy and fill is one."""
    count[0] = len(_graph(runtime, graph))

"""Streams and events. CUDA Runtime API, "Stream Management", "Event Management".

A launch is over when its call returns, so streams are always idle. Events count predicted time: the sum over the launches so far.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Kind, Step, Work

INVALID_HANDLE, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED = 400, 900, 901
_BUILT_IN = (None, 0, 1, 2)  # the default stream, cudaStreamLegacy, cudaStreamPerThread
GREATEST = -5  # priority of a stream, as a driver of CUDA 13 says it on an H200
_DISABLE_TIMING = 2  # cudaEventDisableTiming


def check_stream(runtime: Runtime, stream: int | None) -> None:
    """Raise CudaError for what is no stream."""
    if stream not in _BUILT_IN and stream not in runtime.streams:
        raise CudaError(INVALID_HANDLE)


def in_order(
    runtime: Runtime, stream: int | None, kind: Kind, work: Work, given: Callable[[], bytes] | None = None
) -> int | None:
    """Do something on a stream; if that is captured, when its graph is launched. given: as of a Step. Raises CudaError."""
    check_stream(runtime, stream)
    capture = runtime.captures.get(stream or 0)
    if capture is None:
        if kind != Kind.KERNEL:
            runtime.in_flight.synchronise(stream or 0)
        return work()
    if not capture.is_valid:
        raise CudaError(CAPTURE_INVALIDATED)
    capture.add(stream or 0, runtime.handle(), Step(kind, work, given))
    return None


@function("cudaStreamCreate(void **stream)", "cudaStreamCreateWithFlags(void **stream, unsigned flags)")
@function("cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)")
def create_stream(runtime: Runtime, stream: Any, flags: int = 0, priority: int = 0) -> None:
    if flags not in (0, 1):
        raise CudaError(INVALID_VALUE)
    handle = stream[0] = runtime.handle()
    runtime.streams[handle] = flags
    runtime.priorities[handle] = min(max(priority, GREATEST), 0)


@function("cudaStreamDestroy(void *stream)")
def destroy_stream(runtime: Runtime, stream: int | None) -> None:
    if runtime.streams.pop(stream or 0, None) is None:
        raise CudaError(INVALID_HANDLE)


@function("cudaStreamSynchronize(void *stream)", "cudaStreamQuery(void *stream)")
def synchronize_stream(runtime: Runtime, stream: int | None) -> None:
    check_stream(runtime, stream)
    if stream in runtime.captures:
        runtime.captures[stream or 0].is_valid = False
        raise CudaError(CAPTURE_UNSUPPORTED)
    runtime.in_flight.synchronise(stream or 0)


@function("cudaStreamWaitEvent(void *stream, void *event, unsigned flags)")
def wait_event(runtime: Runtime, stream: int | None, event: int | None, flags: int) -> None:
    check_stream(runtime, stream)
    number = check_event(runtime, event)
    runtime.in_flight.synchronise(stream or 0)
    joined = next((capture for capture in runtime.captures.values() if number in capture.events), None)
    if joined is not None:
        runtime.captures[stream or 0] = joined
        joined.ends[stream or 0] = joined.ends.get(stream or 0, frozenset()) | joined.events[number]


@function("cudaStreamGetFlags(void *stream, unsigned *flags)")
def stream_flags(runtime: Runtime, stream: int | None, flags: Any) -> None:
    check_stream(runtime, stream)
    flags[0] = runtime.streams.get(stream or 0, 0)


@function("cudaStreamGetPriority(void *stream, int *priority)")
def stream_priority(runtime: Runtime, stream: int | None, priority: Any) -> None:
    check_stream(runtime, stream)
    priority[0] = runtime.priorities.get(stream or 0, 0)


@function("cudaStreamGetDevice(void *stream, int *device)")
def stream_device(runtime: Runtime, stream: int | None, device: Any) -> None:
    check_stream(runtime, stream)
    device[0] = 0


@function("cudaStreamIsCapturing(void *stream, int *status)")
def is_capturing(runtime: Runtime, stream: int | None, status: Any) -> None:
    check_stream(runtime, stream)
    status[0] = capture_status(runtime, stream)


def capture_status(runtime: Runtime, stream: int | None) -> int:
    """cudaStreamCaptureStatus: none, active, invalidated."""
    capture = runtime.captures.get(stream or 0)
    return 0 if capture is None else 1 if capture.is_valid else 2


@function("cudaStreamGetId(void *stream, uint64_t *id)")
def stream_id(runtime: Runtime, stream: int | None, id: Any) -> None:
    check_stream(runtime, stream)
    id[0] = stream or 0


@function("cudaStreamSetAttribute(void *stream, int attribute, const void *value)")
@function("cudaStreamCopyAttributes(void *stream, void *other)")
def set_stream_attribute(runtime: Runtime, stream: int | None, *given: Any) -> None:
    """Priorities and what stays in L2 make no difference here."""
    check_stream(runtime, stream)


@function("cudaDeviceGetStreamPriorityRange(int *least, int *greatest)")
def priorities(runtime: Runtime, least: Any, greatest: Any) -> None:
    """What a stream has makes no difference here."""
    for answer, value in ((least, 0), (greatest, GREATEST)):
        if answer:
            answer[0] = value


def host_work(function: int | None, data: int | None) -> Work:
    """The call of a host's function. Raises CudaError."""
    if function is None:
        raise CudaError(INVALID_VALUE)
    return lambda: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(data)


@function("cudaLaunchHostFunc(void *stream, void *function, void *data)")
def launch_host(runtime: Runtime, stream: int | None, function: int | None, data: int | None) -> None:
    in_order(runtime, stream, Kind.HOST, host_work(function, data))


@function("cudaStreamAddCallback(void *stream, void *function, void *data, unsigned flags)")
def add_callback(runtime: Runtime, stream: int | None, function: int | None, data: int | None, flags: int) -> None:
    check_stream(runtime, stream)
    if function is None or flags:
        raise CudaError(INVALID_VALUE)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(function)(stream, 0, data)


# ---- events ----


def check_event(runtime: Runtime, event: int | None) -> int:
    if event not in runtime.events:
        raise CudaError(INVALID_HANDLE)
    assert event is not None
    return event


@function("cudaEventCreate(void **event)", "cudaEventCreateWithFlags(void **event, unsigned flags)")
def create_event(runtime: Runtime, event: Any, flags: int = 0) -> None:
    if flags & ~7:
        raise CudaError(INVALID_VALUE)
    handle = event[0] = runtime.handle()
    runtime.events[handle] = None
    if flags & _DISABLE_TIMING:
        runtime.untimed.add(handle)


@function("cudaEventDestroy(void *event)")
def destroy_event(runtime: Runtime, event: int | None) -> None:
    del runtime.events[check_event(runtime, event)]


@function("cudaEventRecord(void *event, void *stream)")
@function("cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)")
def record_event(runtime: Runtime, event: int | None, stream: int | None, flags: int = 0) -> None:
    """From the first event that measures time on, the cycle model replays launches: of each kernel and shape the first one."""
    check_stream(runtime, stream)
    number = check_event(runtime, event)
    capture = runtime.captures.get(stream or 0)
    for each in runtime.captures.values():
        each.events.pop(number, None)
    if capture is not None:
        capture.events[number] = capture.ends[stream or 0]
    else:
        mark(runtime, number)


def mark(runtime: Runtime, event: int) -> None:
    """An event happens now."""
    runtime.events[event] = runtime.microseconds
    runtime.times |= event not in runtime.untimed


@function("cudaEventSynchronize(void *event)", "cudaEventQuery(void *event)")
def synchronize_event(runtime: Runtime, event: int | None) -> None:
    check_event(runtime, event)


@function("cudaEventElapsedTime(float *milliseconds, void *start, void *end)")
@function("cudaEventElapsedTime_v2(float *milliseconds, void *start, void *end)")
def elapsed_time(runtime: Runtime, milliseconds: Any, start: int | None, end: int | None) -> None:
    first, last = runtime.events[check_event(runtime, start)], runtime.events[check_event(runtime, end)]
    if first is None or last is None or {start, end} & runtime.untimed:
        raise CudaError(INVALID_HANDLE)
    milliseconds[0] = (last - first) / 1000

"""The functions of the CUDA driver that programs of the runtime use: tensor maps above all. CUDA Driver API, "Tensor Map Object
Management", "Memory Management", "Error Handling"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.device import error_text, version
from ptxsim.cuda.runtime.functions import CudaError, function, say
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime, errors
from ptxsim.machine.copies.tensor_map import (
    ELEMENT_TYPES,
    FILLS,
    INTERLEAVES,
    SIZE,
    SWIZZLES,
    WIDE,
    TensorDescription,
    check,
)

FOUND, NOT_FOUND = 0, 1  # cudaDriverEntryPointQueryResult


def _numbers(pointer: Any, count: int) -> tuple[int, ...]:
    return tuple(int(pointer[i]) for i in range(count))


def _encode(
    target: int | None, type: int, rank: int, address: int | None, dims: Any, strides: Any, steps: Any, interleave: int,
    swizzle: int, fill: int, **shape: Any,
) -> int:  # fmt: skip
    """Write the 128 bytes of a tensor map, or say why the driver would refuse it."""
    element = next((e for e in ELEMENT_TYPES if e.driver == type), None)
    if target is None or element is None or not 1 <= rank <= 5 or max(swizzle - 3, interleave - 2, fill - 1) > 0:
        say(
            f"tensor map: type {type}, rank {rank}, swizzle {swizzle}, interleave {interleave} or fill {fill} is unknown"
        )
        return INVALID_VALUE
    description = TensorDescription(
        address or 0, element, _numbers(dims, rank), (element.bytes, *_numbers(strides, rank - 1)),
        shape.pop("box", None) or (1,) * rank, _numbers(steps, rank), SWIZZLES[swizzle], INTERLEAVES[interleave],
        FILLS[fill], **shape,
    )  # fmt: skip
    problem = check(description)
    if problem:
        say(f"tensor map: {problem}")
        return INVALID_VALUE
    ctypes.memmove(target, description.encode(), SIZE)
    return 0


@function(
    "int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, "
    "const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)",
    is_plain=True,
)
def encode_tiled(
    runtime: Runtime, target: int | None, type: int, rank: int, address: int | None, dims: Any, strides: Any, box: Any,
    steps: Any, interleave: int, swizzle: int, promotion: int, fill: int,
) -> int:  # fmt: skip
    return _encode(
        target, type, rank, address, dims, strides, steps, interleave, swizzle, fill, box=_numbers(box, min(rank, 5))
    )


@function(
    "int cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, "
    "const int *lower, const int *upper, uint32_t channels, uint32_t pixels, const uint32_t *steps, int interleave, int swizzle, "
    "int promotion, int fill)",
    is_plain=True,
)
def encode_im2col(
    runtime: Runtime, target: int | None, type: int, rank: int, address: int | None, dims: Any, strides: Any, lower: Any,
    upper: Any, channels: int, pixels: int, steps: Any, interleave: int, swizzle: int, promotion: int, fill: int,
) -> int:  # fmt: skip
    spatial = max(min(rank, 5) - 2, 0)
    return _encode(
        target, type, rank, address, dims, strides, steps, interleave, swizzle, fill,
        lower_corner=_numbers(lower, spatial), upper_corner=_numbers(upper, spatial), channels=channels, pixels=pixels,
    )  # fmt: skip


@function(
    "int cuTensorMapEncodeIm2colWide(void *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, "
    "int lower, int upper, uint32_t channels, uint32_t pixels, const uint32_t *steps, int interleave, int mode, int swizzle, "
    "int promotion, int fill)",
    is_plain=True,
)
def encode_im2col_wide(
    runtime: Runtime, target: int | None, type: int, rank: int, address: int | None, dims: Any, strides: Any, lower: int,
    upper: int, channels: int, pixels: int, steps: Any, interleave: int, mode: int, swizzle: int, promotion: int, fill: int,
) -> int:  # fmt: skip
    if not 0 <= mode < len(WIDE):
        return INVALID_VALUE
    return _encode(
        target, type, rank, address, dims, strides, steps, interleave, swizzle, fill,
        lower_corner=(lower,), upper_corner=(upper,), channels=channels, pixels=pixels, wide=WIDE[mode],
    )  # fmt: skip


@function("int cuTensorMapReplaceAddress(void *map, void *address)", is_plain=True)
def replace_address(runtime: Runtime, target: int | None, address: int | None) -> int:
    if target is None or (address or 0) % 16:
        return INVALID_VALUE
    ctypes.c_uint64.from_address(target).value = address or 0  # the first field of a map (machine.copies.tensor_map)
    return 0


@function("int cuInit(unsigned flags)", is_plain=True)
def initialize(runtime: Runtime, flags: int) -> int:
    return INVALID_VALUE if flags else 0


@function("int cuDriverGetVersion(int *version)", is_plain=True)
def driver_version(runtime: Runtime, answer: Any) -> int:
    version(runtime, answer)
    return 0


@function("int cuGetErrorString(int error, void **text)", is_plain=True)
def error_string(runtime: Runtime, error: int, text: Any) -> int:
    return _answer_text(runtime, error, text, 1)


@function("int cuGetErrorName(int error, void **text)", is_plain=True)
def error_name(runtime: Runtime, error: int, text: Any) -> int:
    return _answer_text(runtime, error, text, 2)


def _answer_text(runtime: Runtime, error: int, text: Any, which: int) -> int:
    is_known = len(errors().get(error, ())) > 2
    text[0] = error_text(runtime, error, which) if is_known else None
    return 0 if is_known else INVALID_VALUE


def _fill(runtime: Runtime, pointer: int, value: int, count: int, size: int) -> int:
    try:
        place = runtime.arena.host(pointer, count * size)
    except CudaError as error:
        return error.code
    if not runtime.arena.is_device(pointer) or pointer % size:
        return INVALID_VALUE
    ctypes.memmove(place, value.to_bytes(8, "little")[:size] * count, count * size)
    return 0


@function("int cuMemsetD8_v2(uint64_t pointer, unsigned value, size_t count)", is_plain=True)
@function("int cuMemsetD8Async(uint64_t pointer, unsigned value, size_t count, void *stream)", is_plain=True)
def fill_bytes(runtime: Runtime, pointer: int, value: int, count: int, stream: int | None = None) -> int:
    return _fill(runtime, pointer, value, count, 1)


@function("int cuMemsetD16_v2(uint64_t pointer, unsigned value, size_t count)", is_plain=True)
@function("int cuMemsetD16Async(uint64_t pointer, unsigned value, size_t count, void *stream)", is_plain=True)
def fill_halves(runtime: Runtime, pointer: int, value: int, count: int, stream: int | None = None) -> int:
    return _fill(runtime, pointer, value, count, 2)


@function("int cuMemsetD32_v2(uint64_t pointer, unsigned value, size_t count)", is_plain=True)
@function("int cuMemsetD32Async(uint64_t pointer, unsigned value, size_t count, void *stream)", is_plain=True)
def fill_words(runtime: Runtime, pointer: int, value: int, count: int, stream: int | None = None) -> int:
    return _fill(runtime, pointer, value, count, 4)


@function(
    "cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, uint64_t flags, int *result)"
)
def entry_point_by_version(
    runtime: Runtime, name: bytes, function: Any, version: int, flags: int, result: Any
) -> None:  # fmt: skip
    entry_point(runtime, name, function, flags, result)


@function("cudaGetDriverEntryPoint(const char *name, void **function, uint64_t flags, int *result)")
def entry_point(runtime: Runtime, name: bytes, function: Any, flags: int, result: Any) -> None:
    text = name.decode()
    found = runtime.addresses.get(text) or runtime.addresses.get(text + "_v2") if text.startswith("cu") else None
    function[0] = found
    if result:
        result[0] = FOUND if found else NOT_FOUND
    if not found:
        say(f"the driver's {text} is not provided; there are {', '.join(sorted(_driver(runtime)))}")


def _driver(runtime: Runtime) -> list[str]:
    return [name for name in runtime.addresses if name.startswith("cu") and not name.startswith("cuda")]

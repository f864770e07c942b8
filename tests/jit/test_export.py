"""Bodies that native code calls by name, which call native code in turn."""

import ctypes
from functools import cache
from typing import Annotated

import numpy as np

from ptxsim.jit.body import body
from ptxsim.jit.compiler import Jit, shared
from ptxsim.jit.export import export, extern, fill_bytes, indirect, move_bytes, view
from ptxsim.jit.record import FLAG, I32, I64, OPAQUE, U32, U64, Pointer, row

QUEUE = np.dtype([("head", "<i4"), ("items", "<u8"), ("count", "<i8"), ("mask", "<u4")])
ITEM = np.dtype([("key", "<i4"), ("weight", "<i8")])
Queue = Annotated[np.ndarray, Pointer(QUEUE)]
Table = Annotated[np.ndarray, Pointer(np.dtype(np.int64))]
Numbers = Annotated[np.ndarray, Pointer(np.dtype(np.uint64), 4)]
PREFIX = "ptxsim_test_export_"


@extern
def twice(queue: Queue, number: I32) -> I64:
    return 2 * number + int(queue["head"])


@indirect
def at_address(address: U64, queue: Queue) -> I32:
    raise AssertionError("only native code calls it here")


@body
def heaviest(queue: Queue, table: Table, mask: U32, least: I32) -> I32:
    """The key of the heaviest item of a queue; its weight goes to the table."""
    items = view(queue["items"], ITEM, queue["count"])
    best, weight = -1, int(least)
    for i in range(len(items)):
        if mask >> i & 1 and items[i]["weight"] > weight:
            best, weight = i, int(items[i]["weight"])
    table[0], table[1] = weight, twice(queue, best)
    queue["mask"] = mask
    return -1 if best < 0 else int(items[best]["key"])


@body
def is_empty(queue: Queue, other: U64) -> FLAG:
    return at_address(other, queue) == 0


@extern
def count(handle: Annotated[object, Pointer(OPAQUE)]) -> I32:
    return int(handle["count"])


@body
def shift(queue: Queue, handle: Annotated[object, Pointer(OPAQUE)], at: I64, numbers: Numbers) -> None:
    """Move bytes on by one, clear the first ones; a number for each item that a record not known here says it has."""
    move_bytes(at + 1, at, 7)
    fill_bytes(at, 0, 2)
    for i in range(count(queue) + count(handle)):
        queue["head"] += int(numbers[i])


TWICE = f"""
define i64 @{PREFIX}twice(ptr %queue, i32 %number) {{
  %double = shl i32 %number, 1
  %head = load i32, ptr %queue, align 1
  %sum = add i32 %double, %head
  %wide = sext i32 %sum to i64
  ret i64 %wide
}}
define i32 @{PREFIX}count(ptr %queue) {{
  %at = getelementptr i8, ptr %queue, i64 12
  %count = load i32, ptr %at, align 1
  ret i32 %count
}}
"""


def queue_of(items):
    queue = np.zeros(1, QUEUE)
    queue["head"], queue["items"], queue["count"] = 100, items.ctypes.data, len(items)
    return queue


@cache
def native() -> Jit:
    jit = shared()
    jit.load(jit.key(TWICE), lambda: TWICE)
    for name in ("twice", "count"):
        jit.publish(PREFIX + name, jit.address(PREFIX + name))
    export(jit, PREFIX, heaviest, is_empty, shift)
    return jit


def test_native_code_calls_bodies_and_bodies_native_code():
    jit = native()
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int32)(
        jit.address(PREFIX + "heaviest")
    )
    items = np.array([(7, 5), (8, 9), (9, 2), (10, 30)], ITEM)
    for mask, least in ((0xFFFFFFFF, -5), (0x80000007, 3), (4, 1), (0, -9), (1, 8)):
        queue, table = queue_of(items), np.zeros(2, np.int64)
        plain, other = queue_of(items), np.zeros(2, np.int64)
        found = function(queue.ctypes.data, table.ctypes.data, mask, least)
        assert found == heaviest(plain[0], other, mask, least)
        assert table.tolist() == other.tolist()
        assert queue.tobytes() == plain.tobytes()


def test_calls_by_address():
    jit = native()
    function = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64)(jit.address(PREFIX + "is_empty"))
    for count in (0, 3):
        queue = queue_of(np.zeros(count, ITEM))
        assert function(queue.ctypes.data, jit.address(PREFIX + "count")) == (count == 0)


def test_bytes_at_addresses_and_records_that_are_only_passed_on():
    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64, pointer)(native().address(PREFIX + "shift"))
    numbers = row(np.array([1, 20, 300, 4000]), U64)
    memory, other = (np.arange(16, dtype=np.uint8) for _ in range(2))
    queue, plain, handle = queue_of(np.zeros(1, ITEM)), queue_of(np.zeros(1, ITEM)), queue_of(np.zeros(2, ITEM))
    function(queue.ctypes.data, handle.ctypes.data, memory.ctypes.data + 4, ctypes.addressof(numbers))
    shift(plain[0], handle[0], other.ctypes.data + 4, numbers)
    assert memory.tolist() == other.tolist() == [0, 1, 2, 3, 0, 0, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15]
    assert queue["head"] == plain["head"] == 421

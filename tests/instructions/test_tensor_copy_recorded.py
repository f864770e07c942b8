"""Tensor copies and bulk reductions against 358 recordings of an H200 (ptxas 13.0, driver 580).

Each case ran one copy on 128 KiB of global and 32 KiB of shared bytes that `recorded_bytes` gives; kept are its parameters (types
and swizzles as the driver numbers them) and the CRC-32 of the shared memory (loads) or of the first 64 KiB of global
memory, or none where the GPU raised a fault.
"""

import gzip
import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from ptxsim.instructions.bulk_tensor import check_store, reduction
from ptxsim.machine.copies.bulk import Bulk
from ptxsim.machine.copies.bulk_bytes import transfer
from ptxsim.machine.copies.bulk_records import SOURCE, TARGET, BulkCopy, Side
from ptxsim.machine.copies.reduction import number_of
from ptxsim.machine.copies.tensor_map import ELEMENT_TYPES, FILLS, SWIZZLES, TensorDescription, decode
from ptxsim.machine.copies.tensor_tile import IM2COL, MOST_BYTES, TILE, count_rows, row_bytes, tensor_record
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import GlobalMemory
from ptxsim.types import parse_target
from tests.helpers import DATA

GLOBAL, SHARED, TENSOR = 1 << 17, 1 << 15, 4096
CASES = json.loads(gzip.decompress((DATA / "tensor_copies.json.gz").read_bytes()))
LOAD, STORE, BULK = 0, 1, 20
TENSOR_REDUCTIONS = {2: "add", 3: "min", 4: "max", 5: "inc", 6: "dec", 7: "and", 8: "or", 9: "xor"}
BULK_REDUCTIONS = [
    ("add", "f32"), ("add", "f64"), ("add", "f16"), ("add", "bf16"), ("min", "f16"), ("max", "f16"), ("min", "bf16"),
    ("max", "bf16"), ("inc", "u32"), ("dec", "u32"), ("min", "s64"), ("add", "u64"), ("max", "u64"), ("min", "s32"),
]  # fmt: skip


def recorded_bytes() -> np.ndarray:
    """The bytes of the recordings: random, with special values of f32 and f16 sprinkled in."""
    random = np.random.default_rng(11)
    data = random.integers(0, 256, 1 << 18).astype(np.uint8)
    words = data.view(np.uint32)
    special = np.array(
        [
            0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x3F800000,
            0xBF800000, 0x3F802000, 0x3F801000, 0x3F803000, 0x3F801001, 0x7F7FFFFF, 0x00800000, 0x7FFFFFFF, 0xFFFFFFFF,
        ],
        np.uint32,
    )  # fmt: skip
    chosen = random.random(len(words)) < 0.3
    words[chosen] = random.choice(special, chosen.sum())
    halves = data.view(np.uint16)
    special = np.array(
        [
            0, 0x8000, 1, 0x8001, 0x3FF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x3C00, 0x7BFF, 0x7F80, 0x7F, 0x80, 0xFFFF, 0x7FFF,
        ],
        np.uint16,
    )  # fmt: skip
    chosen = random.random(len(halves)) < 0.1
    halves[chosen] = random.choice(special, chosen.sum())
    return data


DATA = recorded_bytes()


def describe(case: dict, address: int) -> TensorDescription:
    """The case's map, through its 128 bytes."""
    element = next(t for t in ELEMENT_TYPES if t.driver == case["type"])
    corners = (tuple(case["lower"]), tuple(case["upper"]), case["channels"], case["pixels"]) if "lower" in case else ()
    return decode(
        TensorDescription(
            address, element, tuple(case["dims"]), (element.bytes, *case["strides"]), tuple(case["box"]), tuple(case["steps"]),
            SWIZZLES[case["swizzle"]], "none", FILLS[case["fill"]], *corners,
        ).encode()
    )  # fmt: skip


def copied(case: dict) -> bytes:
    """What the recording kept: shared memory after a load, else the beginning of global memory."""
    memory = GlobalMemory()
    allocation = memory.allocate("tensor", GLOBAL)
    bytes_ = memory.view(allocation)
    bytes_[:] = DATA[:GLOBAL]
    bulk = Bulk(SimpleNamespace(memory=memory, stream=None, checks="none"))
    kind, data = case["kind"], np.empty(MOST_BYTES, np.uint8)
    shared = np.full(SHARED, 0xEE, np.uint8) if kind == LOAD else DATA[GLOBAL : GLOBAL + SHARED].copy()
    copy, here = BulkCopy(size=4096), Side(shared.ctypes.data)
    if kind >= BULK:
        copy.reduction = number_of(*BULK_REDUCTIONS[kind - BULK])
        copy.source, copy.target = here, Side(0, allocation.address)
    else:
        t = tensor_record(describe(case, allocation.address + TENSOR), parse_target("sm_90a"))
        here.start = case["offset"]
        copy.tensor, copy.mode = t.address, IM2COL if "lower" in case else TILE
        copy.size = count_rows(t, copy.mode, 0) * row_bytes(t)
        for i, value in enumerate(case["at"]):
            copy.at[i] = value
        for i, value in enumerate(case.get("taps", ())):
            copy.taps[i] = value
        bulk.rows(copy)
        if kind == LOAD:
            copy.target = here
        else:
            check_store(t, 0)
            copy.source = here
            copy.reduction = 0 if kind == STORE else reduction(TENSOR_REDUCTIONS[kind], t, 0)
    transfer(bulk.record.address, copy.address, SOURCE, data.ctypes.data, False)
    if copy.reduction:
        bulk._combine(copy.address, data.ctypes.data)
    transfer(bulk.record.address, copy.address, TARGET, data.ctypes.data, True)
    return shared.tobytes() if kind == LOAD else bytes_[: 1 << 16].tobytes()


@pytest.mark.parametrize("start", range(0, len(CASES), 60))
def test_same_bytes_as_the_gpu(start):
    for number, case in enumerate(CASES[start : start + 60], start):
        if case["crc"] is None:
            with pytest.raises(Fault):
                copied(case)
        else:
            assert zlib.crc32(copied(case)) == case["crc"], (number, case)


def test_every_kind_of_case_is_there():
    assert len(CASES) == 358
    assert {case["kind"] for case in CASES} == {*range(10), *range(20, 34)}

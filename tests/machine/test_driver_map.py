"""Tensor maps of the CUDA driver and of CuTe DSL are read as what they were made from."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from ptxsim.machine.copies import tensor_map
from ptxsim.machine.copies.driver_map import decode, description, ours
from ptxsim.machine.copies.tensor_map import ELEMENT_TYPES, FILLS, INTERLEAVES, SWIZZLES, TensorMap
from tests.helpers import ROOT

LINES = [line for line in (ROOT / "tests/data/tensor_maps.tsv").read_text().splitlines() if not line.startswith("#")]
ROWS = [line.split("\t") for line in LINES[1:]]


def map_of(words: str) -> bytes:
    """128 bytes of words, each as number:hexadecimal."""
    found = [0] * 32
    for word in words.split():
        place, value = word.split(":")
        found[int(place)] = int(value, 16)
    return struct.pack("<32I", *found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:-1]))
def test_recorded_maps(row):
    kind, type, address, dims, strides, box, steps, interleave, swizzle, _, fill, _ = map(json.loads, row[:-1])
    found = decode(map_of(row[-1]))
    element = next(element for element in ELEMENT_TYPES if element.driver == type)
    assert (found.address, found.type, found.dims, found.strides) == (
        address,
        element,
        tuple(dims),
        (element.bytes, *strides),
    )
    assert (found.element_strides, found.swizzle) == (tuple(steps), SWIZZLES[swizzle])
    assert (found.interleave, found.fill) == (INTERLEAVES[interleave], FILLS[fill])
    if kind == 0:
        assert (found.box, found.lower_corner) == (tuple(box), None)
    else:
        lower, upper, channels, pixels = box
        corners = (lower, upper) if kind == 1 else ([lower], [upper])
        assert (found.lower_corner, found.upper_corner) == tuple(map(tuple, corners))
        assert (found.channels, found.pixels) == (channels, pixels)


# What host code of CuTe DSL 4.8.1 wrote for (128, 64) f16 and (128, 128) f32, its last 64 bytes are what was there before.
CUTE = "0:4000a000 1:2000 2:46312 3:8 8:3f 9:7f 13:3f000000 14:7f 16:7a661e28 17:7f26 18:3 20:7a661e10 31:7f26"
CUTE_F32 = "0:40014000 1:2000 2:46392 3:20 8:7f 9:7f 13:1f000000 14:7f 16:e7bce158 18:1fbeedf6 28:1"


@pytest.mark.parametrize(
    "words, type, dims, stride, box",
    [(CUTE, "f16", (64, 128), 128, (64, 128)), (CUTE_F32, "f32", (128, 128), 512, (32, 128))],
)
def test_maps_of_cute_dsl(words, type, dims, stride, box):
    found = decode(map_of(words))
    assert (found.type.name, found.dims, found.strides[1], found.box) == (type, dims, stride, box)
    assert (found.swizzle, found.address >> 32) == ("128B", 0x2000)


@pytest.mark.parametrize("code, type, bits", [(11, "b4x16", 4), (12, "b4x16_p64", 4), (13, "b6x16_p32", 6)])
def test_narrow_types_of_cute_dsl(code, type, bits):
    """Products of dense_blockscaled_gemm_persistent.py whose factors have such types, with padding those of mixed types, are right."""
    words = [0] * 32
    words[2], words[8:10], words[3], words[13], words[14] = 0x46012 | code << 7, [127, 127], bits, 127 << 24, 127
    found = decode(struct.pack("<32I", *words))
    assert (found.type.name, found.dims, found.strides[1], found.box) == (type, (128, 128), 16 * bits, (128, 128))


def test_pieces_of_32_bytes_in_maps_of_cute_dsl():
    """tf32 along M: dense_gemm.py of CUTLASS's examples, M = 128 and K = 64; its product is right."""
    words = [0] * 32
    words[2], words[8:10], words[3], words[13], words[14] = 0xD63A2 - 0x10, [127, 63], 32, 31 << 24, 7
    found = decode(struct.pack("<32I", *words))
    assert (found.swizzle, found.type.name, found.dims, found.box) == ("128B_32B", "tf32", (128, 64), (32, 8))
    words[2] &= ~0x6000
    with pytest.raises(ValueError):
        description(struct.pack("<32I", *words))


def test_ours_are_never_taken_for_the_drivers():
    draw = np.random.default_rng(0)
    for _ in range(300):
        rank = int(draw.integers(1, 6))
        strides = [256 << int(draw.integers(0, 3)) for _ in range(rank - 1)]
        box = [16, *map(int, draw.integers(1, 257, rank - 1))]
        made = TensorMap(
            int(draw.integers(1, 1 << 40)) * 16, "u8", [int(n) for n in draw.integers(1, 2000, rank)], strides, box
        )
        data = made.device_bytes(lambda _: 0)
        assert decode(data) == tensor_map.decode(data)
        assert ours(data) == data


def test_what_is_edited_becomes_ours():
    data = map_of(CUTE)
    assert tensor_map.decode(ours(data)) == decode(data)


def test_no_map_at_all_is_told_as_one_of_ours():
    with pytest.raises(ValueError, match="element stride 0 is 0"):
        decode(bytes(128))
    with pytest.raises(ValueError, match="not known"):
        decode(map_of(CUTE.replace("2:46312", "2:846312")))
    with pytest.raises(ValueError, match="type 15"):
        description(map_of(CUTE.replace("2:46312", "2:46792")))

"""From where the bytes of a tile came: how it was written, and whether a descriptor reads it so."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle, swizzle_width
from ptxsim.layout.tile_order import UNIT, UNKNOWN, Shape, overlap, written_as

MODES = sorted(SWIZZLE_BITS)
ROWS = st.sampled_from([64, 128])
SHAPES = st.one_of(  # a wgmma takes 32 bytes of K; elements of 16 bits may lie either way
    st.builds(lambda rows, bits: Shape("K", rows, 256 // bits, bits), ROWS, st.sampled_from([8, 16, 32])),
    st.builds(lambda rows: Shape("MN", rows, 16, 16), ROWS),
)


def right(shape: Shape, mode: str) -> Descriptor:
    """A descriptor whose units lie side by side."""
    width, fields = swizzle_width(mode), Descriptor(0x400, swizzle=mode)
    if shape.major == "K" and mode == "none":
        return replace(fields, leading=shape.rows * 16, stride=128)
    if shape.major == "K":
        return replace(fields, stride=8 * width)
    tile = 8 * width * (shape.k // 8)
    return replace(fields, leading=8 * width if mode == "none" else tile, stride=tile if mode == "none" else 8 * width)


def written(fields: Descriptor, shape: Shape, pitch: int) -> np.ndarray:
    """From where the units of shared memory come, of a tile that is copied from rows `pitch` bytes apart."""
    sources = np.full(1 << 14, UNKNOWN, np.int64)
    offsets = shape.offsets(fields)
    line, unit = np.indices(offsets.shape)
    places = swizzle(fields.start + offsets, fields.swizzle) // UNIT
    sources[places] = 0x70000000 + line * pitch + unit * UNIT
    return sources


@given(SHAPES, st.sampled_from(MODES), st.sampled_from([256, 4096, 1040]))
def test_a_tile_that_is_read_as_it_was_written(shape, mode, pitch):
    fields = right(shape, mode)
    assert overlap(fields, shape) is None
    assert written_as(written(fields, shape, pitch), fields, shape) is None


@given(SHAPES, st.sampled_from(MODES), st.sampled_from(MODES), st.sampled_from([256, 4096, 1040]))
def test_another_swizzle_is_found(shape, mode, other, pitch):
    fields = right(shape, mode)
    if mode != other:
        found = written_as(written(fields, shape, pitch), replace(fields, swizzle=other), shape)
        assert found is not None
        assert (found.swizzle, found.stride) == (fields.swizzle, fields.stride)


@given(SHAPES, st.sampled_from(MODES), st.sampled_from([2, 3]))
def test_another_stride_is_found(shape, mode, times):
    fields = right(shape, mode)
    found = written_as(written(fields, shape, 4096), replace(fields, stride=times * fields.stride), shape)
    read = None if found is None else shape.offsets(found)
    # (A stride that no unit depends on says nothing.)
    assert found is None or (read == shape.offsets(fields)).all()
    assert found is not None or (shape.offsets(replace(fields, stride=0)) == shape.offsets(fields)).all()


@given(SHAPES, st.sampled_from(MODES), st.sampled_from(MODES), st.integers(0, 1000))
def test_of_units_in_disorder_nothing_is_said(shape, mode, other, seed):
    fields = right(shape, mode)
    sources = written(fields, shape, 4096)
    known = np.flatnonzero(sources != UNKNOWN)
    sources[known] = np.random.default_rng(seed).permutation(sources[known])
    assert written_as(sources, replace(fields, swizzle=other), shape) is None


@given(SHAPES, st.sampled_from(MODES))
def test_bytes_that_are_read_twice(shape, mode):
    fields = replace(right(shape, mode), leading=0, stride=0)
    found = overlap(fields, shape)
    assert found is not None
    address, one, other = found
    assert one != other
    assert address % UNIT == 0

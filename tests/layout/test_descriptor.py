import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.layout.descriptor import RESERVED, Descriptor
from ptxsim.layout.swizzle import SWIZZLE_BITS, pattern_bytes, swizzle, swizzle_width

MODES = sorted(SWIZZLE_BITS)


def test_the_bits_of_a_descriptor():
    descriptor = Descriptor(start=0x400, stride=1024, swizzle="128B")
    assert descriptor.encode() == 0x4000004000010040
    assert Descriptor.decode(0x4000004000010040) == descriptor
    assert Descriptor(0x20, 0x30, 0x40, "32B", 5).encode() == 3 << 62 | 5 << 49 | 4 << 32 | 3 << 16 | 2
    assert Descriptor(swizzle="64B").encode() >> 62 == 2
    assert Descriptor(start=0x40010).encode() & 0x3FFF == 1


@given(value=st.integers(0, 2**64 - 1))
def test_every_value_survives_decoding_and_encoding(value):
    assert Descriptor.decode(value).encode() == value


def test_reserved_bits_are_the_manuals_gaps():
    assert sum(1 << bit for bit in (14, 15, 30, 31, 46, 47, 48, *range(52, 62))) == RESERVED


def test_problems_name_the_finding():
    assert Descriptor(start=0x400, stride=1024, swizzle="128B").problems() == []
    assert Descriptor(start=0x420, stride=1024, swizzle="128B").problems() == []
    names = {name for name, _ in Descriptor(start=0x480, stride=1024, swizzle="128B").problems()}
    assert names == {"swizzle-start"}
    assert Descriptor(start=0x480, stride=1024, swizzle="128B", base_offset=1).problems() == []
    assert Descriptor(reserved=1 << 14).problems()[0][0] == "descriptor-invalid"
    assert "nothing" in Descriptor(base_offset=3).problems()[0][1]
    assert len(Descriptor(start=8, leading=-16, stride=1 << 18, swizzle="256B", base_offset=8).problems()) == 5


@pytest.mark.parametrize("wrong", [{"start": 8}, {"leading": 1 << 18}, {"stride": -16}, {"swizzle": "16B"}])
def test_fields_that_do_not_fit_are_refused(wrong):
    with pytest.raises(PtxError) as caught:
        Descriptor(**wrong).encode()
    assert caught.value.findings[0].name == "descriptor-invalid"


@given(address=st.integers(0, 2**18), mode=st.sampled_from(MODES), base=st.integers(0, 7))
def test_a_swizzle_is_its_own_inverse_and_keeps_its_row(address, mode, base):
    there = swizzle(address, mode, base)
    assert swizzle(there, mode, base) == address
    assert there // 128 == address // 128 and there % 16 == address % 16


def test_swizzle_patterns():
    assert [swizzle_width(mode) for mode in ("none", "32B", "64B", "128B")] == [16, 32, 64, 128]
    assert [pattern_bytes(mode) for mode in ("none", "32B", "64B", "128B")] == [16, 256, 512, 1024]
    rows = np.arange(8) * 128
    assert (swizzle(rows, "128B") - rows).tolist() == [16 * row for row in range(8)]
    assert (swizzle(rows, "32B") - rows).tolist() == [0, 16] * 4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_packed_tile_is_read_once_and_whole(mode, major, bits):
    k = 256 // bits
    rows = 128
    wide = swizzle_width(mode)
    if major == "K":
        leading, stride = (128 * rows // 8, 128) if mode == "none" else (16, 8 * wide)
    else:
        blocks = rows * bits // 8 // wide
        leading, stride = (128 * blocks, 128) if mode == "none" else (8 * wide, 8 * wide * blocks)
    found = Descriptor(0, leading, stride, mode).addresses(major, rows, k, bits)
    assert found.shape == (rows, k)
    assert len(np.unique(found)) == rows * k and (found % (bits // 8) == 0).all()


def test_offsets_do_not_wrap_and_swizzle_the_whole_address():
    high = Descriptor(0x3FFF0, 0x3FFF0, 0x3FFF0).addresses("K", 16, 16, 16)
    assert high.max() > 2**18
    moved = Descriptor(0x80, 16, 1024, "128B").addresses("K", 8, 8, 16)
    assert moved[0, 0] == 0x80 ^ 0x10
    based = Descriptor(0x80, 16, 1024, "128B", 1).addresses("K", 8, 8, 16)
    assert based[0, 0] == 0x80
    assert Descriptor().addresses("K", 8, 256, 1)[0, [0, 7, 8, 127]].tolist() == [0, 0, 1, 15]

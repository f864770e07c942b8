"""shfl against the pseudo-code of the manual, lane by lane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.instructions.shuffle import shuffle
from ptxsim.machine.fault import Converge
from tests.machine.bench import LANE, Bench, lanes

MODES = ("up", "down", "bfly", "idx")
PORT = Bench().port()


def manual(mode, lane, b, c):
    """(source lane, predicate) as the manual computes them."""
    segment, clamp, b = c >> 8 & 31, c & 31, b & 31
    last, first = lane & segment | clamp & ~segment, lane & segment
    if mode == "up":
        source = lane - b
        inside = source >= last
    elif mode == "down":
        source = lane + b
        inside = source <= last
    elif mode == "bfly":
        source = lane ^ b
        inside = source <= last
    else:
        source = first | b & ~segment
        inside = source <= last
    return (source, True) if inside else (lane, False)


@pytest.mark.slow
@given(st.sampled_from(MODES), st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=64))
def test_every_lane_as_the_manual_says(mode, words):
    b, c = lanes(words[:32]), lanes(words[32:])
    value, inside = shuffle(PORT, LANE + 1000, b, c, lanes(0xFFFFFFFF), mode=mode)
    for lane in range(32):
        source, valid = manual(mode, lane, int(b[lane]), int(c[lane]))
        assert (int(value[lane]), bool(inside[lane])) == (source % 32 + 1000, valid)


@given(st.sampled_from(MODES), st.integers(0, 31), st.sampled_from([0, 31, 0x1F00, 0x1C1F, 0x181F, 0x101F, 0x0700]))
def test_usual_segments(mode, distance, control):
    value, _ = shuffle(PORT, LANE, lanes(distance), lanes(control), lanes(0xFFFFFFFF), mode=mode)
    expected = [manual(mode, lane, distance, control)[0] for lane in range(32)]
    np.testing.assert_array_equal(value, expected)


def test_lanes_that_are_missing_are_waited_for():
    port = Bench().port(mask=LANE < 31)
    assert isinstance(shuffle(port, LANE, lanes(1), lanes(31), lanes(0xFFFFFFFF), mode="bfly"), Converge)
    value, _ = shuffle(port, LANE, lanes(1), lanes(31), None, mode="bfly")  # the form without .sync does not wait
    assert value[0] == 1

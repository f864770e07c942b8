"""What bodies ask about all lanes at once is the same in Python and compiled."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.jit.blocks import blocks_of
from ptxsim.jit.body import Array, body
from ptxsim.jit.filling import fill_lines
from ptxsim.jit.rows import fetch, fill, lower_than, lowest_of, new_in, raise_to
from ptxsim.jit.vectors import FAR, are_in_steps, are_moved, bounds, different, lanes_between, most_bits
from tests.jit.alike import alike

LINE = np.dtype([("lanes", "<u4"), ("numbers", "<u8", (32,))])


@body
def steady(lines: Array, start: int, step: int) -> int:
    found = 0
    for i in range(len(lines)):
        if are_in_steps(lines[i]["numbers"], int(lines[i]["lanes"]), start, step):
            found |= 1 << i
    return found


@given(st.integers(0, 2**62), st.integers(-64, 128), st.integers(0, 2**32 - 1), st.integers(0, 31))
@settings(deadline=None)
def test_numbers_in_steps(start, step, lanes, other):
    lines = np.zeros(3, LINE)
    lines["numbers"] = (start + np.arange(32) * step).astype(np.uint64)
    lines["numbers"][1, other] ^= np.uint64(1)
    lines["lanes"] = lanes, lanes, lanes | 1 << other
    lines["numbers"][2, other] ^= np.uint64(1)
    found, _ = alike(steady, lines, start, step)
    assert found == 1 | 2 * (not lanes >> other & 1)


@body
def between(lines: Array, first: int, last: int) -> int:
    return lanes_between(lines[0]["numbers"], int(lines[0]["lanes"]), first, last)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32), st.integers(0, 2**47), st.integers(0, 100))
@settings(deadline=None)
def test_lanes_between(lanes, seed, first, more):
    lines = np.zeros(1, LINE)
    lines["lanes"] = lanes
    lines["numbers"] = (first + np.random.default_rng(seed).integers(-20, 130, 32)).astype(np.uint64)
    found, _ = alike(between, lines, first, first + more)
    own = lines["numbers"][0].astype(np.int64)
    assert found == sum(1 << k for k in range(32) if lanes >> k & 1 and first <= own[k] <= first + more)


@body
def filling(lines: Array, size: int) -> int:
    return int(fill_lines(lines[0]["numbers"], int(lines[0]["lanes"]), size))


@given(
    st.sampled_from([1, 3, 4, 8, 16, 32, 64, 128, 256]), st.integers(0, 2**30), st.integers(0, 127), st.booleans(),
    st.sampled_from([2**32 - 1, 2**32 - 1, 0xFF]), st.integers(0, 64),
)  # fmt: skip
@settings(deadline=None)
def test_lanes_fill_lines(size, seed, turn, is_turned, lanes, wrong):
    """Rows of lanes, each at a place of its own, turned by what a swizzle exchanges; or one lane elsewhere."""
    lines, lane = np.zeros(1, LINE), np.arange(32)
    each = max(1, 128 // size)
    rows = np.random.default_rng(seed).integers(0, 1000, 32)[lane // each]
    turn = turn // size * size if is_turned else 0
    numbers = rows * 128 + (lane % each * size ^ turn)
    if wrong < 32:
        numbers[wrong] ^= 1
    lines["numbers"], lines["lanes"] = numbers.astype(np.uint64), lanes
    found, _ = alike(filling, lines, size)
    can = size in (4, 8, 16, 32, 64, 128) and (size == 128 or lanes == 2**32 - 1)
    assert found == (can and (wrong >= 32 or not lanes >> wrong & 1))


@body
def work_on_rows(rows: Array, size: int, number: int) -> int:
    fetch(rows[0])  # changes nothing
    lowest = lowest_of(rows[0], size // 2, size)
    raise_to(rows[1], rows[0])
    fill(rows[2], 2, size, number)
    return lowest + lower_than(rows[3], 2, number)


@given(st.integers(2, 70), st.integers(0, 2**32), st.integers(-(2**31), 2**31 - 1))
@settings(deadline=None)
def test_rows(size, seed, number):
    rows = np.random.default_rng(seed).integers(-(2**31), 2**31, (4, size + 32)).astype(np.int32)
    alike(work_on_rows, rows, size, number)


@body
def news(rows: Array, first: int) -> int:
    return new_in(rows[0], rows[1], first)


@given(st.integers(0, 5), st.integers(0, 2**32))
@settings(deadline=None)
def test_what_a_row_has_that_another_has_not(first, seed):
    rows = np.random.default_rng(seed).integers(0, 3, (2, 37)).astype(np.int32)
    found, _ = alike(news, rows, first)
    mine, theirs = rows[:, first : first + 32]
    assert found == sum(1 << lane for lane in np.flatnonzero((theirs != 0) & (theirs != mine)).tolist())


@body
def blocks(lines: Array, size: int, shift: int) -> tuple[int, int, int]:
    return blocks_of(lines[0]["numbers"], int(lines[0]["lanes"]), size, shift)


@given(
    st.sampled_from([2**32 - 1, 2**32 - 1, 0xFF00]) | st.integers(1, 2**32 - 1),
    st.integers(0, 2**32),
    st.sampled_from([1, 4, 8, 16]) | st.integers(1, 32),
    st.sampled_from([2, 5, 7, 7, 7]),
    st.integers(0, 2**13) | st.just(2**40),
    st.sampled_from([30, 100, 200, 500, 2**12, 2**13, 2**20, 2**40]),
    st.booleans(),
)
@settings(deadline=None)
def test_blocks(lanes, seed, size, shift, start, most, is_aligned):
    lines = np.zeros(1, LINE)
    numbers = start + np.random.default_rng(seed).integers(0, most, 32)
    lines["numbers"], lines["lanes"] = numbers // size * size if is_aligned else numbers, lanes
    (first, found, inside), _ = alike(blocks, lines, size, shift)
    low, high = (lines["numbers"][0] + np.uint64(last) >> np.uint64(shift) for last in (0, size - 1))
    covered = [lane for lane in range(32) if inside >> lane & 1]
    assert covered and inside & ~lanes == 0
    assert {first + i for i in range(64) if found >> i & 1} == {int(e[lane]) for e in (low, high) for lane in covered}


PAIR = np.dtype([("numbers", "<u8", (32,)), ("others", "<i8", (32,))])


@body
def moved(pairs: Array, distance: int) -> tuple[int, int]:
    found = 0
    for i in range(len(pairs)):
        if are_moved(pairs[i]["numbers"], pairs[i]["others"], distance):
            found |= 1 << i
    return found, most_bits(pairs[0]["others"])


@given(st.integers(0, 2**32), st.integers(-(2**40), 2**40), st.integers(0, 31))
@settings(deadline=None)
def test_numbers_moved_and_their_bits(seed, distance, lane):
    pairs = np.zeros(2, PAIR)
    pairs["others"] = np.random.default_rng(seed).integers(-(2**62), 2**62, 32)
    pairs["numbers"] = (pairs["others"] + distance).view(np.uint64)
    pairs["numbers"][1, lane] ^= np.uint64(1 << 63)
    (found, most), _ = alike(moved, pairs, distance)
    assert found == 1 and most == max(int(each).bit_count() for each in pairs["others"][0].view(np.uint64))


@body
def differing(lines: Array, shift: int) -> int:
    return different(lines[0]["numbers"], int(lines[0]["lanes"]), shift)


@given(
    st.integers(0, 2**32 - 1), st.integers(0, 2**32), st.integers(0, 7), st.sampled_from([1, 100, 2000, 2**20, 2**50])
)
@settings(deadline=None)
def test_different_numbers(lanes, seed, shift, most):
    lines = np.zeros(1, LINE)
    lines["numbers"], lines["lanes"] = np.random.default_rng(seed).integers(0, most, 32) + 2**48, lanes
    found, _ = alike(differing, lines, shift)
    numbers = lines["numbers"][0] >> np.uint64(shift)
    assert found == len({int(numbers[lane]) for lane in range(32) if lanes >> lane & 1})


@body
def ends(lines: Array) -> tuple[int, int]:
    return bounds(lines[0]["numbers"], int(lines[0]["lanes"]))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32), st.sampled_from([1, 100, 2**61]))
@settings(deadline=None)
def test_lowest_and_highest(lanes, seed, most):
    lines = np.zeros(1, LINE)
    lines["numbers"], lines["lanes"] = np.random.default_rng(seed).integers(0, most, 32), lanes
    found, _ = alike(ends, lines)
    there = [int(lines["numbers"][0, lane]) for lane in range(32) if lanes >> lane & 1]
    assert found == (min(there, default=FAR), max(there, default=-1))

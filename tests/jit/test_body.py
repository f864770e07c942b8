"""Bodies mean the same in Python and compiled; what they cannot mean is refused."""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.jit.arithmetic import Untranslatable
from ptxsim.jit.body import body
from ptxsim.jit.kinds import Alike
from tests.jit.alike import alike

SMALL = st.integers(-(2**30), 2**30)
WIDE = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(-1e9, 1e9)
PRIMES = (2, 3, 5, 7, 11)
WEIGHTS = np.arange(12, dtype=np.int16).reshape(3, 4) * 3
CELL = np.dtype(
    [("key", "<i4"), ("weight", "<f4"), ("flag", "?"), ("lanes", "<u8", (4,)), ("pair", [("a", "i1"), ("b", "u1")])]
)


class Color(IntEnum):
    RED = 3
    BLUE = 5


class State(NamedTuple):
    cells: np.ndarray
    scale: float
    counts: np.ndarray


def helper(a, b=7):
    return a * 2 + b


@body
def integers(a, b, n):
    x = a + b - 3 * a
    x ^= (a & b) | (b >> 3)
    x += a // 8 + a % 8 - (b // 7) * (b % 7)
    if b != 0:
        x += a // b - a % b
    x += ~a + -b + abs(a) + min(a, b, 4) - max(a, 9)
    return x, (a << 2) + (a >> n), (1 << n) & 0xFFFF, a.bit_count() if a >= 0 else 0


@pytest.mark.slow
@given(SMALL, SMALL, st.integers(0, 70))
@settings(deadline=None)
def test_integers(a, b, n):
    alike(integers, a, b, n)


@pytest.mark.slow
@given(FLOATS, FLOATS, SMALL)
@settings(deadline=None)
def test_floats(a, b, n):
    alike(first_floats, a, b, n)
    alike(more_floats, a, b, n)


@body
def first_floats(a, b, n):
    x = a * b - 0.5
    if b != 0.0:
        x = x / b + n / 3
    return x, int(a), float(n), max(a, b), -a, abs(b)


@body
def more_floats(a, b, n):
    return a < b, a <= n, bool(b), a != b, n == a, not a, 1e300 * (a * a) > 1e308


@body
def logic(a, b, flag):
    one = a > 3 and b > 3
    other = flag or a == b
    both = 0 <= a < b <= 10
    if not (a and b) or a in PRIMES:
        one = not one
    chosen = a if flag else b
    kind = 2.5 if a not in (Color.RED, Color.BLUE) else b
    return one, other, both, chosen, kind, one + other, one | both


@given(st.integers(-2, 12), st.integers(-2, 12), st.booleans())
@settings(deadline=None)
def test_logic(a, b, flag):
    alike(logic, a, b, flag)


@body
def loops(n, step):
    total, last = 0, -1
    for i in range(n):
        if i % 3 == 1:
            continue
        for j in range(i, 0, -2):
            if j * i > 40:
                break
            total += j
        last = i
    for i in range(0, 20, step):
        total += i
    while True:
        n -= 1
        if n < 0:
            break
        total ^= n
    for weight in (2, n, 7):
        total = total * 3 + weight
    while total > 1000:
        total //= 10
    return total, last


@given(st.integers(0, 20), st.integers(1, 5))
@settings(deadline=None)
def test_loops(n, step):
    alike(loops, n, step)


@body
def unsigned(x):
    low = x & np.uint64(0xFFFF)
    return (x >> np.uint64(5)), low // np.uint64(3), x > np.uint64(2**63), int(x >> np.uint64(1)), int(low) - 5


@given(st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_unsigned(x):
    alike(unsigned, np.uint64(x))


@body
def memory(state, order, rows):
    cells = state.cells
    found = -1
    for i in range(len(order)):
        k = order[i]
        cell = cells[k]
        cell["weight"] = float(cell["weight"]) + state.scale * i
        cells[k]["key"] = int(cell["key"]) * 3 + int(cell["pair"]["a"])
        cell["flag"] = cell["key"] & 4
        cell["lanes"][i & 3] += np.uint64(7)
        cell["pair"]["b"] = i
        state.counts[k, i & 1] += 1
        rows[i, 1] = rows[k, 0]
        if cell["flag"] and found < 0:
            found = k
    cells[0] = cells[len(cells) - 1]
    return found, float(cells["weight"][0]), cells.shape[0] + state.counts.shape[1]


@given(st.lists(st.integers(0, 4), max_size=9), st.floats(-4, 4), st.integers(0, 99))
@settings(deadline=None)
def test_records_and_rows(order, scale, seed):
    generator = np.random.default_rng(seed)
    cells = np.frombuffer(generator.bytes(5 * CELL.itemsize), CELL).copy()
    cells["weight"], cells["key"], cells["flag"] = generator.integers(0, 9, 5), generator.integers(0, 99, 5), False
    rows = generator.integers(-9, 9, (9, 2, 3)).astype(np.int32)
    alike(memory, State(cells, scale, np.zeros((5, 2), np.uint8)), np.array(order, np.int64), rows)


class Pair(NamedTuple):
    first: State
    numbers: tuple[int, np.ndarray]


@body
def nested(pair, which):
    total = 0.0
    if which:
        one = pair.first
        total += one.scale + one.counts[0, 1]
    n, values = pair.numbers
    for i in range(n):
        total += pair.first.scale * values[i]
    return total, pair.numbers[0]


@pytest.mark.parametrize("which", [False, True])
def test_tuples_within_tuples(which):
    state = State(np.zeros(1, CELL), 1.5, np.arange(6, dtype=np.uint8).reshape(3, 2))
    alike(nested, Pair(state, (3, np.arange(5))), which)


@body
def chosen(states, order):
    total = 0.0
    for i in range(len(order)):
        state = states[order[i]]
        state.counts[0, 1] += 1
        total += state.scale * int(state.counts[0, 1]) + len(states)
        if i == 2:
            states[order[i]].counts[0, 1] = 7
    return total


def test_tuples_of_one_kind_are_taken_by_their_number():
    states = Alike(State(np.zeros(1, CELL), n / 2, np.full((3, n + 2), n, np.uint8)) for n in range(3))
    alike(chosen, states, np.array([2, 0, 2, 1, 2]))
    before = chosen.compiled(states, np.array([0]))
    states.append(State(np.zeros(1, CELL), 9.0, np.ones((1, 2), np.uint8)))
    assert chosen.compiled(states, np.array([3])) == 9.0 * 2 + 4 and before == 3.0


@body
def strided(array, wide):
    total = 0
    for i in range(len(array)):
        array[i] += i
        for j in range(wide.shape[1]):
            total += int(wide[i, j])
    return total


def test_rows_apart_from_each_other():
    block = np.arange(60, dtype=np.int32)
    alike(strided, block[::12], block.reshape(5, 12)[:, :4])
    with pytest.raises(TypeError, match="in one piece"):
        strided.compiled(block[::12], block.reshape(5, 12)[:, ::3])


@body
def scratch(n):
    masks, table = [0] * 8, [3, 1, 2]
    flags, sums, grid = [False] * 9, [0.0] * 3, np.zeros((4, 8), np.int32)
    for i in range(n):
        fresh = [0.5] * 2
        fresh[0] += i
        masks[i % 8] += int(fresh[0]) + table[i % 3] + flags[i % 9]
        flags[i % 7] = i % 3 == 1
        sums[i % 3] += fresh[0]
        grid[i % 4, i % 8] = masks[i % 8] + int(WEIGHTS[i % 3, i % 4]) + PRIMES[i % 5]
    total = 0
    for i in range(32):
        total = total * 5 + int(grid[i // 8, i % 8]) & 0xFFFF
    return total + masks[3], sums[1], helper(n) + helper(n, 3), math.pi * n


@given(st.integers(0, 50))
@settings(deadline=None)
def test_scratch_tables_and_calls(n):
    alike(scratch, n)


@body
def truncates(small, x):
    small[0] = x
    return x


@given(WIDE)
@settings(deadline=None)
def test_what_does_not_fit_loses_its_upper_bits(x):
    small = np.zeros(1, np.int16)
    truncates.compiled(small, x)
    assert int(small[0]) == (x + 2**15) % 2**16 - 2**15


@body
def nothing(array):
    if len(array) == 0:
        return
    array[0] = 1


def test_no_result():
    alike(nothing, np.zeros(2))
    alike(nothing, np.zeros(0))


@body
def beyond(array, i):
    return int(array[i])


@body
def by_zero(a, b):
    return a % b


def test_checked_code_says_where_it_left_an_array():
    assert beyond.checked(np.arange(4), 3) == 3
    with pytest.raises(IndexError, match=rf"test_body.py:{beyond.function.__code__.co_firstlineno + 2}"):
        beyond.checked(np.arange(4), 4)
    with pytest.raises(IndexError):
        by_zero.checked(1, 0)


def test_arguments_no_body_takes():
    for wrong in ([1], "text", None, np.zeros((4, 4))[:, ::2]):
        with pytest.raises(TypeError):
            beyond.compiled(wrong, 0)


def changes_kind(a):
    x = 0
    if a:
        x = 0.5
    return x


def has_no_result(a):
    if a:
        return 1


def unknown_name(a):
    return missing  # noqa: F821


def negative_index(a):
    table = [1, 2, 3]
    return table[-1]


def comprehension(a):
    return [x * 2 for x in range(a)]


def keyword(a):
    return helper(a, b=1)


def itself(a):
    return itself(a - 1) if a else 0


def mixes(a):
    return np.uint64(3) * a


def value_of_and(a):
    return a and 4


def list_by_two_names(a):
    one = [0] * 4
    other = one
    return other[a]


def single(a):
    return np.float32(2) * a


def text(a):
    return f"{a}"


REFUSED = [
    changes_kind, has_no_result, unknown_name, negative_index, comprehension, keyword, itself, value_of_and, list_by_two_names,
    single, text,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_no_part_of_the_language_is_refused(function):
    with pytest.raises(Untranslatable, match=r"test_body.py"):
        body(function).compiled(3)


def test_unsigned_numbers_mix_with_constants_only():
    with pytest.raises(Untranslatable, match="unsigned"):
        body(mixes).compiled(3)

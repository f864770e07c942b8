"""float64 arithmetic with every rounding, and its NaN, as expressions over lane values.

To nearest, the host's own operations are exact. Directed rounding needs the sign of what they drop: sums have it from
an error-free transformation; products, fused sums and quotients are computed in integers, so that nothing of them is
lost near the ends of the range.
"""

from __future__ import annotations

from typing import TypeAlias

from ptxsim import lanes
from ptxsim.lanes import LaneValue
from ptxsim.numerics.scalar import CANONICAL_NAN, F64, add_double, nudge

_SIGN, _INFINITY, _FRACTION, _HIDDEN = 1 << 63, 0x7FF << 52, (1 << 52) - 1, 1 << 52
# Below the weight of every bit of every product: the weight of zero terms, so that they never decide the exponent.
_NOWHERE = -5000

Wide: TypeAlias = tuple[LaneValue, LaneValue]  # the high and the low u64 of 128 bits


def propagate(result: LaneValue, *operands: LaneValue) -> LaneValue:
    """Where an operand is NaN the result is that operand, quiet (the first such one); other NaN become canonical."""
    word = lanes.bits(result, "u64")
    word = lanes.where(word & (_SIGN - 1) > _INFINITY, CANONICAL_NAN["f64"], word)
    for operand in reversed(operands):
        bits = lanes.bits(operand, "u64")
        word = lanes.where(bits & (_SIGN - 1) > _INFINITY, bits | _HIDDEN >> 1, word)
    return lanes.bits(word, F64)


def add(a: LaneValue, b: LaneValue, mode: str) -> LaneValue:
    return add_double(a, b, mode)


def multiply(a: LaneValue, b: LaneValue, mode: str) -> LaneValue:
    if mode == "rn":
        return a * b
    sign = (lanes.bits(a, "u64") ^ lanes.bits(b, "u64")) & _SIGN
    return fma(a, b, lanes.bits(sign, F64), mode)


def fma(a: LaneValue, b: LaneValue, c: LaneValue, mode: str) -> LaneValue:
    """a * b + c, rounded once."""
    if mode == "rn":
        return lanes.fma(a, b, c)
    words = [lanes.bits(x, "u64") for x in (a, b, c)]
    (_, m_a, e_a), (_, m_b, e_b), (_, m_c, e_c) = map(unpack, words)
    negative = (words[0] ^ words[1]) & _SIGN != 0
    c_negative = words[2] & _SIGN != 0
    # The product, 106 bits, stands at bit 20 of 128; the addend may reach up to bit 126.
    high, low = shift_left(lanes.multiply_high(m_a, m_b), m_a * m_b, (m_a ^ m_a) + 20)
    product_weight = lanes.where((m_a == 0) | (m_b == 0), _NOWHERE, e_a + e_b - 20)
    addend_weight = lanes.where(m_c == 0, _NOWHERE, e_c)
    weight = lanes.maximum(product_weight, addend_weight - 73)
    product = shift_right(high, low, weight - product_weight)
    addend = shift_right(m_c << 9, m_c ^ m_c, weight - (addend_weight - 73))
    total_high, total_low, sign = signed_sum(product, negative, addend, c_negative, mode)
    result = pack(sign, total_high, total_low, weight, mode)
    finite = [w & _INFINITY != _INFINITY for w in words]
    special = lanes.where(finite[0] & finite[1], c, a * b + c)
    return lanes.where(finite[0] & finite[1] & finite[2], result, special)


def divide(a: LaneValue, b: LaneValue, mode: str) -> LaneValue:
    """a / b, rounded once."""
    if mode == "rn":
        return a / b
    words = [lanes.bits(x, "u64") for x in (a, b)]
    (_, m_a, e_a), (_, m_b, e_b) = (normalized(*unpack(w)) for w in words)
    numerator, denominator = lanes.cast(m_a, F64), lanes.cast(m_b, F64)
    quotient = numerator / denominator  # in (1/2, 2)
    rest = lanes.fma(-quotient, denominator, numerator)
    high = lanes.float_to_int(quotient * 2.0**62, "u64") - lanes.cast(rest < 0, "u64")
    sticky = lanes.cast((rest < 0) | (rest > 0), "u64")
    result = pack((words[0] ^ words[1]) & _SIGN != 0, high, sticky, e_a - e_b - 126, mode)
    ordinary = (words[0] & _INFINITY != _INFINITY) & (words[1] & _INFINITY != _INFINITY) & (m_a != 0) & (m_b != 0)
    return lanes.where(ordinary, result, a / b)


def square_root(x: LaneValue, mode: str) -> LaneValue:
    root = lanes.square_root(x)
    if mode == "rn":
        return root
    # Scaled by an even power of two the square of the root is in the middle of the range.
    word = lanes.bits(x, "u64")
    _, significand, exponent = normalized(*unpack(word))
    odd = exponent & 1
    scaled = lanes.cast(significand << lanes.cast(odd, "u64"), F64)
    root_scaled = lanes.square_root(scaled)
    rest = lanes.fma(-root_scaled, root_scaled, scaled)
    exact = lanes.bits(nudge(root_scaled, rest, mode), "s64") + ((exponent - odd >> 1) << 52)
    ordinary = (word - 1) < (_INFINITY - 1)
    return lanes.where(ordinary, lanes.bits(exact, F64), root)


# ---- pieces ----


def unpack(word: LaneValue) -> tuple[LaneValue, LaneValue, LaneValue]:
    """Sign word, significand and the weight of its last bit (s64): |x| = significand * 2^weight."""
    field = word >> 52 & 0x7FF
    fraction = word & _FRACTION
    significand = lanes.where(field == 0, fraction, fraction | _HIDDEN)
    return word & _SIGN, significand, lanes.cast(lanes.maximum(field, 1), "s64") - 1075


def normalized(sign: LaneValue, significand: LaneValue, weight: LaneValue) -> tuple[LaneValue, LaneValue, LaneValue]:
    """The same number with 53 bits in its significand."""
    up = lanes.count_leading_zeros(significand | 1) - 11
    return sign, lanes.shift_left(significand, up), weight - lanes.cast(up, "s64")


def shift_left(high: LaneValue, low: LaneValue, count: LaneValue) -> Wide:
    """128-bit high:low << count, for 0 <= count <= 127."""
    carried = lanes.where(count < 64, lanes.shift_right(low >> 1, 63 - count), lanes.shift_left(low, count - 64))
    return lanes.shift_left(high, count) | carried, lanes.shift_left(low, count)


def shift_right(high: LaneValue, low: LaneValue, count: LaneValue) -> Wide:
    """128-bit high:low >> count (s64, not negative); bits that fall out leave a 1 in the last place."""
    count = lanes.cast(lanes.minimum(count, 191), "u64")
    back = 63 - (count & 63)
    small_low = lanes.shift_right(low, count & 63) | lanes.shift_left(high << 1, back)
    small_high = lanes.shift_right(high, count & 63)
    lost_low = lanes.shift_left(low << 1, back)
    lost_high = lanes.shift_left(high << 1, back)
    words, half = count >= 64, count >= 128
    new_high = lanes.where(words, high ^ high, small_high)
    new_low = lanes.where(half, high ^ high, lanes.where(words, small_high, small_low))
    lost = lanes.where(half, low | high, lanes.where(words, low | lost_high, lost_low))
    return new_high, new_low | lanes.cast(lost != 0, "u64")


def signed_sum(
    x: Wide, x_negative: LaneValue, y: Wide, y_negative: LaneValue, mode: str
) -> tuple[LaneValue, LaneValue, LaneValue]:
    """High and low word and sign of the sum of two 128-bit magnitudes with signs."""
    (x_high, x_low), (y_high, y_low) = x, y
    same = x_negative == y_negative
    swap = (y_high > x_high) | (y_high == x_high) & (y_low > x_low)
    big_high, big_low = lanes.where(swap, y_high, x_high), lanes.where(swap, y_low, x_low)
    less_high, less_low = lanes.where(swap, x_high, y_high), lanes.where(swap, x_low, y_low)
    sum_low, difference_low = big_low + less_low, big_low - less_low
    sum_high = big_high + less_high + lanes.cast(sum_low < big_low, "u64")
    difference_high = big_high - less_high - lanes.cast(big_low < less_low, "u64")
    high, low = lanes.where(same, sum_high, difference_high), lanes.where(same, sum_low, difference_low)
    sign = lanes.where(swap, y_negative, x_negative)
    cancelled = ~same & (high | low == 0)
    sign = sign | cancelled if mode == "rm" else sign & ~cancelled
    return high, low, sign


def pack(negative: LaneValue, high: LaneValue, low: LaneValue, weight: LaneValue, mode: str) -> LaneValue:
    """The float64 nearest in direction `mode` (rz, rm, rp) to the 128-bit high:low times 2^weight."""
    zero = high | low == 0
    in_low = high == 0
    zeros = lanes.where(in_low, 64 + lanes.count_leading_zeros(low), lanes.count_leading_zeros(high))
    high, low = shift_left(high, low, lanes.minimum(zeros, 127))
    weight = weight - lanes.cast(zeros, "s64")
    exponent = weight + 127
    drop = lanes.cast(lanes.maximum(-1074 - weight, 75) - 64, "u64")
    kept = lanes.shift_right(high, drop)
    inexact = (lanes.shift_left(kept, drop) != high) | (low != 0)
    biased = lanes.cast(lanes.minimum(lanes.maximum(exponent + 1022, 0), 2046), "u64")
    word = kept + (biased << 52)
    away = negative if mode == "rm" else ~negative
    if mode != "rz":
        word = word + lanes.cast(inexact & away, "u64")
    largest = lanes.where(away, _INFINITY, word ^ word | _INFINITY - 1) if mode != "rz" else _INFINITY - 1
    word = lanes.where(word >= _INFINITY, largest, word)
    word = lanes.where(zero, word ^ word, word)
    return lanes.bits(word | lanes.cast(negative, "u64") << 63, F64)

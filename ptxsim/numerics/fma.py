"""Fused multiply-add of float64 on numpy arrays: one rounding, any rounding mode; numpy has none of its own.

Error-free transformations do it where no intermediate can leave the range of float64 (Boldo and Melquiond, "Emulation
of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008); integers do the rest.
"""

from __future__ import annotations

import numpy as np

from ptxsim.numerics.scalar import add_to_odd, nudge, two_sum

SPLITTER = float(2**27 + 1)
# Both factors' and the addend's magnitudes within these, every error term is a normal number or zero.
SMALLEST, LARGEST = 2.0**-400, 2.0**400


def two_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x * y as a rounded product and its exact error."""
    product = x * y
    x_high, y_high = (t - (t - v) for v, t in ((x, x * SPLITTER), (y, y * SPLITTER)))
    x_low, y_low = x - x_high, y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def fma_f64(a: np.ndarray, b: np.ndarray, c: np.ndarray, rounding: str = "rn") -> np.ndarray:
    """float64 a * b + c, rounded once: "rn" to nearest even, "rz" to zero, "rm" down, "rp" up. NaN bits: the host's."""
    with np.errstate(all="ignore"):
        a, b, c = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c)))
        product, low = two_product(a, b)
        sum_high, sum_low = two_sum(c, low)
        high, rest = two_sum(product, sum_high)
        result, error = two_sum(high, add_to_odd(sum_low, rest))
        result = np.asarray(result if rounding == "rn" else nudge(result, error, rounding))
        safe = np.ones(a.shape, bool)
        for x in (a, b, c):
            magnitude = np.abs(x)
            safe &= (magnitude > SMALLEST) & (magnitude < LARGEST)
        safe &= result != 0
        if not safe.all():
            result = np.array(result)
            for i in zip(*np.nonzero(~safe)):
                result[i] = _fma_integers(float(a[i]), float(b[i]), float(c[i]), rounding)
    return result


def _fma_integers(a: float, b: float, c: float, rounding: str) -> float:
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):  # a * b may be beyond float64's range, but it is finite
        return c
    (an, ad), (bn, bd), (cn, cd) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    # All denominators are powers of two.
    shift = max((ad * bd).bit_length(), cd.bit_length()) - 1
    total = (an * bn << shift + 1 - (ad * bd).bit_length()) + (cn << shift + 1 - cd.bit_length())
    if total == 0:
        negative = np.signbit(a) != np.signbit(b)
        if negative == np.signbit(c) and a * b == 0 == c:
            return -0.0 if negative else 0.0
        return -0.0 if rounding == "rm" else 0.0
    return round_integer(total, -shift, rounding)


def round_integer(total: int, exponent: int, rounding: str) -> float:
    """total * 2^exponent as float64, rounded once ("rn", "rz", "rm" or "rp"); beyond the range as IEEE 754 says."""
    negative, magnitude = total < 0, abs(total)
    drop = max(magnitude.bit_length() - 53, -1074 - exponent)
    if drop > 0:
        kept, lost = magnitude >> drop, magnitude & ((1 << drop) - 1)
        half = 1 << drop - 1
        if rounding == "rn":
            kept += lost > half or (lost == half and kept & 1)
        else:
            kept += lost != 0 and rounding == ("rm" if negative else "rp")
        magnitude, exponent = kept, exponent + drop
    if magnitude.bit_length() + exponent > 1024:
        upward = rounding in ("rn", "rm" if negative else "rp")
        result = np.inf if upward else np.finfo(np.float64).max
    else:
        spare = max(0, magnitude.bit_length() - 53)  # only zeros: the number has at most 53 bits
        result = float(np.ldexp(float(magnitude >> spare), exponent + spare))
    return -result if negative else result

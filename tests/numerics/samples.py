"""Random element codes that reach the corners: specials, subnormals, wide exponents, cancellation."""

from __future__ import annotations

import numpy as np

from ptxsim.numerics.formats import code_dtype
from ptxsim.types import TYPES

KINDS = ("bits", "finite", "tiny", "zeros", "alike")


def random_codes(rng: np.random.Generator, shape, name: str, kind: str) -> np.ndarray:
    """Codes of a type: any bits; no specials; the smallest exponents; zeros of both signs; equal exponents."""
    bits = TYPES[name].bits
    codes = rng.integers(0, 1 << bits, shape, dtype=np.uint64)
    if not TYPES[name].is_float or kind == "bits":
        return codes.astype(code_dtype(name))
    fraction, exponent = (23, 8) if name == "tf32" else (TYPES[name].mantissa, TYPES[name].exponent)
    mask = ((1 << exponent) - 1) << fraction
    bias = (1 << (exponent - 1)) - 1
    keep = codes & np.uint64(~mask & ((1 << bits) - 1))
    field = {
        "finite": rng.integers(max(0, bias - 12), min(2 * bias, bias + 9), shape),
        "tiny": rng.integers(0, 3, shape),
        "zeros": np.zeros(shape, np.int64),
        "alike": np.full(shape, bias),
    }[kind]
    if kind == "zeros":
        keep &= np.uint64(1 << (bits - 1))
    return (keep | field.astype(np.uint64) << np.uint64(fraction)).astype(code_dtype(name))

"""Seeded vectors that reach the corners of a dot product: the same on every machine, made anew from an instruction's name."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from ptxsim.numerics.formats import code_dtype, sign_bit
from ptxsim.numerics.forms import Form, parse_form
from ptxsim.types import TYPES

# Vector i is of class i mod 8.
CLASSES = ("bits", "near", "mixed", "tiny", "cancelling", "special", "zeros", "alike")

# Codes of factors whose product is about the last bit kept beside a zero: the first and how many; and of those whose
# product is half a step of the smallest results.
LOW = {
    "f16": (1, 8, 2 << 10, 3 << 10),
    "bf16": (47 << 7, 3 << 7, 53 << 7, 54 << 7),
    "tf32": (47 << 23, 3 << 23, 53 << 23, 54 << 23),
}


@dataclass(frozen=True)
class Vectors:
    """Codes of N dot products: a and b (N, K), c (N,); scales (N, blocks) for block-scaled forms, else None."""

    form: Form
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    scale_a: np.ndarray | None = None
    scale_b: np.ndarray | None = None


def vectors(opcode: str, count: int, seed: str = "") -> Vectors:
    """`count` dot products of the form `opcode`; `seed` is any text."""
    form = parse_form(opcode)
    # Only the raw output of the bit generator is promised to be the same in every version of numpy.
    source = np.random.PCG64(zlib.crc32(f"{seed}|{opcode}".encode()))

    def raw(*shape: int) -> np.ndarray:
        return source.random_raw(int(np.prod(shape))).reshape(shape)

    kind = np.arange(count) % len(CLASSES)
    a, b = (_codes(raw(count, form.k), raw(count, form.k), kind[:, None], name) for name in (form.a, form.b))
    c = _codes(raw(count), raw(count), kind, form.c, below=40)
    # The second half of the products undoes the first, in half of the vectors all but a few last bits.
    cancelling, half = kind == CLASSES.index("cancelling"), form.k // 2
    apart = raw(int(cancelling.sum()), half) % 13 == np.arange(cancelling.sum())[:, None] % 2 * 13
    a[cancelling, half:] = a[cancelling, :half] ^ _sign(form.a) ^ apart
    b[cancelling, half:] = b[cancelling, :half]
    # Half of the tiny ones: a product that is half a step of the result, and two about the last bit that is kept.
    floor = (kind == CLASSES.index("tiny")) & (np.arange(count) // len(CLASSES) % 2 == 0)
    if form.a in LOW:
        first, spread, *high = LOW[form.a]
        for codes, largest in ((a, high[0]), (b, high[1])):
            codes[floor] = first + raw(int(floor.sum()), form.k) % spread
            codes[floor, 0], codes[floor, 3:] = largest, 0
        a[floor, 1:3] |= (raw(int(floor.sum()), 1) % 2).astype(a.dtype) * _sign(form.a)
        c[floor] = 0
    # Half of the zeros have terms of one sign: nothing but -0.
    negative = (kind == CLASSES.index("zeros")) & (np.arange(count) // len(CLASSES) % 2 == 0)
    a[negative] &= ~_sign(form.a)
    b[negative] |= _sign(form.b)
    c[negative] |= _sign(form.c)
    if not form.scale:
        return Vectors(form, a, b, c)
    blocks = {"block32": form.k // 32, "block16": form.k // 16}[
        next(w for w in opcode.split(".") if w[:5] == "block" and w != "block_scale")
    ]
    scales = [_scales(raw(count, blocks), kind[:, None], form.scale) for _ in "ab"]
    for scale in scales if blocks > 1 else ():
        scale[cancelling, blocks // 2 :] = scale[cancelling, : blocks // 2]
    return Vectors(form, a, b, c, *scales)


def _codes(bits: np.ndarray, choice: np.ndarray, kind: np.ndarray, name: str, below: int = 0) -> np.ndarray:
    """Element codes from random bits, each vector's of its class; `choice` is random too and picks exponents.

    `below`: an accumulator's, which may be that many powers of two below cancelling products and a zero beside tiny ones.
    """
    t = TYPES[name]
    fraction, exponent = (23, 8) if name == "tf32" else (t.mantissa, t.exponent)
    top, bias = (1 << exponent) - 1, (1 << exponent - 1) - 1
    sign = bits >> np.uint64(fraction + exponent) & np.uint64(1)
    low = bits & np.uint64((1 << fraction) - 1)
    pick = choice >> np.uint64(8)
    spread = min(bias, 6)
    field = np.select(
        [kind == CLASSES.index(c) for c in ("bits", "near", "mixed", "tiny", "special", "zeros", "alike")],
        [
            bits >> np.uint64(fraction) & np.uint64(top),
            np.uint64(bias - spread) + pick % np.uint64(2 * spread + 1),
            pick % np.uint64(top),
            # About where the exponent that a zero counts as shows: products near 2^-133, or the smallest there are.
            pick % np.uint64(3) if below else np.uint64(max(0, bias - 72)) + pick % np.uint64(max(3, min(16, bias))),
            np.uint64(bias - spread) + pick % np.uint64(2 * spread + 1),
            np.zeros_like(bits),
            np.full_like(bits, bias),
        ],
        np.uint64(max(0, bias - 2 - below)) + pick % np.uint64(4 + below),
    )
    field = np.minimum(field, top)
    nothing = (kind == CLASSES.index("zeros")) & (choice % np.uint64(64) != 0)
    if below:
        nothing |= (kind == CLASSES.index("tiny")) & (choice % np.uint64(2) == 0)
    low, field = np.where(nothing, 0, low), np.where(nothing, 0, field)
    # A few of the specials: the largest exponent (infinity or NaN where the type has them), zeros.
    special = (kind == CLASSES.index("special")) * (1 + choice % np.uint64(48))
    field = np.where((special == 1) | (special == 2), top, np.where(special == 3, 0, field))
    low = np.where((special == 1) | (special == 3), 0, low)
    code = (
        sign << np.uint64(fraction + exponent) | field.astype(np.uint64) << np.uint64(fraction) | low.astype(np.uint64)
    )
    codes: np.ndarray = code.astype(code_dtype(name))
    return codes


def _sign(name: str) -> np.ndarray:
    return np.asarray(1 << sign_bit(name), code_dtype(name))


def _scales(bits: np.ndarray, kind: np.ndarray, name: str) -> np.ndarray:
    near = np.uint64(123) + (bits >> np.uint64(8)) % np.uint64(9) if name == "ue8m0" else bits & np.uint64(0x7F)
    return np.where(kind % 3 == 0, bits & np.uint64(0xFF), near).astype(np.uint8)

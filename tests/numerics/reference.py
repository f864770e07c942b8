"""The tensor core's fused dot product in plain Python integers, one output at a time: an independent second opinion."""

from __future__ import annotations

from fractions import Fraction

# exponent bits, fraction bits, bias, and whether the largest exponent means infinity and NaN
FORMATS = {
    "f16": (5, 10, 15, True),
    "bf16": (8, 7, 127, True),
    "tf32": (8, 10, 127, True),
    "f32": (8, 23, 127, True),
    "e5m2": (5, 2, 15, True),
    "e4m3": (4, 3, 7, False),
    "e3m2": (3, 2, 3, False),
    "e2m3": (2, 3, 1, False),
    "e2m1": (2, 1, 1, False),
}
NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "e8m13": 0x7FFFFFFF}
INFINITY = {"f16": 0x7C00, "f32": 0x7F800000, "e8m13": 0x7F800000}


def decode(code: int, name: str):
    """("nan",), ("inf", sign) or (sign, significand, fraction bits, exponent)."""
    exponent_bits, fraction_bits, bias, special = FORMATS[name]
    if name == "tf32":
        code >>= 13
    fraction = code & ((1 << fraction_bits) - 1)
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = code >> (exponent_bits + fraction_bits) & 1
    if special and field == (1 << exponent_bits) - 1:
        return ("nan",) if fraction else ("inf", sign)
    if name == "e4m3" and field == 15 and fraction == 7:
        return ("nan",)
    return (sign, fraction + (1 << fraction_bits if field else 0), fraction_bits, max(field, 1) - bias)


def round_sum(total: int, lowest: int, negative_zero: bool, output: str) -> int:
    """Bits of total * 2^lowest as f32 (toward zero), e8m13 (likewise, 13 fraction bits) or f16 (nearest even)."""
    sign_bit = 0x8000 if output == "f16" else 0x80000000
    if total == 0:
        return sign_bit if negative_zero else 0
    kept, smallest, bias = {"f32": (23, -126, 127), "e8m13": (13, -126, 127), "f16": (10, -14, 15)}[output]
    magnitude = abs(total)
    exponent = max(magnitude.bit_length() - 1 + lowest, smallest)
    steps = Fraction(magnitude) * Fraction(2) ** (lowest - exponent + kept)
    rounded = round(steps) if output == "f16" else int(steps)
    if rounded == 0:
        return 0
    if rounded >> (kept + 1):
        rounded, exponent = rounded >> 1, exponent + 1
    sign = sign_bit if total < 0 else 0
    if exponent > bias:
        return sign | INFINITY[output]
    field = exponent + bias if rounded >> kept else 0
    bits = (field << kept) + (rounded & ((1 << kept) - 1))
    return sign | (bits << 10 if output == "e8m13" else bits)


def fused(a, b, c, a_type, b_type, c_type, fraction, zero_exponent, output) -> int:
    """One block: lists of codes a and b, a code c; returns the result's bits."""
    products = [(decode(x, a_type), decode(y, b_type)) for x, y in zip(a, b)]
    accumulator = decode(c, c_type)
    infinities, terms, negative = set(), [], []
    for x, y in products:
        if x[0] == "nan" or y[0] == "nan":
            return NAN[output]
        if x[0] == "inf" or y[0] == "inf":
            other = y if x[0] == "inf" else x
            if other[0] != "inf" and other[1] == 0:
                return NAN[output]
            infinities.add((x[1] if x[0] == "inf" else x[0]) ^ (y[1] if y[0] == "inf" else y[0]))
            continue
        terms.append((x[0] ^ y[0], x[1] * y[1], x[2] + y[2], x[3] + y[3]))
    if accumulator[0] == "nan":
        return NAN[output]
    if accumulator[0] == "inf":
        infinities.add(accumulator[1])
    else:
        terms.append(accumulator)
    if infinities:
        sign_bit = 0x8000 if output == "f16" else 0x80000000
        return NAN[output] if len(infinities) == 2 else INFINITY[output] | (sign_bit if infinities.pop() else 0)
    largest = max([zero_exponent] + [t[3] for t in terms if t[1]])
    total = 0
    for sign, significand, bits, exponent in terms:
        shift = fraction - bits + exponent - largest
        cut = significand << shift if shift >= 0 else significand >> -shift
        total += -cut if sign else cut
        negative.append(significand == 0 and sign == 1)
    return round_sum(total, largest - fraction, all(negative), output)


def chain(a, b, c, a_type, b_type, c_type, length, fraction, zero_exponent, output) -> int:
    """Blocks of `length` in ascending k; the accumulator between them has the output's type."""
    for k in range(0, len(a), length):
        if k:
            c_type = "f16" if output == "f16" else "f32"
        c = fused(a[k : k + length], b[k : k + length], c, a_type, b_type, c_type, fraction, zero_exponent, output)
    return c

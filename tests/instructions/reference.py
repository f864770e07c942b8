"""What each scalar instruction computes, on Python's integers and fractions: REFERENCES, by the instruction's name.

A reference takes the modifiers of a bound statement and the bits of its operands (booleans for predicates, lists for vectors,
None for those left out, CC.CF last where it is read), one lane at a time, and gives the bits of the destinations, which may
be more than a form has; numbers are cut to their width. ANY_NAN stands for any NaN to or from f64, whose payloads
recordings judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import ml_dtypes
import numpy as np

from ptxsim.types import TYPES, ScalarType
from tests.instructions.rounding import round_to, value

ANY_NAN = object()
WORDS = TYPES["u32"]
_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
REFERENCES: dict[str, Callable] = {}
Modifiers = Mapping[str, object]


def reference(*names: str):
    def keep(function):
        REFERENCES.update(dict.fromkeys(names, function))
        return function

    return keep


# ---- integers ----


def number(bits: int, t: ScalarType) -> int:
    bits &= (1 << t.bits) - 1
    return bits - (1 << t.bits) if t.is_signed and bits >> t.bits - 1 else bits


def limits(t: ScalarType) -> tuple[int, int]:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def clamp(x: int, t: ScalarType) -> int:
    low, high = limits(t)
    return max(low, min(high, x))


def each(function, t: ScalarType, *operands: int) -> int:
    """`function` of the elements of packed words, or of the operands where the type is not packed."""
    if t.lanes == 1:
        return function(t, *operands)
    element = TYPES[t.element]
    mask = (1 << element.bits) - 1
    parts = [function(element, *(x >> i * element.bits & mask for x in operands)) for i in range(t.lanes)]
    if ANY_NAN in parts:
        return ANY_NAN
    return sum((part & mask) << i * element.bits for i, part in enumerate(parts))


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer(m: Modifiers, function, *operands: int) -> int:
    def one(t, *words):
        exact = function(*(number(x, t) for x in words))
        exact = clamp(exact, t) if m.get("sat") else exact
        return max(exact, 0) if m.get("relu") else exact

    return each(one, m["type"], *operands)


def is_float(m: Modifiers) -> bool:
    t = m["type"]
    return TYPES[t.element or t.name].is_float


@reference("add")
def add(m, a, b):
    if is_float(m):
        return floating(m, lambda mode, x, y: plus(x, y, mode), a, b)
    return integer(m, lambda x, y: x + y, a, b), a + b >> m["type"].bits


@reference("sub")
def sub(m, a, b):
    if is_float(m):
        return floating(m, lambda mode, x, y: plus(x, minus(y), mode), a, b)
    return integer(m, lambda x, y: x - y, a, b), int(a < b)


REFERENCES["addc"] = lambda m, a, b, carry: (a + b + carry, a + b + carry >> m["type"].bits)
REFERENCES["subc"] = lambda m, a, b, carry: (a - b - carry, int(a < b + carry))


def product(m, a: int, b: int) -> int:
    return number(a, m["type"]) * number(b, m["type"])


@reference("mul.lo", "mul.wide")
def low_product(m, a, b):
    return product(m, a, b)


@reference("mul.hi")
def high_product(m, a, b):
    return product(m, a, b) >> m["type"].bits


@reference("mad.lo", "mad.wide", "madc.lo")
def multiply_low(m, a, b, c, carry=0):
    t = m["type"]
    exact = product(m, a, b)
    return exact + c + carry, (exact & (1 << t.bits) - 1) + c + carry >> t.bits


@reference("mad.hi", "madc.hi")
def multiply_high(m, a, b, c, carry=0):
    t = m["type"]
    high = product(m, a, b) >> t.bits
    if m.get("sat"):
        return clamp(high + number(c, t), t)
    return high + c + carry, (high & (1 << t.bits) - 1) + c + carry >> t.bits


def product24(m, a, b, shift: int) -> int:
    cut = lambda x: number(x << 8, m["type"]) >> 8  # noqa: E731
    return cut(a) * cut(b) >> shift


for _half, _shift in (("lo", 0), ("hi", 16)):
    REFERENCES[f"mul24.{_half}"] = lambda m, a, b, shift=_shift: product24(m, a, b, shift)


REFERENCES["mad24.lo"] = lambda m, a, b, c: product24(m, a, b, 0) + c
REFERENCES["mad24.hi"] = lambda m, a, b, c: (
    clamp(product24(m, a, b, 16) + number(c, m["type"]), m["type"]) if m.get("sat") else product24(m, a, b, 16) + c
)
REFERENCES["sad"] = lambda m, a, b, c: c + abs(number(a, m["type"]) - number(b, m["type"]))


@reference("div")
def div(m, a, b):
    if is_float(m):
        return floating(m, lambda mode, x, y: over(x, y), a, b)
    return integer(m, lambda x, y: quotient(x, y) if y else -1, a, b)


REFERENCES["rem"] = lambda m, a, b: integer(m, lambda x, y: x - quotient(x, y) * y if y else -1, a, b)


@reference("abs")
def absolute(m, a):
    if is_float(m):
        return signs(m, lambda word, sign: word & ~sign, a)
    return integer(m, abs, a)


@reference("neg")
def negative(m, a):
    if is_float(m):
        return signs(m, lambda word, sign: word ^ sign, a)
    return integer(m, lambda x: -x, a)


def dot(m, a, b, c, bits, first):
    x = [number(a >> bits * i, TYPES[f"{m['atype'].name[0]}{bits}"]) for i in range(32 // bits)]
    y = [number(b >> 8 * (first + i), TYPES[f"{m['btype'].name[0]}8"]) for i in range(len(x))]
    return c + sum(p * q for p, q in zip(x, y))


REFERENCES["dp4a"] = lambda m, a, b, c: dot(m, a, b, c, 8, 0)
REFERENCES["dp2a.lo"] = lambda m, a, b, c: dot(m, a, b, c, 16, 0)
REFERENCES["dp2a.hi"] = lambda m, a, b, c: dot(m, a, b, c, 16, 2)

# ---- bits ----

REFERENCES["and"] = lambda m, a, b: a & b
REFERENCES["or"] = lambda m, a, b: a | b
REFERENCES["xor"] = lambda m, a, b: a ^ b
REFERENCES["not"] = lambda m, a: not a if isinstance(a, bool) else ~a
REFERENCES["cnot"] = lambda m, a: int(a == 0)
REFERENCES["popc"] = lambda m, a: bin(a).count("1")
REFERENCES["clz"] = lambda m, a: m["type"].bits - a.bit_length()
REFERENCES["brev"] = lambda m, a: int(f"{a:0{m['type'].bits}b}"[::-1], 2)


@reference("lop3")
def lop3(m, a, b, c, table, q=None):
    result = sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))
    if not m.get("boolop"):
        return result
    test = result != 0
    return result, test or q if m["boolop"] == "or" else test and q


REFERENCES["shl"] = lambda m, a, n: a << min(n, 64)
REFERENCES["shr"] = lambda m, a, n: number(a, m["type"]) >> min(n, 64)
REFERENCES["shf.l"] = lambda m, a, b, n: (b << 32 | a) << (n & 31 if m["mode"] == "wrap" else min(n, 32)) >> 32
REFERENCES["shf.r"] = lambda m, a, b, n: (b << 32 | a) >> (n & 31 if m["mode"] == "wrap" else min(n, 32))


@reference("bfind")
def bfind(m, a):
    t = m["type"]
    a = ~number(a, t) if number(a, t) < 0 else a
    return -1 if a == 0 else t.bits - a.bit_length() if m.get("shiftamt") else a.bit_length() - 1


@reference("bfe")
def bfe(m, a, b, c):
    t = m["type"]
    position, length = (b & 0xFF, c & 0xFF) if t.bits == 32 else (b, c)
    if length == 0:
        return 0
    bits = [a >> i & 1 for i in range(t.bits)]
    fill = bits[min(position + length - 1, t.bits - 1)] if t.is_signed else 0
    taken = (bits[position + i] if i < length and position + i < t.bits else fill for i in range(t.bits))
    return sum(bit << i for i, bit in enumerate(taken))


@reference("bfi")
def bfi(m, a, b, c, d):
    bits = m["type"].bits
    position, length = (c & 0xFF, d & 0xFF) if bits == 32 else (c, d)
    inserted = [i for i in range(bits) if position <= i < position + length]
    return sum(((a >> i - position if i in inserted else b >> i) & 1) << i for i in range(bits))


@reference("fns")
def fns(m, a, base, n):
    n = number(n, TYPES["s32"])
    if n == -(1 << 31):
        return 0
    if base > 31:
        return -1
    found = [i for i in range(32) if a >> i & 1]
    below, above = [i for i in reversed(found) if i <= base], [i for i in found if i >= base]
    hits = ([base] if base in found else []) if n == 0 else above[n - 1 : n] if n > 0 else below[-n - 1 : -n]
    return hits[0] if hits else -1


def ones(n: int) -> int:
    return (1 << min(n, 64)) - 1


@reference("szext")
def szext(m, a, n):
    n = n & 31 if m["mode"] == "wrap" else min(n, 32)
    kept = a & ones(n)
    return kept - (1 << n) if m["type"].is_signed and n and kept >> n - 1 else kept


@reference("bmsk")
def bmsk(m, a, b):
    a, b = (a & 31, b & 31) if m["mode"] == "wrap" else (min(a, 32), b)
    return ones(b) << a


@reference("prmt")
def prmt(m, a, b, c):
    octets = (b << 32 | a).to_bytes(8, "little")
    first = c & 3
    chosen = {
        "f4e": [first + i for i in range(4)], "b4e": [(first - i) % 8 for i in range(4)], "rc8": [first] * 4,
        "ecl": [max(first, i) for i in range(4)], "ecr": [min(first, i) for i in range(4)],
        "rc16": [2 * (c & 1) + (i & 1) for i in range(4)],
    }.get(m.get("mode") or "")  # fmt: skip
    if chosen:
        return int.from_bytes(bytes(octets[i] for i in chosen), "little")
    picked = [(octets[c >> 4 * i & 7], c >> 4 * i & 8) for i in range(4)]
    return int.from_bytes(bytes((0xFF if x & 0x80 else 0) if sign else x for x, sign in picked), "little")


@reference("mov")
def mov(m, a):
    if not isinstance(a, list):
        return a if m.get("count") is None else split(a, m["type"].bits // m["count"], m["count"])
    step = m["type"].bits // len(a)
    return sum(x << i * step for i, x in enumerate(a))


def split(word: int, bits: int, count: int) -> tuple[int, ...]:
    return tuple(word >> i * bits & (1 << bits) - 1 for i in range(count))


# ---- floats: a number is (negative, size), where the size is a fraction, infinity or NaN ----

INFINITE = math.inf
Number = tuple[bool, Fraction | float]
UNKNOWN: Number = (False, math.nan)


def of(bits: int, t: ScalarType) -> Number:
    return bool(bits >> t.bits - 1), value(bits & (1 << t.bits - 1) - 1, t.name)


def is_nan(x: Number) -> bool:
    return x[1] != x[1]


def plus(x: Number, y: Number, mode: str) -> Number:
    if is_nan(x) or is_nan(y) or (x[1] == y[1] == INFINITE and x[0] != y[0]):
        return UNKNOWN
    if INFINITE in (x[1], y[1]):
        return x if x[1] == INFINITE else y
    total = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    if total == 0:
        return (x[0] if x[0] == y[0] else mode == "rm"), Fraction(0)
    return total < 0, abs(total)


def minus(x: Number) -> Number:
    return not x[0], x[1]


def times(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or {x[1], y[1]} == {0, INFINITE}:
        return UNKNOWN
    return x[0] != y[0], INFINITE if INFINITE in (x[1], y[1]) else x[1] * y[1]


def over(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or (x[1] == y[1] and x[1] in (0, INFINITE)):
        return UNKNOWN
    size = INFINITE if x[1] == INFINITE or y[1] == 0 else Fraction(0) if y[1] == INFINITE else x[1] / y[1]
    return x[0] != y[0], size


def root(x: Number) -> Number:
    """Cut after 80 bits, with one more bit where something was cut off: as good as the root to whoever rounds it."""
    if is_nan(x) or (x[0] and x[1] != 0):
        return UNKNOWN
    if x[1] in (0, INFINITE):
        return x
    up = 160 + 2 * max(0, x[1].denominator.bit_length() - x[1].numerator.bit_length())
    scaled = (x[1].numerator << up) // x[1].denominator
    found = math.isqrt(scaled)
    exact = found * found == scaled and scaled * x[1].denominator == x[1].numerator << up
    return False, (Fraction(found) + (0 if exact else Fraction(1, 2))) / (1 << up // 2)


def flushed(bits: int, t: ScalarType) -> int:
    return bits & 1 << t.bits - 1 if bits >> t.mantissa & (1 << t.exponent) - 1 == 0 else bits


def code(x: Number, t: ScalarType, mode: str) -> int:
    """The bits of a number, rounded."""
    if is_nan(x):
        return _NAN.get(t.name, ANY_NAN)
    sign = x[0] << t.bits - 1
    if x[1] == INFINITE:
        return sign | ((1 << t.exponent) - 1) << t.mantissa
    if x[1] == 0:
        return sign
    return round_to(-x[1] if x[0] else x[1], t.name, mode)


def finished(bits: int, m: Modifiers, t: ScalarType) -> int:
    """Flushing, saturation to 0..1, rectification, satfinite."""
    if bits is ANY_NAN:
        return 0 if m.get("sat") else bits
    if m.get("ftz") and t.bits < 64:
        bits = flushed(bits, t)
    x = of(bits, t)
    if m.get("sat"):
        return 0 if is_nan(x) or x[0] else bits if x[1] < 1 else code((False, Fraction(1)), t, "rn")
    if m.get("relu") and x[0] and not is_nan(x):
        return 0
    if m.get("satfinite") and x[1] == INFINITE:
        return bits - 1
    return bits


def floating(m: Modifiers, function, *operands: int, types=None) -> int:
    """`function` of the mode and of numbers, rounded once, for every element."""
    mode = m.get("rounding") or "rn"

    def one(t, *words):
        if m.get("ftz") and t.bits < 64:  # rcp.rz.ftz.f64 is assembled as rcp.rz.f64 is
            words = [flushed(x, t) for x in words]
        result = finished(code(function(mode, *(of(x, t) for x in words)), t, mode), m, t)
        # A tensor load's NaN for what lies outside: a product with it is zero.
        return 0 if m.get("oob") and any(x & 0x7FFF == 0x7FF7 for x in words[:2]) else result

    if m.get("stype") is not None:  # mixed precision: the halves become f32
        widened = [code(of(x, m["stype"]), WIDE, "rn") for x in operands[:-1]]
        return one(WIDE, *widened, operands[-1])
    return each(one, m["type"], *operands)


WIDE = TYPES["f32"]

REFERENCES["mul"] = lambda m, a, b: floating(m, lambda mode, x, y: times(x, y), a, b)


@reference("fma", "mad")
def fma(m, a, b, c):
    return floating(m, lambda mode, x, y, z: plus(times(x, y), z, mode), a, b, c)


REFERENCES["rcp"] = lambda m, a: floating(m, lambda mode, x: over((False, Fraction(1)), x), a)
REFERENCES["sqrt"] = lambda m, a: floating(m, lambda mode, x: root(x), a)


def signs(m, change, a):
    def one(t, word):
        word = change(flushed(word, t) if m.get("ftz") else word, 1 << t.bits - 1)
        return code(UNKNOWN, t, "rn") if is_nan(of(word, t)) else word

    return each(one, m["type"], a)


@reference("copysign")
def copysign(m, a, b):
    sign = 1 << m["type"].bits - 1
    return a & sign | b & ~sign


@reference("testp")
def testp(m, a):
    t = m["type"]
    size = of(a, t)[1]
    smallest = Fraction(2) ** (1 - t.bias)
    finite = size == size and size != INFINITE
    return {
        "finite": finite, "infinite": size == INFINITE, "number": size == size, "notanumber": size != size,
        "normal": finite and (size >= smallest or size == 0), "subnormal": finite and 0 < size < smallest,
    }[m["op"]]  # fmt: skip


@reference("min", "max")
def extreme(m, *operands):
    choose = max if m["name"] == "max" else min

    def key(x: Number):
        return (-x[1] if x[0] else x[1]), not x[0]

    def one(t, *words):
        if m.get("ftz"):
            words = [flushed(x, t) for x in words]
        negative = 0
        if m.get("abs"):
            negative = sum(x >> t.bits - 1 for x in words) % 2 if m.get("xorsign") else 0
            words = [x & (1 << t.bits - 1) - 1 for x in words]
        numbers = [x for x in words if not is_nan(of(x, t))]
        if not numbers or (m.get("NaN") and len(numbers) < len(words)):
            return code(UNKNOWN, t, "rn")
        best = choose(numbers, key=lambda x: key(of(x, t)))
        return best | negative << t.bits - 1

    if is_float(m):
        return each(one, m["type"], *operands)
    return integer(m, choose, *operands)


# ---- comparison and selection ----


def holds(m, a: int, b: int, t: ScalarType) -> bool:
    cmp = m["cmp"]
    if t.is_float:
        if m.get("ftz"):
            a, b = flushed(a, t), flushed(b, t)
        x, y = (((-s if n else s) if s == s else None) for n, s in (of(a, t), of(b, t)))
        if x is None or y is None:
            return cmp == "nan" or (len(cmp) == 3 and cmp[2] == "u")
        if cmp in ("num", "nan"):
            return cmp == "num"
        cmp = cmp[:2]
    else:
        x, y = number(a, t), number(b, t)
    if cmp in ("eq", "ne"):
        return (x == y) == (cmp == "eq")
    if cmp in ("lt", "lo"):
        return x < y
    if cmp in ("le", "ls"):
        return x <= y
    return x > y if cmp in ("gt", "hi") else x >= y


def joined(m, test: bool, c) -> bool:
    match m.get("boolop"):
        case "and":
            return test and c
        case "or":
            return test or c
        case "xor":
            return test != c
    return test


@reference("setp")
def setp(m, a, b, c=None):
    t = m["type"]
    if t.lanes == 2:
        parts = zip(split(a, 16, 2), split(b, 16, 2))
        return tuple(joined(m, holds(m, x, y, TYPES[t.element]), c) for x, y in parts)
    test = holds(m, a, b, t)
    return joined(m, test, c), joined(m, not test, c)


@reference("set")
def set_word(m, a, b, c=None):
    s, d = m["stype"], m["dtype"]
    true = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}
    if s.lanes == 1:
        return (true[d.name] if d.is_float else -1) if joined(m, holds(m, a, b, s), c) else 0
    one = true[d.element] if d.lanes == 2 else 0xFFFF
    parts = zip(split(a, 16, 2), split(b, 16, 2))
    return sum(
        (one if joined(m, holds(m, x, y, TYPES[s.element]), c) else 0) << 16 * i for i, (x, y) in enumerate(parts)
    )


REFERENCES["selp"] = lambda m, a, b, c: a if c else b


@reference("slct")
def slct(m, a, b, c):
    t = m["stype"]
    if not t.is_float:
        return a if number(c, t) >= 0 else b
    negative, size = of(flushed(c, t) if m.get("ftz") else c, t)
    return a if size == size and (not negative or size == 0) else b


# ---- conversion ----

NARROW = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn, "ue8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def integral(x: Number, mode: str) -> int:
    exact = -x[1] if x[0] else x[1]
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](exact)


def scalar_conversion(m, a: int):
    d, s = m["dtype"], m["atype"]
    rounding = m.get("rounding")
    if s.is_integer and d.is_integer:
        return clamp(number(a, s), d) if m.get("sat") else number(a, s)
    if s.is_integer:
        exact = number(a, s)
        return finished(code((exact < 0, Fraction(abs(exact))), d, rounding), m | {"ftz": None}, d)
    if m.get("ftz") and s.name in ("f32", "bf16") and d.name != "f16":
        a = flushed(a, s)
    x = of(a, s)
    if d.is_integer:
        if is_nan(x):
            low = limits(d)[0] if d.is_signed else 1 << d.bits - 1
            return low if 64 in (s.bits, d.bits) else 0
        return limits(d)[not x[0]] if x[1] == INFINITE else clamp(integral(x, rounding[:2]), d)
    if rounding and len(rounding) == 3 and rounding != "rna":
        if not is_nan(x) and x[1] != INFINITE:
            x = x[0], Fraction(abs(integral(x, rounding[:2])))
    elif is_nan(x) and not m.get("sat"):
        return moved_nan(m, a, s, d)
    mode = rounding if rounding in ("rn", "rz", "rm", "rp") else "rn"
    if m.get("ftz") and d.name == "f32" and s.name == "f64" and 0 < x[1] < Fraction(2) ** -126:
        x = x[0], Fraction(0)  # decided before rounding
    return finished(code(x, d, mode), m | {"ftz": m.get("ftz") if d.name == "f32" and s.name != "f64" else None}, d)


def moved_nan(m, a, s, d):
    """A NaN that is only moved stays as it is; f64 keeps payloads, which recordings judge."""
    if s is d and s.bits != 16 and not m.get("ftz"):
        return a
    if s.name == "bf16" and d.name == "f32" and not m.get("ftz"):
        return a << 16
    return ANY_NAN if 64 in (s.bits, d.bits) else code(UNKNOWN, d, "rn")


def element_code(word: int, m, t: ScalarType) -> int:
    """An f32 as an element of a packed type."""
    x = of(word, WIDE)
    mode = m["rounding"]
    if t.name in ("f16", "bf16"):
        return finished(code(x, t, mode), m, t)
    if t.name == "ue8m0":
        if is_nan(x):
            return 0xFF
        if x[1] == INFINITE:
            return 0xFE if m.get("satfinite") else 0xFF
        codes = range(0xFF)
        at_most = [c for c in codes if Fraction(2) ** (c - 127) <= x[1]]
        at_least = [c for c in codes if Fraction(2) ** (c - 127) >= x[1]]
        if mode == "rp":
            return at_least[0] if at_least else 0xFE if m.get("satfinite") else 0xFF
        return at_most[-1] if at_most else 0
    kind = NARROW[t.name]
    if is_nan(x):
        return (1 << t.exponent + t.mantissa) - 1
    if m.get("relu") and x[0]:
        return 0
    largest = float(ml_dtypes.finfo(kind).max)
    single = np.clip(np.array([word], np.uint32).view(np.float32), -largest, largest)
    return int(single.astype(kind).view(np.uint8)[0])


def single_of(bits: int, t: ScalarType) -> int:
    """An element of a packed type as f32 bits; NaN is canonical."""
    if t.name in NARROW:
        bits &= (1 << t.bits) - 1
        number_ = np.array([bits], np.uint8).view(NARROW[t.name]).astype(np.float32)
        return 0x7FFFFFFF if np.isnan(number_[0]) else int(number_.view(np.uint32)[0])
    return code(of(bits, t), WIDE, "rn")


def packed(codes, t: ScalarType) -> int:
    return sum(x << i * (t.bits // t.lanes) for i, x in enumerate(codes))


@reference("cvt")
def cvt(m, a, b=None, c=None):
    d, s = m.get("dtype") or TYPES["tf32"], m.get("atype") or WIDE
    if d.name == "tf32":
        return to_tf32(m, a)
    if m.get("rounding") == "rs":
        raise NotImplementedError  # test_stochastic.py
    if d.lanes == 1:
        return scalar_conversion(m, a)
    to = TYPES[d.element]
    if b is not None:
        return packed((element_code(x, m, to) for x in (b, a)), d)
    step = s.bits // s.lanes
    singles = [single_of(x, TYPES[s.element]) for x in split(a, step, s.lanes)]
    return packed((element_code(x, {"rounding": "rn"} | m, to) for x in singles), d)


def to_tf32(m, a):
    x = of(a, WIDE)
    if m["rounding"] == "rna":
        moved = a if a & 0x7FFFFFFF >= 0x7F800000 else a + 0x1000
        cut = moved & 0xFFFFE000
        return cut - 0x2000 if m.get("satfinite") and cut & 0x7FFFFFFF >= 0x7F800000 else cut
    if is_nan(x):
        return 0x3FFFF << 13
    if m.get("relu") and x[0]:
        return 0
    cut = a & 0xFFFFE000
    rest = a & 0x1FFF
    if m["rounding"] == "rn" and x[1] != INFINITE and (rest > 0x1000 or (rest == 0x1000 and cut & 0x2000)):
        cut += 0x2000
    return cut - 0x2000 if m.get("satfinite") and cut & 0x7FFFFFFF == 0x7F800000 else cut


@reference("cvt.pack")
def cvt_pack(m, a, b, c=None):
    signed, bits = str(m["dtype"])[0] == "s", int(str(m["dtype"])[1:])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    low, high = (max(least, min(most, number(x, TYPES["s32"]))) & (1 << bits) - 1 for x in (b, a))
    return low | high << bits | (c << 2 * bits if c is not None else 0)

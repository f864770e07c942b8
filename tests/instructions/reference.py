"""What each scalar instruction computes, on Python's integers and fractions: REFERENCES, by the instruction's name.

A reference takes the modifiers of a bound statement and the bits of its operands (booleans for predicates, lists for vectors,
None for those left out, CC.CF last where it is read), one lane at a time, and gives the bits of the destinations, which may
be more than a form has; numbers are cut to their width.
"""

from __future__ import annotations

from fractions import Fraction

from ptxsim.types import TYPES, ScalarType
from tests.instructions.reference_number import (
    INFINITE,
    REFERENCES,
    UNKNOWN,
    Modifiers,
    Number,
    clamp,
    code,
    each,
    floating,
    flushed,
    is_nan,
    minus,
    number,
    of,
    over,
    plus,
    reference,
    root,
    split,
    times,
)  # fmt: skip

# ---- integers ----


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
    return integer(m, lambda x, y: x - y, a, b), int(a >= b)  # the flag: nothing borrowed


REFERENCES["addc"] = lambda m, a, b, carry: (a + b + carry, a + b + carry >> m["type"].bits)
REFERENCES["subc"] = lambda m, a, b, carry: (a - b - 1 + carry, int(a + carry > b))


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
    if m.get("vec"):
        return tuple(a) if isinstance(a, list) else (a,) * m["count"]
    if not isinstance(a, list):
        return a if m.get("count") is None else split(a, m["type"].bits // m["count"], m["count"])
    step = m["type"].bits // len(a)
    return sum(x << i * step for i, x in enumerate(a))


# ---- floats ----

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

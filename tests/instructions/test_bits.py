"""Logic, shifts, bit fields and byte permutation against their definitions bit by bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.instructions.scalar_form import run

few = settings(max_examples=20, deadline=None)

WORD = st.one_of(st.sampled_from([0, 1, 0x80000000, 0xFFFFFFFF]), st.integers(0, 2**32 - 1))
LONG = st.one_of(st.sampled_from([0, 1, 1 << 63, 2**64 - 1]), st.integers(0, 2**64 - 1))
COUNT = st.one_of(st.integers(0, 70), st.sampled_from([255, 256, 2**32 - 1]))


def one(text: str, **registers: int) -> int:
    sizes = {"h": 2, "r": 4, "rd": 8}
    arrays = {k: np.array([v], f"u{sizes[k.rstrip('0123456789')]}") for k, v in registers.items()}
    return int(next(iter(run(text, **arrays).values()))[0])


def test_lop3():
    rows = np.arange(8)
    a, b, c = (np.where(rows & bit, np.uint32(0xFFFFFFFF), np.uint32(0)) for bit in (4, 2, 1))
    for table in range(256):
        found = run(f"lop3.b32 r1, r2, r3, r4, {table};", r2=a, r3=b, r4=c)["r1"]
        assert [int(v) for v in found] == [0xFFFFFFFF * (table >> row & 1) for row in range(8)]


@few
@given(LONG, COUNT)
def test_shifts(a, n):
    signed = a - (1 << 64) if a >> 63 else a
    assert one("shl.b64 rd1, rd2, r3;", rd2=a, r3=n) == (a << min(n, 64)) % 2**64
    assert one("shr.u64 rd1, rd2, r3;", rd2=a, r3=n) == a >> min(n, 64)
    assert one("shr.s64 rd1, rd2, r3;", rd2=a, r3=n) == (signed >> min(n, 64)) % 2**64


@few
@given(WORD, WORD, COUNT)
def test_funnel_shifts(low, high, n):
    both = high << 32 | low
    for mode, count in (("wrap", n & 31), ("clamp", min(n, 32))):
        assert one(f"shf.l.{mode}.b32 r1, r2, r3, r4;", r2=low, r3=high, r4=n) == (both << count >> 32) % 2**32
        assert one(f"shf.r.{mode}.b32 r1, r2, r3, r4;", r2=low, r3=high, r4=n) == (both >> count) % 2**32


@few
@given(LONG)
def test_counting(a):
    binary = f"{a:064b}"
    assert one("popc.b64 r1, rd2;", rd2=a) == binary.count("1")
    assert one("clz.b64 r1, rd2;", rd2=a) == 64 - a.bit_length()
    assert one("brev.b64 rd1, rd2;", rd2=a) == int(binary[::-1], 2)
    assert one("bfind.u64 r1, rd2;", rd2=a) == (a.bit_length() - 1) % 2**32
    magnitude = a ^ 2**64 - 1 if a >> 63 else a
    assert one("bfind.s64 r1, rd2;", rd2=a) == (magnitude.bit_length() - 1) % 2**32
    assert one("bfind.shiftamt.u64 r1, rd2;", rd2=a) == (64 - a.bit_length() if a else 2**32 - 1)


@few
@given(WORD, st.integers(0, 255), st.integers(0, 255))
def test_extracting_a_field(a, position, length):
    bits = [a >> i & 1 for i in range(32)]
    plain = sum(bits[position + i] << i for i in range(length) if i < 32 and position + i < 32)
    assert one("bfe.u32 r1, r2, r3, r4;", r2=a, r3=position, r4=length) == plain
    sign = bits[min(position + length - 1, 31)] if length else 0
    filled = sum((bits[position + i] if i < length and position + i < 32 else sign) << i for i in range(32))
    assert one("bfe.s32 r1, r2, r3, r4;", r2=a, r3=position, r4=length) == filled


@few
@given(WORD, WORD, st.integers(0, 255), st.integers(0, 255))
def test_inserting_a_field(a, b, position, length):
    expected = b
    for i in range(length):
        if position + i < 32:
            expected = expected & ~(1 << position + i) | (a >> i & 1 if i < 32 else 0) << position + i
    assert one("bfi.b32 r1, r2, r3, r4, r5;", r2=a, r3=b, r4=position, r5=length) == expected


@few
@given(WORD, COUNT, COUNT)
def test_masks_and_extension(a, b, c):
    ones = lambda n: (1 << min(n, 32)) - 1  # noqa: E731
    assert one("bmsk.wrap.b32 r1, r2, r3;", r2=b, r3=c) == (ones(c & 31) << (b & 31)) % 2**32
    assert one("bmsk.clamp.b32 r1, r2, r3;", r2=b, r3=c) == (ones(c) << min(b, 32)) % 2**32
    assert one("szext.clamp.u32 r1, r2, r3;", r2=a, r3=c) == a & ones(c)
    kept = a & ones(c & 31)
    extended = kept - (1 << (c & 31)) if c & 31 and kept >> (c & 31) - 1 else kept
    assert one("szext.wrap.s32 r1, r2, r3;", r2=a, r3=c) == extended % 2**32


@few
@given(st.integers(0, 2**32 - 1), st.integers(0, 31), st.integers(-33, 33))
def test_finding_the_nth_set_bit(a, base, n):
    set_bits = [i for i in range(32) if a >> i & 1]
    if n == 0:
        found = [base] if base in set_bits else []
    elif n > 0:
        found = [i for i in set_bits if i >= base][n - 1 : n]
    else:
        found = [i for i in reversed(set_bits) if i <= base][-n - 1 : -n]
    expected = found[0] if found else 0xFFFFFFFF
    assert one("fns.b32 r1, r2, r3, r4;", r2=a, r3=base, r4=n % 2**32) == expected


@few
@given(WORD, WORD, st.integers(0, 2**32 - 1))
def test_permute(a, b, c):
    source = (b << 32 | a).to_bytes(8, "little")
    general = b""
    for i in range(4):
        selector = c >> 4 * i & 15
        byte = source[selector & 7]
        general += bytes([(0xFF if byte & 0x80 else 0) if selector & 8 else byte])
    modes = {
        "": list(general),
        ".f4e": [source[(c & 3) + i] for i in range(4)],
        ".b4e": [source[((c & 3) - i) % 8] for i in range(4)],
        ".rc8": [source[c & 3]] * 4,
        ".ecl": [source[max(c & 3, i)] for i in range(4)],
        ".ecr": [source[min(c & 3, i)] for i in range(4)],
        ".rc16": [source[2 * (c & 1) + (i & 1)] for i in range(4)],
    }
    for mode, expected in modes.items():
        got = one(f"prmt.b32{mode} r1, r2, r3, r4;", r2=a, r3=b, r4=c)
        assert got == int.from_bytes(bytes(expected), "little"), mode


@few
@given(LONG)
def test_moves_pack_and_unpack(a):
    found = run("mov.b64 {r1, r2}, rd3;", rd3=np.array([a], np.uint64))
    assert (int(found["r2"][0]) << 32 | int(found["r1"][0])) == a
    assert int(run("mov.b64 rd1, {r1, r2};", **found)["rd1"][0]) == a
    quarters = run("mov.b64 {h1, h2, _, h4}, rd3;", rd3=np.array([a], np.uint64))
    assert [int(quarters[f"h{i}"][0]) for i in (1, 2, 4)] == [a >> 16 * i & 0xFFFF for i in (0, 1, 3)]


@few
@given(st.booleans(), WORD, WORD, WORD)
def test_selection_and_predicates(p, a, b, c):
    flags = {"p1": np.array([p]), "p2": np.array([not p])}
    words = {"r2": np.array([a], np.uint32), "r3": np.array([b], np.uint32), "r4": np.array([c], np.uint32)}
    assert int(run("selp.b32 r1, r2, r3, p1;", **flags, **words)["r1"][0]) == (a if p else b)
    assert int(run("selp.b32 r1, r2, r3, !p1;", **flags, **words)["r1"][0]) == (b if p else a)
    assert int(run("slct.b32.s32 r1, r2, r3, r4;", **words)["r1"][0]) == (b if c >> 31 else a)
    both = run("setp.lt.xor.u32 p3|p4, r2, r3, !p1;", **flags, **words)
    assert bool(both["p3"][0]) == ((a < b) != (not p))
    assert bool(both["p4"][0]) == ((a >= b) != (not p))

"""What PTX 9.2 and 9.3 added to arithmetic: four bytes at once, saturation, products without carries, bf16 from 8 bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.instructions.scalar_form import run

NEW = {"target": "sm_120a", "version": (9, 4)}
BYTE = {"u8x4": np.uint8, "s8x4": np.int8, "u16x2": np.uint16, "s16x2": np.int16}
OPERATIONS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
WORDS = np.random.default_rng(9).integers(0, 1 << 32, (2, 64), dtype=np.uint32)
WORDS[:, :4] = [[0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0], [0x80808080, 0x7F7F7F7F, 0x01FF01FF, 0]]


def reference(name: str, kind: str, a, b, saturate: bool, rectify: bool):
    x, y = (words.view(BYTE[kind]).astype(np.int64) for words in (a, b))
    result = OPERATIONS[name](x, y)
    if saturate:
        limits = np.iinfo(BYTE[kind])
        result = np.clip(result, limits.min, limits.max)
    result = np.maximum(result, 0) if rectify else result
    return result.astype(BYTE[kind]).view(np.uint32)


FORMS = [
    (name, words, kind)
    for name, kinds in (("add", BYTE), ("sub", ("u8x4", "s8x4")), ("min", BYTE), ("max", BYTE))
    for kind in kinds
    for words in ("", ".sat", ".relu")
    if not (words == ".sat" and name in ("min", "max")) and not (words == ".relu" and (name in ("add", "sub") or kind[0] == "u"))
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "kind"), FORMS)
def test_packed_integers(name, words, kind):
    found = run(f"{name}{words}.{kind} r1, r2, r3;", r2=WORDS[0], r3=WORDS[1], **NEW)["r1"]
    assert np.array_equal(found, reference(name, kind, *WORDS, words == ".sat", words == ".relu"))


def test_negated_bytes():
    found = run("neg.s8x4 r1, r2;", r2=WORDS[0], **NEW)["r1"]
    assert np.array_equal(found, (-WORDS[0].view(np.int8)).view(np.uint32))


def test_saturating_words():
    found = run("add.sat.u32 r1, r2, r3;", r2=WORDS[0], r3=WORDS[1], **NEW)["r1"]
    assert np.array_equal(found, np.minimum(WORDS.astype(np.uint64).sum(0), 0xFFFFFFFF))


word = st.one_of(st.integers(0, (1 << 64) - 1), st.sampled_from([0, 1, 1 << 63, (1 << 64) - 1]))


@settings(max_examples=30, deadline=None)
@given(word, word, word)
def test_carryless_product(a, b, c):
    product = 0
    for i in range(64):
        product ^= (b << i) * (a >> i & 1)
    registers = {name: np.array([value], np.uint64) for name, value in (("rd2", a), ("rd3", b), ("rd4", c))}
    for mode, wanted in (("lo", product & (1 << 64) - 1), ("hi", product >> 64)):
        found = run(f"clmad.{mode}.u64 rd1, rd2, rd3, rd4;", **registers, **NEW)["rd1"]
        assert int(found[0]) == wanted ^ c


@pytest.mark.parametrize(
    ("kind", "reference"), [("e4m3x2", ml_dtypes.float8_e4m3fn), ("e5m2x2", ml_dtypes.float8_e5m2)]
)
def test_bf16_from_bytes(kind, reference):
    codes = np.arange(256, dtype=np.uint16)
    words = codes << 8 | codes[::-1]
    found = run(f"cvt.rn.bf16x2.{kind} r1, h2;", h2=words, **NEW)["r1"]
    wide = words.view(np.uint8).view(reference).astype(ml_dtypes.bfloat16)
    wanted = np.where(np.isnan(wide), 0x7FFF, wide.view(np.uint16)).astype(np.uint16).view(np.uint32)
    assert np.array_equal(found, wanted)
    rectified = run(f"cvt.rn.relu.bf16x2.{kind} r1, h2;", h2=words, **NEW)["r1"]
    positive = np.where(wide.astype(np.float32) < 0, 0, wanted.view(np.uint16)).astype(np.uint16).view(np.uint32)
    negative_zero = positive.view(np.uint16) == 0x8000
    assert np.array_equal(rectified.view(np.uint16)[~negative_zero], positive.view(np.uint16)[~negative_zero])

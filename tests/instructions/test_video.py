"""Video instructions against the manual's definition, in Python's integers; and as the assembler's machine code computes.

tests/data/video.npz: `forms`, `inputs` (3 operands, 24 rows) and `results[form, row]`. The results are those of the machine
code that ptxas 13.0 makes of each form for sm_90a, interpreted instruction by instruction; the same interpretation gives all
results of video instructions that were recorded on an H200 (scalar_h200.npz) to the bit.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.isa.bind import Bound
from tests.helpers import DATA
from tests.instructions.scalar_form import bind, run

few = settings(max_examples=15, deadline=None)
WORD = st.integers(0, 2**32 - 1)
OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "absdiff": lambda x, y: abs(x - y),
    "min": min,
    "max": max,
}


def field(word: int, kind: str, bits: int, index: int) -> int:
    value = word >> bits * index & (1 << bits) - 1
    return value - (1 << bits) if kind == "s32" and value >> bits - 1 else value


def one(text: str, **registers: int) -> int:
    return int(run(text, **{k: np.array([v], np.uint32) for k, v in registers.items()})["r1"][0])


@pytest.mark.parametrize("operation", OPERATIONS)
@few
@given(WORD, WORD, WORD, st.sampled_from(["u32", "s32"]), st.sampled_from(["u32", "s32"]))
def test_parts_of_registers(operation, a, b, c, s, t):
    exact = OPERATIONS[operation](field(a, s, 8, 2), field(b, t, 16, 1))
    assert one(f"v{operation}.s32.{s}.{t} r1, r2.b2, r3.h1;", r2=a, r3=b) == exact % 2**32
    assert one(f"v{operation}.s32.{s}.{t}.add r1, r2.b2, r3.h1, r4;", r2=a, r3=b, r4=c) == (exact + c) % 2**32
    merged = one(f"v{operation}.s32.{s}.{t} r1.b1, r2.b2, r3.h1, r4;", r2=a, r3=b, r4=c)
    assert merged == c & 0xFFFF00FF | (exact & 0xFF) << 8


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("count", "bits"), [(2, 16), (4, 8)])
@few
@given(WORD, WORD, WORD)
def test_side_by_side(operation, count, bits, a, b, c):
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    exact = [OPERATIONS[operation](field(a, "s32", bits, i), field(b, "s32", bits, i)) for i in range(count)]
    joined = lambda values: sum((v & (1 << bits) - 1) << bits * i for i, v in enumerate(values))  # noqa: E731
    name = f"v{operation}{count}.s32.s32.s32"
    registers = {"r2": a, "r3": b, "r4": c}
    assert one(f"{name} r1, r2, r3, r4;", **registers) == joined(exact)
    assert one(f"{name}.sat r1, r2, r3, r4;", **registers) == joined(max(low, min(high, v)) for v in exact)
    assert one(f"{name}.add r1, r2, r3, r4;", **registers) == (sum(exact) + c) % 2**32


@few
@given(WORD, WORD, WORD)
def test_chosen_bytes(a, b, c):
    """Destination bytes 3 and 0; sources name any of the eight bytes of b.a, the last digit being byte 0."""
    both = b << 32 | a
    byte = lambda i: both >> 8 * i & 0xFF  # noqa: E731
    got = one("vadd4.u32.u32.u32 r1.b30, r2.b5210, r3.b7643, r4;", r2=a, r3=b, r4=c)
    expected = c & 0x00FFFF00 | (byte(5) + byte(7) & 0xFF) << 24 | byte(0) + byte(3) & 0xFF
    assert got == expected


@few
@given(WORD, WORD)
def test_comparisons_give_ones(a, b):
    got = one("vset4.s32.u32.lt r1, r2, r3, r4;", r2=a, r3=b, r4=0)
    assert got == sum((field(a, "s32", 8, i) < field(b, "u32", 8, i)) << 8 * i for i in range(4))


MACHINE_CODE = np.load(DATA / "video.npz")


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", sorted({str(form).split(".")[0] for form in MACHINE_CODE["forms"]}))
def test_as_the_machine_code_computes(name):
    registers = dict(zip(("r2", "r3", "r4"), MACHINE_CODE["inputs"]))
    compared = 0
    for form, expected in zip(MACHINE_CODE["forms"], MACHINE_CODE["results"]):
        if str(form).split(".")[0] == name:
            compared += 1
            assert np.array_equal(run(str(form), **registers)["r1"], expected), str(form)
    assert compared >= 12


@pytest.mark.parametrize(
    "text",
    [
        "vmad.s32.s32.s32 r1, -r2, r3, -r4;",
        "vmad.s32.s32.s32.po r1, r2, r3, -r4;",
        "vmad.u32.u32.u32.po r1, r2, -r3, r4;",
    ],
)
def test_what_cannot_be_negated_together(text):
    assert not isinstance(bind(text), Bound)

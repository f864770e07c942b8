"""Where the address of an access comes from, as an expression."""

import numpy as np
import pytest

import ptxsim

LANE = np.arange(32)
WORDS = ".reg .b32 a, l, t, x, y;\n"


def origin(text, **registers):
    result = ptxsim.snippet(WORDS + text, registers=registers, shared=np.zeros(8192, np.uint8))
    assert result.findings == []
    (row,) = result.banks.rows
    return row


def test_the_expression_of_an_address_is_quoted():
    row = origin("mov.u32 l, %laneid;\nmad.lo.u32 x, l, 128, a;\nld.shared.b32 r, [x+4];", a=0x400)
    assert row.address == "a + 128 * %laneid + 4"
    assert row.why.endswith("; row = %laneid, pitch 128: the address is a + 128 * %laneid + 4 (line 3)")


@pytest.mark.parametrize(
    "text, address",
    [
        ("and.b32 x, t, 7; shl.b32 x, x, 7; add.u32 x, x, a;", "a + 128 * (%tid.x & 7)"),
        ("shr.u32 y, t, 3; shl.b32 x, y, 4; sub.u32 x, x, a; neg.s32 x, x;", "a - 16 * (%tid.x >> 3)"),
        ("mul.lo.u32 x, t, t; add.u32 x, x, a;", "(%tid.x * %tid.x) + a"),
        ("xor.b32 y, t, 3; mad.lo.u32 x, y, 4, a;", "a + 4 * (%tid.x ^ 3)"),
        ("popc.b32 y, t; add.u32 x, y, a;", "y + a"),
        ("add.u32 x, t, 1; @!q mov.u32 x, a;", "x"),
    ],
)
def test_definitions_are_walked_back(text, address):
    lines = text.replace("; ", ";\n")
    program = f"{WORDS}mov.u32 t, %tid.x;\n{lines}\nld.shared.u8 r, [x];"
    result = ptxsim.snippet(program, registers={"a": 0x400, "q": 0}, shared=np.zeros(8192, np.uint8))
    assert [row.address for row in result.banks.rows] in ([address], [])


def test_a_register_changed_in_a_loop_stands_for_itself():
    text = "L:\nld.shared.b32 r, [x];\nadd.u32 x, x, 4;\nsetp.lt.u32 p, x, 1040;\n@p bra L;"
    assert origin(text, x=0x400).address == "x"


@pytest.mark.parametrize(
    "step, address",
    [
        ("add.u32 x, x, 128;", "a + 4 * %laneid + 128 * round"),
        ("sub.u32 x, x, -8;", "a + 4 * %laneid + 8 * round"),
        ("add.u32 x, y, x;", "a + (round * (4 * %laneid)) + 4 * %laneid"),
        ("xor.b32 x, x, 128;", "x"),
        ("mov.u32 x, y;\nadd.u32 x, x, a;", "x"),
        ("shl.b32 t, i, 2;\nadd.u32 x, x, t;", "x"),
    ],
)
def test_what_a_loop_adds_to_a_register_is_reported(step, address):
    text = f"mov.u32 l, %laneid;\nshl.b32 y, l, 2;\nadd.u32 x, a, y;\nmov.u32 i, 0;\nL:\nld.shared.b32 r, [x];\n{step}\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, 3;\n@p bra L;"
    assert origin(text, a=0x400).address == address


def test_a_register_that_changes_before_a_loop_stands_for_itself():
    text = "mov.u32 l, %laneid;\nshl.b32 x, l, 2;\nadd.u32 x, x, a;\nmov.u32 i, 0;\nL:\nld.shared.b32 r, [x];\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, 3;\n@p bra L;"
    assert origin(text, a=0x400).address == "x"


def test_rows_are_counted_by_whole_expressions():
    text = "mov.u32 t, %tid.x;\nand.b32 y, t, 12;\nmad.lo.u32 x, y, 272, a;\nld.shared.b32 r, [x];"
    assert "; row = %tid.x & 12, pitch 272: " in origin(text, a=0x400).why
    text = "mov.u32 t, %tid.x;\nshl.b32 y, t, 2;\nand.b32 y, y, 12;\nmad.lo.u32 x, y, 272, a;\nld.shared.b32 r, [x];"
    assert "; row = (4 * %tid.x) & 12, pitch 272: " in origin(text, a=0x400).why

"""What a failed expectation says of the inputs that a wrong element depends on, where no rule is broken."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 out)
{
    .reg .b32 %t, %c, %v, %w;
    .reg .b64 %a, %out;
    ld.param.u64 %a, [a];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
"""
# out[c, t], of 8 CTAs and 32 threads, stores what is loaded from a place of a: PLACE is how.
TAIL = "    st.global.b32 [%out], %v;\n    ret;\n}\n"
PLACE = """    mad.lo.u32 %w, %{row}, 32, %{column};
    mad.wide.u32 %a, %w, 4, %a;
    ld.global.b32 %v, [%a];
    mad.lo.u32 %w, %c, 32, %t;
    mad.wide.u32 %out, %w, 4, %out;
"""


def notes(body, argument, expected, engine):
    text = f"// ptxsim: launch grid=8 block=32\n// ptxsim: arg a = {argument}\n// ptxsim: arg out = zeros(8,32):{argument.rpartition(':')[2]}\n"
    text += f"// ptxsim: expect {expected}\n" + HEAD + body + TAIL
    (finding,) = run_file(Source(text, "k.ptx"), options=Options(engine=engine, seed=0)).findings
    assert finding.name == "expectation-failed"
    return " ".join(finding.notes)


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
@pytest.mark.parametrize("type", ["f32", "s32"])
def test_what_is_read_in_the_place_of_what(engine, type):
    other_row = "    xor.b32 %v, %c, 1;\n" + PLACE.format(row="v", column="t")
    said = notes(other_row, f"ramp(8,32):{type}", "out == a", engine)
    assert "out[0,0] depends on a[1], as it should not; it does not depend on a[0], as it should" in said


def test_rows_and_columns_are_named_from_their_first_to_their_last():
    said = notes(PLACE.format(row="c", column="t"), "ramp(8,32):f32", "out == a + sum(a)", None)
    assert "out[0,0] does not depend on a[1:8] nor a[:,1:32], as it should" in said


def test_nothing_is_said_where_the_inputs_are_the_right_ones():
    wrong = PLACE.format(row="c", column="t") + "    add.u32 %v, %v, 1;\n"
    assert "depend" not in notes(wrong, "ramp(8,32):s32", "out == a", None)


def test_what_no_input_decides_is_said_to_depend_on_none():
    said = notes(PLACE.format(row="c", column="t") + "    mov.u32 %v, 7;\n", "ramp(8,32):s32", "out == a", None)
    assert "out[0,0] does not depend on a[0] nor a[:,0], as it should" in said


def test_changed_inputs_that_end_the_launch_say_nothing():
    far = "    ld.global.b32 %v, [%a];\n    mad.wide.u32 %a, %v, 1000000, %a;\n" + PLACE.format(row="c", column="t")
    assert "depend" not in notes(far, "zeros(8,32):s32", "out == a + 1", None)


def test_what_should_not_decide_is_named_alone():
    said = notes(PLACE.format(row="c", column="t"), "ramp(8,32):f32", "out == a * relu(1 - arange(32))", None)
    assert "out[0,1] depends on a[0] and a[:,1], as it should not (seen" in said


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_a_part_of_an_argument(engine):
    """As above, where rows 1 to 3 of out are compared: a row below is read."""
    body = "    add.u32 %w, %c, 1;\n    and.b32 %w, %w, 7;\n    mov.b32 %c, %w;\n" + PLACE.format(row="c", column="t")
    body = body.replace(
        "    mad.lo.u32 %w, %c, 32, %t;\n    mad.wide.u32 %out",
        "    mov.u32 %c, %ctaid.x;\n    mad.lo.u32 %w, %c, 32, %t;\n    mad.wide.u32 %out",
    )
    said = notes(body, "ints(8,32):f32", "out[1:4] == a[1:4]", engine)
    assert "out[1,0] depends on a[2], as it should not; it does not depend on a[1], as it should" in said


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_the_first_element_beyond_the_tolerance(engine):
    """out[0] is within it; out[1,0], which is told of, is read from row 2."""
    body = "    mov.b32 %w, %c;\n    setp.eq.u32 %p, %c, 1;\n    selp.b32 %c, 2, %c, %p;\n" + PLACE.format(
        row="c", column="t"
    )
    body = "    .reg .pred %p;\n" + body.replace(
        "    ld.global.b32 %v, [%a];\n", "    ld.global.b32 %v, [%a];\n    mov.u32 %c, %ctaid.x;\n"
    )
    said = notes(body, "normal(8,32):f32", "out == a * 1.0001 rtol=1e-2", engine)
    assert "out[1,0] depends on a[2], as it should not; it does not depend on a[1], as it should" in said


# out[0,0] = the sum over the columns k < 16 and 32 <= k < 48 of a[0,k] * b[k]: the loop over blocks of 16 skips every second one.
SKIPS = """    .reg .pred %p, %q;
    .reg .f32 %x, %y, %s;
    .reg .b32 %k;
    .reg .b64 %b, %at;
    ld.param.u64 %b, [b];
    mul.wide.u32 %at, %t, 256;
    add.u64 %a, %a, %at;
    mul.wide.u32 %at, %t, 4;
    add.u64 %out, %out, %at;
    mov.f32 %s, 0f00000000;
    mov.u32 %k, 0;
LOOP:
    and.b32 %w, %k, 16;
    setp.ne.u32 %q, %w, 0;
    ld.global.f32 %x, [%a];
    ld.global.f32 %y, [%b];
    @!%q fma.rn.f32 %s, %x, %y, %s;
    add.u64 %a, %a, 4;
    add.u64 %b, %b, 4;
    add.u32 %k, %k, 1;
    setp.lt.u32 %p, %k, 64;
    @%p bra LOOP;
    mov.b32 %v, %s;
"""


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_parts_of_a_range_that_hardly_show_do_not_break_it(engine):
    """Two of 64 columns may change so little that a rounding could hide it: other numbers show them."""
    text = "// ptxsim: launch grid=1 block=8\n// ptxsim: arg a = ints(8,64,seed=1):f32\n// ptxsim: arg b = ints(64,seed=2):f32\n"
    text += "// ptxsim: arg out = zeros(8):f32\n// ptxsim: expect out == a @ b\n" + HEAD.replace(
        "u64 a, .param", "u64 a, .param .u64 b, .param"
    )
    (finding,) = run_file(Source(text + SKIPS + TAIL, "k.ptx"), options=Options(engine=engine, seed=0)).findings
    said = "out[0] does not depend on a[:,16:32] nor a[:,48:64] nor b[16:32] nor b[48:64], as it should"
    assert any(note.startswith(said) for note in finding.notes)

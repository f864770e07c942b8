"""Snippets: what people paste, and what they look at afterwards."""

import ml_dtypes
import numpy as np
import pytest

import ptxsim
from ptxsim.diagnostic import PtxError

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
BLOG = r"""
asm volatile(
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
      "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
"""


def test_numbered_operands_as_in_inline_assembly(engine):
    ones = {str(i): 0x3C003C00 for i in range(4, 10)}
    s = ptxsim.snippet(MMA, registers=ones, engine=engine)
    assert (s.registers["%0"].view("f4") == 16).all()
    assert s.findings == []


def test_a_whole_asm_statement_pastes_as_it_stands(engine):
    ones = {str(i): 0x3C003C00 for i in range(4, 10)}
    s = ptxsim.snippet(BLOG, registers=ones | {str(i): 1.0 for i in range(10, 14)}, engine=engine)
    assert (s.registers["%0"].view("f4") == 17).all()


def test_fragments_travel_as_arrays_of_halves(engine):
    a = ptxsim.ints((16, 16), "f16", seed=1)
    b = ptxsim.ints((16, 8), "f16", seed=2)
    form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    fa, fb, fd = (ptxsim.fragment(form, operand) for operand in "ABD")
    pieces = {f"{4 + r}": a[fa.rows, fa.columns][:, 2 * r : 2 * r + 2] for r in range(4)}
    pieces |= {f"{8 + r}": b[fb.rows, fb.columns][:, 2 * r : 2 * r + 2] for r in range(2)}
    s = ptxsim.snippet(MMA, registers=pieces, engine=engine)
    d = np.zeros((16, 8), np.float32)
    for element in range(4):
        d[fd.rows[:, element], fd.columns[:, element]] = s.registers[f"%{element}"].view("f4")
    assert (d == a.astype("f4") @ b.astype("f4")).all()


def test_shared_memory_and_bank_counts(engine):
    tile = np.arange(32 * 32, dtype=np.uint32)
    text = "ld.shared.b32 r, [addr]; st.shared.b32 [addr], 7;"
    s = ptxsim.snippet(text, registers={"addr": 0x400 + 128 * np.arange(32)}, shared=tile, engine=engine)
    assert (s.registers["r"] == 32 * np.arange(32)).all()
    assert (s.shared[::32] == 7).all() and s.shared[1] == 1
    assert [row.wavefronts for row in s.banks.rows] == [32, 32]
    assert s.banks.worst == 32


def test_buffers_are_registers_with_their_address(engine):
    x = np.arange(32, dtype=np.float32)
    text = "mov.u32 t, %laneid; mad.wide.u32 p, t, 4, p; ld.global.f32 v, [p]; add.f32 v, v, v; st.global.f32 [p], v;"
    s = ptxsim.snippet(text, buffers={"p": x}, engine=engine)
    assert (s.buffers["p"] == 2 * np.arange(32)).all()


def test_several_warps_see_their_own_values(engine):
    s = ptxsim.snippet("add.u32 r, r, 1;", registers={"r": np.arange(64).reshape(2, 32)}, warps=2, engine=engine)
    assert s.registers["r"].shape == (2, 32)
    assert (s.registers["r"].ravel() == np.arange(64) + 1).all()


def test_guards_and_untouched_lanes(engine):
    s = ptxsim.snippet(
        "@p mov.u32 r, 5; @!p mov.u32 r, 6;", registers={"p": np.arange(32) % 2 == 0, "r": 0}, engine=engine
    )
    assert s.registers["r"].tolist() == [5, 6] * 16


def test_faults_are_findings_with_lane_and_line(engine):
    s = ptxsim.snippet(
        "mov.u32 t, 1;\nld.shared.b32 r, [addr];", registers={"addr": 0x402}, shared=np.zeros(4), engine=engine
    )
    (finding,) = s.findings
    assert (finding.name, finding.line, finding.lane) == ("misaligned-address", 2, 0)


def test_nonsense_is_refused_with_its_place():
    with pytest.raises(PtxError) as caught:
        ptxsim.snippet("add.s32 r, 1;\nmul.q32 a, b, c;")
    names = [(f.name, f.line) for f in caught.value.findings]
    assert ("illegal-form", 2) in names


def test_registers_of_wrong_shape_are_refused():
    with pytest.raises(PtxError, match="shape"):
        ptxsim.snippet("add.u32 r, r, 1;", registers={"r": np.arange(7)})


def test_literal_operands_of_inline_assembly():
    x, tile = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    text = "cp.async.cg.shared.global [%0], [%1], %2; cp.async.commit_group; cp.async.wait_group %3;"
    lane = np.arange(32)
    s = ptxsim.snippet(
        "mov.u32 t, %laneid; mad.wide.u32 %1, t, 16, %1;" + text,
        registers={"0": 0x400 + 16 * lane, "2": 16, "3": 0}, shared=tile, buffers={"%1": x},
    )  # fmt: skip
    assert (s.shared == x).all()
    assert s.findings == []


def test_registers_answer_to_both_spellings():
    s = ptxsim.snippet("mov.u32 %0, 7;")
    assert (s.registers["0"] == 7).all() and (s.registers["%0"] == 7).all()


def test_members_the_guard_keeps_out_are_reported(engine):
    s = ptxsim.snippet(
        "@p shfl.sync.idx.b32 r, a, 0, 31, 0xff; add.u32 r, r, 1;",
        registers={"p": np.arange(32) < 5, "a": np.arange(32) + 7},
        engine=engine,
    )
    (finding,) = s.findings
    assert (finding.name, finding.lane) == ("member-mask", 5)


def test_registers_that_nobody_sets_are_reported_but_for_accumulators():
    s = ptxsim.snippet("add.u32 %0, %1, %2; mad.lo.u32 %3, %0, %0, %3;", registers={"1": 5})
    (finding,) = s.findings
    assert (finding.name, finding.level) == ("uninitialized-read", "warning")
    assert "register %2" in finding.message and "'2'" in finding.help and (s.registers["3"] == 25).all()
    assert ptxsim.snippet("add.u32 %0, %1, %2;", registers={"1": 5, "%2": 0}, on_error="raise").findings == []
    assert ptxsim.snippet("ld.global.u32 %0, [p];", buffers={"p": np.ones(1, np.uint32)}).findings == []


def test_shared_memory_of_a_snippets_own_is_not_written_before():
    text = ".shared .align 4 .b32 tile[4]; mov.u32 a, tile; ld.shared.u32 x, [a];"
    assert [f.name for f in ptxsim.snippet(text, checks="all").findings] == ["uninitialized-read"]
    tile = np.arange(4, dtype=np.uint32)
    assert ptxsim.snippet("ld.shared.u32 x, [a];", {"a": 0x404}, shared=tile, checks="all").registers["x"][0] == 1


def test_an_address_has_the_width_of_its_other_uses():
    s = ptxsim.snippet(
        "shl.b32 a, %1, 2; add.u32 a, a, 1024; ld.shared.u32 a, [a];", {"1": 3}, shared=np.arange(8, dtype="u4")
    )
    assert s.registers["a"].dtype == np.uint32 and s.registers["a"][0] == 3
    assert ptxsim.snippet("ld.shared.u32 x, [a];", {"a": 0x400}, shared=np.arange(8)).registers["a"].dtype == np.uint64


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shared": [1, 2]}, "shared is a list"),
        ({"warps": 0}, "warps=0 is no whole number of 1 or more"),
        ({"registers": {"b": None, "c": 1}}, "register b is given None, which is no number"),
        ({"registers": {"b": "7", "c": 1}}, "register b is given '7'"),
        ({"text": ".version 8.0"}, "a snippet is statements, here is a module"),
        (
            {"text": "add.u64 a, b, 4;", "buffers": {"b": np.array([object()])}},
            "an array of object, which no kernel can read",
        ),
        ({"text": "ld.global.u32 a, [b];", "buffers": {"b": 5}}, "the buffer 'b' is a int"),
        (
            {"text": "ld.global.u32 a, [b];", "buffers": {"b": np.array(5)}},
            "the buffer 'b' is an array without dimensions",
        ),
    ],
)
def test_what_a_snippet_cannot_be_given_is_reported(given, words):
    with pytest.raises(ptxsim.PtxError, match=words):
        ptxsim.snippet(**{"text": "add.u32 a, b, c;", **given})


def test_a_misspelt_register_is_reported_both_ways():
    s = ptxsim.snippet("add.u32 a, b, c;", {"bb": 1, "c": ml_dtypes.bfloat16(2)})
    assert s.findings[0].notes == ("given, and not in the text: bb",)
    with pytest.raises(KeyError, match="no register is called 'aa'; did you mean a"):
        s.registers["aa"]

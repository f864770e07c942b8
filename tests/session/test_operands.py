"""Operands shown as what they are, and who stored an element."""

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.report.operands import matrix_text, operand_text
from ptxsim.session.inspect.operands import Place, parse_place
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import ROOT, SAMPLES, run_text, text_of

PRODUCT = text_of("session/product.ptx")


def shown(*prints):
    return run_text(PRODUCT, prints=prints).shown


def test_a_fragment_is_shown_as_a_matrix():
    a, c, d = shown("17:A", "17:c", "17:d")
    assert a.matrix.shape == (16, 8) and a.matrix.dtype == np.float16
    assert c.matrix.shape == (16, 8) and (c.matrix == 2).all() and c.matrix.dtype == np.float32
    # Lane 5 holds row 1, columns 2 and 3 of A; its register is 0x3c003c00 | 5 << 3.
    assert a.matrix.view(np.uint16)[1, 2] == 0x3C28 and a.matrix[1, 3] == 1
    assert d.matrix.shape == (16, 8) and "16x8 float32" in operand_text(d)


def test_a_register_is_shown_by_lane():
    (register,) = shown("14:%r2")
    assert list(register.registers["%r2"]) == [8 * lane for lane in range(32)]
    text = operand_text(register)
    assert text.startswith("line 14: %r2 of shl.b32, by lane") and "lane 16" in text
    (halves,) = shown("15:%r3:f16")
    assert halves.registers["%r3"].shape == (32, 2) and "1:1" in operand_text(halves)
    (same,) = shown("16:f0")
    assert operand_text(same).endswith("%f0: 2 in all lanes")
    (constant,) = shown("14:b")
    assert operand_text(constant).endswith("a constant, which no register holds")


def test_what_never_ran_is_reported():
    text = operand_text(shown("24:%f0")[0])
    assert "not executed by CTA 0 warp 0" in text and "@cta1.warp0.time1" in text  # who did


def test_the_execution_shown_is_named_and_others_can_be_chosen():
    first, other, coordinates, late = shown("19:%r4", "19:%r4@cta1.warp1", "19:d@cta1,0,0.time1", "19:d@time2")
    assert first.registers["%r4"][0] == 0 and other.registers["%r4"][0] == 96 and coordinates.registers["%r4"][0] == 64
    assert "CTA 0 warp 0, time 1 of 1\n4 warps of 2 CTAs executed it 4 times" in operand_text(first)
    assert "--print 19:%r4@cta0.warp1.time1" in operand_text(first) and "CTA 1 warp 1, time 1 of 1" in operand_text(
        other
    )
    assert "not executed by CTA 0 warp 0 more than 1 time" in operand_text(late)


LOOP = text_of("session/loop.ptx")


def test_sources_are_shown_as_they_were_and_results_as_they_came_out():
    places = ("13:a", "13:d", "13:%r1", "13:a@time3", "17:d", "19:%r2", "19:b")
    shown = run_text(LOOP, prints=places).shown
    assert [int(one.registers["%r1"][0]) for one in shown[:4]] == [5, 6, 6, 7]
    assert "time 1 of 3" in operand_text(shown[0]) and "@cta0.warp0.time2" in operand_text(shown[0])
    assert "8  9 10  -  -" in operand_text(shown[4]) and operand_text(shown[4]).count(" -") == 29
    # The store goes astray and ends the run; what it was given is shown all the same.
    assert shown[5].registers["%r2"][1] == 4 and shown[6].registers["%r1"][0] == 8


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("19:d@cta2", "no CTA 2"),
        ("19:d@cta0,1,0", "no CTA 0,1,0"),
        ("19:d@warp2", "no warp 2"),
        ("2:a", "no instruction"),
        ("17:e", "no operand"),
        ("x", "LINE:OPERAND"),
        ("17", "LINE:OPERAND"),
    ],
)
def test_a_place_that_is_none(place, message):
    result = run_text(PRODUCT, prints=(place,))
    assert message in result.findings[0].message


def test_a_line_and_an_operand():
    assert parse_place("118:a") == Place(118, "a") and parse_place("118:a:f16") == Place(118, "a", "f16")
    assert parse_place("118:%r1@cta2.warp1.time3") == Place(118, "%r1", None, (2,), 1, 3)
    assert parse_place("118:a:f16@warp1.cta(1,2,0)") == Place(118, "a", "f16", (1, 2, 0), 1)
    for text in ("a:118", "118:a@", "118:a@lane3", "118:a@time0", "118:a@warp1,2"):
        with pytest.raises(PtxError):
            parse_place(text)


def test_wide_matrices_continue_below():
    text = matrix_text(np.arange(64, dtype=np.float32).reshape(2, 32), 60)
    assert all(len(line) <= 60 for line in text.split("\n")) and text.count(" 31") == 2


def test_a_wrong_element_names_line_register_and_thread():
    result = run_text("// ptxsim: expect out[1, 3:, 1] == 0\n" + PRODUCT)
    assert "expected 0" in result.findings[0].message
    result = run_text("// ptxsim: expect out == -1\n" + PRODUCT)
    finding = result.findings[0]
    assert (
        "out[0,0,0] is " in finding.message and "stored at line 23 from %f1 by CTA 0 warp 0 lane 0" in finding.message
    )
    assert "out[0,0,1]" in finding.notes[1] and "from %f2 by CTA 0 warp 0 lane 0" in finding.notes[1]


def test_elements_that_share_a_register_are_stored_from_it():
    store = "mov.b32 %r1, 1; mov.b32 %r2, 2; ld.param.u64 %rd1, [out]; st.global.v2.b32 [%rd1], {%r1, %r2};"
    text = f".version 8.0\n.target sm_80\n.entry k(.param .u64 out)\n{{ .reg .b32 %r<3>; .reg .b64 %rd<2>; {store} }}"
    said = "// ptxsim: launch block=1\n// ptxsim: arg out = zeros({}):{}\n// ptxsim: expect out == {}\n"
    halves = run_text(said.format(4, "u16", 7) + text).findings[0]
    assert all(f" from %r{1 + i // 2} " in line for i, line in enumerate([halves.message, *halves.notes[1:3]]))
    (whole,) = run_text(said.format(1, "u64", 7) + text).findings
    assert " from %r1 " in whole.message


def test_the_last_store_counts():
    text = PRODUCT.replace("zeros(2,64,2)", "zeros(256)")
    result = run_text("// ptxsim: expect out >= 3\n" + text)
    (place,) = [note for note in [result.findings[0].message, *result.findings[0].notes] if "out[141]" in note]
    assert "stored at line 25 from %f0 by CTA 1 warp 0 lane 6" in place


def test_what_wgmma_wrote_is_shown_when_it_has_arrived():
    sample = SAMPLES / "wgmma_m64n64k16.ptx"
    line = next(
        n for n, text in enumerate(sample.read_text().split("\n"), 1) if "wgmma.mma_async" in text and "//" not in text
    )
    result = run_file(sample, options=Options(prints=(f"{line}:d",)))
    assert np.array_equal(result.shown[0].matrix, result.values["D"])


def test_a_descriptor_is_shown_as_the_tile_it_names():
    sample = SAMPLES / "wgmma_m64n64k16.ptx"
    text = sample.read_text().split("\n")
    line = next(n for n, one in enumerate(text, 1) if "wgmma.mma_async" in one and "//" not in one)
    result = run_file(sample, options=Options(prints=(f"{line}:a", f"{line}:b")))
    a, b = (shown.matrix for shown in result.shown)
    assert a.shape == (64, 16) and b.shape == (64, 16) and a.dtype == b.dtype == np.float16
    assert np.array_equal(result.values["D"], a.astype(np.float32) @ b.astype(np.float32).T)


def test_tensor_memory_is_shown_by_lanes_and_columns():
    """What a product leaves, as the load that follows finds it; its factor as it lies beside; and words before a store."""
    path = ROOT / "tests" / "cases" / "tcgen05" / "from_tensor_memory.ptx"
    result = run_file(Source.from_file(path), options=Options(prints=("91:a:f32@warp1", "85:a:f16", "68:a")))
    load, factor, store = result.shown
    assert load.corner == (32, 0) and load.matrix.shape == (32, 32) and load.matrix.dtype == np.float32
    D = result.run.outputs["D"].reshape(128, 16)
    np.testing.assert_array_equal(load.matrix[:, :16], D[32:64])
    assert factor.corner == (0, 16) and factor.matrix.shape == (128, 32) and factor.matrix[:, :16].any()
    assert store.matrix.dtype == np.uint32 and not store.matrix.any()
    assert "from lane 32 and column 0 on: lanes by columns" in operand_text(load)


@pytest.mark.slow
def test_an_odd_number_of_columns_is_shown_in_whole_elements():
    path = ROOT / "tests" / "cases" / "tcgen05" / "from_tensor_memory.ptx"
    text = path.read_text().replace("%d15}, [%own];", "%d15}, [%own+1];")
    (load,) = run_file(Source(text, "k.ptx"), options=Options(prints=("91:a:f64",))).shown
    assert load.corner == (0, 1) and load.matrix.shape == (32, 15) and load.matrix.dtype == np.float64


ALL_TO_ONE = """
// ptxsim: launch grid=1 block=32
// ptxsim: arg out = zeros(2):u32
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %t;
    .reg .b64 %d;
    ld.param.u64 %d, [out];
    mov.u32 %t, %tid.x;
    {store}
    ret;
}}
"""


def test_of_lanes_at_one_place_the_one_whose_store_stays_is_named():
    text = ALL_TO_ONE.format(store="st.global.u32 [%d], %t;")
    (finding,) = run_text("// ptxsim: expect out == 40\n" + text, checks="none").findings
    assert "out[0] is 0" in finding.message and "lane 0" in finding.message
    text = ALL_TO_ONE.format(store="st.global.v2.u32 [%d], {%t, %t};")
    (finding,) = run_text("// ptxsim: expect out == 40\n" + text, checks="none").findings
    assert "out[0] is 16" in finding.message and "lane 16" in finding.message

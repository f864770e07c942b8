"""What a Run says about itself: bank counts on demand, fidelity by target."""

import pickle

import numpy as np
import pytest

import ptxsim
from tests.helpers import SAMPLES, launch, names


def gemm(name="mma_gemm_conflicts.ptx", **options):
    a, b = ptxsim.ints((64, 64), "f16", seed=1), ptxsim.ints((64, 64), "f16", seed=2)
    kernel = ptxsim.Module.from_file(SAMPLES / name).kernel("gemm")
    return kernel.launch(grid=1, block=128, args=[a, b, np.zeros((64, 64), np.float32)], **options)


def test_banks_are_counted_when_asked_for():
    run = gemm()
    assert not run.banks_counted
    assert run.banks.worst == 8
    assert run.banks_counted and run.banks.wavefronts == gemm(banks=True).banks.wavefronts
    assert run.to_dict()["banks"]["worst"] == 8


def test_banks_that_were_not_wanted_are_no_zero():
    run = gemm(banks=False)
    assert run.to_dict()["banks"] is None
    with pytest.raises(ValueError, match="not counted"):
        _ = run.banks


def test_counting_late_leaves_the_results_alone():
    run = gemm()
    before = run.outputs["D"].copy()
    _ = run.banks
    assert np.array_equal(run.outputs["D"], before) and before.any()


@pytest.mark.parametrize(("target", "expected"), [("sm_80", "modeled"), ("sm_90", "exact"), ("sm_120", "modeled")])
def test_tensor_products_are_exact_where_recorded(target, expected):
    fidelity = gemm(target=target).fidelity
    assert fidelity["mma"] == expected
    assert fidelity["ldmatrix"] == "exact"


KERNEL = """.version 8.7
.target {0}
.address_size 64
.visible .entry k() {{ .reg .f32 %f<8>; .reg .b32 %r<8>; {1} ret; }}
"""
PRODUCT = "mma.sync.aligned.{0}.row.col.{1} {{%f0,%f1,%f2,%f3}}, {{{2}}}, {{{3}}}, {{%f0,%f1,%f2,%f3}};"
SHORT = PRODUCT.format("m16n8k8", "f32.f16.f16.f32", "%r0,%r1", "%r2")
LONG = PRODUCT.format("m16n8k16", "f32.f16.f16.f32", "%r0,%r1,%r2,%r3", "%r4,%r5")
INTEGERS = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r4,%r5};"


@pytest.mark.parametrize(
    ("target", "body", "kind", "expected"),
    [
        ("sm_80", SHORT, "mma", "exact"),  # a block of eight products was recorded on an A100
        ("sm_80", LONG, "mma", "modeled"),  # two that follow each other were not
        ("sm_80", SHORT + LONG, "mma", "modeled"),
        ("sm_87", SHORT, "mma", "modeled"),
        ("sm_100a", LONG, "mma", "exact"),
        ("sm_75", INTEGERS, "mma", "exact"),  # the manual leaves nothing open
        ("sm_80", "ex2.approx.f32 %f0, %f1;", "ex2", "bounded"),  # computed with the tables of an H200
        ("sm_90", "ex2.approx.f32 %f0, %f1;", "ex2", "exact"),
    ],
)
def test_fidelity_is_that_of_the_form_on_the_target(target, body, kind, expected):
    assert launch(KERNEL.format(target, body), checks="none").fidelity[kind] == expected


def test_exact_sums_are_no_bits_of_a_gpu():
    run = launch(KERNEL.format("sm_90", LONG), checks="none", numerics="exact", engine="interpreter")
    assert run.fidelity["mma"] == "bounded"


def test_what_has_no_effect_is_not_trusted_at_all():
    text = KERNEL.format("sm_100a", "fabric.submit; mov.f32 %f0, 0f00000000;").replace("8.7", "9.3")
    run = launch(text)
    assert names(run.findings) == ["not-modeled"]
    assert set(run.fidelity) == {"mov", "ret"}


WRITES = {
    "st": "st.global.u32 [%rd1], %r0;",
    "atom": "atom.global.add.u32 %r0, [%rd1], 1;",
    "bulk": "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16; cp.async.bulk.commit_group;"
    "cp.async.bulk.wait_group 0;",
}


@pytest.mark.parametrize("write", WRITES)
def test_a_read_only_array_is_not_left_as_it_was_in_silence(write, engine):
    text = f""".version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{ .reg .b32 %r<8>; .reg .b64 %rd<2>; .shared .align 16 .b8 tile[16];
ld.param.u64 %rd1, [out]; mov.u32 %r0, 7; mov.u32 %r1, tile; st.shared.u32 [tile], %r0; {WRITES[write]} ret; }}
"""
    kernel = ptxsim.Module.from_text(text).kernel()
    out = np.zeros(4, np.uint32)
    kernel.launch(1, 1, [out], engine=engine)
    assert out[0] != 0
    out = np.zeros(4, np.uint32)
    out.flags.writeable = False
    with pytest.raises((ptxsim.KernelError, ptxsim.PtxError), match="out, which is a read-only array"):
        kernel.launch(1, 1, [out], engine=engine)


def test_a_run_prints_in_a_line():
    text = repr(gemm())
    assert text.startswith("Run(gemm on sm_80: no findings, ") and len(text) < 200


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grid": 0}, "grid=0 is no shape"),
        ({"block": "many"}, "block='many' is no shape"),
        ({"grid": 2**31 - 1, "checks": "all"}, "more than the 16777216 that can be told apart"),
        ({"grid": float("inf")}, "grid=inf is no shape"),
        ({"grid": (1, 2.5)}, r"grid=\(1, 2.5\) is no shape"),
        ({"max_seconds": -1}, "max_seconds=-1 is no time"),
        ({"cluster": (1, 1, 1, 1)}, "cluster="),
        ({"args": {"A": 1}}, "by position"),
        ({"args": np.zeros(4)}, "by position"),
        ({"checks": "some"}, "checks='some' is none of"),
        ({"max_steps": 0}, "max_steps=0 is no whole number of 1 or more"),
        ({"max_steps": 1.5}, "max_steps=1.5 is no whole number"),
        ({"seed": -1}, "seed=-1 is no whole number of 0 or more"),
        ({"seed": "x"}, "seed='x' is no whole number"),
        ({"jobs": 0}, "jobs=0 is no whole number of 1 or more"),
        ({"shared_mem": -16}, "shared_mem=-16 is no whole number of 0 or more"),
        ({"profile": -1}, "profile=-1 is no whole number"),
        ({"target": 90}, "no target is called 90"),
    ],
)
def test_a_launch_that_cannot_be_understood_is_reported(given, words):
    kernel = ptxsim.Module.from_text(KERNEL.format("sm_90", "")).kernel()
    with pytest.raises(ptxsim.PtxError, match=words):
        kernel.launch(**{"grid": 1, "block": 1, **given})


def test_an_array_for_a_number_names_the_order_of_the_parameters():
    text = KERNEL.format("sm_90", "").replace("()", "(.param .u32 n, .param .u64 A)")
    assert ".param .u32 n" in text
    with pytest.raises(ptxsim.PtxError, match=r"n is \.u32, and an array is given .*: \.u32 n, \.u64 A"):
        launch(text, [np.zeros(4, np.float32), 4], block=1)


def test_files_and_texts_are_not_mixed_up():
    with pytest.raises(ptxsim.PtxError, match="from_file"):
        ptxsim.Module.from_text("kernel.ptx")
    with pytest.raises(ptxsim.PtxError, match="from_text"):
        ptxsim.Module.from_file(KERNEL)


def test_a_module_of_text_says_how_it_is_made():
    with pytest.raises(ptxsim.PtxError) as caught:
        ptxsim.Module(KERNEL.format("sm_90", ""))
    assert "from_text" in caught.value.findings[0].help


def test_a_byte_order_mark_is_no_character(tmp_path):
    text = KERNEL.format("sm_90", "")
    file = tmp_path / "k.ptx"
    file.write_bytes(text.encode("utf-8-sig"))
    assert ptxsim.Module.from_file(file).entries == ptxsim.Module.from_text("\ufeff" + text).entries == ["k"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_of_utf_16_is_known_by_its_mark(encoding, tmp_path):
    file = tmp_path / "k.ptx"
    file.write_bytes(f"\ufeff{KERNEL.format('sm_90', '')}".encode(encoding))
    assert ptxsim.Module.from_file(file).entries == ["k"]


def test_shared_memory_that_is_too_small_names_the_option():
    text = KERNEL.format("sm_90", "mov.u32 %r0, 4096; st.shared.f32 [%r0], %f0;")
    run = launch(text, block=1, checks="all")
    assert any("--shared-mem" in (finding.help or "") and "shared_mem=" in finding.help for finding in run.findings)


def test_the_bank_table_is_shown_in_a_line():
    """What pytest prints of `run.banks` where an assertion fails."""
    text = repr(gemm().banks)
    assert text.startswith("BankTable(worst: 8-way at line ") and "ldmatrix" in text and len(text) < 240


def test_an_error_travels_between_processes():
    with pytest.raises(ptxsim.PtxError) as caught:
        ptxsim.Module.from_text(".version 8.0\n.target sm_90\n.visible .entry k() { foo; }").kernel().program()
    there = pickle.loads(pickle.dumps(caught.value))
    assert type(there) is ptxsim.PtxError and str(there) == str(caught.value)
    assert there.findings == caught.value.findings and there.findings[0].source == caught.value.findings[0].source


def test_messages_leave_out_the_mangled_name_that_a_compiler_puts_before_parameters():
    text = (
        ".version 8.0 .target sm_90 .address_size 64 .visible .entry _Z5scalePf(.param .u64 _Z5scalePf_param_0) { .reg .b64 %d; .reg .b32 %r; "
        "ld.param.u64 %d, [_Z5scalePf_param_0]; ld.global.u32 %r, [%d+16]; ret; }"
    )
    run = ptxsim.Module.from_text(text).kernel().launch(1, 1, [np.zeros(4, np.uint32)], on_error="report")
    assert "right after the end of param_0 (16 bytes)" in run.findings[0].message

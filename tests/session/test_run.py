"""What a Run says about itself: bank counts on demand, fidelity by target."""

from pathlib import Path

import numpy as np
import pytest

import ptxsim

SAMPLES = Path(__file__).parents[2] / "samples"


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
    module = ptxsim.Module.from_text(KERNEL.format(target, body))
    assert module.kernel("k").launch(1, 32, [], checks="none").fidelity[kind] == expected


def test_exact_sums_are_no_bits_of_a_gpu():
    module = ptxsim.Module.from_text(KERNEL.format("sm_90", LONG))
    run = module.kernel("k").launch(1, 32, [], checks="none", numerics="exact", engine="interpreter")
    assert run.fidelity["mma"] == "bounded"


def test_what_has_no_effect_is_not_trusted_at_all():
    text = KERNEL.format("sm_100a", "tcgen05.fence::before_thread_sync; mov.f32 %f0, 0f00000000;")
    run = ptxsim.Module.from_text(text).kernel("k").launch(1, 32, on_error="report")
    assert [finding.name for finding in run.findings] == ["not-modeled"]
    assert set(run.fidelity) == {"mov", "ret"}


WRITES = {
    "st": "st.global.u32 [%rd1], %r0;",
    "atom": "atom.global.add.u32 %r0, [%rd1], 1;",
    "bulk": "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16; cp.async.bulk.commit_group;"
    "cp.async.bulk.wait_group 0;",
}


@pytest.mark.parametrize("engine", ["compiled", "interpreter"])
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

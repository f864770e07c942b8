"""What a user reads when an instruction is refused: golden texts, judged by eye once."""

import pytest

from ptxsim.session.module import check

BEFORE = """\
.version 8.7
.target sm_90a
.address_size 64
.entry k() {
.reg .b32 %r<9>; .reg .f32 %f<99>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .b16 %h<9>; .reg .f16 %x<9>;
"""

# Statement: name of the finding, message, help.
TEXTS = {
    "mma.sync.aligned.m16n16k8.row.col.f32.f16.f16.f32 {%f1};": (
        "illegal-form",
        "no .m16n16k8 for mma",
        "did you mean mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32?",
    ),
    "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1};": (
        "illegal-form",
        ".row stands once too often in mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "did you mean mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?",
    ),
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1};": (
        "illegal-form",
        "no mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32: .bf16 does not go with the other modifiers",
        "did you mean mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?",
    ),
    "mma.sync.m16n8k16.row.col.f32.f16.f16.f32 {%f1};": (
        "illegal-form",
        "mma.sync.m16n8k16.row.col.f32.f16.f16.f32 lacks .aligned",
        "did you mean mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?",
    ),
    "mma.sync.aligned.m16n8k16.row.col.f64.f16.f16.f64 {%f1};": (
        "illegal-form",
        "no mma.sync.aligned.m16n8k16.row.col.f64.f16.f16.f64: .f16 does not go with the other modifiers",
        "did you mean mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64?",
    ),
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f1};": (
        "wrong-target",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32: needs target sm_120f, the module says sm_90a",
        "did you mean mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32?",
    ),
    "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f1,%f2}, %rd1, %rd2, 1, 1, 1, 0, 0;": (
        "illegal-form",
        "no .m64n12k16 for wgmma.mma_async",
        "did you mean wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16?",
    ),
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;": (
        "illegal-form",
        "no wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16: .m64n8k8 does not go with the other modifiers",
        "did you mean wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16?",
    ),
    "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1,%r2,%r3}, [%rd1];": (
        "illegal-form",
        "no .x3 for ldmatrix",
        "did you mean ldmatrix.sync.aligned.m8n8.x4.shared.b16?",
    ),
    "ldmatrix.sync.aligned.m8n8.x4.global.b16 {%r1,%r2,%r3,%r4}, [%rd1];": (
        "illegal-form",
        "no .global for ldmatrix",
        "did you mean ldmatrix.sync.aligned.m8n8.x4.b16?",
    ),
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%rd1];": (
        "wrong-target",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8: needs target sm_100f, sm_110f, sm_120f, the module says sm_90a",
        "did you mean ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16?",
    ),
    "ldmatrix.sync.aligned.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];": (
        "illegal-form",
        ".aligned stands once too often in ldmatrix.sync.aligned.aligned.m8n8.x1.shared.b16",
        "did you mean ldmatrix.sync.aligned.m8n8.x1.shared.b16?",
    ),
    "wmma.load.a.sync.aligned.m16n16k16.row.f32 {%r1}, [%rd1];": (
        "illegal-form",
        "no .f32 for wmma.load.a",
        "did you mean wmma.load.a.sync.aligned.row.m16n16k16.f16?",
    ),
    "ld.global.u128 %r1, [%rd1];": ("illegal-form", "no .u128 for ld", "did you mean ld.global.b128?"),
    "ld.global.v3.f32 {%f1,%f2,%f3}, [%rd1];": ("illegal-form", "no .v3 for ld", "did you mean ld.global.v4.f32?"),
    "ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd1];": (
        "wrong-target",
        "ld.global.v8.f32: needs target sm_100, the module says sm_90a",
        "write .target sm_100",
    ),
    "ld.globl.f32 %f1, [%rd1];": ("illegal-form", "no .globl for ld", "did you mean ld.global.f32?"),
    "st.const.f32 [%rd1], %f1;": ("illegal-form", "no .const for st", "did you mean st.f32?"),
    "add.u3 %r1, %r2, %r3;": ("illegal-form", "no .u3 for add", "did you mean add.u32?"),
    "add.s33 %r1, %r2, %r3;": ("illegal-form", "no .s33 for add", "did you mean add.s32?"),
    "add.rn.s32 %r1, %r2, %r3;": (
        "illegal-form",
        "no add.rn.s32: .rn does not go with the other modifiers",
        "did you mean add.s32?",
    ),
    "mul.s32 %r1, %r2, %r3;": ("illegal-form", "mul.s32 lacks .hi or .lo or .wide", "did you mean mul.hi.s32?"),
    "fma.f32 %f1, %f2, %f3, %f1;": (
        "illegal-form",
        "fma.f32 lacks .rn or .rz or .rm or .rp",
        "did you mean fma.rn.f32?",
    ),
    "fma.rn.f32x2 %rd1, %rd2, %rd3, %rd1;": (
        "wrong-target",
        "fma.rn.f32x2: needs target sm_100, the module says sm_90a",
        "did you mean fma.rn.f32?",
    ),
    "cvt.f32.s32 %f1, %r1;": (
        "illegal-form",
        "cvt.f32.s32 lacks .rn or .rz or .rm or .rp",
        "did you mean cvt.rn.f32.s32?",
    ),
    "setp.foo.f32 %p1, %f1, %f2;": ("illegal-form", "no .foo for setp", "did you mean setp.eq.f32?"),
    "shfl.down.b32 %r1, %r2, 1, 31;": (
        "wrong-version",
        "shfl.down.b32: ended with .version 6.3, the module says 8.7",
        "did you mean shfl.sync.down.b32?",
    ),
    "shfl.sync.dwn.b32 %r1, %r2, 1, 31, -1;": ("illegal-form", "no .dwn for shfl", "did you mean shfl.sync.down.b32?"),
    "cp.async.cg.shared.global [%rd1], [%rd2], 8;": (
        "operand-mismatch",
        "operand size must be 16, here is 8",
        "the form is `cp.async.cg.shared.global{.prefetch} [a], [b], size`",
    ),
    "cp.async.bulk.shared::cluster.global.mbarrier [%rd1], [%rd2], 16, [%rd3];": (
        "illegal-form",
        "no .mbarrier for cp.async.bulk",
        "did you mean cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes?",
    ),
    "mbarrier.init.shared.b32 [%rd1], 1;": (
        "illegal-form",
        "no .b32 for mbarrier.init",
        "did you mean mbarrier.init.shared.b64?",
    ),
    "atom.global.add.s64 %rd1, [%rd2], %rd3;": (
        "illegal-form",
        "no atom.global.add.s64: .s64 does not go with the other modifiers",
        "did you mean atom.global.add.s32?",
    ),
    "red.global.max.f32 [%rd1], %f1;": (
        "illegal-form",
        "no red.global.max.f32: .f32 does not go with the other modifiers",
        "did you mean red.global.max.u32?",
    ),
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd1], 64;": (
        "wrong-target",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: needs target sm_100f, sm_110f, the module says sm_90a",
        "write .target sm_100f or sm_110f",
    ),
    "ex2.f32 %f1, %f2;": ("illegal-form", "ex2.f32 lacks .approx", "did you mean ex2.approx.f32?"),
    "barrier.cluster.arive;": ("illegal-form", "no .arive for barrier", "did you mean barrier.cluster.arrive?"),
    "mov.u32 %r1, %tid;": (
        "operand-mismatch",
        "operand a is the vector %tid; write one of its components, such as %tid.x",
        "the form is `mov.type d, a`",
    ),
    "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 120;": (
        "operand-mismatch",
        "operand n must be a multiple of 16, here is 120",
        "the form is `cp.async.bulk{.weak}.global.shared::cta.bulk_group [a], [b], n`",
    ),
    "cp.async.wait_al;": ("illegal-form", "no .wait_al for cp.async", "did you mean cp.async.wait_all?"),
    "cp.async.ca.shared.global [%rd1], [%rd2], 2;": (
        "operand-mismatch",
        "operand size must be one of 4, 8, 16, here is 2",
        "the form is `cp.async.ca.shared.global{.prefetch} [a], [b], size`",
    ),
    "fence.proxy.asinc;": ("illegal-form", "no .asinc for fence.proxy", "did you mean fence.proxy.async?"),
    "cvt.rn.e4m3x2.f16 %h1, %x1;": (
        "illegal-form",
        "no cvt.rn.e4m3x2.f16: .f16 does not go with the other modifiers",
        "did you mean cvt.rn.f16x2.e4m3x2?",
    ),
    "ld.relaxed.global.f32 %f1, [%rd1];": (
        "illegal-form",
        "ld.relaxed.global.f32: .relaxed needs a scope (.cta, .cluster, .gpu or .sys)",
        None,
    ),
}


@pytest.mark.parametrize("statement", TEXTS)
def test_refusal(statement):
    findings = check(f"{BEFORE}{statement}\nret; }}")
    assert [(finding.name, finding.message, finding.help) for finding in findings] == [TEXTS[statement]]
    assert findings[0].line == 6


def test_what_is_suggested_is_legal():
    """Every opcode that a help names binds, or is refused for its operands only."""
    for statement, (_, _, help_text) in TEXTS.items():
        if help_text and help_text.startswith("did you mean "):
            opcode = help_text[len("did you mean ") : -1]
            for finding in check(f"{BEFORE}{opcode} {statement.partition(' ')[2] or ';'}\nret; }}"):
                assert finding.name == "operand-mismatch", f"{statement} suggests {opcode}: {finding.message}"


@pytest.mark.parametrize(
    "opcode, called, meant",
    [
        ("mbarrier.inti.b64", "mbarrier.inti", "mbarrier.init"),
        ("wgmma.mma_asnyc.sync.aligned.m64n8k16.f32.f16.f16", "wgmma.mma_asnyc", "wgmma.mma_async"),
        ("ldd.global.u32", "ldd", "ld"),
        ("tcgen5.alloc", "tcgen5", "tcgen05.alloc"),
    ],
)
def test_a_misspelt_name_is_told_as_far_as_it_is_none(opcode, called, meant):
    (finding,) = check(f"{BEFORE}{opcode} %r1;\nret; }}")
    assert finding.message == f"no instruction is called {called}" and finding.help == f"did you mean {meant}?"


def test_a_special_register_of_other_targets_says_which_to_write():
    text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r1; mov.u32 %r1, %cluster_ctarank; ret; }"
    (finding,) = check(text)
    assert (finding.name, finding.help) == ("wrong-target", "write .target sm_90")

"""The rules of wgmma as a user meets them: what is found of fences, groups, registers in flight and descriptors."""

import pytest

import ptxsim
from tests.helpers import launch, names, same_on_both

KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {{
    .reg .pred %p;
    .reg .b32 %t, %s, %o, %one, %n, %a<4>, %w<4>;
    .reg .b64 %out, %x, %da, %db;
    .reg .f32 %d<4>, %e<4>;
    .shared .align 1024 .b8 tiles[4096];
    .shared .align 1024 .b8 rest[4096];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %x, %t, 4;
    add.s64 %out, %out, %x;
    mov.u32 %s, tiles;
    shl.b32 %o, %t, 6;
    add.u32 %o, %o, %s;
    mov.u32 %one, 0x3c003c00;
    st.shared.v4.b32 [%o], {{%one, %one, %one, %one}};
    st.shared.v4.b32 [%o+16], {{%one, %one, %one, %one}};
    st.shared.v4.b32 [%o+32], {{%one, %one, %one, %one}};
    st.shared.v4.b32 [%o+48], {{%one, %one, %one, %one}};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    shr.u32 %n, %s, 4;
    cvt.u64.u32 %x, %n;
    or.b64 %da, %x, 0x0000001000080000;
    add.s64 %x, %x, 128;
    or.b64 %db, %x, 0x0000001000080000;
    mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;
    mov.f32 %e0, 0f00000000; mov.f32 %e1, %d0; mov.f32 %e2, %d0; mov.f32 %e3, %d0;
    mov.b32 %a0, %one; mov.b32 %a1, %one; mov.b32 %a2, %one; mov.b32 %a3, %one;
{body}
    ret;
}}
"""
FENCE, COMMIT = "wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n"
WAIT, WAIT1 = "wgmma.wait_group.sync.aligned 0;\n", "wgmma.wait_group.sync.aligned 1;\n"
STORE_D, STORE_E = "st.global.f32 [%out], %d0;\n", "st.global.f32 [%out], %e0;\n"


def mma(d="d", a="%da", b="%db", scale_d=1):
    major = ", 0" if a.startswith("{") else ", 0, 0"
    accumulators = ", ".join(f"%{d}{i}" for i in range(4))
    return f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{accumulators}}}, {a}, {b}, {scale_d}, 1, 1{major};\n"


REGISTERS = "{%a0, %a1, %a2, %a3}"
WHOLE = FENCE + mma() + COMMIT + WAIT + STORE_D
TWO_GROUPS = FENCE + mma() + COMMIT + mma("e") + COMMIT


def descriptor(field: str) -> str:
    """%db with something changed."""
    return f"{field}\n" + WHOLE


# What the body is, and what must be found; the plain mistakes are in tests/cases/wgmma.
CASES = {
    "a whole product": (WHOLE, []),
    "accumulators again without a fence": (FENCE + mma() + mma() + COMMIT + WAIT + STORE_D, []),
    "other accumulators while some are in flight": (TWO_GROUPS + WAIT + STORE_D + STORE_E, []),
    "a group and then another": (FENCE + mma() + COMMIT + WAIT + mma() + COMMIT + WAIT + STORE_D, []),
    "accumulators that are not read need no fence": (
        FENCE + "mov.f32 %d1, 0f3f800000;\n" + mma(scale_d=0) + COMMIT + WAIT + STORE_D, [],
    ),
    "an A register written after the fence": (
        FENCE + "mov.b32 %a2, 0x3c004000;\n" + mma(a=REGISTERS) + COMMIT + WAIT + STORE_D, ["missing-wgmma-fence"],
    ),
    "a copy, after the fence, of what was written before it": (
        "mov.b32 %n, 0x3c004000;\n" + FENCE + "mov.b32 %t, %n;\nmov.b32 %a2, %t;\n" + mma(a=REGISTERS) + COMMIT + WAIT + STORE_D, [],
    ),
    "a copy of what was written after the fence": (
        FENCE + "add.u32 %n, %t, 77;\nmov.b32 %a2, %n;\n" + mma(a=REGISTERS) + COMMIT + WAIT + STORE_D, ["missing-wgmma-fence"],
    ),
    "a wait that leaves the group": (FENCE + mma() + COMMIT + WAIT1 + STORE_D, ["missing-wait"]),
    "the first of two groups": (TWO_GROUPS + WAIT1 + STORE_D + WAIT, []),
    "the second of two groups": (TWO_GROUPS + WAIT1 + STORE_E + WAIT, ["register-in-flight"]),
    "an empty group counts": (FENCE + mma() + COMMIT + COMMIT + WAIT1 + STORE_D, []),
    "an A register after the wait": (
        FENCE + mma(a=REGISTERS) + COMMIT + WAIT + "mov.b32 %a1, 0;\n" + STORE_D, [],
    ),
    "descriptors that differ between the warps": (
        "shr.u32 %n, %t, 5;\ncvt.u64.u32 %x, %n;\nadd.s64 %db, %db, %x;\n" + WHOLE, ["divergent-aligned"],
    ),
    "a descriptor that differs between lanes": (
        "and.b32 %n, %t, 1;\ncvt.u64.u32 %x, %n;\nadd.s64 %db, %db, %x;\n" + WHOLE, ["operands-not-uniform"],
    ),
    "reserved bits": (descriptor("or.b64 %db, %db, 0x4000;"), ["descriptor-invalid"]),
    "a base offset without a swizzle": (descriptor("or.b64 %db, %db, 0x0002000000000000;"), ["descriptor-invalid"]),
    "a swizzled tile that starts in the middle of its pattern": (
        descriptor("or.b64 %db, %db, 0x4000000000000000;\nadd.s64 %db, %db, 8;"), ["swizzle-start"],
    ),
    "the same with the base offset that says so": (
        descriptor("or.b64 %db, %db, 0x4002000000000000;\nadd.s64 %db, %db, 8;"), [],
    ),
    "a stride into the next variable": (
        descriptor("add.s64 %db, %db, 0x900000;"), ["descriptor-past-tile"],
    ),
    "a stride out of shared memory": (
        descriptor("add.s64 %db, %db, 0x3f000000;"), ["out-of-bounds"],
    ),
}  # fmt: skip


@pytest.mark.thin(5)
@pytest.mark.thin(5)
@pytest.mark.parametrize("name", CASES)
def test_what_is_found(name, engine):
    body, expected = CASES[name]
    out = ptxsim.zeros((128,), "f32")
    run = launch(KERNEL.format(body=body), [out], block=128, engine=engine, checks="all")
    assert sorted(set(names(run.findings, "error", "warning"))) == expected, [
        (f.name, f.line, f.message) for f in run.findings
    ]


@pytest.mark.parametrize("body", [FENCE + mma() + COMMIT + WAIT1 + STORE_D, TWO_GROUPS + WAIT1 + STORE_E + WAIT])
def test_a_wait_that_lets_groups_go_on_is_named(body, engine):
    run = launch(KERNEL.format(body=body), [ptxsim.zeros((128,), "f32")], block=128, engine=engine, checks="all")
    (finding,) = run.findings
    assert "wgmma.wait_group.sync.aligned 1 at line " in finding.help
    assert "returns while the newest group goes on" in finding.help


def test_the_seed_chooses_when_shared_memory_is_read():
    """Threads that write into the tile before they wait: the product has read the old numbers or the new ones."""
    change = "mov.u32 %one, 0;\nst.shared.v4.b32 [%o], {%one, %one, %one, %one};\n"
    text = KERNEL.format(body=FENCE + mma() + COMMIT + change + WAIT + STORE_D)

    def sums(engine):
        outs = [ptxsim.zeros((128,), "f32") for _ in range(12)]
        for seed, out in enumerate(outs):
            launch(text, [out], block=128, engine=engine, seed=seed, checks="none")
        return [float(out[0]) for out in outs]

    found = set(same_on_both(sums))
    assert len(found) > 1 and found <= {0.0, 4.0, 8.0, 12.0, 16.0}

"""Registers that are read before they are written: on no path, on one of two, and whether it shows."""

import numpy as np
import pytest

from tests.helpers import SAMPLES, launch, names, run_text

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 D)
{
    .reg .b32 %r<8>; .reg .b64 %rd<2>; .reg .f32 %f<4>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [D];
    mov.u32 %r1, 0;
"""
TAIL = "\n    ret;\n}\n"
LOOP = "LOOP: {} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5; @%p1 bra LOOP; "

# What a kernel does, and the registers reported of it.
BODIES = {
    "add.u32 %r2, %r1, %r3; st.global.u32 [%rd1], %r2;": {"%r3"},
    # A sum that was never set to zero: zero it is here, and garbage on a GPU.
    LOOP.format("add.u32 %r2, %r2, %r1;") + "st.global.u32 [%rd1], %r2;": {"%r2"},
    "mov.u32 %r2, 0; " + LOOP.format("add.u32 %r2, %r2, %r1;") + "st.global.u32 [%rd1], %r2;": set(),
    LOOP.format("fma.rn.f32 %f1, %f1, %f1, 0f3F800000;") + "st.global.f32 [%rd1], %f1;": {"%f1"},
    # Two of them, of which one is thrown away.
    LOOP.format("add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, %r1;") + "st.global.u32 [%rd1], %r2;": {"%r2"},
    LOOP.format("add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, %r1;") + "st.global.v2.u32 [%rd1], {%r2, %r3};": {"%r2", "%r3"},
    LOOP.format("add.u32 %r2, %r2, %r1;"): set(),
    # One way sets it; the other is never taken, or it is.
    "setp.ne.u32 %p2, %r1, 0; @%p2 bra OVER; mov.u32 %r2, 3; OVER: st.global.u32 [%rd1], %r2;": set(),
    "setp.eq.u32 %p2, %r1, 0; @%p2 bra OVER; mov.u32 %r2, 3; OVER: st.global.u32 [%rd1], %r2;": {"%r2"},
    # A bound that was never set: the loop ends at once, or never.
    "LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; mov.u32 %r2, 3; @%p1 bra LOOP; st.global.u32 [%rd1], %r1;": {"%r2"},
    "LOOP: @%p2 bra OUT; add.u32 %r1, %r1, 1; setp.eq.u32 %p2, %r1, 4; bra LOOP; OUT: st.global.u32 [%rd1], %r1;": {"%p2"},
}  # fmt: skip


def reported(body, engine, **options):
    out = np.zeros(4, np.uint32)
    run = launch(HEAD + body + TAIL, [out], engine=engine, **options)
    assert all((f.name, f.level) == ("uninitialized-read", "error") for f in run.findings)
    return {f.message.split()[1] for f in run.findings}, out


@pytest.mark.parametrize("body", BODIES)
def test_registers_that_nobody_has_written_are_reported_where_they_show(body, engine):
    assert reported(body, engine)[0] == BODIES[body]


def test_results_are_those_of_registers_that_hold_zero():
    body = LOOP.format("add.u32 %r2, %r2, %r1;") + "red.global.add.u32 [%rd1], %r2;"
    registers, out = reported(body, "compiled", banks=False)
    assert registers == {"%r2"} and out[0] == 320
    assert reported(body, "compiled", checks="none")[0] == set()


def test_an_address_that_nobody_has_written_is_told_beside_the_fault(engine):
    text = (
        HEAD.replace(".reg .b64 %rd<2>", ".reg .b64 %rd<3>")
        + "ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd1], %r2;"
        + TAIL
    )
    result = run_text("// ptxsim: launch block=32\n// ptxsim: arg D = zeros(32):u32\n" + text, engine=engine)
    assert names(result.findings) == ["out-of-bounds", "uninitialized-read"]
    assert "%rd2" in result.findings[1].message


PRODUCT = SAMPLES / "wgmma_m64n64k16.ptx"


@pytest.mark.parametrize(
    ("scale", "expected"),
    [("setp.ne.b32", []), ("setp.eq.b32", ["uninitialized-read"])],  # false: D = A B; true: D += A B, and D is garbage
)
def test_accumulators_of_wgmma_are_set_where_it_adds_to_them(scale, expected, engine):
    text = PRODUCT.read_text().replace("setp.ne.b32     %accumulate", f"{scale}     %accumulate")
    result = run_text(text, engine=engine)
    assert names(result.findings) == expected
    assert all("adds to accumulators that nothing has written, %d0 first" in f.message for f in result.findings)

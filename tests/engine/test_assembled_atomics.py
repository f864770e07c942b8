"""What the assembler makes of atomics on shared memory: as ptxas 13.0 has it for sm_90, on these very statements."""

from __future__ import annotations

import pytest

from ptxsim.checks.lowered import lowered_accesses
from ptxsim.engine.analysis.assembled_atomics import Assembled, assembled_atomics
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.model.trace import Tracer
from tests.profile.kernels import kernel

COUNTED, REDUCED = Assembled.COUNTED, Assembled.REDUCED
BEGIN = """.shared .align 16 .b8 cells[4096];
ld.param.u64 %d0, [place]; ld.param.u32 %r1, [n]; mov.u32 %r0, %tid.x; mov.u32 %r2, cells;
mad.lo.u32 %r20, %r0, 4, %r2;
"""
AT = "add.s32 %r5, %r2, %r3; red.shared.add.u32 [%r5], %r0;"
LOOP = "add.s32 %r5, %r5, 4; add.s32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, {}; @%p0 bra again;"


@pytest.mark.parametrize(
    "body, how",
    [
        # the constant 1
        ("atom.shared.add.u32 %r9, [%r20], 1;", COUNTED),
        ("red.shared.inc.u32 [%r20], -1;", COUNTED),
        ("red.shared.inc.u32 [%r20], 7;", None),
        ("red.shared.add.s32 [%r20], 1;", None),
        ("red.shared.add.u32 [%r20], 2;", None),
        ("mov.u32 %r7, 1; red.shared.add.u32 [%r20], %r7; mov.u32 %r7, %r0; st.global.u32 [%d0], %r7;", COUNTED),
        ("mov.u32 %r7, %r0; red.shared.add.u32 [%r20], %r7; mov.u32 %r7, 1; st.global.u32 [%d0], %r7;", None),
        ("atom.shared.add.u32 %r9, [%r2], 1; add.s32 %r10, %r9, 3;", COUNTED),  # a use that is dead
        ("atom.shared.add.u32 %r9, [%r20], 1; st.global.u32 [%d0], %r9;", None),
        ("atom.shared.add.u32 %r9, [%r2], 1; st.global.u32 [%d0], %r9;", REDUCED),
        # operations
        ("red.shared.max.s32 [%r2], %r0;", REDUCED),
        ("red.shared.xor.b32 [%r2], %r0;", REDUCED),
        ("red.shared.add.f32 [%r2], %f0;", None),
        ("atom.shared.add.u32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", REDUCED),
        ("atom.shared.min.s32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", None),
        ("atom.shared.exch.b32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", None),
        # addresses
        ("mov.u32 %r3, %ctaid.x;" + AT, REDUCED),
        ("setp.gt.u32 %p0, %r1, 4; selp.b32 %r3, 16, 32, %p0;" + AT, REDUCED),
        ("lop3.b32 %r3, %r1, 60, 64, 0xEA;" + AT, REDUCED),
        ("mul24.lo.u32 %r3, %r1, 4;" + AT, REDUCED),
        ("popc.b32 %r3, %r1;" + AT, REDUCED),
        ("mov.u32 %r3, %tid.y;" + AT, None),
        ("mov.u32 %r3, %warpid;" + AT, REDUCED),
        ("ld.shared.u32 %r3, [%r2];" + AT, REDUCED),
        ("ld.global.u32 %r3, [%d0];" + AT, REDUCED),
        ("ld.shared.u32 %r3, [%r20];" + AT, None),
        ("redux.sync.add.s32 %r3, %r0, -1;" + AT, REDUCED),
        ("setp.gt.u32 %p0, %r0, 4; vote.sync.ballot.b32 %r3, %p0, -1;" + AT, REDUCED),
        ("setp.gt.u32 %p0, %r1, 4; mov.u32 %r3, 4; @%p0 add.s32 %r3, %r3, 16;" + AT, REDUCED),
        ("setp.gt.u32 %p0, %r0, 4; mov.u32 %r3, 4; @%p0 add.s32 %r3, %r3, 16;" + AT, None),
        ("setp.gt.u32 %p0, %r0, 4; @%p0 red.shared.add.u32 [%r2], %r0;", REDUCED),
        # branches and loops
        ("setp.gt.u32 %p0, %r1, 4; mov.u32 %r3, 0; @%p0 bra over; mov.u32 %r3, 16; bar.sync 0; over:" + AT, REDUCED),
        ("setp.gt.u32 %p0, %r0, 4; mov.u32 %r3, 0; @%p0 bra over; mov.u32 %r3, 16; membar.gl; over:" + AT, None),
        ("mov.u32 %r3, 0; mov.u32 %r5, %r2; again: red.shared.add.u32 [%r5], %r0;" + LOOP.format("%r1"), REDUCED),
        ("mov.u32 %r3, 0; mov.u32 %r5, %r2; again: red.shared.add.u32 [%r5], %r0;" + LOOP.format("%r0"), None),
        # a register that is used again
        ("mov.u32 %r5, %r2; red.shared.add.u32 [%r5], %r0; shl.b32 %r5, %r0, 2; st.global.u32 [%d0], %r5;", REDUCED),
        ("mov.u32 %r5, %r20; red.shared.add.u32 [%r5], %r0; mov.u32 %r5, %r2; st.global.u32 [%d0], %r5;", None),
    ],
)
def test_an_atomic_is_what_the_assembler_makes_of_it(body, how):
    program = kernel(BEGIN + body).program("sm_90a")
    (op,) = [op for op in program.ops if op.family == "atomic"]
    assert assembled_atomics(program).get(op.site) is how
    # The bank counter and the cycle model ask the same function.
    counted = lowered_accesses(program).get(op.site)
    assert counted == (how.value if how else "spin" if str(op.words["type"]) == "f32" else None)
    assert Tracer(merged(program), 1, 1, 1).assembled.get(op.site) is how


def test_results_that_are_looked_at_are_needed():
    program = kernel(BEGIN + "atom.shared.add.u32 %r9, [%r20], 1;").program("sm_90a")
    assert list(assembled_atomics(program).values()) == [COUNTED]
    assert assembled_atomics(program, True) == {}

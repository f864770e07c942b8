"""What the assembler makes of atomics: as ptxas 13.0 has it for sm_90, on these very statements."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.engine.analysis.ptxas.accesses import Assembled, assembled_accesses
from ptxsim.instructions.atomic import HALF, OPERATIONS, PACKED
from ptxsim.profile.lowering.regions import merged
from tests.profile.kernels import kernel

COUNTED, REDUCED, SPIN = Assembled.COUNTED, Assembled.REDUCED, Assembled.SPIN
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
        ("red.shared.add.f32 [%r2], %f0;", SPIN),
        ("red.add.f32 [%d1], %f0;", SPIN),
        ("red.global.add.f32 [%d1], %f0;", None),
        ("atom.shared.add.u32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", REDUCED),
        ("atom.shared.min.s32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", None),
        ("atom.shared.exch.b32 %r9, [%r2], %r0; st.global.u32 [%d0], %r9;", None),
        # other memory
        ("red.global.add.u32 [%d0], 1;", REDUCED),
        ("red.global.add.u32 [%d0], %r0;", REDUCED),
        ("red.add.u32 [%d0], 1;", REDUCED),
        ("red.release.gpu.global.add.u32 [%d0], 1;", REDUCED),
        ("red.global.or.b32 [%d0], %r0;", REDUCED),
        ("red.global.inc.u32 [%d0], 7;", None),
        ("atom.global.inc.u32 %r9, [%d0], -1; st.global.u32 [%d0+4], %r9;", REDUCED),
        ("atom.global.add.u32 %r9, [%d0], %r0; st.global.u32 [%d0+4], %r9;", REDUCED),
        ("atom.global.max.u32 %r9, [%d0], %r0; st.global.u32 [%d0+4], %r9;", None),
        ("red.global.add.u64 [%d0], 1;", REDUCED),
        ("red.global.add.u64 [%d0], %d0;", REDUCED),
        ("cvt.u64.u32 %d1, %r0; red.global.add.u64 [%d0], %d1;", None),
        ("red.global.max.u64 [%d0], 1;", None),
        ("red.shared.add.u64 [%r2], 1;", SPIN),
        ("cvt.u64.u32 %d1, %r20; add.u64 %d1, %d0, %d1; red.global.add.u32 [%d1], 1;", None),
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
    assert assembled_accesses(program).get(op.site) is how
    assert assembled_accesses(merged(program)).get(op.site) is how


def test_results_that_are_looked_at_are_needed():
    program = kernel(BEGIN + "atom.shared.add.u32 %r9, [%r20], 1;").program("sm_90a")
    assert list(assembled_accesses(program).values()) == [COUNTED]
    assert assembled_accesses(program, True) == {}


ATOMICS = [
    *((operation, word.split("@")[0]) for operations, types in OPERATIONS for operation in operations.split() for word in types.split()),
    *(("add.noftz", word.split("@")[0]) for word in f"{HALF} {PACKED}".split()),
]  # fmt: skip
REGISTERS = ".reg .b16 %h<3>; .reg .b128 %q<3>; .reg .b64 %e<3>;"
VALUES = {"b16": "%h", "f16": "%h", "bf16": "%h", "f32": "%f", "b128": "%q"}
LANES_AT = "mov.u32 %r0, %tid.x; mov.u32 %r1, cells; mad.lo.u32 %r2, %r0, {}, %r1; cvt.u64.u32 %d0, %r2; cvta.shared.u64 %d2, %d0;"


@pytest.mark.thin(7)
@pytest.mark.parametrize("operation, type", ATOMICS)
def test_bank_counts_and_the_cycle_model_agree_on_every_atomic_of_shared_memory(operation, type):
    """In words of their own, on one word, and on every eighth; by addresses in shared memory and by generic ones."""
    value = VALUES.get(type, "%r" if type.endswith(("32", "x2")) else "%e")
    result, operands = f"{value}{3 if value == '%r' else 0}", f"{value}{4 if value == '%r' else 1}"
    if operation == "cas":
        operands += f", {operands}"
    body = ".shared .align 16 .b8 cells[4096];\n"
    for stride in (16, 0, 128):
        body += LANES_AT.format(stride) + "\n"
        for space, address in ((".shared", "[%r2]"), ("", "[%d2]")):
            body += f"atom{space}.{operation}.{type} {result}, {address}, {operands};\n"
            if operation not in ("exch", "cas"):
                body += f"red{space}.{operation}.{type} {address}, {operands};\n"
    run = kernel(body, REGISTERS).launch(
        1, 32, [np.zeros(4, np.uint32), 0], banks=True, profile=True, engine="interpreter", checks="none"
    )
    assert run.banks.wavefronts == run.cycles.memory["shared_wavefronts"] > 0


@pytest.mark.parametrize(
    "atomic, wavefronts",
    [
        ("red.shared.add.f32 [cells], %f0;", 96),
        ("cvta.shared.u64 %d1, cells; red.add.f32 [%d1], %f0;", 96),
        ("mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 2; red.shared.add.f32 [%r0+1024], %f0;", 3),
        ("atom.shared.cas.b16 %h0, [cells], %h1, %h1;", 65),
        ("mov.u32 %r0, %tid.y; red.shared.add.u32 [%r0+1024], 1;", 1),
        ("red.shared.max.s32 [cells], %r0;", 1),
    ],
)
def test_atomics_cost_the_cycle_model_what_they_are_counted_as(atomic, wavefronts):
    run = kernel(".shared .align 16 .b8 cells[4096];" + atomic, REGISTERS).launch(
        1, 32, [np.zeros(4, np.uint32), 0], banks=True, profile=True, engine="interpreter", checks="none"
    )
    assert run.banks.wavefronts == run.cycles.memory["shared_wavefronts"] == wavefronts

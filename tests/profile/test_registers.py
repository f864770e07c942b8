"""How many registers a thread takes: what ptxas 13.0 says of the same statements for sm_90a."""

from __future__ import annotations

import pytest

from ptxsim.profile.lowering.halves import narrow, upper_halves
from ptxsim.profile.lowering.lower import Lowering, lower, registers_of
from ptxsim.profile.lowering.regions import merged
from tests.profile.kernels import kernel, lowered

IDS = "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [place]; mul.wide.u32 %d1, %r0, 4; add.s64 %d2, %d0, %d1; "
SUMS = "".join(f"redux.sync.add.u32 %r{i}, %r{i - 1}, -1; st.global.u32 [%d2+{4 * i}], %r{i};" for i in range(1, 9))
LITERALS = "".join(f"st.global.u32 [%d2+{4 * i}], {i};" for i in range(1, 8))
FACTORS = "".join(f"ld.global.u32 %r{i}, [%d2+{4 * i}];" for i in range(10, 16))
SUMMANDS = "".join(f"ld.global.f32 %f{i}, [%d2+{128 + 4 * i}];" for i in range(4))
PRODUCT = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, "
    "{%f0, %f1, %f2, %f3};" + "".join(f"st.global.f32 [%d2+{256 + 4 * i}], %f{i};" for i in range(4))
)
SUMS_32 = ", ".join(f"%f{i}" for i in range(32))
WARPGROUP = (
    "ld.global.u64 %d3, [%d2]; ld.global.u64 %d4, [%d2+8];" + "".join(f"mov.f32 %f{i}, 0f00000000;" for i in range(32))
    + f"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{SUMS_32}}}, %d3, %d4, 1, 1, 1, 0, 0; "
    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    + "".join(f"st.global.f32 [%d2+{4 * i}], %f{i};" for i in range(32))
)  # fmt: skip
ROOT = "ld.global.f32 %f0, [%d2]; sqrt.rn.f32 %f1, %f0; st.global.f32 [%d2], %f1;"
CALL = "call (%r1), f, (%r0); st.global.u32 [%d2], %r1;"
ONCE = ".func (.reg .b32 %o) f(.reg .b32 %a) { mad.lo.u32 %o, %a, %a, 7; ret; }"
SPLIT = "".join(f"mov.b32 {{%h{2 * i}, %h{2 * i + 1}}}, %r{10 + i};" for i in range(6))
JOINED = "".join(f"mov.b32 %r{10 + i}, {{%h{2 * i}, %h{2 * i + 1}}};" for i in range(6))
STORES = "".join(f"st.global.u32 [%d2+{64 + 4 * i}], %r{10 + i};" for i in range(6))
LONG = 160  # loads, and as many sums: more than the assembler looks ahead when it puts them in order
AGAIN = (
    ".func (.reg .b32 %o) f(.reg .b32 %a) { .reg .pred %p; .reg .b32 %b; setp.lt.u32 %p, %a, 2; mov.u32 %o, %a; @%p ret; "
    "sub.u32 %b, %a, 1; call (%o), f, (%b); mad.lo.u32 %o, %o, %a, 1; ret; }"
)


def by_rules(program, target):
    """What rules say, before the table corrects it."""
    lowering = Lowering(merged(program), target, 255)
    lowering.lower()
    return lowering.rules.estimate


@pytest.mark.parametrize(
    "body, before, said",
    [
        pytest.param("st.global.u32 [%d2], %r0;", "", 8, id="least"),
        pytest.param(SUMS, "", 22, id="stored values in odd registers, each in its own"),
        pytest.param(LITERALS, "", 20, id="stored constants too"),
        pytest.param(FACTORS + SUMMANDS + PRODUCT, "", 18, id="operands of a product side by side"),
        pytest.param(WARPGROUP, "", 58, id="what the products of a warpgroup add to begins at register 24"),
        pytest.param(ROOT, "", 12, id="a root holds registers of its own"),
        pytest.param(CALL, AGAIN, 24, id="a call that is left has the convention's registers"),
    ],
)
def test_registers_by_rules_are_those_that_the_assembler_says(body, before, said):
    assert by_rules(kernel(IDS + body, before=before).program("sm_90a"), "sm_90a") == said


def test_a_function_that_does_not_call_itself_becomes_part_of_its_caller():
    assert lowered(IDS + CALL, before=ONCE).registers < 24


def test_functions_that_the_kernel_does_not_reach_do_not_count():
    assert lowered(IDS + CALL, before=ONCE + AGAIN.replace(" f(", " g(").replace("f,", "g,")).registers < 24


@pytest.mark.parametrize("target, said", [("sm_90a", 22), ("sm_120a", 26)])
def test_from_sm_120_on_values_are_placed_as_they_come(target, said):
    pointers = "".join(f"ld.param.u64 %d{3 + i}, [p{i}];" for i in range(4))
    places = (
        "shl.b32 %r1, %r0, 1; and.b32 %r1, %r1, 62; shl.b32 %r2, %r0, 2; and.b32 %r2, %r2, 124; mul.wide.u32 %d7, %r1, 4; "
        "mul.wide.u32 %d9, %r2, 4; add.s64 %d8, %d4, %d7;" + "".join(f"add.s64 %d{i + 7}, %d{i}, %d9;" for i in (3, 5, 6))
    )  # fmt: skip
    loads = "".join(f"ld.global.nc.u32 %r{10 + i}, [%d10+{4 * i}];" for i in range(4))
    loads += "".join(f"ld.global.nc.u32 %r{14 + i}, [%d8+{4 * i}];" for i in range(2))
    loads += "".join(f"ld.global.f32 %f{i}, [%d12+{4 * i}];" for i in range(4))
    body = "mov.u32 %r0, %tid.x;" + pointers + places + loads + PRODUCT.replace("[%d2", "[%d13")
    parameters = ", ".join(f".param .u64 p{i}" for i in range(4))
    assert by_rules(kernel(body, parameters=parameters).program("sm_90a"), target) == said


def test_both_halves_of_a_word_are_in_one_register():
    words, halves = (FACTORS + text + "bar.sync 0;" + after + STORES for text, after in (("", ""), (SPLIT, JOINED)))
    registers = [
        by_rules(kernel(IDS + body, ".reg .b16 %h<16>;").program("sm_90a"), "sm_90a") for body in (words, halves)
    ]
    assert registers[0] == registers[1]


def test_a_half_that_is_made_by_itself_has_its_own():
    apart = SPLIT.replace("mov.b32 {%h0, %h1}, %r10;", "cvt.u16.u32 %h0, %r10; cvt.u16.u32 %h1, %r11;")
    program = kernel(IDS + FACTORS + apart + JOINED + STORES, ".reg .b16 %h<16>;").program("sm_90a")
    assert len(upper_halves(Lowering(program, "sm_90a", 255))) == 5


def test_what_is_loaded_twice_takes_registers_once():
    once = FACTORS + PRODUCT.replace("{%f0, %f1, %f2, %f3};", "{%f4, %f5, %f6, %f7};", 1)
    again = "".join(f"ld.global.u32 %r{i + 10}, [%d2+{4 * i - 40}];" for i in range(10, 16))
    twice = FACTORS + again + PRODUCT.replace("{%r14, %r15}", "{%r24, %r25}")
    assert by_rules(kernel(IDS + SUMMANDS + twice).program("sm_90a"), "sm_90a") == by_rules(
        kernel(IDS + SUMMANDS + once).program("sm_90a"), "sm_90a"
    )


def test_loads_of_a_long_block_come_to_where_they_are_read():
    loads = "".join(f"ld.shared.u32 %v{i}, [%r0+{4 * i}];" for i in range(LONG))
    sums = "".join(f"xor.b32 %r1, %r1, %v{i}; mul.lo.u32 %r1, %r1, 77;" for i in range(LONG))
    body = f"{IDS} mov.u32 %r1, %r0; {loads} {sums} st.global.u32 [%d2], %r1;"
    assert by_rules(kernel(body, f".reg .b32 %v<{LONG}>;").program("sm_90a"), "sm_90a") < 40


@pytest.mark.parametrize(
    "body, count",
    [
        ("cvt.u64.u32 %d3, %r0; add.s64 %d4, %d2, %d3;", 1),
        ("shr.u64 %d3, %d2, 32; and.b64 %d5, %d2, 255; mad.lo.s64 %d4, %d3, %d5, %d2;", 2),
        ("cvt.s64.s32 %d3, %r0; add.s64 %d4, %d2, %d3;", 0),
        ("cvt.u64.u32 %d4, %r0;", 0),  # a store takes both halves
    ],
)
def test_a_half_that_is_zero_takes_no_register(body, count):
    program = kernel(IDS + body + "st.global.u64 [%d2], %d4;").program("sm_90a")
    assert len(narrow(Lowering(program, "sm_90a", 255))) == count


def test_a_loop_takes_the_registers_of_its_unrolled_copy():
    loop = (
        "mov.u32 %r1, 0; mov.u32 %r2, 0; ld.param.u32 %r3, [n]; L: ld.global.u32 %r4, [%d2]; ld.global.u32 %r5, [%d2+4096]; "
        "mad.lo.u32 %r2, %r4, %r5, %r2; add.s64 %d2, %d2, 128; add.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, %r3; @%p0 bra L; "
        "st.global.u32 [%d2], %r2;"
    )
    once = loop.replace("bra L", "bra M").replace("st.global", "M: st.global")
    assert lowered(IDS + loop).registers >= lowered(IDS + once).registers + 2


def test_a_loop_that_is_not_to_be_unrolled_takes_no_registers_of_copies():
    loop = (
        IDS + "mov.u32 %r1, 0; ld.param.u32 %r3, [n];\nL: .pragma \"nounroll\";\nld.global.u32 %r4, [%d2]; ld.global.u32 %r5, [%d2+4096];\n"
        "mad.lo.u32 %r2, %r4, %r5, %r2; add.s64 %d2, %d2, 128; add.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, %r3; @%p0 bra L; "
        "st.global.u32 [%d2], %r2;"
    )  # fmt: skip
    kept, unrolled = (kernel(text).program("sm_90a") for text in (loop, loop.replace("nounroll", "other")))
    assert registers_of(kept, "sm_90a") < registers_of(unrolled, "sm_90a")


def test_of_two_uniform_operands_one_is_in_a_register_and_so_is_a_parameter_from_where_its_block_first_runs():
    loop = (
        "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [place]; ld.param.u32 %r3, [n]; mov.u32 %r1, 0; mov.u32 %r2, %r0; L: redux.sync.add.u32 %r4, %r2, -1; "
        "bar.sync 0; add.u32 %r2, %r4, %r2; add.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, BOUND; @%p0 bra L; "
    )
    known = loop.replace("BOUND", "99") + "st.shared.u32 [%r0], %r2;"
    given = loop.replace("BOUND", "%r3") + "mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1], %r2;"
    assert lowered(given).registers > lowered(known).registers


def test_warps_that_give_registers_to_others_begin_with_all_that_a_thread_may_have():
    program = kernel("setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 232;").program("sm_90a")
    assert [lower(program, most=most).registers for most in (168, 255)] == [
        168,
        232,
    ]  # .maxntid 384, and 256, with .minnctapersm 1

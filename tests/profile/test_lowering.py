"""What PTX becomes: the counts are those of ptxas 13.0 for sm_90 on the same statements."""

from __future__ import annotations

import pytest

import ptxsim
from ptxsim.profile.lowering import lower
from ptxsim.profile.machine_code import Kind
from tests.profile.kernels import lowered, units

IDS = "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [place]; "
STORE = "st.global.u32 [%d0], %r9;"


@pytest.mark.parametrize(
    "body, expected",
    [
        ("add.s32 %r1, %r0, %r0; add.s32 %r9, %r1, %r0;", ["alu"]),  # IADD3
        ("mul.lo.s32 %r1, %r0, %r0; add.s32 %r9, %r1, %r0;", ["imad"]),
        ("and.b32 %r1, %r0, 12; or.b32 %r9, %r1, %r0;", ["alu"]),  # LOP3
        ("shl.b32 %r1, %r0, 4; add.s32 %r9, %r1, %r0;", ["alu"]),  # LEA
        ("add.s32 %r1, %r0, 4; max.s32 %r9, %r1, %r0;", ["alu"]),  # VIADDMNMX
        ("mov.b32 %r1, %r0; mov.b32 %r9, %r1;", []),
        ("and.b32 %r1, %r0, 3; xor.b32 %r2, %r1, %r0; xor.b32 %r9, %r2, %r1;", ["alu", "alu"]),  # %r1 is needed twice
    ],
)  # fmt: skip
def test_integer_pairs_fuse(body, expected):
    assert units(lowered(IDS + body + STORE)) == [*expected, "global"]


def test_modifiers_and_contraction_are_free():
    body = "cvt.rn.f32.s32 %f0, %r0; neg.f32 %f1, %f0; mul.f32 %f2, %f1, %f0; add.f32 %f3, %f2, %f0; st.global.f32 [%d0], %f3;"
    assert units(lowered(IDS + body)) == ["alu", "fma", "global"]


@pytest.mark.parametrize(
    "product, total, made",
    [
        ("mul.f32", "add.f32", ["fma"]),
        ("mul.f32", "add.sat.f32", ["fma"]),
        ("mul.sat.f32", "add.f32", ["fma", "fma"]),
        ("mul.ftz.f32", "add.f32", ["fma", "fma"]),
        ("mul.rn.f32", "add.f32", ["fma", "fma"]),
    ],
)
def test_a_sum_takes_the_product_that_it_takes_when_it_is_executed(product, total, made):
    body = f"cvt.rn.f32.s32 %f0, %r0; {product} %f2, %f0, %f0; {total} %f3, %f2, %f0; st.global.f32 [%d0], %f3;"
    assert units(lowered(IDS + body)) == ["alu", *made, "global"]


def test_an_address_is_one_multiply_add():
    body = "mul.wide.s32 %d1, %r0, 4; cvta.to.global.u64 %d2, %d0; add.s64 %d3, %d2, %d1; ld.global.u32 %r9, [%d3]; st.global.u32 [%d3], %r9;"
    assert units(lowered(IDS + body)) == ["imad.wide", "global", "global"]


@pytest.mark.parametrize(
    "body, made",
    [
        ("mul.lo.s64 %d4, %d2, %d3;", ["imad", "imad", "imad.wide", "alu"]),
        ("cvt.u64.u32 %d5, %r0; mul.lo.s64 %d4, %d2, %d5;", ["imad.wide", "imad"]),
        ("and.b64 %d3, %d3, 4294967295; shr.u64 %d2, %d2, 32; mul.lo.u64 %d4, %d2, %d3;", ["imad.wide", "alu"]),
        ("cvt.u64.u32 %d5, %r0; mul.lo.s64 %d4, %d5, 12345;", ["imad.wide", "alu"]),
        ("cvt.u64.u32 %d5, %r0; mul.lo.s64 %d4, %d2, %d5; add.s64 %d4, %d4, %d2;", ["imad.wide", "imad"]),
        ("cvt.u64.u32 %d5, %r0; mad.lo.s64 %d4, %d2, %d5, %d2;", ["imad.wide", "imad"]),
    ],
)
def test_a_product_of_64_bits_makes_no_halves_that_are_zero(body, made):
    loads = "mul.wide.u32 %d1, %r0, 8; add.s64 %d1, %d0, %d1; ld.global.u64 %d2, [%d1]; ld.global.u64 %d3, [%d1+64];"
    found = units(lowered(IDS + loads + body + "st.global.u64 [%d1], %d4;"))
    assert sorted(unit for unit in found if unit != "global") == sorted(["imad.wide", *made])


def test_an_address_and_a_constant_is_an_offset():
    body = "add.s64 %d1, %d0, 64; ld.global.u32 %r9, [%d1+4]; add.s64 %d0, %d0, 32; ld.global.u32 %r2, [%d0]; st.global.v2.u32 [%d0+8], {%r9, %r2};"
    assert units(lowered(IDS + body)) == ["global", "global", "global"]


def test_an_address_that_changes_before_its_access_is_a_sum():
    body = "again: add.s64 %d1, %d0, 64; add.s64 %d0, %d0, 32; ld.global.u32 %r9, [%d1]; setp.ne.s32 %p0, %r9, 0; @%p0 bra again; st.global.u32 [%d0], %r9;"
    made = [op.unit for block in lowered(IDS + body).blocks[:2] for op in block.ops if op.kind == Kind.PLAIN]
    assert len([unit for unit in made if unit in ("alu", "imad")]) > 3  # two sums of 64 bits are four


@pytest.mark.parametrize(
    "body, count",
    [
        ("and.b64 %d2, %d1, 2305843009213693951;", 1),
        ("and.b64 %d2, %d1, 0xffffffff;", 0),
        ("and.b64 %d2, %d1, 0xf0000000f;", 2),
        ("shr.u64 %d2, %d1, 61;", 1),
        ("shr.u64 %d2, %d1, 32;", 0),
        ("shl.b64 %d2, %d1, 3;", 2),
        ("shl.b64 %d3, %d1, 40; or.b64 %d2, %d3, %d1;", 2),
    ],
)
def test_operations_on_64_bits_are_one_for_each_half_that_is_not_known(body, count):
    found = lowered(IDS + "ld.global.u64 %d1, [%d0];" + body + "st.global.u64 [%d0], %d2;")
    assert units(found) == ["global", *["alu"] * count, "global"]


def test_a_comparison_that_others_combine_is_made_by_each():
    body = (
        "ld.global.v2.u32 {%r1, %r2}, [%d0]; setp.lt.s32 %p0, %r1, 4; setp.lt.s32 %p1, %r2, 4; setp.lt.s32 %p2, %r0, 9; "
        "or.pred %p3, %p0, %p1; or.pred %p0, %p2, %p3; and.pred %p1, %p2, %p3; selp.b32 %r1, 1, 2, %p0; selp.b32 %r2, 3, 4, %p1; add.s32 %r9, %r1, %r2;"
    )
    assert units(lowered(IDS + body + STORE)).count("predicate") == 3


def test_lanes_that_have_parted_meet_at_an_instruction():
    part = "setp.lt.s32 %p0, %r0, 9; @%p0 bra over; " + "atom.global.add.u32 %r1, [%d0], %r0; " * 2 + "over: "
    blocks = lowered(IDS + part + "bar.sync 0; st.global.u32 [%d0], %r0;").blocks
    assert [op.unit for op in blocks[0].ops if op.kind == Kind.PLAIN].count("branch") == 1
    assert (blocks[2].ops[0].unit, blocks[2].ops[0].kind) == ("branch", Kind.PLAIN)


@pytest.mark.parametrize("old, moved", [("st.global.u32 [%d0+8], %r1;", 0), ("", 1)])
def test_a_value_that_a_loop_hands_on_while_the_old_one_is_needed_is_moved(old, moved):
    late = "" if old else "st.global.u32 [%d0+8], %r1;"
    body = f"{old} ld.global.u32 %r2, [%d0+4]; {late} mov.u32 %r1, %r2; setp.ne.s32 %p0, %r2, 0; @%p0 bra again;"
    loop = lowered(IDS + f"ld.global.u32 %r1, [%d0]; again: {body} st.global.u32 [%d0], %r1;").blocks[1]
    assert len([op for op in loop.ops if op.kind == Kind.PLAIN]) == 1 + moved


def test_predicated_first_values_keep_nothing():
    body = "setp.lt.s32 %p0, %r0, 9; @%p0 bra one; mov.u32 %r9, 7; bra.uni all; one: add.s32 %r9, %r0, 5; all: "
    ops = [op for op in lowered(IDS + body + STORE).blocks[0].ops if op.predicates]
    assert [op.kept for op in ops][:1] == [()]


@pytest.mark.parametrize(
    "body",
    [
        "setp.lt.s32 %p0, %r0, 9; selp.b32 %r9, %r0, %r0, %p0;",
        "setp.lt.s32 %p0, %r0, 9; cvt.rn.f32.s32 %f0, %r0; selp.f32 %f1, %f0, %f0, %p0; mov.b32 %r9, %f1;",
        "cvt.rn.f32.s32 %f0, %r0; min.f32 %f1, %f0, %f0; max.ftz.f32 %f1, %f1, %f1; mov.b32 %r9, %f1;",
        "setp.lt.s32 %p0, %r0, 9; cvt.rn.f32.s32 %f0, %r0; @%p0 neg.f32 %f0, %f0; @!%p0 abs.f32 %f0, %f0; mov.b32 %r9, %f0;",
    ],
)
def test_operations_that_only_copy_or_change_a_sign_are_lowered(body):
    """Their effects are not those of their names (engine.analysis.ptxas.copies)."""
    assert units(lowered(IDS + body + STORE))[-1] == "global"


def test_what_nobody_reads_is_gone():
    assert units(lowered(IDS + "mul.lo.s32 %r1, %r0, 7; mov.b32 %r9, %r0;" + STORE)) == ["global"]


def test_a_comparison_takes_another_predicate_along():
    body = "setp.lt.s32 %p0, %r0, 7; setp.gt.s32 %p1, %r0, 1; and.pred %p2, %p0, %p1; selp.b32 %r9, 1, 2, %p2;"
    assert units(lowered(IDS + body + STORE)) == ["alu", "predicate", "alu", "global"]


def test_a_reused_name_is_no_dependence():
    machine = lowered(
        IDS
        + "ld.global.u32 %r1, [%d0]; add.s32 %r2, %r1, 1; ld.global.u32 %r1, [%d0+4]; add.s32 %r9, %r1, %r2;"
        + STORE
    )
    assert units(machine)[:2] == ["global", "global"]


def test_a_short_branch_becomes_predication():
    body = "setp.eq.s32 %p0, %r0, 0; mov.b32 %r9, %r0; @%p0 bra over; add.s32 %r9, %r0, 5; over:" + STORE
    machine = lowered(IDS + body)
    assert machine.blocks[0].absorbed
    assert not any(op.kind == Kind.BRANCH for block in machine.blocks for op in block.ops)


def test_a_counted_loop_is_unrolled_and_counts_once():
    body = "mov.u32 %r1, 64; again: ld.global.u32 %r2, [%d0]; add.s32 %r9, %r9, %r2; add.s32 %r1, %r1, -1; setp.ne.s32 %p0, %r1, 0; @%p0 bra again;"
    machine = lowered(IDS + "mov.u32 %r9, 0;" + body + STORE)
    (copies,) = machine.variants.values()
    four = machine.blocks[copies[0]]
    assert four.unroll == 4
    assert sum(op.unit == "global" for op in four.ops) == 4
    assert sum(op.kind == Kind.LOOP_BRANCH for op in four.ops) == 1
    assert [op.unit for op in four.ops[:4]] != ["global", "alu", "global", "alu"]  # loads go first


def test_a_step_that_is_not_constant_forbids_unrolling():
    body = "mov.u32 %r1, %ntid.x; again: add.s32 %r9, %r9, 3; add.s32 %r0, %r0, %r1; setp.lt.s32 %p0, %r0, 900; @%p0 bra again;"
    assert not lowered(IDS + "mov.u32 %r9, 0;" + body + STORE).variants


def test_division_is_a_sequence_that_loads_do_not_cross():
    body = "ld.global.f32 %f0, [%d0]; div.rn.f32 %f1, %f0, %f0; ld.global.f32 %f2, [%d0+4]; add.f32 %f3, %f1, %f2; st.global.f32 [%d0], %f3;"
    found = [op.unit if op.kind != Kind.CHECK else "check" for op in lowered(IDS + body).blocks[0].ops]
    assert found.count("mufu") == 1
    assert found.index("check") < len(found) - 1 - found[::-1].index("global")
    assert [unit for unit in found if unit in ("global", "check")][-3:] == ["check", "global", "global"] or found.count(
        "check"
    ) == 2


@pytest.mark.parametrize("count, unrolled", [(16, True), (24, False)])
def test_plain_loops_are_unrolled_while_they_are_short(count, unrolled):
    body = "fma.rn.f32 %f0, %f0, %f1, %f1;\n" * count
    loop = f"ld.param.u32 %r1, [n]; again: {body} add.s32 %r1, %r1, -1; setp.ne.s32 %p0, %r1, 0; @%p0 bra again; st.global.f32 [%d0], %f0;"
    assert bool(lowered(IDS + loop).variants) == unrolled


@pytest.mark.parametrize("count, unrolled", [(30, True), (34, False)])
def test_loads_from_shared_memory_make_longer_ones_worth_it(count, unrolled):
    body = "".join(f"ld.shared.f32 %f2, [%r2+{132 * i}]; fma.rn.f32 %f0, %f2, %f1, %f0;\n" for i in range(count))
    loop = f"mov.u32 %r2, %r0; ld.param.u32 %r1, [n]; again: {body} add.s32 %r1, %r1, -1; setp.ne.s32 %p0, %r1, 0; @%p0 bra again; st.global.f32 [%d0], %f0;"
    assert bool(lowered(IDS + loop).variants) == unrolled


def test_what_is_constant_is_folded():
    body = "mov.u32 %r1, 5; add.s32 %r2, %r1, 3; setp.ne.s32 %p0, %r2, 0; selp.b32 %r9, %r0, 0, %p0;"
    assert units(lowered(IDS + body + STORE)) == ["alu", "global"]


def test_descriptors_of_a_product_are_set_up_after_the_product_before():
    registers = ", ".join(f"%f{i}" for i in range(4))
    product = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{registers}}}, %d1, %d2, 1, 1, 1, 0, 0;"
    body = f"wgmma.fence.sync.aligned; {product} {product} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    made = units(lowered("ld.param.u64 %d1, [place]; mov.b64 %d2, %d1;" + body))
    assert made[: made.index("gmma") + 4] == ["nothing", "uniform", "uniform", "gmma", "uniform", "uniform", "gmma"]


def test_a_guarded_value_that_only_its_guard_reads_is_not_live_before():
    pairs = "".join(
        f"@%p0 ld.global.u32 %r{i}, [%d0+{4 * i}]; @%p0 st.global.u32 [%d0+{400 + 4 * i}], %r{i};" for i in range(1, 41)
    )
    made = lowered(IDS + f"setp.eq.u32 %p0, %r0, 3; loop: {pairs} @%p0 bra loop;")
    assert made.registers <= 32
    kept = "".join(f"st.global.u32 [%d0+{800 + 4 * i}], %r{i};" for i in range(1, 41))  # without the guard: all are
    made = lowered(IDS + f"setp.eq.u32 %p0, %r0, 3; loop: {pairs} @%p0 bra loop; {kept}")
    assert made.registers > 40


def test_registers_are_those_of_an_order_in_which_loads_wait_for_their_users():
    loads = "".join(f"ld.shared.u32 %r{i}, [%d0+{4 * i}];" for i in range(1, 61))
    sums = "".join(f"xor.b32 %r61, %r61, %r{i}; mul.lo.s32 %r61, %r61, %r61;" for i in range(1, 61))
    made = lowered(IDS + "mov.u32 %r61, %r0;" + loads + sums + "st.global.u32 [%d0], %r61;")
    assert made.registers <= 32


def test_a_program_is_lowered_once(monkeypatch):
    made, before = [], lower.Lowering.lower

    def counted(lowering):
        made.append(lowering)
        return before(lowering)

    monkeypatch.setattr(lower.Lowering, "lower", counted)
    kernel = ptxsim.Module.from_file("samples/mma_gemm_swizzled.ptx").kernel("gemm")
    a, b = ptxsim.ints((64, 64), "f16", seed=1), ptxsim.ints((64, 64), "f16", seed=2)
    runs = [kernel.launch(grid=1, block=128, args=[a, b, ptxsim.zeros((64, 64), "f32")], profile=1) for _ in range(2)]
    assert len(made) == 1 and int(runs[0].cycles) == int(runs[1].cycles)


def test_divisions_by_one_divisor_have_its_inverse_in_common():
    one = "div.s32 %r9, %r0, %r1;"
    other = f"{one} add.s32 %r2, %r0, 5; rem.s32 %r3, %r2, %r1; add.s32 %r9, %r9, %r3;"
    counts = [len(units(lowered(IDS + "ld.param.u32 %r1, [n];" + body + STORE))) for body in (one, other)]
    assert counts[0] == 24  # with the store
    assert counts[1] - counts[0] == 12 + 2
    assert [units(lowered(IDS + "ld.param.u32 %r1, [n];" + body + STORE)).count("mufu") for body in (one, other)] == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    "scale, offsets, bytes_",
    [
        (2, (0, 4), [0, 0]),  # words of which nothing says that they are aligned
        (3, (0, 4), [8]),
        (4, (0, 4, 8, 12), [16]),
        (4, (4, 8, 12), [0, 8]),
        (3, (4, 8), [0, 0]),
        (3, (0, 8), [0, 0]),
    ],
)
def test_words_side_by_side_are_one_access_to_shared_memory(scale, offsets, bytes_):
    loads = "".join(
        f"ld.shared.u32 %r{3 + k}, [%r2+{offset}]; add.s32 %r9, %r9, %r{3 + k};" for k, offset in enumerate(offsets)
    )
    body = f"mov.u32 %r9, 0; mov.u32 %r1, words; shl.b32 %r2, %r0, {scale}; add.s32 %r2, %r2, %r1; {loads}"
    machine = lowered(IDS + body + STORE, ".shared .align 16 .b8 words[4096];")
    assert sorted(op.bytes for op in machine.blocks[0].ops if op.unit == "shared") == bytes_


def test_of_a_parameter_that_a_register_points_to_no_line_is_known():
    body = "mov.b64 %d2, place; ld.param.u64 %d0, [%d2]; ld.param.u32 %r9, [%d2+8]; st.global.u32 [%d0], %r9;"
    machine = lowered(body)
    assert [op.constant for op in machine.blocks[0].ops if op.unit == "constant" and op.writes] == [0, 0]


def test_what_a_call_returns_comes_in_a_register_and_is_no_constant():
    text = """
    .version 8.4 .target sm_90a .address_size 64
    .extern .func (.param .b64 found) malloc (.param .b64 size);
    .visible .entry k(.param .u64 place) { .reg .b64 %d<4>;
      { .param .b64 size; .param .b64 found; st.param.b64 [size], 16; call.uni (found), malloc, (size); ld.param.b64 %d1, [found]; }
      ld.param.u64 %d0, [place]; st.global.b64 [%d0], %d1; ret; }
    """
    machine = lower.lowered(ptxsim.Module.from_text(text).kernel("k").program("sm_90a"), "sm_90a")
    reads = [op.constant for block in machine.blocks for op in block.ops if op.unit == "constant" and op.writes]
    assert len(reads) == 1 and all(0 <= op.constant < 1 << 11 for block in machine.blocks for op in block.ops)


def test_constants_by_index_side_by_side_are_read_in_pairs():
    loads = "".join(f"ld.const.u32 %r{3 + k}, [%d3+{4 * k}]; add.s32 %r9, %r9, %r{3 + k};" for k in range(4))
    body = f"mov.u32 %r9, 0; mov.u64 %d1, table; mul.wide.u32 %d2, %r0, 16; add.s64 %d3, %d1, %d2; {loads}"
    machine = lowered(IDS + body + STORE, "", ".const .align 16 .b8 table[4096];")
    assert [op.bytes for op in machine.blocks[0].ops if op.kind == Kind.ACCESS and op.space == "const"] == [8, 8]


def test_loads_stay_behind_a_shuffle_that_lanes_may_reach_one_after_the_other():
    """ptxas has another way through it for lanes that have parted (BRA.DIV), past which nothing is moved."""

    def order(compared: str) -> list[str]:
        body = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r9, [n]; mov.u32 %r0, %tid.x; setp.gt.u32 %p0, {compared}, 7; @%p0 bra out;
            ld.global.u32 %r1, [%d0]; add.u32 %r1, %r1, 1; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
            ld.global.u32 %r3, [%d0+64]; add.u32 %r3, %r3, %r2; st.global.u32 [%d0+128], %r3;
            st.global.u32 [%d0+132], %r0; st.global.u32 [%d0+136], %r2; st.global.u32 [%d0+140], %r1;\nout:"""
        found = [unit for unit in units(lowered(body), 1) if unit in ("global", "shuffle")]
        return found[:3]

    assert order("%r0") == ["global", "shuffle", "global"]
    assert order("%r9") == ["global", "global", "shuffle"]


def test_two_ways_become_predication_wherever_the_jump_to_the_second_stands():
    """`bra first; bra.uni second; first: ...; bra.uni out; second: ...; out:` is what NVVM makes of some."""
    body = """ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 7; @%p0 bra first; bra.uni second;
        first: mul.lo.u32 %r1, %r0, %r0; bra.uni out;
        second: add.u32 %r1, %r0, 3;
        out: st.global.u32 [%d0], %r1;"""
    found = units(lowered(body))
    assert "branch" not in found[:-1] and found.count("imad") >= 1 and "global" in found


@pytest.mark.parametrize(
    "arrival, fenced",
    [("release.cluster.shared::cluster", 1), ("shared::cluster", 0), ("release.cta.shared::cluster", 0)],
)
def test_an_arrival_that_releases_to_the_cluster_waits_for_a_fence_of_the_gpu(arrival, fenced):
    body = f"mov.u32 %r1, cells; mbarrier.arrive.{arrival}.b64 _, [%r1];"
    assert units(lowered(body, ".shared .b64 cells;")).count("fence") == fenced


def test_what_lanes_exchange_and_nobody_reads_is_gone():
    body = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; vote.sync.ballot.b32 %r2, 1, -1; st.global.u32 [%d0], %r0;"
    assert not {"shuffle", "vote"} & set(units(lowered(body)))


@pytest.mark.parametrize(
    "made, alu",
    [
        ("min.u32 %r3, %r1, %r2; max.u32 %r4, %r1, %r2; selp.b32 %r5, %r4, %r3, %p1;", 3),
        ("min.u32 %r3, %r1, %r2; max.u32 %r4, %r1, %r2; selp.b32 %r5, %r4, %r3, %p1; st.global.u32 [%d0+8], %r4;", 4),
        ("xor.b32 %r4, %r1, %r2; selp.b32 %r5, %r4, 0, %p1;", 3),
        ("xor.b32 %r4, %r1, %r2; selp.b32 %r5, %r1, %r4, %p1;", 2),
    ],
)
def test_what_is_made_for_a_choice_alone_is_made_under_its_predicate(made, alu):
    """As ptxas 13.0 does it; one is the comparison."""
    body = f"""ld.param.u64 %d0, [place]; ld.global.u32 %r1, [%d0]; ld.global.u32 %r2, [%d0+64]; ld.global.u32 %r6, [%d0+96];
        setp.gt.u32 %p1, %r6, 7; {made} st.global.u32 [%d0], %r5;"""
    assert units(lowered(body)).count("alu") == alu


CHAIN = "ld.global.u32 %r{0}, [%d{0}]; and.b32 %r{0}, %r{0}, 1020; cvt.u64.u32 %d{1}, %r{0}; add.s64 %d{1}, %d{1}, %d0;"


@pytest.mark.parametrize(
    "last, place",
    [
        ("ld.global.u32 %r8, [%d1+4096];", 1),  # its address is there from the begin
        ("mul.lo.s32 %r7, %r0, %r0; mul.wide.u32 %d7, %r7, 4; add.s64 %d7, %d7, %d0; ld.global.u32 %r8, [%d7];", 3),
    ],
)
def test_addresses_wait_for_the_longest_way(last, place):
    """A load that is needed at the end of a chain of loads goes as soon as its address is there, which is made no sooner than that has to be."""
    chain = "mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d1, %d0;" + "".join(CHAIN.format(k, k + 1) for k in range(1, 5))
    machine = lowered(IDS + chain + last + "xor.b32 %r9, %r8, %r4; st.global.u32 [%d0], %r9;")
    loads = [op for op in machine.blocks[0].ops if op.unit == "global" and op.writes]
    latest = max(loads, key=lambda op: op.site)
    assert loads.index(latest) == place

"""What ptxas 13.0 leaves out, and what it moves past barriers; each row is what it made of the same statements for sm_90a."""

from __future__ import annotations

import pytest

from ptxsim.profile.lowering.schedule import Budget, schedule
from ptxsim.profile.machine_code import Kind, MachineOp
from tests.profile.kernels import lowered, units

IDS = (
    "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d2, %d0, %d1;"
    "shl.b32 %r1, %r0, 2; mov.u32 %r2, row; add.s32 %r2, %r2, %r1;"
)
ROW = ".shared .align 16 .b8 row[4096];"
END = "mad.lo.s32 %r9, %r5, %r6, %r6; st.global.u32 [%d2+256], %r9;"


@pytest.mark.parametrize(
    ("between", "shared", "plain", "unwritten"),
    [
        ("", 1, 1, 1),
        ("st.global.u32 [%d2+1024], %r0;", 1, 2, 1),
        ("st.shared.u32 [%r2+64], %r0;", 2, 1, 1),
        ("red.global.add.u32 [%d2+1024], 1;", 1, 2, 1),
        ("bar.sync 0;", 2, 2, 1),
        ("bar.warp.sync -1;", 2, 2, 1),
    ],
)
def test_what_has_been_loaded_is_not_loaded_again(between, shared, plain, unwritten):
    for load, count in (
        ("ld.shared.u32 {}, [%r2+4];", shared),
        ("ld.global.u32 {}, [%d2+4];", plain),
        ("ld.global.nc.u32 {}, [%d2+4];", unwritten),
    ):
        body = load.format("%r3") + "add.s32 %r5, %r3, %r0;" + between + load.format("%r6") + END
        ops = [op for block in lowered(IDS + body, before=ROW).blocks for op in block.ops]
        assert sum(op.kind == Kind.ACCESS and bool(op.writes) for op in ops) == count, load


def test_what_an_address_named_before_it_changed_is_loaded():
    body = "ld.shared.u32 %r3, [%r2]; add.s32 %r2, %r2, %r3; ld.shared.u32 %r6, [%r2]; add.s32 %r5, %r3, %r0;"
    assert units(lowered(IDS + body + END, before=ROW)).count("shared") == 2


def test_turns_of_an_unrolled_loop_load_what_is_theirs():
    body = (
        "mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; LOOP: ld.global.nc.u32 %r3, [%d2]; xor.b32 %r6, %r6, %r3; add.s64 %d2, %d2, 4;"
        "add.s32 %r7, %r7, 1; setp.lt.s32 %p0, %r7, %r0; @%p0 bra LOOP; st.global.u32 [%d0], %r6;"
    )
    machine = lowered(IDS + body, before=ROW)
    (copies,) = machine.variants.values()
    assert [sum(op.unit == "global" for op in machine.blocks[copy].ops) for copy in copies] == [4, 2]


@pytest.mark.parametrize(
    ("load", "wall", "passes"),
    [
        ("ld.global.nc.u32", "bar.sync 0;", True),
        ("ld.global.u32", "bar.sync 0;", False),
        ("ld.global.nc.u32", "fence.acq_rel.gpu;", False),
    ],
)
def test_loads_of_what_nobody_writes_pass_a_barrier(load, wall, passes):
    body = f"st.shared.u32 [%r2], %r0; {wall} {load} %r5, [%d2+128]; ld.shared.u32 %r6, [%r2+4];"
    ops = [op for block in lowered(IDS + body + END, before=ROW).blocks for op in block.ops]
    at = next(i for i, op in enumerate(ops) if op.kind in (Kind.BARRIER, Kind.FENCE))
    loads = [i for i, op in enumerate(ops) if op.kind == Kind.ACCESS and op.writes]
    assert (loads[0] < at) is passes and loads[-1] > at


def test_loads_pass_as_many_barriers_as_there_are_registers_for():
    """Three loads, a barrier, stores, a barrier, and sums, six times: not all loads come first where 16 sums are kept, but some pass barriers.
    ptxas 13.0 has 12, 12, 10, 8, 5 and 4 barriers after those of each."""
    sums = range(10, 26)
    body = "".join(f"ld.global.f32 %f{k}, [%d2+{4096 + 128 * k}];" for k in sums)
    for turn in range(6):
        loaded = range(3 * turn, 3 * turn + 3)
        body += "".join(f"ld.global.nc.f32 %g{k}, [%d2+{128 * k}];" for k in loaded) + "bar.sync 0;"
        body += "".join(f"st.shared.f32 [%r2+{4 * (k % 3)}], %g{k};" for k in loaded) + "bar.sync 0;"
        for k in range(20):
            to = f"%f{sums[k % 16]}"
            body += f"ld.shared.f32 %f{k + 40}, [%r2+{4 * k + 4}]; fma.rn.f32 {to}, %f{k + 40}, %f{k + 40}, {to};"
    body += "".join(f"st.global.f32 [%d2+{4 * k}], %f{k};" for k in sums)
    ops = [op for block in lowered(IDS + body, ".reg .f32 %g<32>;", ROW).blocks for op in block.ops]
    barriers = [i for i, op in enumerate(ops) if op.kind == Kind.BARRIER]
    loads = [i for i, op in enumerate(ops) if op.kind == Kind.ACCESS and op.space == "nc"]
    after = [sum(at < barrier for barrier in barriers) for at in loads]
    assert 12 - 2 * 5 < after[-1] < 12 and after[6] > 12 - 2 * 2, after


def test_what_stands_before_a_barrier_stays_there():
    body = "ld.shared.u32 %r5, [%r2]; mul.lo.s32 %r5, %r5, %r5; bar.sync 0; ld.shared.u32 %r6, [%r2+4];"
    ops = [op for block in lowered(IDS + body + END, before=ROW).blocks for op in block.ops]
    at = next(i for i, op in enumerate(ops) if op.kind == Kind.BARRIER)
    assert any(op.unit == "imad" and ops[at - 1] is op for op in ops)


@pytest.mark.parametrize(
    ("first", "second", "third", "made"),
    [
        ("min.s32", "min.s32", "%r5", 1),  # VIMNMX3
        ("max.u32", "max.u32", "%r5", 1),
        ("min.s32", "max.s32", "%r5", 2),
        ("max.u32", "max.s32", "%r5", 2),
        ("min.s32", "max.s32", "0", 1),  # VIMNMX.RELU
        ("max.s32", "min.s32", "255", 2),
    ],
)
def test_minima_of_three_are_one(first, second, third, made):
    body = (
        "ld.global.u32 %r3, [%d2]; ld.global.u32 %r4, [%d2+4]; ld.global.u32 %r5, [%d2+8];"
        f"{first} %r6, %r3, %r4; {second} %r9, %r6, {third}; st.global.u32 [%d2], %r9;"
    )
    ops = [op for block in lowered(IDS + body, before=ROW).blocks for op in block.ops]
    assert (
        sum(op.unit == "alu" and len(op.writes) == 1 and op.writes[0] in _stored(ops) | _before(ops) for op in ops)
        == made
    )


@pytest.mark.parametrize(
    ("target", "three", "relu"),
    [("sm_80", 2, 2), ("sm_89", 2, 2), ("sm_90a", 1, 1), ("sm_103a", 1, 1), ("sm_110a", 2, 2), ("sm_120a", 2, 1)],
)
def test_targets_without_minima_of_three_make_two(target, three, relu):
    for first, second, third, made in (
        ("min.s32", "min.s32", "%r5", three),  # VIMNMX3
        ("add.s32", "max.s32", "%r5", three),  # VIADDMNMX
        ("min.s32", "max.s32", "0", relu),  # VIMNMX.RELU
        ("max.s32", "max.s32", "0", relu),
    ):
        body = (
            "ld.param.u64 %d2, [place]; ld.global.u32 %r3, [%d2]; ld.global.u32 %r4, [%d2+4]; ld.global.u32 %r5, [%d2+8];"
            f"{first} %r6, %r3, %r4; {second} %r9, %r6, {third}; st.global.u32 [%d2], %r9;"
        )
        got = [unit for unit in units(lowered(body, target=target)) if unit in ("alu", "imad")]
        assert len(got) == made, (first, second, got)


def _stored(ops):
    return {r for op in ops if op.stores for r in op.reads}


def _before(ops):
    """What the value that is stored is made from."""
    stored = _stored(ops)
    return {r for op in ops if op.unit == "alu" and stored.intersection(op.writes) for r in op.reads}


@pytest.mark.parametrize(("first", "asked"), [("ld.param.u32 %r7, [n];", 4), ("mov.u32 %r7, 0;", 0)])
def test_copies_of_a_loop_are_asked_for(first, asked):
    """Comparisons and branches for four turns at once, two, one and none, unless the text tells how many there are."""
    body = (
        f"{first} mov.u32 %r6, 0; LOOP: ld.global.nc.u32 %r3, [%d2]; xor.b32 %r6, %r6, %r3; add.s64 %d2, %d2, 4;"
        "add.s32 %r7, %r7, 1; setp.lt.s32 %p0, %r7, 16; @%p0 bra LOOP; st.global.u32 [%d0], %r6;"
    )
    machine = lowered(IDS + body, before=ROW)
    assert machine.variants and sum(op.kind == Kind.CHECK for op in machine.blocks[0].ops) == asked


@pytest.mark.parametrize(("whole", "products"), [(False, 2), (True, 4)])
def test_a_vector_finds_room_where_another_one_was(whole, products):
    """Words of two vectors are multiplied in pairs, and the third has as many registers as two have: it waits for all words of one of them."""
    vectors = [
        MachineOp("global", tuple(range(k, k + 4)), (0,), kind=Kind.ACCESS, space="nc", place=(4 * k, 16))
        for k in (1, 5, 9)
    ]
    pairs = [MachineOp("fma", (20,), (k, 5 + k - 1, 20)) for k in (1, 2, 3, 4)]
    rest = [MachineOp("fma", (20,), (k, 20)) for k in (9, 10, 11, 12)]
    order = schedule(
        [*vectors[:2], *pairs, vectors[2], *rest], Budget(10, lambda slot: 1, frozenset({0, 20}), whole=whole)
    )
    before = order[: order.index(vectors[2])]
    assert sum(op.unit == "fma" for op in before) == products


@pytest.mark.parametrize(
    ("atomics", "products", "copied"),
    [(1, 16, True), (2, 16, True), (3, 8, True), (3, 12, False), (4, 0, True), (4, 4, False), (5, 0, False)],
)
def test_atomics_weigh_more_than_stores_where_loops_are_copied(atomics, products, copied):
    changes = "".join(f"red.global.add.u32 [%d3+{512 * k}], %r3;" for k in range(atomics))
    body = (
        "ld.param.u32 %r7, [n]; mov.u32 %r8, 0; LOOP: ld.global.nc.u32 %r3, [%d2];" + changes + "mad.lo.u32 %r5, %r5, %r5, %r1;" * products
        + "add.s64 %d2, %d2, 4; add.s32 %r8, %r8, 1; setp.lt.s32 %p0, %r8, %r7; @%p0 bra LOOP; st.global.u32 [%d0], %r5;"
    )  # fmt: skip
    assert bool(lowered(IDS + "mov.u32 %r5, 1; add.s64 %d3, %d2, %d1;" + body, before=ROW).variants) is copied

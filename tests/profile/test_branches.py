"""Branches in the lowering: what becomes predicates, as ptxas 13.0 has it for sm_90, and which code can follow which."""

from __future__ import annotations

import pytest

from ptxsim.profile.machine_code import Kind
from ptxsim.profile.model.encode import segments_of
from tests.profile.kernels import lowered

IDS = "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [place]; ld.param.u32 %r1, [n]; "
STORE = "st.global.u32 [%d0], %r9; st.global.f32 [%d0+4], %f1;"
BY_LANE, BY_PARAMETER = "setp.lt.s32 %p0, %r0, 7;", "setp.lt.s32 %p0, %r1, 7;"
BY_MEMORY = "ld.global.u32 %r2, [%d0]; mov.b32 %r9, %r2; setp.lt.s32 %p0, %r2, 7;"
PRODUCT = "fma.rn.f32 %f1, %f1, %f2, %f2;"
BY_SHARED = "ld.shared.u32 %r2, [%r0]; setp.lt.s32 %p0, %r2, 7;"
OTHER = "ld.global.f32 %f2, [%d0+128];"
LOAD = "ld.global.u32 %r3, [%d0+64]; add.s32 %r9, %r9, %r3;"


def branches(body: str) -> int:
    machine = lowered(IDS + body + STORE)
    return sum(op.kind == Kind.BRANCH for block in machine.blocks for op in block.ops)


@pytest.mark.parametrize(
    "condition, inside, left",
    [
        (BY_LANE, PRODUCT * 8, 0),
        (BY_LANE, PRODUCT * 9, 1),
        (BY_PARAMETER, PRODUCT * 6, 0),
        (BY_PARAMETER, PRODUCT * 7, 1),
        (BY_LANE, LOAD + PRODUCT * 17, 0),
        (BY_LANE, LOAD + PRODUCT * 20, 1),
        (BY_MEMORY, LOAD, 1),
        (BY_MEMORY + OTHER, LOAD + PRODUCT * 17, 0),
        (BY_SHARED, LOAD, 1),
        (BY_LANE, "red.global.add.u32 [%d0+64], %r9;", 1),
        (BY_LANE, "popc.b32 %r9, %r9;", 0),
        (BY_LANE, "bfind.u32 %r9, %r9;", 1),
    ],
)
def test_a_branch_over_little_becomes_predicates(condition, inside, left):
    assert branches(f"{condition} @%p0 bra over; {inside} over:") == left


@pytest.mark.parametrize(
    "condition, count, after, left",
    [
        (BY_LANE, 20, LOAD, 0),
        (BY_LANE, 21, LOAD, 1),
        (BY_PARAMETER, 20, "bar.sync 0;" + LOAD, 0),
        (BY_LANE, 9, "ld.shared.u32 %r9, [%r0];", 1),
        (BY_LANE, 9, "add.f32 %f3, %f3, %f3; " * 20 + LOAD + "st.global.f32 [%d0+8], %f3;", 1),
        (BY_MEMORY, 20, LOAD, 0),
        (BY_SHARED, 9, LOAD, 1),
        (BY_SHARED + OTHER, 20, LOAD, 0),
    ],
)
def test_a_branch_does_not_hold_up_the_loads_that_come_after(condition, count, after, left):
    assert branches(f"{condition} @%p0 bra over; {PRODUCT * count} over: {after}") == left


@pytest.mark.parametrize("condition, count, left", [(BY_LANE, 7, 0), (BY_LANE, 8, 2), (BY_PARAMETER, 5, 0)])
def test_two_short_ways_become_predicates(condition, count, left):
    body = (
        f"{condition} @%p0 bra other; {PRODUCT * count} bra.uni join; other: {'mul.f32 %f1, %f1, %f2;' * count} join:"
    )
    assert branches(body) == left


def test_of_branches_within_each_other_the_inner_one_goes():
    inner = f"setp.lt.f32 %p1, %f1, %f2; @%p1 bra over; {PRODUCT}"
    assert branches(f"{BY_LANE} @%p0 bra over; {PRODUCT} {inner} over:") == 1


def test_what_ptx_goes_on_with_follows():
    machine = lowered(f"{IDS}{BY_LANE} @%p0 bra over; {PRODUCT * 9} over: bar.sync 0; {STORE}")
    segments = segments_of(machine)
    place = {segment.pattern[0][0]: number for number, segment in enumerate(segments) if segment.ops}
    before, inside, after = sorted(place)
    assert segments[place[before]].followers == {place[inside], place[after]}
    assert segments[place[inside]].followers == {place[after]}

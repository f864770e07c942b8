"""Lanes meet where the program joins, and go on without each other where some of them wait for what others do there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.engine.analysis.forward_progress import PLAIN, STRONG, impatience
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.session.module import Module
from ptxsim.session.ptxfile.file import Options, run_file
from tests.engine.programs import Poller, compare, same_events
from tests.engine.programs import body as statements
from tests.helpers import CASES, facts, launch, names, same_on_both

FRAME = """
.version 8.0
.target sm_90
.address_size 64
{before}
.visible .entry k(.param .u64 data, .param .u32 n)
{{
    .reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<6>;
    .shared .align 8 .b8 tile[1024];
    .shared .align 8 .b64 gate;
    .local .align 8 .b8 own[64];
    ld.param.u64 %d0, [data];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d1, %d0, %d1;
    setp.eq.u32 %p0, %r1, 0;
{body}
    ret;
}}
"""
WAITING = sorted((CASES / "waiting").glob("*.ptx"))
LOOK = """
.func (.reg .b32 %result) look(.reg .b64 %where)
{
    ld.volatile.global.u32 %result, [%where];
    ret;
}
"""


def text(body: str) -> str:
    return FRAME.format(before=LOOK if "look" in body else "", body=body)


def run(body: str, engine: str, lanes: int = 32, **options):
    data = np.zeros(64, np.uint32)
    result = launch(text(body), [data, 64], block=lanes, engine=engine, **options)
    return data.tolist(), result


@pytest.mark.slow
@pytest.mark.parametrize("path", WAITING, ids=lambda path: path.stem)
def test_lanes_that_wait_for_each_other_come_to_an_end(path):
    """Without observers, so without the races that some have; with them they run with all other cases."""

    def outcome(engine: str) -> tuple:
        result = run_file(path, options=Options(engine=engine, max_steps=1_000_000, checks="none"))
        return result.values["D"], facts(result.run), [f.message for f in result.findings if "race" not in f.message]

    assert same_on_both(outcome)[-1] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_the_order_of_warps_does_not_matter(engine, seed):
    options = Options(engine=engine, block=(96, 1, 1), seed=seed, max_steps=1_000_000)
    result = run_file(CASES / "waiting" / "lock.ptx", options=options)
    assert result.values["D"][:2].tolist() == [0, 96]
    assert result.run.warp_instructions < 60_000


@pytest.mark.parametrize("name", ["lock", "tickets", "chain"])
def test_waiting_does_not_take_long(name):
    """The patience is over once, not for each lane."""
    assert run_file(CASES / "waiting" / f"{name}.ptx").run.warp_instructions < 4000


def test_functions_that_a_loop_polls_through(engine):
    """A CTA that polls is left soon for the one that it waits for."""
    options = Options(engine=engine)
    outcome = run_file(CASES / "waiting" / "flag_read_by_a_function.ptx", options=options)
    assert outcome.run.warp_instructions < 12_000


LONG = """
    mul.lo.u32 %r4, %r1, 50;
    mov.u32 %r5, 0;
    mov.u32 %r6, 1;
more:
    {inside}
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, %r4;
    @%p1 bra more;
    st.global.u32 [%d1], %r6;
"""
INSIDE = {
    "arithmetic": "mad.lo.u32 %r6, %r6, 3, %r5;",
    "loads": "ld.global.u32 %r7, [%d1]; add.u32 %r6, %r6, %r7;",
    "strong loads": "ld.volatile.global.u32 %r7, [%d1]; add.u32 %r6, %r6, %r7;",
    "atomics": "atom.shared.add.u32 %r7, [tile], 1; add.u32 %r6, %r6, %r7;",
    "a branch on what was read": "ld.global.u32 %r7, [%d1]; setp.eq.u32 %p2, %r7, 9; @%p2 bra other; add.u32 %r6, %r6, 1; other:",
    "a list of a thousand": "ld.global.u32 %r7, [%d1]; add.u32 %r4, %r4, %r7;",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_lanes_meet_after_a_loop_that_ends_by_itself(engine, name):
    _, result = run(LONG.format(inside=INSIDE[name]), engine, banks=True)
    stores = [row for row in result.banks.global_rows if row.kind == "st"]
    assert [(row.requests, row.sectors) for row in stores] == [(1, 4)]


def weights(body: str) -> list[int]:
    """What the blocks of a body take of the patience, those that take nothing left out."""
    module = Module.from_text(text(body))
    kernel = module.kernel()
    return [weight for weight in impatience(program_of(kernel)) if weight]


def program_of(kernel):

    return kernel.program()


LOOP = "again:\n{}\n setp.ne.u32 %p1, %r3, 0;\n @%p1 bra again;\n"
DECIDE = {
    "ld.global.u32 %r3, [%d0];": [PLAIN],
    "ld.shared.u32 %r3, [tile];": [PLAIN],
    "ld.u32 %r3, [%d0];": [PLAIN],
    "ld.global.v2.u32 {%r2, %r3}, [%d0];": [PLAIN],
    "ld.volatile.shared.u32 %r3, [tile];": [STRONG],
    "ld.relaxed.gpu.global.u32 %r3, [%d0];": [STRONG],
    "ld.acquire.gpu.global.u32 %r3, [%d0];": [STRONG],
    "atom.global.cas.b32 %r3, [%d0], 0, 1;": [STRONG],
    "ld.global.u32 %r2, [%d0]; shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;": [PLAIN],
    "ld.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 1; selp.u32 %r3, 1, 0, %p2;": [PLAIN],
    "ld.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 1; @%p2 mov.u32 %r3, 0;": [PLAIN],
    "ld.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 1; @%p2 bra on; mov.u32 %r3, 0; on:": [PLAIN],
    "ld.global.u32 %r2, [%d0]; mul.wide.u32 %d2, %r2, 4; add.u64 %d2, %d2, %d0; ld.global.u32 %r3, [%d2];": [PLAIN],
    "call.uni (%r3), look, (%d0);": [STRONG],
    # What no other thread can write, and what decides nothing.
    "ld.global.nc.u32 %r3, [%d0];": [],
    "ld.param.u32 %r3, [n];": [],
    "ldu.global.u32 %r3, [%d0];": [],
    "ld.local.u32 %r3, [own];": [],
    "sub.u32 %r3, %r3, 1;": [],
    "shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;": [],
    "mov.u32 %r3, %clock;": [],
    "ld.global.u32 %r2, [%d0]; sub.u32 %r3, %r3, 1;": [],
    "atom.global.add.u32 %r2, [%d0], 1; sub.u32 %r3, %r3, 1;": [],
    "ld.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 1; @%p2 bra on; mov.u32 %r4, 0; on: sub.u32 %r3, %r3, 1;": [],
    "red.global.add.u32 [%d0], 1; sub.u32 %r3, %r3, 1;": [],
}


@pytest.mark.parametrize("inside", DECIDE)
def test_what_decides_whether_a_loop_goes_on(inside):
    assert weights(LOOP.format(inside.replace("; ", ";\n"))) == DECIDE[inside]


def test_reads_before_a_loop_decide_nothing_others_could_change():
    assert weights("ld.global.u32 %r4, [%d0];\n" + LOOP.format("sub.u32 %r4, %r4, 1;\n mov.u32 %r3, %r4;")) == []


def test_an_inner_loop_that_waits_in_one_that_counts():
    inner = "inner:\n ld.volatile.global.u32 %r4, [%d0];\n setp.eq.u32 %p2, %r4, 0;\n @%p2 bra inner;\n"
    assert weights(LOOP.format(inner + "sub.u32 %r3, %r3, 1;")) == [STRONG]


COUNTS = "add.u32 %r5, %r5, 1;\n"  # so that the machine does not come back to a state, which would be a livelock


@pytest.mark.slow
def test_lanes_that_wait_for_ever_reach_the_limit(engine):
    body = "atom.global.add.u32 %r4, [%d0], 1;\n" + LOOP.format(COUNTS + "atom.global.cas.b32 %r3, [%d0], 0, 1;")
    _, result = run(body, engine, max_steps=4_000)
    assert names(result.findings) == ["limit-reached"]


@pytest.mark.slow
def test_both_engines_take_the_same_steps_until_the_limit():
    body = (
        "@%p0 bra over;\n"
        + LOOP.format(COUNTS + "atom.global.cas.b32 %r3, [%d0], 0, 1;")
        + "over:\n st.global.u32 [%d1], 3;"
    )

    def outcome(engine: str) -> tuple:
        data, result = run(body, engine, max_steps=3_000)
        return data, result.warp_instructions

    same_on_both(outcome)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((64, 40)), banks=st.booleans())
def test_random_kernels_that_poll(seed, block, banks):
    compare(Poller(seed).text(), block=block, banks=banks)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_effects_is_the_same(seed):
    assert same_events(Poller(seed).text())


@pytest.mark.slow
def test_the_order_of_effects_of_a_lock_is_the_same():
    lock = "again:\n atom.global.cas.b32 %r9, [%d0], 0, 1;\n setp.eq.u32 %p0, %r9, 0;\n @%p0 bra again;\n"
    assert same_events(statements(lock))


# Lanes of the first warp work turn by turn with the second one; those after `last` wait for them.
BESIDE = """
    mov.u32 %r5, tile; add.u32 %r6, %r5, 8; @!%p0 bra READY;
    mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r6], {last} + 1;
READY:
    bar.sync 0; mov.u32 %r2, 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra SECOND;
    setp.gt.u32 %p1, %r1, {last}; {others} @%p1 bra MEET;
WORK:
    and.b32 %r8, %r2, 1;
LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r8; @!%p2 bra LOOK;
    mbarrier.arrive.shared.b64 %d3, [%r6]; {work}
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {turns}; @%p2 bra WORK; {then}
MEET:
    bar.warp.sync -1; mad.lo.u32 %r9, %r2, 3, %r1; st.global.u32 [%d1], %r9; setp.lt.u32 %p3, %r1, 99; @%p3 bra DONE;
PAST:
    st.global.u32 [%d1], %r2; bra DONE;
SECOND:
    setp.ne.u32 %p1, %r1, 32; @%p1 bra DONE;
TURN:
    mbarrier.arrive.shared.b64 %d3, [%r5]; and.b32 %r8, %r2, 1;
ASK: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], %r8; @!%p2 bra ASK;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {turns}; @%p2 bra TURN;
DONE:
"""
ON_THE_WAY = {
    "one lane": {},
    "two": {"last": 1},
    "two that part": {"last": 1, "work": "and.b32 %r9, %r2, 1; setp.eq.u32 %p3, %r9, %r1; @%p3 bra ODD; st.global.u32 [%d1+8], %r2; ODD:"},
    "one of two that ends": {"last": 1, "then": "@%p0 exit;"},
    "one that ends in a block of its own": {"then": "setp.ne.u32 %p3, %r2, 0; @!%p3 bra MEET; ret;"},
    "one that goes around": {"then": "bra PAST;"},
    "some that wait for fewer": {
        "others": "setp.gt.u32 %p3, %r1, 7; @%p3 bra MEET; @%p1 bra FEW;", "then": "FEW: bar.warp.sync 0xff;",
    },
}  # fmt: skip


def found_on_both(body: str, seed: int) -> list[str]:
    """Names of findings; both engines leave the same data, counts and findings."""

    def outcome(engine: str) -> tuple:
        data, result = run(body, engine, 64, seed=seed)
        return data, facts(result), names(result.findings)

    found: list[str] = same_on_both(outcome)[-1]
    return found


def beside(last=0, turns=30, others="", work="", then="") -> str:
    return BESIDE.format(last=last, turns=turns, others=others, work=work, then=then)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ON_THE_WAY)
def test_lanes_on_their_way_to_those_that_wait_do_the_same_natively(name, seed):
    assert found_on_both(beside(**ON_THE_WAY[name]), seed) == (["member-mask"] if "around" in name else [])


@pytest.mark.parametrize("name", ["one lane", "two that part"])
def test_they_stay_in_native_code(name, monkeypatch):
    entered, enter = [], NativeContext.enter
    monkeypatch.setattr(NativeContext, "enter", lambda *given: entered.append(given) or enter(*given))
    run(beside(**ON_THE_WAY[name], turns=1000), "compiled", 64, checks="none")
    assert 0 < len(entered) < 100


# In every turn one lane of a group waits for the second warp, and then all of the group meet.
TOGETHER = """
    mov.u32 %r5, tile; add.u32 %r6, %r5, 8; @!%p0 bra READY;
    mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r6], {groups};
READY:
    bar.sync 0; mov.u32 %r2, 0; mov.u32 %r10, 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra SECOND;
    and.b32 %r7, %r1, 31 / {groups}; setp.ne.u32 %p3, %r7, 0; {mask}
TURN:
    and.b32 %r8, %r2, 1; @%p3 bra MEET;
LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r8; @!%p2 bra LOOK; {leader}
MEET:
    {meet} ld.volatile.shared.u32 %r9, [%r5+16]; mad.lo.u32 %r10, %r10, 3, %r9; {meet}
    @%p3 bra ON; mbarrier.arrive.shared.b64 %d3, [%r6];
ON: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {turns}; @%p2 bra TURN;
    st.global.u32 [%d1], %r10; bra DONE;
SECOND:
    setp.ne.u32 %p1, %r1, 32; @%p1 bra DONE;
GIVE:
    st.volatile.shared.u32 [%r5+16], %r2; mbarrier.arrive.shared.b64 %d3, [%r5]; and.b32 %r8, %r2, 1;
ASK: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], %r8; @!%p2 bra ASK;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {turns}; @%p2 bra GIVE;
DONE:
"""
HALF = "setp.lt.u32 %p1, %r1, 16; selp.u32 %r3, 0xffff, 0xffff0000, %p1;"
MEETINGS = {
    "all": {},
    "halves": {"groups": 2, "mask": HALF, "meet": "bar.warp.sync %r3;"},
    "all, by a register": {"mask": "mov.u32 %r3, -1;", "meet": "bar.warp.sync %r3;"},
    "at a barrier": {"meet": "bar.sync 1, 32;"},
    "at a barrier that votes": {"meet": "bar.red.and.pred %p4, 1, 32, %p1;"},
    "at a barrier, one that leaves the loop": {
        "meet": "bar.sync 1, 32;",
        "leader": "setp.eq.u32 %p2, %r2, 5; @%p2 bra DONE;",
    },
    "one that ends": {"leader": "setp.eq.u32 %p2, %r2, 5; @%p2 exit;"},
    "one that leaves the loop": {"leader": "setp.eq.u32 %p2, %r2, 5; @%p2 bra DONE;"},
    "one that no mask names": {"meet": "bar.warp.sync 0xfffffffe;"},
}


def together(groups=1, turns=30, mask="", meet="bar.warp.sync -1;", leader="") -> str:
    return TOGETHER.format(groups=groups, turns=turns, mask=mask, meet=meet, leader=leader)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MEETINGS)
def test_lanes_that_meet_in_every_turn_do_the_same_natively(name, seed):
    expected = ["member-mask"] if "no mask" in name else ["deadlock"] if "one that" in name else []
    assert found_on_both(together(**MEETINGS[name]), seed) == expected


@pytest.mark.parametrize("name", ["all", "all, by a register", "at a barrier", "at a barrier that votes"])
def test_lanes_that_meet_in_every_turn_stay_in_native_code(name, monkeypatch):
    entered, enter = [], NativeContext.enter
    monkeypatch.setattr(NativeContext, "enter", lambda *given: entered.append(given) or enter(*given))
    run(together(**MEETINGS[name], turns=1000), "compiled", 64, checks="none")
    assert 0 < len(entered) < 100

"""CTAs on threads: the same results as in order, and only where that is worth it."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.engine.compiled.run import threads
from tests.engine.programs import Writer, body, outcome, run
from tests.helpers import facts, interrupted, launch, plain


@pytest.fixture
def threaded(monkeypatch) -> list[int]:
    """The numbers of the CTAs from which on threads have run; every launch that may use threads does."""
    monkeypatch.setattr(threads, "LOOK", 0.0)
    monkeypatch.setattr(threads, "WORTH", 0.0)
    monkeypatch.setattr(threads, "cores", lambda: 2)
    began, run_threads = [], threads.Threads.run

    def note(self, first):
        done = run_threads(self, first)
        if done:
            began.append(first)
        return done

    monkeypatch.setattr(threads.Threads, "run", note)
    return began


def orderless(seed: int) -> str:
    """A random kernel that may run on threads."""
    text = re.sub(r"(atom.global.max.s32 %r\d, \[%d0\]), %r\d", r"\1", Writer(seed).text().replace("%clock", "%tid.y"))
    return text.replace("atom.global.max.s32", "ld.global.u32").replace("red.global.add.f32", "st.global.f32")


@pytest.mark.parametrize("seed", range(3))
def test_the_random_kernels_use_threads(threaded, seed):
    same(orderless(seed), banks=False, checks="none")
    assert len(threaded) == 3


def same(text: str, **options) -> None:
    one, *more = (plain(outcome(text, "compiled", grid=9, jobs=jobs, **options)) for jobs in (1, 2, 3, None))
    assert all(found == one for found in more)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((64, 40)), checks=st.sampled_from(("none", "memory", "all")))
def test_random_kernels(seed, block, checks):
    same(orderless(seed), block=block, checks=checks, banks=checks != "none")


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), block=st.sampled_from((32, 64, 40)), banks=st.booleans())
def test_many_random_kernels(seed, block, banks):
    same(orderless(seed), block=block, banks=banks)
    same(Writer(seed).text(), block=block, banks=banks)


WORK = "st.shared.u32 [%r8], %r4; mov.u32 %r9, 60; L: mad.lo.u32 %r4, %r4, %r5, %r9; atom.shared.add.u32 %r6, [%r8], %r4; sub.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra L;"


def test_threads_run_where_nobody_can_see_it(threaded):
    expected = plain(outcome(body(WORK), "compiled", grid=40, jobs=1))
    assert not threaded
    assert plain(outcome(body(WORK), "compiled", grid=40, jobs=2)) == expected
    assert threaded == [0]
    assert plain(outcome(body(WORK), "compiled", grid=40)) == expected
    assert threaded == [0, 1]  # the first CTA shows how long the others will take


@pytest.mark.parametrize(
    "text",
    [
        "red.global.add.f32 [%d0], %f0;",
        "atom.global.add.u32 %r4, [%d0], 1;",
        "ld.volatile.global.u32 %r4, [%d0];",
        "ld.acquire.gpu.global.u32 %r4, [%d0];",
        "mov.u32 %r4, %clock;",
        "setp.eq.u32 %p2, %r1, 30; @%p2 ld.global.u32 %r4, [%d0+1];",  # a fault in one CTA
    ],
)
def test_what_keeps_ctas_in_order(threaded, text):
    one, free = (plain(outcome(body(text), "compiled", grid=40, jobs=jobs)) for jobs in (1, None))
    assert not threaded
    assert one == free


def test_bank_counts_keep_ctas_in_order(threaded):
    run(body(WORK), "compiled", grid=40, banks=True)
    assert not threaded


def test_checks_and_limits_do_not(threaded):
    run(body(WORK), "compiled", grid=40, checks="all", jobs=2)
    run(body(WORK), "compiled", grid=40, max_steps=1 << 40, jobs=2)
    assert threaded == [0, 0]


@pytest.mark.parametrize("jobs", [2, None])
def test_a_limit_is_told_as_in_order(threaded, jobs):
    one, free = (plain(outcome(body(WORK), "compiled", grid=40, jobs=n, max_steps=9000)) for n in (1, jobs))
    assert "limit-reached" in str(one) and one == free
    assert not threaded


# Of each CTA one thread executes the statements; `%d0` points to 20 words of zeros.
ALONE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data)
{
    .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p<3>;
    .shared .b32 word;
    ld.param.u64 %d0, [data];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 ret;
    STATEMENTS
    ret;
}
"""


@pytest.mark.parametrize(
    ("statements", "use_threads", "told"),
    [
        ("mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r1;", True, None),
        ("cvt.u64.u32 %d1, %r1; add.u64 %d1, %d1, %d0; st.global.u8 [%d1], %r1;", True, None),  # bytes of the same words
        ("ld.global.u32 %r2, [%d0]; setp.eq.u32 %p1, %r1, 17; @%p1 st.global.u32 [%d0], 9;", False, "race-global"),
        ("shr.u32 %r2, %r1, 2; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r1;", False, "race-global"),
        ("mul.wide.u32 %d1, %r1, 3; add.u64 %d1, %d1, %d0; st.global.u8 [%d1], 1; st.global.u8 [%d1+3], 2;", False, "race-global"),
        ("setp.eq.u32 %p1, %r1, 13; @%p1 st.global.u32 [%d0], 5; @!%p1 ld.global.u32 %r2, [%d0];", False, "race-global"),
        ("st.global.u32 [%d0], 0;", True, None),  # as it was
        ("st.global.u32 [%d0], 5;", False, None),  # the same by all: one has changed it
        ("setp.eq.u32 %p1, %r1, 13; @%p1 ld.shared.u32 %r2, [word];", True, "uninitialized-read"),  # in repetitions
        ("setp.eq.u32 %p1, %r1, 13; @%p1 ld.global.u32 %r2, [%d0+2];", False, "misaligned-address"),
    ],
)  # fmt: skip
def test_what_checks_find_does_not_depend_on_threads(threaded, statements, use_threads, told):
    def found(jobs: int | None) -> tuple:
        data = np.zeros(20, np.uint32)
        return data, facts(
            launch(
                ALONE.replace("STATEMENTS", statements),
                [data],
                20,
                40,
                engine="compiled",
                jobs=jobs,
                checks="all",
                on_error="report",
            )
        )

    one, *others = (plain(found(jobs)) for jobs in (1, 2, 3, None))
    assert all(other == one for other in others)
    assert bool(threaded) == use_threads
    assert [finding[0] for finding in one[1][1]] == ([told] if told else [])


@pytest.mark.parametrize("grid, tick, goes", [(8, 0.001, False), (2000, 0.0005, False), (2000, 0.01, True)])
def test_small_launches_stay_on_one_thread(monkeypatch, grid, tick, goes):
    """By a clock of its own: every look at it, which is at the first CTA and then now and again, is a tick later."""
    ticks = itertools.count()
    monkeypatch.setattr(threads, "time", SimpleNamespace(perf_counter=lambda: next(ticks) * tick))
    asked = []
    monkeypatch.setattr(threads.Threads, "run", lambda self, first: asked.append(first))
    run(body(WORK), "compiled", grid=grid)
    assert bool(asked) == goes


def test_progress_is_shown_meanwhile():
    shown = []
    text = body(WORK.replace("60", "60000"))
    run(text, "compiled", grid=64, jobs=2, progress=lambda done, total: shown.append((done, total)))
    assert shown and all(total == 64 for _, total in shown)
    assert [done for done, _ in shown] == sorted(done for done, _ in shown)


@pytest.mark.parametrize("jobs", [1, 2])
def test_endless_loops_on_threads_can_be_interrupted(jobs):
    with interrupted(1):
        run(body("L: add.u32 %r4, %r4, 1; bra L;"), "compiled", grid=8, jobs=jobs, banks=False)


@pytest.mark.slow
def test_the_next_launch_after_an_interruption_is_right():
    test_endless_loops_on_threads_can_be_interrupted(2)
    data = np.arange(8, dtype=np.uint32)
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n.reg .b64 %d; ld.param.u64 %d, [a]; st.global.u32 [%d+4], 9; ret;\n}\n"
    assert launch(text, [data]).findings == []
    assert data[1] == 9

"""Races in shared and global memory: which stores of one place need an order between them."""

import pytest

from ptxsim.session.ptxfile.file import run_file
from tests.helpers import CASES, ROOT, run_text, text_of

SHARED = """// ptxsim: launch grid=1 block=64
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
    .shared .align 4 .b32 s;
    .reg .b32 %t, %warp, %lane, %v;
    .reg .pred %first, %one, %other;
    mov.u32 %t, %tid.x;
    shr.u32 %warp, %t, 5;
    and.b32 %lane, %t, 31;
    setp.eq.u32 %first, %warp, 0;
    setp.eq.u32 %one, %lane, 1;
    setp.eq.u32 %other, %lane, 2;
    BODY
    ret;
}
"""
GLOBAL = """// ptxsim: launch grid=3 block=32
// ptxsim: arg D = zeros(32):u32
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 D)
{
    .reg .b64 %D, %p;
    .reg .b32 %t, %c, %v;
    .reg .pred %first, %second, %odd;
    ld.param.u64 %D, [D];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    setp.eq.u32 %first, %c, 0;
    setp.eq.u32 %second, %c, 1;
    mul.wide.u32 %p, %t, 4;
    add.u64 %p, %D, %p;
    BODY
    ret;
}
"""
ZERO = "@%first st.shared.u32 [s], 0; bar.sync 0; "
# What is stored to one word of shared memory, which holds zero at first, and the race that is; plain ones: tests/cases/races.
IN_SHARED = {
    "st.shared.u32 [s], 0;": None,
    "st.shared.u32 [s], %warp; bar.sync 0; st.shared.u32 [s], 9;": "race-shared",
    "st.shared.u32 [s], 0; bar.sync 0; @%first st.shared.u32 [s], 9;": None,
    "@%first st.shared.u32 [s], 0; bar.sync 0; @!%first st.shared.u32 [s], 9;": None,
    "@%first st.shared.u32 [s], 0; @!%first atom.shared.add.u32 %v, [s], 9;": "race-shared",
    "@%first st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %v, [s], 9;": None,
    "@%first st.shared.u32 [s], 0; bar.sync 0; @%first ld.shared.u32 %v, [s]; @!%first st.shared.u32 [s], 0;": None,
    "@%first st.volatile.shared.u32 [s], 0; @!%first st.volatile.shared.u32 [s], 9;": None,
    # Who polls has read before; who reads what it then overwrites has not hidden what others read.
    ZERO + "@!%first st.volatile.shared.u32 [s], 1; P: @%first ld.volatile.shared.u32 %v, [s]; "
    "setp.eq.u32 %one, %v, 0; and.pred %one, %one, %first; @%one bra P;": None,
    ZERO + "@%first st.shared.u32 [s], 1; P: @!%first ld.volatile.shared.u32 %v, [s];": "race-shared",
    ZERO + "ld.shared.u32 %v, [s]; @!%first st.shared.u32 [s], 9;": "race-shared",
    ZERO + "ld.shared.u32 %v, [s]; @%first st.shared.u32 [s], 9;": "race-shared",
    ZERO + "ld.shared.u32 %v, [s]; bar.sync 0; @!%first st.shared.u32 [s], 9;": None,
    "@%one st.shared.u32 [s], 0; @%other st.shared.u32 [s], 0;": None,
}
IN_GLOBAL = {
    "st.global.u32 [%p], %c;": "race-global",
    "st.global.u32 [%p], 0;": None,
    "st.global.u32 [%p], 7;": None,
    "@%first st.global.u32 [%p], 7; @!%first st.global.u32 [%p], 7;": None,
    "@%first st.global.u32 [%p], 0; @%second st.global.u32 [%p], 7;": "race-global",
    "@%first st.global.u32 [%p], 0; @%second ld.global.u32 %v, [%p];": None,
    "@%first st.global.u32 [%p], 0; @%first st.global.u32 [%p], 7;": None,
    "@%first st.global.u8 [%p], 0; @%second st.global.u8 [%p], 7;": "race-global",
    "@%first st.relaxed.gpu.global.u32 [%p], 0; @%second st.relaxed.gpu.global.u32 [%p], 7;": None,
}


def races(text, body, engine):
    findings = run_text(text.replace("BODY", body), engine=engine, checks="all").findings
    assert all(f.name.startswith("race-") for f in findings), [f.message for f in findings]
    return {f.name for f in findings}


@pytest.mark.thin(5)
@pytest.mark.parametrize("body", IN_SHARED)
def test_stores_to_shared_memory_race_unless_they_leave_it_as_it_is(body, engine):
    assert races(SHARED, body, engine) == ({IN_SHARED[body]} if IN_SHARED[body] else set())


@pytest.mark.parametrize("body", IN_GLOBAL)
def test_stores_to_global_memory_race_unless_they_leave_it_as_it_is(body, engine):
    assert races(GLOBAL, body, engine) == ({IN_GLOBAL[body]} if IN_GLOBAL[body] else set())


# Every warp stores its part of a tile, then reads the next lane's and the next warp's; the barrier between is missing.
NO_BARRIER = """// ptxsim: launch grid=1 block=256
// ptxsim: arg D = zeros(256):u32
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 D)
{
    .shared .align 4 .b32 tile[256];
    .reg .b64 %D, %p;
    .reg .b32 %t, %s, %n, %sum, %v<16>;
    ld.param.u64 %D, [D];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %p, %t, 4;
    add.u64 %p, %D, %p;
    mov.u32 %s, tile;
    mad.lo.u32 %s, %t, 4, %s;
    add.u32 %n, %t, 9;
    st.shared.u32 [%s], %n;
    BARRIER
    mul.lo.u32 %n, %t, 12;
    and.b32 %n, %n, 1020;
    mov.u32 %s, tile;
    add.u32 %s, %s, %n;
    mov.u32 %sum, 0;
READS
    st.global.u32 [%p], %sum;
    ret;
}
""".replace("READS", "\n".join(f"    ld.shared.u32 %v{i}, [%s];\n    add.u32 %sum, %sum, %v{i};" for i in range(16)))


def lines(finding):
    return [finding.line, *(label.line for label in finding.labels)]


def found(barrier):
    return run_text(NO_BARRIER.replace("BARRIER", barrier), checks="all").findings


def test_a_missing_barrier_of_the_cta_is_not_blamed_on_lanes():
    findings = found("")
    assert "race-shared" in {f.name for f in findings} <= {"race-shared", "uninitialized-read"}
    assert found("bar.sync 0;") == []


def test_reads_ahead_of_another_warps_store_are_one_problem_with_it():
    early = found("")
    assert {f.name for f in early} == {"race-shared"} and {line for f in early for line in lines(f)} > {18}
    assert all(lines(f)[1] == 18 and "bar.sync" in f.help for f in early)


def test_reads_of_what_nobody_ever_stores_name_no_store():
    (early,) = run_text(NO_BARRIER.replace("st.shared.u32 [%s], %n;", "").replace("BARRIER", "")).findings[:1]
    assert early.name == "uninitialized-read" and early.labels == () and "store to it first" in early.help


# What the async proxy reads: a sample or case, what is taken out of it, and the finding with the line that it is about and
# the line of the store, if there is one.
ASYNC_READS = {
    "wgmma without the barrier": (
        "samples/wgmma_m64n64k16.ptx", "bar.sync        0;", "race-shared", "wgmma.mma_async", "st.shared.v4",
    ),
    "wgmma on half a tile": (
        "samples/wgmma_m64n64k16.ptx", "st.shared.v4.b32 [%at], {%v4, %v5, %v6, %v7};", "uninitialized-read", "wgmma.mma_async", "",
    ),
    "a bulk store without the barrier": (
        "tests/cases/bulk/round_trip.ptx", "fence.proxy.async.shared::cta;\n    bar.sync 0;", "race-shared", "cp.async.bulk.global",
        "st.shared.u32",
    ),
}  # fmt: skip


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ASYNC_READS)
def test_what_the_async_proxy_reads_is_written_and_in_order(name, engine):
    file, taken, finding, reader, writer = ASYNC_READS[name]
    text = (ROOT / file).read_text()
    assert taken in text
    kept = "fence.proxy.async.shared::cta;" if "fence" in taken else ""
    text = text.replace(taken, kept)
    (found,) = [f for f in run_text(text, engine=engine).findings if f.name != "expectation-failed"]
    lines = [found.line, *(label.line for label in found.labels)]
    assert (found.name, found.level) == (finding, "error")
    assert all(any(who in text.splitlines()[line - 1] for line in lines) for who in filter(None, (reader, writer)))
    assert len(lines) == 1 + bool(writer)


def test_what_one_barrier_would_order_is_one_finding():
    found = run_file(CASES / "races" / "one_barrier_missing.ptx").expected
    assert [(f.line, f.notes) for f in found] == [(24, ("the same at line 25, and with line 23",))]


@pytest.mark.parametrize(
    ("strong", "weak", "lack"),
    [
        ("atom.acquire.cta", "atom.relaxed.cta", "an acquire at atom.relaxed.cta.shared.cas.b32 of line 35 or a fence after it"),
        ("atom.release.cta", "atom.relaxed.cta", "a release at atom.relaxed.cta.shared.exch.b32 of line 44 or a fence before it"),
    ],
)  # fmt: skip
def test_a_race_under_a_lock_in_shared_memory_says_what_the_lock_lacks(strong, weak, lack):
    text = (CASES / "programs" / "lock_in_shared.ptx").read_text()
    (finding,) = (each for each in run_text(text.replace(strong, weak)).run.findings if each.name == "race-shared")
    assert lack in finding.help and "__threadfence_block()" in finding.help


def test_a_copy_that_arrives_at_an_mbarrier_is_to_be_waited_for_there():
    lines = (CASES / "cp_async" / "mbarrier_arrive.ptx").read_text().split("\n")
    text = "\n".join(line for line in lines if "test_wait" not in line and "bra poll" not in line)
    (finding,) = (each for each in run_text(text).run.findings if each.level == "error")
    arrival = next(number for number, line in enumerate(lines, 1) if "cp.async.mbarrier.arrive" in line)
    assert finding.name == "cp-async-not-waited" and f"the mbarrier of line {arrival}" in finding.help


def test_what_a_sequence_lock_drops_again_is_taken_for_nothing():
    """With seed 7 a reader looks while the number is odd."""
    assert run_text(text_of("checks/sequence_lock.ptx"), seed=7).findings == []
    assert run_text(text_of("checks/sequence_lock.ptx")).findings == []


def test_where_a_barrier_stands_already_the_help_says_what_comes_too_early():
    """A reader that gives a place back before it has read: there is a barrier between store and load, and one the other way round."""
    (finding,) = [
        found
        for found in run_file(CASES / "causes/read_after_its_place_is_given_back.ptx").expected
        if found.name == "race-shared"
    ]
    assert "bar.arrive of line 34 comes before line 35" in finding.help
    assert "bar.sync" in finding.help and finding.fixes == ()

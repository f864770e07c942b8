"""Traces: lines and sectors of accesses, work by CTA, arrivals that waits wait for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.profile import profiler
from ptxsim.profile.figures import H200
from ptxsim.profile.model.accesses import lines_of
from ptxsim.profile.model.different import different
from ptxsim.profile.model.entries import ARRIVE, ENTRY, LEAVE, LOAD, STORE
from ptxsim.profile.model.sharing import reads
from ptxsim.profile.model.trace import Trace
from ptxsim.profile.replay.entries import for_replay
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import CASES
from tests.profile.kernels import kernel


@settings(deadline=None)
@given(st.lists(st.integers(0, 4000), min_size=32, max_size=32), st.integers(1, 2**32 - 1))
def test_lines_cover_exactly_the_sectors_touched(addresses, mask):
    lines, counts = lines_of(np.array([addresses], np.uint64), np.array([mask], np.uint32))
    sectors = {a // 32 for lane, a in enumerate(addresses) if mask >> lane & 1}
    found = {(int(line) >> 4) * 4 + bit for line in lines for bit in range(4) if int(line) >> bit & 1}
    assert found == sectors
    assert counts[0] == len({s // 4 for s in sectors})


def entries(rows) -> np.ndarray:
    made = np.zeros(len(rows), ENTRY)
    for entry, (warp, code) in zip(made, rows):
        entry["warp"], entry["code"], entry["object"] = warp, code, -1
    return made


def test_a_barrier_waits_for_the_arrivals_of_its_phase():
    # Warp 0 is back at the barrier before warp 1 has left it.
    stream = [(0, ARRIVE), (1, ARRIVE), (0, LEAVE), (0, ARRIVE), (1, LEAVE), (1, ARRIVE), (1, LEAVE), (0, LEAVE)]
    trace = Trace(entries(stream), np.zeros(0, np.int64), np.zeros(1), 1)
    found, begins, objects = for_replay(trace, np.array([0]))
    assert objects == 1
    assert begins.tolist() == [0, 2]
    assert found["need"].tolist() == [2, 4, 2, 4]


def test_traces_thin_out_where_they_would_take_too_much_memory(monkeypatch):
    from ptxsim.machine.event import RECORD, Event
    from ptxsim.profile.model import trace as module

    program = kernel("mov.u32 %r0, %tid.x;").program("sm_90a")
    monkeypatch.setattr(module, "MOST_BYTES", 40 * ENTRY.itemsize)
    tracer = module.Tracer(program, ctas=264, cluster=1, figures=H200)
    records = np.zeros(264, RECORD)
    records["event"], records["cta"] = Event.EXECUTE, np.arange(264)
    for part in np.split(records, 8):
        tracer.consume(part)
    found = tracer.trace()
    assert found.modulus > 1
    assert found.entries.nbytes <= 40 * ENTRY.itemsize
    assert (found.entries["cta"] % 132 % found.modulus == 0).all()
    assert (found.work > 0).all()  # work is counted for every CTA


def test_readers_are_counted_by_line_and_sm():
    # CTAs 0 and 132 share an SM. Line 8 is read on two SMs, line 9 on one; a store reads nothing.
    made = np.zeros(4, ENTRY)
    made["cta"], made["code"] = [0, 132, 1, 2], [LOAD, LOAD, LOAD, STORE]
    made["first"], made["count"] = [0, 2, 3, 4], [2, 1, 1, 1]
    lines = np.array([8, 9, 8, 8, 8]) << 4 | 15
    assert reads(Trace(made, lines, np.zeros(133), 1), 132)[:3] == (1.5, 2, 8)
    assert reads(Trace(made[3:], lines, np.zeros(133), 1), 132).sms == 1.0
    copied = np.array([20, 20, 21]) * 132 + [4, 5, 5]  # bulk copies of two SMs read line 20, one line 21
    assert reads(Trace(made[3:], lines, np.zeros(133), 1, copied), 132)[:3] == (1.5, 2, 0)


@given(st.lists(st.integers(-(2**40), 2**40), max_size=50), st.integers(0, 300))
def test_different_numbers_are_found_whether_they_lie_close_together_or_not(numbers, span):
    close = np.array([number % (span + 1) for number in numbers], np.int64)
    for values in (np.array(numbers, np.int64), close):
        assert different(values).tolist() == sorted(set(values.tolist()))


@pytest.mark.slow
def test_of_a_sample_one_sm_is_kept_in_full_and_of_the_others_what_they_read(monkeypatch):
    # CTAs n and n + 132 have their SM in common; each reads what its neighbours read, 64 turns of it by way of shared memory.
    body = """
        .shared .align 16 .b8 tile[512];
        ld.param.u64 %d0, [place]; mov.u32 %r1, %ctaid.x; mov.u32 %r0, %tid.x; and.b32 %r2, %r1, 3; mad.lo.s32 %r2, %r2, 2048, %r0;
        mul.wide.u32 %d1, %r2, 4; add.s64 %d0, %d0, %d1; shl.b32 %r3, %r0, 3; and.b32 %r3, %r3, 511; mov.u32 %r4, tile; add.s32 %r3, %r3, %r4;
        mov.u32 %r5, 0;
        again: .pragma "nounroll"; ld.global.u32 %r6, [%d0]; st.shared.u32 [%r3], %r6; ld.shared.u32 %r7, [%r3]; add.s32 %r5, %r5, 1;
        setp.ne.s32 %p0, %r5, 64; @%p0 bra again; st.global.u32 [%d0], %r7;
    """

    def predicted(first):
        monkeypatch.setattr(profiler, "FIRST", first)
        place = np.zeros(1 << 14, np.uint32)
        options = LaunchOptions(grid=1000, block=64, profile=1, every=13, sample=True, checks="none")
        run = kernel(body).run([place, 1], options)
        assert run.is_sample
        return run.cycles

    alone, all_of_them = predicted(0), predicted(None)
    assert alone.cycles == all_of_them.cycles and alone.memory == all_of_them.memory
    assert len(alone.machine_code.tracer.trace().entries) < len(all_of_them.machine_code.tracer.trace().entries) / 2


@pytest.mark.slow
def test_of_a_sample_all_sms_say_how_much_there_is_to_do():
    # As attention with a causal mask: in each row of 8 CTAs the work grows, and all CTAs of an SM have one of two columns.
    body = """
        ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; and.b32 %r1, %r0, 7; mul.lo.u32 %r1, %r1, 100; mov.u32 %r2, 0;
        again: .pragma "nounroll"; mad.lo.u32 %r2, %r2, %r0, %r1; sub.u32 %r1, %r1, 1; setp.gt.s32 %p0, %r1, 0; @%p0 bra again;
        st.global.u32 [%d0], %r2;
    """
    whole, sampled = (
        kernel(body)
        .run([np.zeros(4, np.uint32), 1], LaunchOptions(grid=2048, block=1024, profile=1, checks="none", **how))
        .cycles.cycles
        for how in ({}, {"every": 33, "sample": True})
    )
    assert whole / 2 < sampled < whole


def test_a_tensor_map_that_is_copied_is_no_access_of_a_lane():
    run = run_file(CASES / "tensor_copy" / "map_made_on_the_device.ptx", options=Options(profile=1, banks=True)).run
    assert run.findings == [] and run.cycles.cycles > 0 and run.banks.worst == 1

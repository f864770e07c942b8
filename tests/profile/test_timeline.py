"""Timelines: tracks of warps and engines, as Perfetto reads them."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from ptxsim.report.trace import write_trace
from tests.profile.kernels import kernel

BODY = """
.shared .align 16 .b8 cells[4096];
ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;
mov.u32 %r1, cells; mad.lo.u32 %r1, %r0, 4, %r1;
ld.global.f32 %f0, [%d1]; st.shared.f32 [%r1], %f0; bar.sync 0; ld.shared.f32 %f1, [%r1];
ex2.approx.ftz.f32 %f1, %f1; st.global.f32 [%d1], %f1;
"""


@pytest.fixture(scope="module")
def cycles():
    return kernel(BODY).launch(1, 64, [np.zeros(256, np.float32), 0], profile=True, engine="interpreter").cycles


def test_a_trace_file_is_what_perfetto_reads(cycles, tmp_path):
    write_trace(tmp_path / "t.json", cycles)
    document = json.loads((tmp_path / "t.json").read_text())
    events = document["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    tracks = defaultdict(list)
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0 and (event["pid"], event["tid"]) in named
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in tracks.values():  # slices of a track do not overlap
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(spans))


def test_every_engine_that_worked_has_a_track(cycles):
    tracks = {span.track for span in cycles.timeline.engine_spans()}
    assert {"shared memory and L1", "L2 port", "barriers"} <= tracks
    assert {"sub-core 0: special functions", "sub-core 1: special functions"} <= tracks
    assert "TMA" not in tracks and "sub-core 0: tensor core" not in tracks


def test_both_warps_have_one(cycles):
    assert {span.track for span in cycles.timeline.warp_spans()} == {"warp slot 0", "warp slot 1"}


def test_copies_and_products_have_tracks():
    body = (
        ".shared .align 16 .b8 cells[1024];\nld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 16; add.s64 %d1, %d0, %d1;"
        "mov.u32 %r1, cells; mad.lo.u32 %r1, %r0, 16, %r1; cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.wait_all;\n"
        "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0,%r0,%r0}, {%r0,%r0}, {%f0,%f1,%f2,%f3};\n"
        "st.global.f32 [%d1], %f0;"
    )
    found = kernel(body).launch(1, 32, [np.zeros(512, np.float32), 0], profile=True, engine="interpreter").cycles
    spans = {span.track: span for span in found.timeline.engine_spans()}
    assert {"cp.async under way", "sub-core 0: tensor core"} <= set(spans)
    assert spans["cp.async under way"].end - spans["cp.async under way"].begin > 200  # from L2


def test_waits_say_who_ended_them(cycles):
    """The warp that comes first to the barrier goes on when the other one is there."""
    timeline = cycles.timeline
    ended = {(int(w[0]), timeline.waker(int(w[0]), int(w[6]))) for w in timeline.waits if w[6] >= 0}
    assert ended <= {(0, "warp slot 1"), (1, "warp slot 0"), (0, "warp slot 0"), (1, "warp slot 1")} and ended
    assert (timeline.waits[:, 5] - timeline.waits[:, 4] >= 8).all()


def test_a_copy_that_is_waited_for_ended_the_wait():
    body = (
        ".shared .align 16 .b8 cells[1024];\nld.param.u64 %d0, [place]; mov.u32 %r1, cells;\n"
        "cp.async.cg.shared.global [%r1], [%d0], 16; cp.async.wait_all; ld.shared.f32 %f0, [%r1]; st.global.f32 [%d0], %f0;"
    )
    found = kernel(body).launch(1, 1, [np.zeros(512, np.float32), 0], profile=True, engine="interpreter").cycles
    assert "cp.async under way" in {found.timeline.waker(int(w[0]), int(w[6])) for w in found.timeline.waits}


def test_the_roofline_counts_operations_and_bytes():
    body = (
        "ld.param.u64 %d0, [place]; mov.u32 %r0, 0; mov.f32 %f0, 0f3F800000; mov.f32 %f2, %f0; mov.f32 %f3, %f0; fma.rn.f32 %f1, %f0, %f0, %f0; add.f32 %f1, %f1, %f0;\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0,%r0,%r0}, {%r0,%r0}, {%f0,%f1,%f2,%f3};\n"
        "st.global.f32 [%d0], %f1;"
    )
    found = kernel(body).launch(1, 64, [np.zeros(512, np.float32), 0], profile=True, engine="interpreter").cycles
    assert found.roofline.operations == {"f32": 2 * 32 * 3, "tensor f16": 2 * 2 * 16 * 8 * 16}
    assert found.roofline.bytes["L2"] > 0 and {c.name for c in found.roofline.compute} == {"f32", "tensor f16"}
    assert found.occupancy.limits["warps"] == 32 and found.occupancy.limiter in found.occupancy.limits

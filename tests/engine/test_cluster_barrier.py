"""The barrier of a cluster in native code against the interpreter: memory, findings, counts, every event."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.engine.programs import body, compare, run, same_events
from tests.helpers import CASES

ARRIVE, WAIT = "barrier.cluster.arrive;", "barrier.cluster.wait;"
NATIVE = {
    "one phase": f"{ARRIVE} add.u32 %r4, %r4, 1; {WAIT}",
    "aligned and relaxed": "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;",
    "many phases": f"mov.u32 %r10, 0; L: {ARRIVE} {WAIT} add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 5; @%p2 bra L;",
    "halves apart": f"setp.lt.u32 %p2, %r0, 40; @%p2 bra LOW; {ARRIVE} {WAIT} bra BOTH; LOW: {ARRIVE} {WAIT} BOTH: add.u32 %r4, %r4, 1;",
    "under a guard": f"setp.lt.u32 %p2, %r0, 32; @%p2 {ARRIVE} @!%p2 {ARRIVE} @%p2 {WAIT} @!%p2 {WAIT}",
    "lanes arrive under a guard": f"setp.lt.u32 %p2, %r0, 40; @%p2 {ARRIVE} @!%p2 {ARRIVE} {WAIT}",
    "some exit": f"{ARRIVE} {WAIT} setp.lt.u32 %p2, %r0, 20; @%p2 ret; {ARRIVE} {WAIT}",
    "some exit after they have come": f"{ARRIVE} setp.lt.u32 %p2, %r0, 20; @%p2 ret; {WAIT}",
}  # fmt: skip
LEFT = {
    "some lanes wait, the others go on": f"setp.lt.u32 %p2, %r0, 40; @%p2 {ARRIVE} @!%p2 {ARRIVE} @%p2 {WAIT} @!%p2 {WAIT}",
    "a second arrival": f"{ARRIVE} {ARRIVE} {WAIT}",
    "no arrival": WAIT,
    "one warp is missing": f"setp.lt.u32 %p2, %r0, 32; @%p2 bra OUT; {ARRIVE} {WAIT} OUT: bar.sync 0;",
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("name", [*NATIVE, *LEFT])
def test_the_same_is_done_and_said(name, cluster):
    text = body((NATIVE | LEFT)[name])
    compare(text, checks="memory", cluster=cluster)
    compare(text, checks="all", cluster=cluster)
    compare(text, checks="memory", cluster=cluster, seed=5)
    assert same_events(text, cluster=cluster)


@pytest.mark.thin(5)
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_what_is_native(name, cluster):
    assert run(body(NATIVE[name]), "compiled", checks="none", cluster=cluster)[1].slow_path == []


@pytest.mark.thin(5)
@pytest.mark.parametrize("path", sorted((CASES / "clusters").glob("*.ptx")), ids=lambda path: path.stem)
def test_the_memory_of_other_ctas_is_reached_natively(path):
    """Loads, stores, atomics, arrivals and copies; the interpreter executes these alone, and says what is wrong."""
    run = run_file(path, options=Options(engine="compiled", checks="none")).run
    alone, wrong = ("st.async", "red.async", "getctarank", "clusterlaunchcontrol"), {each.line for each in run.findings}
    rows = [row for row in run.slow_path if row.line not in wrong]
    assert [row for row in rows if not row.instruction.startswith(alone)] == []

"""Bulk copies on both engines: the same memory, findings, counts and events."""

import pytest

from ptxsim.engine.compiled.run.cta_runner import NativeCluster
from tests.engine.programs import compare, run, same_events

pytestmark = pytest.mark.usefixtures("slow_isspacep")

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{{
    .shared .align 8 .b64 bar[4]; .shared .align 128 .b8 tile[4096];
    .reg .b32 %r<12>, %tid, %s, %t, %n, %x; .reg .b64 %p, %g, %st; .reg .pred %q, %one, %more;
    mov.u32 %tid, %tid.x; ld.param.u64 %g, [data];
    mov.u32 %r0, %ctaid.x; mul.wide.u32 %p, %r0, 1024; add.u64 %g, %g, %p; mul.wide.u32 %p, %tid, 16; add.u64 %p, %g, %p;
    mov.u32 %s, bar; mov.u32 %t, tile; setp.eq.u32 %one, %tid, 0; mov.u32 %x, 0; mov.u32 %n, 0;
    @%one mbarrier.init.shared.b64 [%s], 1; @%one mbarrier.init.shared.b64 [%s+8], 64;
    bar.sync 0;
    {body}
    ret;
}}
"""
LOAD = (
    "@%one mbarrier.arrive.expect_tx.shared.b64 %st, [%s], 512;"
    "@%one cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t], [%g], 512, [%s];"
)
WAIT = "W{n}: mbarrier.try_wait.parity.shared.b64 %q, [%s+{at}], {parity}; @!%q bra W{n};"
ADD = (
    "shl.b32 %r1, %tid, 2; and.b32 %r1, %r1, 508; add.u32 %r1, %r1, %t; ld.shared.u32 %r2, [%r1]; add.u32 %x, %x, %r2;"
)
LAST = "bar.sync 0; st.global.u32 [%p], %x;"
STORE = "fence.proxy.async; bar.sync 0; @%one cp.async.bulk.global.shared::cta.bulk_group [%g+512], [%t], 256; {commit} {wait}"
SPIN = "mov.u32 %r5, 0; SPIN: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %q, %r5, {rounds}; @%q bra SPIN;"


def wait(n: int, parity: int | str = 0, at: int = 0) -> str:
    return WAIT.format(n=n, parity=parity, at=at)


COPIES = {
    "a load": LOAD + wait(1) + ADD + LAST,
    "a load that lands before anybody waits": LOAD + SPIN.format(rounds=300) + wait(1) + ADD + LAST,
    "rounds of loads": (
        f"AGAIN: {LOAD} and.b32 %r4, %n, 1; {wait(1, '%r4')} {ADD} bar.sync 0; add.u32 %n, %n, 1;"
        f"setp.lt.u32 %more, %n, 5; @%more bra AGAIN; {LAST}"
    ),
    "a load without a wait": LOAD,
    "a store": STORE.format(commit="@%one cp.async.bulk.commit_group;", wait="@%one cp.async.bulk.wait_group 0;"),
    "a store without a wait": STORE.format(commit="@%one cp.async.bulk.commit_group;", wait=""),
    "a store without a group": STORE.format(commit="", wait="@%one cp.async.bulk.wait_group 0;"),
    "a wait that times out": LOAD + wait(1) + ADD + "@%one mbarrier.try_wait.parity.shared.b64 %q, [%s+8], 0;" + LAST,
    "one warp polls": LOAD + "P: mbarrier.test_wait.parity.shared.b64 %q, [%s], 0; add.u32 %x, %x, 1; @!%q bra P;" + LAST,
    "a load into nowhere": LOAD.replace("[%t]", "[%t+8192]") + wait(1),
    "a load without a barrier": LOAD.replace("512, [%s]", "512, [%s+16]") + wait(1),
    "too few bytes are announced": LOAD.replace("[%s], 512;", "[%s], 256;", 1) + wait(1),
    "too many bytes are announced": LOAD.replace("[%s], 512;", "[%s], 1024;", 1) + wait(1),
    "what Python keeps in between": LOAD + "isspacep.shared %q, %p; " + wait(1) + ADD + LAST,
    "the store of a CTA that has ended": STORE.format(commit="@%one cp.async.bulk.commit_group;", wait="") + SPIN.format(rounds=100),
}  # fmt: skip


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", COPIES)
def test_the_same_is_done_and_said(name):
    text = KERNEL.format(body=COPIES[name])
    for checks in ("none", "memory", "all"):
        compare(text, checks=checks, grid=2)
    compare(text, checks="memory", seed=3)
    compare(text, checks="none", grid=4, max_steps=60)
    assert same_events(text)


def test_a_cta_goes_on_natively_after_a_copy(monkeypatch):
    """Nothing takes the slow path, and no CTA is handed over."""
    handed, hand_over = [], NativeCluster._hand_over
    monkeypatch.setattr(NativeCluster, "_hand_over", lambda self: handed.append(self.at) or hand_over(self))
    left = run(KERNEL.format(body=COPIES["rounds of loads"]), "compiled", grid=4, checks="none")[1].slow_path
    assert (left, handed) == ([], [])

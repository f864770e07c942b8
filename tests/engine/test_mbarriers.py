"""mbarriers in native code against the interpreter: memory, findings, counts, every event; what is native and what is left."""

import pytest

from tests.engine.programs import compare, run, same_events

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{{
    .shared .align 8 .b64 bar[8]; .shared .align 16 .b8 tile[256];
    .reg .b32 %r<10>, %tid, %s, %x; .reg .b64 %p, %g, %t, %u; .reg .pred %q, %w, %one, %odd, %low;
    mov.u32 %tid, %tid.x; ld.param.u64 %g, [data];
    mov.u32 %r0, %ctaid.x; mad.lo.u32 %r0, %r0, 64, %tid; mul.wide.u32 %p, %r0, 16; add.u64 %p, %g, %p;
    mov.u32 %s, bar; and.b32 %r1, %tid, 1; setp.eq.u32 %odd, %r1, 1; setp.eq.u32 %one, %tid, 0; setp.lt.u32 %low, %tid, 16;
    mov.u32 %x, 0; mov.u64 %t, 0; mov.u64 %u, 0; mov.pred %q, 0; mov.pred %w, 0;
    @%one mbarrier.init.shared.b64 [%s], {count};
    bar.sync 0;
    {body}
    selp.u32 %r5, 1, 0, %q; selp.u32 %r6, 1, 0, %w;
    st.global.u64 [%p], %t; add.u32 %x, %x, %r5; st.global.v2.u32 [%p+8], {{%x, %r6}};
    ret;
}}
"""
WAIT = "W{n}: mbarrier.try_wait.parity.shared.b64 %q, [%s], {parity}; add.u32 %x, %x, 1; @!%q bra W{n};"


def kernel(body: str, count: int = 64) -> str:
    return KERNEL.format(body=body, count=count)


def wait(n: int, parity: int) -> str:
    return WAIT.format(n=n, parity=parity)


ARRIVE = "mbarrier.arrive.shared.b64 %t, [%s];"
NATIVE = {
    "arrive and wait": ARRIVE + wait(1, 0),
    "three phases": "".join(ARRIVE + wait(n, n % 2) for n in range(3)),
    "tokens": ARRIVE + "W: mbarrier.try_wait.shared.b64 %q, [%s], %t; @!%q bra W;",
    "a state before": ARRIVE + wait(1, 0) + "mbarrier.test_wait.shared.b64 %w, [%s], %t; mbarrier.pending_count.b64 %x, %t;",
    "a constant as a state": "mbarrier.pending_count.b64 %x, 77309411333;",
    "drop": "mbarrier.arrive_drop.shared.b64 %t, [%s]; @%one mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], 0;",
    "no completion": "@%odd mbarrier.arrive.noComplete.shared.b64 %t, [%s], 1;",
    "bytes": (
        "@%one mbarrier.arrive.expect_tx.shared.b64 %t, [%s], 96; @!%one mbarrier.arrive.shared.b64 %t, [%s];"
        "@%one mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 96;" + wait(1, 0)
    ),
    "polls": f"{ARRIVE} W: mbarrier.test_wait.parity.shared.b64 %q, [%s], 0; add.u32 %x, %x, 1; @!%q bra W;",
    "the phase before": ARRIVE + wait(1, 0) + "mbarrier.test_wait.parity.shared.b64 %w, [%s], 1;",
    "a guarded wait": ARRIVE + "@%odd mbarrier.try_wait.parity.shared.b64 %q, [%s], 0;",
    "halves of a warp": f"@%low bra LOW; {ARRIVE}{wait(1, 0)} bra BOTH; LOW: {ARRIVE}{wait(2, 0)} BOTH: add.u32 %x, %x, 7;",
    "the first warp late": f"setp.ge.u32 %q, %tid, 32; @%q bra GO; mov.u32 %r7, 0; L: add.u32 %r7, %r7, 1; setp.lt.u32 %q, %r7, 500; @%q bra L; GO: {ARRIVE}{wait(1, 0)}",
    "invalidated": ARRIVE + wait(1, 0) + "bar.sync 0; @%one mbarrier.inval.shared.b64 [%s]; @%one st.shared.u64 [%s], %t; @%one mbarrier.init.shared.b64 [%s], 3;",
    "many": "setp.gt.u32 %q, %tid, 7; @%q bra SKIP; mad.lo.u32 %r2, %tid, 8, %s; @!%one mbarrier.init.shared.b64 [%r2], 1; SKIP: bar.sync 0;" + ARRIVE + wait(1, 0),
    "generic addresses": "cvt.u64.u32 %u, %s; cvta.shared.u64 %u, %u; mbarrier.arrive.b64 %t, [%u]; W: mbarrier.try_wait.parity.b64 %q, [%u], 0; @!%q bra W;",
    "lanes wait for different ones": (
        "@%one mbarrier.init.shared.b64 [%s+8], 64; bar.sync 0; selp.u32 %r2, 8, 0, %odd; add.u32 %r2, %r2, %s;" + ARRIVE
        + "mbarrier.arrive.shared.b64 %u, [%s+8]; W: mbarrier.try_wait.parity.shared.b64 %q, [%r2], 0; @!%q bra W;"
    ),
    "arrivals on different ones": (
        "@%one mbarrier.init.shared.b64 [%s+8], 32; bar.sync 0; selp.u32 %r2, 8, 0, %odd; add.u32 %r2, %r2, %s;"
        "mbarrier.arrive.shared.b64 %t, [%r2];"
    ),
}  # fmt: skip
LEFT = {
    "arrivals on different ones are taken back": (
        "@%one mbarrier.init.shared.b64 [%s+8], 1; bar.sync 0; selp.u32 %r2, 8, 0, %odd; add.u32 %r2, %r2, %s;"
        "mbarrier.arrive.shared.b64 %t, [%r2];"
    ),
    "too many": "mbarrier.arrive.shared.b64 %t, [%s], 3;",
    "the last of them too many": f"@%one {ARRIVE} {ARRIVE}",
    "overwritten": f"@%one st.shared.u32 [%s+4], 5; bar.sync 0; {ARRIVE}",
    "none there": "mbarrier.arrive.shared.b64 %t, [%s+16];",
    "begun twice": "@%one mbarrier.init.shared.b64 [%s], 5;",
    "a parity of two": "mov.u32 %r2, 2; mbarrier.try_wait.parity.shared.b64 %q, [%s], %r2;",
    "in global memory": "mbarrier.arrive.b64 %t, [%g];",
    "no thread arrives": wait(1, 0),
    "time-outs": "mbarrier.try_wait.parity.shared.b64 %q, [%s], 0; " + ARRIVE + wait(1, 0),
    "more bytes than fit": "mov.u32 %r2, 1048575; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], %r2;",
}  # fmt: skip
COUNTS = {"the last of them too many": 64, "polls": 64, "arrivals on different ones": 32}
PYTHON = {"begun twice"}  # no fault, but left to the slow path


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", [*NATIVE, *LEFT])
def test_the_same_is_done_and_said(name):
    text = kernel((NATIVE | LEFT)[name], COUNTS.get(name, 64))
    compare(text, checks="memory")
    compare(text, checks="all")
    compare(text, checks="memory", seed=3)
    assert same_events(text)


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", sorted([*NATIVE, *PYTHON]))
def test_what_is_native(name):
    _, found = run(kernel((NATIVE | LEFT)[name], COUNTS.get(name, 64)), "compiled", checks="none")
    assert bool(found.slow_path) == (name in PYTHON), found.slow_path

"""Both engines name the phase of a barrier alike, so that the race check orders the same accesses."""

import numpy as np

from ptxsim.machine.event import Event, Observer
from tests.helpers import prepare, same_on_both

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred p; .reg .b32 n;
mov.u32 n, 0;
LOOP:
bar.sync 0;
bar.sync 1;
add.u32 n, n, 1;
setp.lt.u32 p, n, 3;
@p bra LOOP;
ret;
}
"""


class Barriers(Observer):
    events = frozenset({Event.ARRIVE, Event.LEAVE})

    def __init__(self):
        self.seen = []

    def consume(self, records):
        self.seen += [(int(r["warp"]), int(r["event"]), *(int(a) for a in r["addresses"][:2])) for r in records]

    def findings(self, program):
        return []


def test_phases_are_named_alike():
    def outcome(engine: str) -> list:
        observer = Barriers()
        prepare(TEXT, [np.zeros(1)], block=96, engine=engine).run_grid([observer])
        return observer.seen

    assert {phase for *_, phase in same_on_both(outcome)} == {0, 1, 2}


# Warps 0 and 1 fill a tile for warps 2 and 3 again and again; the barriers of a pair of them count 96 and 128 threads.
PRODUCERS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred p, q; .reg .b32 n, t, v, a, b; .reg .b64 d, o;
.shared .align 4 .b8 tile[256];
mov.u32 n, 0;
mov.u32 v, 0;
mov.u32 t, %tid.x;
and.b32 a, t, 63;
shl.b32 a, a, 2;
mov.u32 b, tile;
add.u32 a, a, b;
setp.ge.u32 q, t, 64;
LOOP:
@q bra CONSUME;
bar.sync 1, 128;
add.u32 b, n, t;
st.shared.u32 [a], b;
bar.arrive 2, 128;
bra NEXT;
CONSUME:
bar.arrive 1, 128;
bar.sync 2, 128;
ld.shared.u32 b, [a];
mad.lo.u32 v, v, 3, b;
NEXT:
add.u32 n, n, 1;
setp.lt.u32 p, n, 5;
@p bra LOOP;
@!q bra END;
bar.sync 3, 64;
ld.param.u64 o, [out];
mul.wide.u32 d, t, 4;
add.u64 d, d, o;
st.global.u32 [d], v;
END:
ret;
}
"""


def test_producers_and_consumers_meet_natively(slow_path):
    def outcome(engine: str) -> tuple:
        observer, out = Barriers(), np.zeros(128, np.uint32)
        run = prepare(PRODUCERS, [out], block=128, engine=engine)
        machine = run.run_grid([observer])
        run.copy_out()
        return observer.seen, out.tolist(), machine.steps, machine.warp_instructions, list(machine.findings)

    _, out, *_ = same_on_both(outcome)
    assert slow_path == {}
    assert out[:64] == [0] * 64
    value = np.zeros(64, np.uint32)
    for n in range(5):
        value = value * 3 + n + np.arange(64, dtype=np.uint32)
    assert out[64:] == value.tolist()

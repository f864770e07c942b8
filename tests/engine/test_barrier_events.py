"""Both engines name the phase of a barrier alike, so that the race check orders the same accesses."""

import numpy as np

from ptxsim.machine.event import Event, Observer
from tests.helpers import CASES, prepare, same_on_both

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


def test_producers_and_consumers_meet_at_the_same_phases():
    text = (CASES / "barriers/producers_and_consumers.ptx").read_text()

    def outcome(engine: str) -> list:
        observer = Barriers()
        prepare(text, [np.zeros(128, np.uint32)], block=128, engine=engine).run_grid([observer])
        return observer.seen

    assert same_on_both(outcome)

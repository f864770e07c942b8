"""Both engines name the phase of a barrier alike, so that the race check orders the same accesses."""

import numpy as np

from ptxsim.machine.event import Event, Observer
from tests.helpers import CASES, prepare, same_on_both, text_of

TEXT = text_of("engine/two_barriers.ptx")


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

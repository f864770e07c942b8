"""What lanes begin and what completes later is told alike by both engines, whichever record of the work it takes."""

import numpy as np

from ptxsim.machine.event import Event, Observer
from tests.helpers import prepare, same_on_both, text_of

TEXT = text_of("engine/lane_work.ptx")
TOLD = ("event", "space", "width", "flags", "mask")


class Told(Observer):
    events = frozenset({Event.ASYNC_ISSUE, Event.ASYNC_WRITE, Event.ASYNC_WAIT, Event.MBARRIER_ARRIVE})

    def __init__(self):
        self.seen = []

    def consume(self, records):
        for record in records:
            lanes = record["mask"] >> np.arange(32) & 1 == 1
            self.seen.append((*(int(record[name]) for name in TOLD), tuple(map(int, record["addresses"][lanes]))))

    def findings(self, program):
        return []


def test_stores_and_arrivals_are_told_alike():
    def outcome(engine: str) -> list:
        observer = Told()
        prepare(TEXT, [np.zeros(128, np.uint32)], block=32, engine=engine).run_grid([observer])
        return observer.seen

    seen = same_on_both(outcome)
    widths = {event: {width for kind, _, width, *_ in seen if kind == event} for event in Told.events}
    assert widths == {
        Event.ASYNC_ISSUE: {16}, Event.ASYNC_WRITE: {16}, Event.ASYNC_WAIT: {16}, Event.MBARRIER_ARRIVE: {8}
    }  # fmt: skip

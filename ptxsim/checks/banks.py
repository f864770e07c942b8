"""Counts shared-memory wavefronts per instruction, as the profiler does. The rule is layout.banks; this listens and adds up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptxsim.layout import banks
from ptxsim.machine.event import Event, Observer, Space

KINDS = {
    Event.LOAD: "ld",
    Event.STORE: "st",
    Event.ATOMIC: "atom",
    Event.CAS: "cas",
    Event.REDUCE: "red",
    Event.LDMATRIX: "ldmatrix",
    Event.STMATRIX: "stmatrix",
}


@dataclass(slots=True)
class Tally:
    """What one instruction did: executions, wavefronts, the fewest they could take, and its worst execution."""

    kind: str
    width: int
    runs: int = 0
    wavefronts: int = 0
    ideal: int = 0
    worst: int = 0  # wavefronts over ideal of the worst execution, rounded up
    worst_wavefronts: int = 0
    addresses: np.ndarray = field(default_factory=lambda: np.zeros(32, np.uint64))
    mask: int = 0


class BankCounter(Observer):
    """Tallies by instruction site."""

    events = frozenset(KINDS)

    def __init__(self) -> None:
        self.tallies: dict[int, Tally] = {}

    def consume(self, records: np.ndarray) -> None:
        shared = records[records["space"] == Space.SHARED]
        for site in np.unique(shared["site"]):
            of_site = shared[shared["site"] == site]
            for event in np.unique(of_site["event"]):
                of_event = of_site[of_site["event"] == event]
                for width in np.unique(of_event["width"]):
                    self._add(int(site), KINDS[Event(event)], int(width), of_event[of_event["width"] == width])

    def _add(self, site: int, kind: str, width: int, records: np.ndarray) -> None:
        result = banks.analyze(records["addresses"], width, kind, records["mask"])
        wavefronts, ideal = np.atleast_1d(result.wavefronts), np.atleast_1d(result.ideal)
        tally = self.tallies.get(site)
        if tally is None:
            tally = self.tallies[site] = Tally(kind, width)
        tally.runs += len(records)
        tally.wavefronts += int(wavefronts.sum())
        tally.ideal += int(ideal.sum())
        ratio = -(-wavefronts // np.maximum(ideal, 1))
        top = int(np.argmax(wavefronts - ideal))
        if ratio[top] > tally.worst or wavefronts[top] > tally.worst_wavefronts:
            tally.worst = max(tally.worst, int(ratio.max()))
            tally.worst_wavefronts = int(wavefronts[top])
            tally.addresses, tally.mask = records["addresses"][top].copy(), int(records["mask"][top])
            tally.kind, tally.width = kind, width

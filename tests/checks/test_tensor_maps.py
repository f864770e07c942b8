"""Who wrote a tensor map last, among instructions that store side by side."""

import numpy as np

from ptxsim.checks.tensor_maps import TensorMapChecker
from ptxsim.machine.event import FLAG_TENSORMAP, RECORD, Event, Proxy, Scope, Space

MAP = 0x1000


def records(*rows: tuple) -> np.ndarray:
    """Rows of (event, site, CTA, flags, addresses)."""
    found = np.zeros(len(rows), RECORD)
    for record, (event, site, cta, flags, addresses) in zip(found, rows):
        record["event"], record["site"], record["cta"], record["flags"] = event, site, cta, flags
        record["space"], record["mask"] = Space.GLOBAL, 1
        record["addresses"][: len(addresses)] = addresses
    return found


def problems(*rows: tuple) -> dict:
    checker = TensorMapChecker()
    checker.consume(records(*rows))
    return checker.problems


def store(site: int, cta: int) -> tuple:
    return Event.STORE, site, cta, 0, [MAP + 8 * site]


USE = Event.ASYNC_READ, 9, 0, FLAG_TENSORMAP, [MAP]
RELEASE = Event.FENCE, 5, 0, 0, [Scope.GPU, Proxy.TENSORMAP]


def test_the_last_of_two_stores_counts():
    assert problems(store(1, 0), store(2, 1), USE) == {(9, 2, "release"): 1}
    assert problems(store(2, 1), store(1, 0), USE) == {(9, 1, "release"): 1}


def test_a_release_is_for_what_its_cta_wrote_before():
    assert problems(store(1, 0), RELEASE, USE) == {(9, 1, "acquire"): 1}
    assert problems(store(1, 0), RELEASE, store(2, 0), USE) == {(9, 2, "release"): 1}
    assert problems(store(1, 0), store(2, 1), RELEASE, USE) == {(9, 2, "release"): 1}

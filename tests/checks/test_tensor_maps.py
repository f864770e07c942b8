"""Who wrote a tensor map last, among instructions that store side by side."""

import numpy as np

from ptxsim.checks.proxies.tensor_maps import TensorMapChecker
from ptxsim.machine.event import FLAG_TENSORMAP, RECORD, Event, Proxy, Scope, Space

MAP = 0x1000


def records(*rows: tuple) -> np.ndarray:
    """Rows of (event, site, CTA, flags, addresses, and the warp if it is not 0)."""
    found = np.zeros(len(rows), RECORD)
    for record, (event, site, cta, flags, addresses, *warp) in zip(found, rows):
        record["warp"] = warp[0] if warp else 0
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


ACQUIRE = Event.FENCE, 6, 0, 0, [Scope.GPU, Proxy.TENSORMAP_ACQUIRE, MAP]
MEETS = Event.LEAVE, 7, 0, 0, [0]


def test_a_release_by_another_thread_counts_if_that_has_met_the_writer_since():
    elsewhere = (*RELEASE, 1)
    assert problems(store(1, 0), elsewhere, ACQUIRE, USE) == {(9, 1, "release"): 1}
    assert problems((*MEETS, 1), store(1, 0), elsewhere, ACQUIRE, USE) == {(9, 1, "release"): 1}
    assert problems(store(1, 0), (*MEETS, 1), elsewhere, ACQUIRE, USE) == {}
    assert problems(store(1, 0), RELEASE, ACQUIRE, USE) == {}


def test_each_lane_that_has_written_releases():
    wide, one = records(store(1, 0), RELEASE, ACQUIRE, USE), records(store(1, 0), RELEASE, ACQUIRE, USE)
    for each in (wide, one):
        each["mask"][0] = 3
        each["addresses"][0, :2] = MAP, MAP + 8
    wide["mask"][1] = 3
    for given, found in ((wide, {}), (one, {(9, 1, "release"): 1})):
        checker = TensorMapChecker()
        checker.consume(given)
        assert checker.problems == found

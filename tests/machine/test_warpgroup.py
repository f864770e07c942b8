"""The bodies of warpgroups: the same in Python and as native code, and the groups that lists of products would give."""

import ctypes
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.jit.compiler import shared
from ptxsim.jit.export import export
from ptxsim.machine import warpgroup
from ptxsim.machine.records import CtaRecord, WarpRecord
from ptxsim.machine.warpgroup import NOT_COMMITTED, RING, STARTED, WAITS, WARPS, WarpgroupRecord

PREFIX = "ptxsim_test_warpgroup_"
BODIES = (warpgroup.arrive, warpgroup.commit, warpgroup.wait, warpgroup.due)
I32, I64, U64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64


@cache
def native(body, result):
    export(shared(), PREFIX, *BODIES)
    return ctypes.CFUNCTYPE(result)(shared().address(PREFIX + body.function.__name__))


class Both:
    """The records twice: for Python, and for native code."""

    def __init__(self, threads=WARPS * 32):
        self.records = []
        for _ in range(2):
            warps = [WarpRecord() for _ in range(WARPS)]
            for number, warp in enumerate(warps):
                warp.index = number
            self.records.append((CtaRecord(threads, threads), warpgroup.warpgroups_of(warps)[0], warps))

    @property
    def group(self):
        return self.records[0][1]

    def _call(self, body, result, given, numbers):
        plain, compiled = (given(*records) for records in self.records)
        found = body(*plain, *(number.value for number in numbers))
        other = native(body, result)(*(ctypes.c_void_p(each.address) for each in compiled), *numbers)
        assert found is None or found == other
        (cta, group, _), (other_cta, other_group, _) = self.records
        places = WarpgroupRecord.offsets()
        for part in (slice(places["warps"]), slice(places["ring"], None)):  # what is not an address
            assert bytes(group)[part] == bytes(other_group)[part]
        assert bytes(cta) == bytes(other_cta)
        return found

    def arrive(self, place, site=1, a=1 << 63, b=2):
        numbers = (I32(site), I32(7), I32(-1), U64(a), U64(b))
        return self._call(warpgroup.arrive, I32, lambda cta, group, warps: (cta, group, warps[place]), numbers)

    def commit(self, place):
        self._call(warpgroup.commit, None, lambda _, group, warps: (group, warps[place]), ())

    def wait(self, place, pending):
        return self._call(warpgroup.wait, I64, lambda _, group, warps: (group, warps[place]), (I64(pending),))

    def due(self, now):
        return self._call(warpgroup.due, I64, lambda _, group, warps: (group,), (I64(now),))

    def start(self, order=range(WARPS)):
        *first, last = order
        assert [self.arrive(place) for place in first] == [WAITS] * (WARPS - 1)
        assert self.arrive(last) == STARTED
        for _, group, _ in self.records:
            group.ring[(group.issued - 1) % RING].due = 10 * group.issued


@given(st.lists(st.tuples(st.sampled_from(["start", "commit", "wait", "due"]), st.integers(0, 3), st.integers(0, 3))))
@settings(deadline=None)
def test_groups_are_those_that_lists_give(steps):
    both = Both()
    loose = [[] for _ in range(WARPS)]  # of each warp: products in no group, and groups
    groups = [[] for _ in range(WARPS)]
    covered = [0] * WARPS
    for what, place, number in steps:
        if what == "start":
            both.start([(place + i) % WARPS for i in range(WARPS)])
            for each in loose:
                each.append(both.group.issued)
        elif what == "commit":
            both.commit(place)
            groups[place].append(loose[place])
            loose[place] = []
        elif what == "due":
            count = both.due(10 * number + 5)
            assert count == max(min(number, both.group.issued), both.group.completed)
        else:
            count = both.wait(place, number)
            if loose[place] and not any(groups[place]):
                assert count == NOT_COMMITTED
                continue
            over = max(0, len(groups[place]) - number)
            covered[place] = max([covered[place], *(product for group in groups[place][:over] for product in group)])
            del groups[place][:over]
            assert count == covered[place]


def test_a_product_is_forgotten_when_the_ring_is_full():
    both = Both()
    for number in range(1, RING + 3):
        both.start()
        assert list(both.group.covered) == [max(0, number + 1 - RING)] * WARPS
    both.commit(0)
    assert both.wait(0, 0) == RING + 2


def test_what_is_refused_changes_nothing():
    assert Both(threads=96).arrive(0) == warpgroup.NO_WARPGROUP
    both = Both()
    assert both.arrive(1) == WAITS
    for other in ({"site": 2}, {"a": 1}, {"b": 3}):
        before = bytes(both.group)
        assert both.arrive(0, **other) == warpgroup.OTHER_PRODUCT
        assert bytes(both.group) == before

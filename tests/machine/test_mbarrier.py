"""mbarrier objects: counts, phases, bytes, and the word in shared memory."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.machine.barriers import mbarrier_state as state
from ptxsim.machine.barriers.mbarrier import MBarrier, find
from ptxsim.machine.barriers.mbarrier_state import (
    DONE,
    DROP,
    MAX_COUNT,
    STALE_TOKEN,
    TOKEN_PHASE,
    begin,
    describe,
    open_lanes,
    watch_parity,
    watch_token,
)
from ptxsim.machine.fault import Fault
from ptxsim.machine.records import MBarrierRecord, WarpRecord
from tests.jit.alike import exported
from tests.machine.bench import Bench

ME = (0, 0, 1)


CTA = Bench().ctas[0]


def fresh(count):
    table = CTA.mbarriers
    return MBarrier(table.all[begin(table, 8, 0x408, count, 0, 1)])


def passed(barrier, look, wanted):
    """Whether a wait of lane 3 succeeds, None for a token of no recent phase."""
    warp = WarpRecord()
    status = look(warp, 3, barrier.record, wanted)
    assert status in (DONE, STALE_TOKEN)
    return open_lanes(warp, 8) == 0 if status == DONE else None


def test_a_phase_ends_with_the_last_arrival():
    barrier = fresh(3)
    assert [barrier.arrive(1, ME) & MAX_COUNT for _ in range(3)] == [3, 2, 1]
    assert barrier.record.phase == 1 and passed(barrier, watch_parity, 0) and not passed(barrier, watch_parity, 1)


def test_bytes_hold_the_phase_open():
    barrier = fresh(1)
    barrier.expect_bytes(96)
    barrier.arrive(1, ME)
    assert barrier.record.phase == 0
    barrier.complete_bytes(64)
    assert barrier.record.phase == 0 and "64 of 96 bytes" in describe(barrier.record, {})
    barrier.complete_bytes(32)
    assert barrier.record.phase == 1


def test_bytes_may_come_before_they_are_announced():
    barrier = fresh(1)
    barrier.complete_bytes(32)
    barrier.expect_bytes(32)
    barrier.arrive(1, ME)
    assert barrier.record.phase == 1


def test_dropping_lowers_later_phases():
    barrier = fresh(3)
    barrier.arrive(1, ME, DROP)
    barrier.arrive(2, ME)
    assert (barrier.record.phase, barrier.record.pending, barrier.record.expected) == (1, 2, 2)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=40), st.integers(7, 20))
def test_phases_count_all_arrivals(arrivals, count):
    barrier, total = fresh(count), 0
    for n in arrivals:
        if n > barrier.record.pending:
            with pytest.raises(Fault, match="arrivals"):
                barrier.arrive(n, ME)
            continue
        token = barrier.arrive(n, ME)
        assert token >> TOKEN_PHASE == total // count
        assert token & MAX_COUNT == count - total % count
        total += n
        assert passed(barrier, watch_token, token) == (total // count > token >> TOKEN_PHASE)
    assert (barrier.record.phase, barrier.record.pending) == (total // count, count - total % count)
    barrier.check_intact()


def test_limits():
    barrier = fresh(1)
    barrier.expect_bytes(MAX_COUNT)
    with pytest.raises(Fault) as caught:
        barrier.expect_bytes(1)
    assert caught.value.name == "mbarrier-overflow"


def test_a_store_on_the_object_is_found():
    barrier = fresh(4)
    barrier.check_intact()
    CTA.shared[12] ^= 1
    with pytest.raises(Fault) as caught:
        barrier.check_intact()
    assert caught.value.name == "mbarrier-init"


def test_what_is_found():
    first = fresh(4)
    assert find(CTA, 8, 0x408).record.called == first.record.called
    with pytest.raises(Fault, match="there is one at 0x8"):
        find(CTA, 12, 0x40C)
    first.record.live = 0
    with pytest.raises(Fault, match=r"the mbarrier at 0x408 has been ended by mbarrier\.inval"):
        find(CTA, 8, 0x408)
    again, other = fresh(2), CTA.mbarriers.used
    assert again.record.pending == 2 and find(CTA, 8, 0x408).record.live
    fresh(3)
    assert CTA.mbarriers.used == other  # the same record


class Both:
    """Some objects and a warp twice: plain bodies work on the one, the same bodies as native code calls them on the other."""

    def __init__(self):
        names = (
            "begin arrive add_pending expect_bytes complete_bytes watch_parity watch_token open_lanes polled_too_often"
        )
        plain = {name: getattr(state, name) for name in [*names.split(), "wait_for", "is_over", "end_wait"]}
        native = {name: exported(body) for name, body in plain.items()}
        self.ctas = [Bench().ctas[0] for _ in range(2)]  # what keeps the memory
        warps = [WarpRecord(index=5) for _ in self.ctas]
        self.sides = list(zip((plain, native), (cta.mbarriers for cta in self.ctas), warps))

    def do(self, name, *given, number=None, lane=None, split=False):
        """Call a body with an object, a lane that looks at it, the warp's split or the warp, and further arguments."""
        results = []
        for bodies, table, warp in self.sides:
            first = [warp] if number is None else [table.all[number]]
            first = [warp, lane, *first] if lane is not None else first
            results.append(bodies[name](*first, *([warp.split[0]] if split else []), *given))
        one, other = results
        assert one == other, (name, given)
        assert fields(*self.sides[0][1:]) == fields(*self.sides[1][1:])
        return one

    def begin(self, number, count):
        for bodies, table, _ in self.sides:
            assert bodies["begin"](table, 8 * number, 1000 + number, count, number & 1, 7) == number

    def phase(self, number):
        return self.sides[0][1].all[number].phase

    def bytes(self, number):
        return self.sides[0][1].all[number].bytes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bodies_do_the_same_compiled(seed):
    random, both, turns, waits = Random(seed), Both(), 0, False
    for number in range(4):
        both.begin(number, random.randrange(1, 4))
    for _ in range(2000):
        number, turns = random.randrange(4), turns + random.choice((0, 1, state.TIMEOUT_TURNS // 3))
        match random.randrange(8):
            case 0:
                both.do("arrive", random.randrange(4), random.randrange(4), 3, 5, 77, number=number)
            case 1:
                both.do("add_pending", random.choice((1, state.MAX_COUNT)), number=number)
            case 2 | 3:
                size = random.choice((16, abs(both.bytes(number)), state.MAX_COUNT))
                both.do(random.choice(("expect_bytes", "complete_bytes")), size, number=number)
            case 4 if random.random() < 0.1:
                both.begin(number, random.randrange(1, 4))
            case 4 | 5 if not waits:
                waits = wait(both, random, turns, number)
            case _ if waits and both.do("is_over", turns, split=True):
                both.do("end_wait", turns, split=True)
                waits = False


def wait(both, random, turns, number):
    """Some lanes look at an object or another one, and wait if they have to; whether they do."""
    lanes = random.getrandbits(32) | 1
    for lane in range(32):
        if lanes >> lane & 1:
            number = random.randrange(4) if random.random() < 0.2 else number
            token = (both.phase(number) - random.randrange(3)) << TOKEN_PHASE | 1
            status = both.do("watch_token", token, number=number, lane=lane)
            if status != DONE:
                both.do("watch_parity", random.randrange(2), number=number, lane=lane)
    missing = both.do("open_lanes", lanes)
    if missing:
        both.do("polled_too_often", missing)
        both.do("wait_for", lanes, 9, turns, split=True)
    return missing != 0


def fields(table, warp):
    """What must be alike: everything but addresses."""
    objects = [
        [
            value if isinstance(value := getattr(one, name), int) else list(value)
            for name in MBarrierRecord.offsets()
            if name != "word"
        ]
        for one in table.all[: table.used]
    ]
    words = [state.Word.from_address(one.word).bits for one in table.all[: table.used]]
    split = [getattr(warp.split[0], name) for name in ("wait", "lanes", "site", "due")]
    return table.used, objects, words, split, list(warp.watched_in)

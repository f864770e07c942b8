"""The bodies of cp.async do the same in Python and as native code, and what a plain list of copies would."""

import ctypes
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.jit.compiler import shared
from ptxsim.jit.export import export
from ptxsim.jit.record import I32, U64, row
from ptxsim.machine.copies import lane_copies
from ptxsim.machine.copies.groups import commit_group
from ptxsim.machine.copies.lane_copies import (
    issue_copy,
    land_copies,
    land_later,
    make_room,
    uncommitted,
    wait_for_copies,
    wait_for_groups,
)
from ptxsim.machine.memory import ARENA, GlobalMemory
from ptxsim.machine.records import WarpRecord

PREFIX = "ptxsim_test_lane_copies_"
EVENT = f"define void @{PREFIX}event(ptr %s, ptr %w, i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f, ptr %g) {{\n  ret void\n}}\n"
LIVE = 0x7FFF_FFFF
FEW, ROOM = 2, 4  # copies that the ring holds at first, and before a warp needs more room
MEMORY = GlobalMemory()
MEMORY.allocate("data", 1 << 16)
MEMORY.bytes[:] = np.random.default_rng(7).integers(0, 256, len(MEMORY.bytes))
LANES = st.one_of(st.just(LIVE), st.integers(0, LIVE))
ISSUE = st.tuples(st.just("issue"), LANES, st.sampled_from((4, 8, 16)), st.integers(0, 99))
STEPS = st.lists(
    st.one_of(
        ISSUE,
        ISSUE,
        st.tuples(st.just("commit"), LANES),
        st.tuples(st.just("groups"), LANES, st.integers(0, 3)),
        st.tuples(st.just("copies"), LANES, st.integers(0, 20)),
        st.tuples(st.just("land"), st.integers(0, 20)),
    ),
    min_size=25,
    max_size=60,
)


@cache
def native(name):
    jit = shared()
    jit.load(jit.key(EVENT), lambda: EVENT)
    address = jit.address(PREFIX + "event")
    jit.publish(PREFIX + "event", address)
    export(jit, PREFIX, land_later, *lane_copies.EXPORTS)
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(jit.address(PREFIX + name))


def due_of(seed: int) -> int:
    """The turn at which a copy lands that is made of this seed; 0: it waits."""
    return seed % 25 if seed % 2 else 0


class Warp:
    """A warp with a memory to copy into, by bodies in Python or as native code."""

    def __init__(self, compiled):
        self.compiled, self.record, self.bytes = compiled, WarpRecord(), np.full(1 << 12, 99, np.uint8)
        self.record.live = LIVE
        self.copies = make_room(self.record.copies, FEW, MEMORY)
        self.copies = make_room(self.record.copies, ROOM, MEMORY)

    def call(self, body, *arguments):
        if not self.compiled:
            return body(*arguments)
        given = [
            ctypes.byref(each) if isinstance(each, (ctypes.Structure, ctypes.Array)) else each for each in arguments
        ]
        given = [ctypes.c_int64(each) if isinstance(each, int) else each for each in given]
        return native(body.function.__name__)(*given)

    def issue(self, lanes, size, seed):
        """A copy begins, after room was made for it if need be; all that it is made of follows from `seed`."""
        random = np.random.default_rng(seed)
        count = np.where(random.random(32) < 0.7, size, random.integers(0, size + 1, 32))
        to = size * random.permutation(4096 // size)[:32]
        source = ARENA + size * random.integers(0, 4096 // size, 32)
        rows = row(count, I32), row(to, U64), row(source, U64)
        arguments = self.record, seed, size, lanes, self.bytes.ctypes.data, *rows
        while not self.call(issue_copy, *arguments) & 1:
            self.copies = make_room(self.record.copies, 2 * self.record.copies.room, MEMORY)
        if lanes and due_of(seed):
            self.call(land_later, self.record, due_of(seed))
        return count, to, source - ARENA

    def state(self):
        """The copies in their order, and everything that has a place of its own."""
        copies, size = self.record.copies, lane_copies.BYTES
        places = [place % copies.capacity * size for place in range(copies.first, copies.end)]
        groups = copies.groups
        kept = [bytes(self.copies[at : at + size])[16:] for at in places]  # without number and address
        return kept, copies.issued, copies.capacity, groups.together, groups.apart, list(groups.own), bytes(self.bytes)


class Plain:
    """The same as lists: a copy is its number, the groups of its lanes, and how each lane's bytes get where they go."""

    def __init__(self):
        self.committed, self.copies, self.issued, self.due = [0] * 32, [], 0, {}
        self.bytes = np.full(1 << 12, 99, np.uint8)

    def issue(self, lanes, size, due, count, to, source):
        self.due[self.issued] = due
        self.copies.append(
            (
                self.issued,
                list(self.committed),
                {i for i in range(32) if lanes >> i & 1},
                set(),
                size,
                count,
                to,
                source,
            )
        )
        self.issued += lanes != 0  # without lanes there is no copy

    def close(self, lanes, covers):
        for copy in self.copies:
            now = {i for i in copy[2] if lanes >> i & 1 and covers(copy, i)}
            self.land(copy, now)
            copy[2].difference_update(now)

    def land(self, copy, lanes):
        _, _, _, landed, size, count, to, source = copy
        for i in sorted(lanes - landed):
            data = np.zeros(size, np.uint8)
            data[: count[i]] = MEMORY.bytes[source[i] : source[i] + count[i]]
            self.bytes[to[i] : to[i] + size] = data
        landed.update(lanes)

    def loose(self, lanes):
        found = 0
        for i in (i for i in range(32) if lanes >> i & 1):
            held = [copy[1][i] < self.committed[i] for copy in self.copies if i in copy[2]]
            found |= (bool(held) and not any(held)) << i
        return found


@pytest.mark.slow
@given(STEPS)
@settings(deadline=None, max_examples=100)
def test_copies_of_a_warp_in_python_in_native_code_and_as_lists(steps):
    warps, plain = (Warp(False), Warp(True)), Plain()
    for what, *numbers in steps:
        lanes = numbers[0]
        found = []
        for warp in warps:
            copies = warp.record.copies
            if what == "issue":
                made = warp.issue(*numbers)
            elif what == "commit":
                warp.call(commit_group, copies.groups, LIVE, lanes)
            elif what == "groups":
                found.append(warp.call(uncommitted, warp.record, lanes))
                warp.call(wait_for_groups, None, warp.record, *numbers)
            elif what == "copies":
                warp.call(wait_for_copies, None, warp.record, *numbers)
            else:
                warp.call(land_copies, None, warp.record, lanes)
        if what == "issue":
            plain.issue(lanes, numbers[1], due_of(numbers[2]), *made)
        elif what == "commit":
            plain.committed = [n + (lanes >> i & 1) for i, n in enumerate(plain.committed)]
        elif what == "groups":
            assert found == [plain.loose(lanes)] * 2
            plain.close(lanes, lambda copy, i, newest=numbers[1]: copy[1][i] < plain.committed[i] - newest)
        elif what == "copies":
            plain.close(lanes, lambda copy, i, before=numbers[1]: copy[0] < before)
        else:
            for copy in plain.copies:
                if 0 < plain.due[copy[0]] <= lanes:
                    plain.land(copy, copy[2])
        one, other = (warp.state() for warp in warps)
        assert one == other
        assert one[-1] == bytes(plain.bytes)


def test_copies_that_nobody_waits_for_do_not_fill_the_room():
    warp = Warp(False)
    warp.issue(1, 16, 0)
    for seed in range(100):
        warp.issue(LIVE & ~1, 16, seed)
        warp.call(wait_for_copies, None, warp.record, LIVE & ~1, seed + 2)
    assert warp.record.copies.room == ROOM
    assert warp.record.copies.issued == 101

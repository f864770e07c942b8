"""Snapshots: a run that is put back goes on as it did, whatever is under way."""

from collections import deque
from functools import partial
from itertools import count

import numpy as np
import pytest

from ptxsim.debugger import execution as executions
from ptxsim.debugger.session import Session
from ptxsim.debugger.snapshot import Snapshot, Unknown
from ptxsim.source import Source
from tests.helpers import CASES, SAMPLES

FILES = [
    SAMPLES / "wgmma_m64n64k16.ptx", SAMPLES / "mma_gemm_conflicts.ptx", SAMPLES / "broken" / "missing_proxy_fence.ptx",
    SAMPLES / "broken" / "mbarrier_bytes.ptx", SAMPLES / "broken" / "barrier_deadlock.ptx",
    *(path for room in ("clusters", "control", "bulk", "cp_async", "tensor_copy", "tcgen05") for path in sorted(CASES.glob(f"{room}/*.ptx"))[:1]),
]  # fmt: skip


def stands(session):
    """Where it stands, what its warp and CTA hold, and what global memory does."""
    execution, here = session.execution, session.execution.here
    memory = execution.launch.memory.bytes.tobytes()
    if here is None:
        return execution.position, memory
    held = [
        part.tobytes() for r in here.warp.registers if r is not None for part in (r if isinstance(r, list) else [r])
    ]
    return execution.position, here.op.line, here.mask.tolist(), held, here.warp.cta.shared.tobytes(), memory


def trail(path, interval, monkeypatch):
    """What there is at places from the end to the start, and the findings at the end."""
    monkeypatch.setattr(executions, "INTERVAL", interval)
    session = Session(Source.from_file(path))
    try:
        session.execution.advance()
        last = session.execution.position
        found = []
        for place in sorted({max(1, last * part // 3) for part in range(1, 4)}, reverse=True):
            session.execution.go_to(place)
            found.append(stands(session))
        session.execution.advance()
        found.append(stands(session))
        return found, [str(finding) for finding in session.execution.findings], len(session.execution.kept)
    finally:
        session.close()


@pytest.mark.thin(4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_going_back_by_snapshots_is_going_back_by_a_fresh_launch(path, monkeypatch):
    fast, slow = (trail(path, interval, monkeypatch) for interval in (60, 1 << 60))
    assert fast[:2] == slow[:2]
    assert slow[2] == 0 and (fast[2] > 0 or fast[0][0][0] < 1200)


def test_snapshots_that_take_too_much_memory_are_thinned(monkeypatch):
    monkeypatch.setattr(executions, "INTERVAL", 20)
    monkeypatch.setattr(executions, "MOST_BYTES", 200_000)
    session = Session(Source.from_file(SAMPLES / "mma_gemm_conflicts.ptx"))
    session.execution.advance()
    kept = session.execution.kept
    assert sum(each.snapshot.bytes for each in kept) <= 200_000 and session.execution.interval > 20
    assert [each.position for each in kept] == sorted(each.position for each in kept)
    session.close()


class Thing:
    __slots__ = ("__dict__", "slot")


def test_everything_that_changes_is_put_back():
    thing, cells = Thing(), np.arange(6)
    thing.slot, thing.list, thing.map, thing.set, thing.queue, thing.numbers = (
        1,
        [1, [2]],
        {"a": [1]},
        {1},
        deque([1]),
        count(3),
    )
    thing.view, thing.random, held = cells[2:4], np.random.default_rng(1), 5

    def step():
        nonlocal held
        held += 1

    thing.call = partial(step)
    kept = Snapshot([thing, step])
    expected = np.random.default_rng(1).random()
    for _ in range(2):
        inner = thing.list[1]
        thing.slot, thing.new = 2, 3
        (
            thing.list[1].append(3),
            thing.list.clear(),
            thing.map["a"].append(2),
            thing.map.update(b=1),
            thing.set.add(2),
            thing.queue.append(2),
        )
        thing.view[:] = 9
        assert [next(thing.numbers) for _ in range(2)] == [3, 4]
        thing.random.random(), thing.call()
        kept.restore()
        assert thing.slot == 1 and not hasattr(thing, "new") and held == 5
        assert (
            thing.list == [1, [2]]
            and thing.list[1] is inner
            and thing.map == {"a": [1]}
            and thing.set == {1}
            and list(thing.queue) == [1]
        )
        assert cells.tolist() == [0, 1, 2, 3, 4, 5] and thing.random.random() == expected
        kept.restore()


def test_what_cannot_be_kept_is_said():
    with pytest.raises(Unknown, match="generator"):
        Snapshot([[1, 2], (number for number in range(3))])

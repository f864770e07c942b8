"""mbarrier: arrival and transaction barriers in shared memory. PTX ISA, "mbarrier".

Service operations: their effects run in Python on both engines (lane values are numpy arrays).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxsim.isa.facts import Facts, Mechanism, Role, Synchronisation, Word, Words
from ptxsim.isa.operand import Addr, Either, Imm, Nowhere, Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LANES, LaneValue
from ptxsim.machine.async_groups import cluster_addresses, later, owner_of, snapshot
from ptxsim.machine.cta import Cta
from ptxsim.machine.event import Event, Space
from ptxsim.machine.fault import Fault, Wait
from ptxsim.machine.mbarrier import MAX_COUNT, TOKEN_PHASE, MBarrier, barriers, find
from ptxsim.machine.memory import check_alignment
from ptxsim.machine.port import Port

SHARED = "shared shared::cta@7.8"
CLUSTER = "shared shared::cta shared::cluster"
RELEASE = "release@8.0 relaxed@8.6:sm_90"
ACQUIRE = "acquire@8.0 relaxed@8.6:sm_90"
SCOPE = "cta@8.0 cluster@8.0:sm_90"

TIMEOUTS = 2  # time-outs of one warp on one phase; after these a wait can end a deadlocked run
TIMEOUT_TURNS = 1_000_000  # a wait times out only if nothing else can go on: later than any copy lands
EARLY_FALSE = 0.25  # how often try_wait gives up at once, with any seed but 0
POLLS = 1000  # failed test_wait of one warp on one phase, after which it is a wait

INIT, ARRIVES, COUNTS, WAITS = (
    Facts(family="mbarrier", synchronises=Synchronisation(Mechanism.MBARRIER, role))
    for role in (Role.INIT, Role.ARRIVE, Role.COUNT, Role.WAIT)
)

_object: Kinds = {"a": Addr("shared")}
_state = Either((Reg("u64"), Imm()))
_parity = Either((Reg("u32"), Imm(0, 1)))


def order_with_scope(modifiers: Words) -> str | None:
    """.release, .acquire and .relaxed stand with a scope, a scope stands with one of them."""
    if (modifiers.get("sem") is None) != (modifiers.get("scope") is None):
        return "the order (.release, .acquire, .relaxed) and the scope (.cta, .cluster) stand together or not at all"
    return None


def no_complete_is_local(modifiers: Words) -> str | None:
    if modifiers.get("sem") == "relaxed" or modifiers.get("scope") == "cluster":
        return ".noComplete goes with .release.cta only"
    return None


# ---- finding the objects ---------------------------------------------------------------------------------------------


def who(m: Port) -> str:
    """The executing warp and instruction in words."""
    return f"CTA {m.cta.linear} warp {m.warp.index}, line {m.line}"


def places(m: Port, space: str | None, address: LaneValue) -> Iterator[tuple[Cta, np.ndarray, np.ndarray, np.ndarray]]:
    """(CTA, bytes, offsets, lanes) of the mbarrier operands of the executing lanes."""
    check_alignment(address, m.mask, 8, "mbarrier operation")
    for kind, memory, offsets, mask in m.resolve(space, address, 8, write=True):
        if kind != Space.SHARED:
            raise Fault(
                "wrong-space", f"an mbarrier lives in shared memory, here is a {kind.name.lower()} address",
                int(np.argmax(mask)), "give the address of a variable in .shared",
            )  # fmt: skip
        yield owner_of(m, memory), memory, offsets, mask


def each(m: Port, space: str | None, address: LaneValue, event: Event | None = None) -> Iterator[tuple[int, MBarrier]]:
    """(lane, mbarrier) of every executing lane, lowest first within each CTA."""
    for cta, memory, offsets, mask in places(m, space, address):
        if event is not None:
            m.emit(event, Space.SHARED, 8, 0, mask, cluster_addresses(m, memory, offsets))
        for lane in map(int, np.flatnonzero(mask)):
            try:
                yield lane, find(cta, int(offsets[lane]), int(address[lane]))
            except Fault as fault:
                fault.lane = lane if fault.lane is None else fault.lane
                raise


def per_lane(value: LaneValue) -> np.ndarray:
    """A lane value or a literal as 32 integers."""
    return np.broadcast_to(np.asarray(value), LANES)


# ---- init, inval -----------------------------------------------------------------------------------------------------


_INIT: Options = {"name": "mbarrier.init", "space": SHARED, "operands": {**_object, "n": Either((Reg("u32"), Imm(1)))}}


@instruction("mbarrier.init{.space}.b64 [a], n", requires="7.0 sm_80", facts=INIT, **_INIT)
@instruction("mbarrier.init.layout::v0{.space}.b64 [a], n", requires="9.3 sm_90", facts=INIT, **_INIT)
def init(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> None:
    count = per_lane(n)
    for cta, memory, offsets, mask in places(m, space, a):
        m.emit(Event.STORE, Space.SHARED, 8, 0, mask, cluster_addresses(m, memory, offsets))
        for lane in np.flatnonzero(mask):
            offset, expected = int(offsets[lane]), int(count[lane])
            if not 1 <= expected <= MAX_COUNT:
                raise Fault(
                    "mbarrier-init", f"mbarrier.init with count {expected}; it must be in 1..{MAX_COUNT}", int(lane)
                )
            known = barriers(cta).get(offset)
            if known is not None:
                busy = known.pending != known.expected or known.bytes
                m.report(
                    "mbarrier-init",
                    f"mbarrier.init at {int(a[lane]):#x}, where an mbarrier is alive" + (f" and in use: {known.describe()}" if busy else ""),
                    int(lane), "mbarrier.inval the old one first", level="error" if busy else "warning",
                )  # fmt: skip
            barriers(cta)[offset] = MBarrier(memory, offset, int(a[lane]), expected)


@instruction(
    "mbarrier.inval{.space}.b64 [a]", name="mbarrier.inval", requires="7.0 sm_80", space=SHARED, facts=INIT,
    operands=_object,
)  # fmt: skip
def inval(m: Port, a: LaneValue, *, space: Word) -> None:
    for _, barrier in each(m, space, a, Event.STORE):
        for cta in m.cta.cluster.ctas:
            if cta.shared is barrier.memory:
                del barriers(cta)[barrier.offset]


# ---- arrive ----------------------------------------------------------------------------------------------------------

_arrivals = {**_object, "n": Either((Reg("u32"), Imm(1)))}
_transfer: Kinds = {**_object, "n": Value("u32")}


def _arrive_forms(effect: Any, name: str) -> Any:
    """Declare the notations of arrive and arrive_drop, which differ in the name alone."""
    words: Options = {"name": name, "facts": ARRIVES, "sem": RELEASE, "scope": SCOPE}
    order = "{.sem}{.scope}"
    for destination, since in ((Reg("u64"), "7.0 sm_80"), (Nowhere(), "7.1 sm_80")):
        local: Options = dict(words, writes="d", space=SHARED, operands={"d": destination, **_arrivals})
        full: Options = dict(local, rules=(order_with_scope,), implies={"noComplete": False})
        instruction(f"{name}{order}{{.space}}.b64 d, [a]", requires=since, **full)(effect)
        instruction(f"{name}{order}{{.space}}.b64 d, [a], n", requires="7.8 sm_90", **full)(effect)
        local["rules"] = (order_with_scope, no_complete_is_local)
        instruction(f"{name}.noComplete{order}{{.space}}.b64 d, [a], n", requires=since, **local)(effect)
    remote: Options = dict(words, writes="d", space="shared::cluster", operands={"d": Nowhere(), **_arrivals})
    remote.update(requires="8.0 sm_90", rules=(order_with_scope,), implies={"noComplete": False})
    instruction(f"{name}{order}.space.b64 d, [a]{{, n}}", **remote)(effect)
    return effect


def _arrive_expect_forms(effect: Any, name: str) -> Any:
    words: Options = {
        "name": name,
        "facts": ARRIVES,
        "sem": RELEASE,
        "scope": SCOPE,
        "requires": "8.0 sm_90",
        "rules": (order_with_scope,),
    }
    for destination, space, slot in (
        (Reg("u64", sink=True), SHARED, "{.space}"),
        (Nowhere(), "shared::cluster", ".space"),
    ):
        instruction(
            f"{name}{{.sem}}{{.scope}}{slot}.b64 d, [a], n",
            space=space,
            operands={"d": destination, **_transfer},
            **words,
        )(effect)
    return effect


def _arrive(m: Port, a: LaneValue, n: LaneValue, space: Word, drop: Any = False, may_complete: Any = True) -> LaneValue:
    count = per_lane(1 if n is None else n)
    tokens = np.zeros(LANES, np.uint64)
    for lane, barrier in each(m, space, a, Event.MBARRIER_ARRIVE):
        tokens[lane] = barrier.arrive(int(count[lane]), who(m), drop, may_complete)
    return tokens


def _arrive_expecting(m: Port, a: LaneValue, n: LaneValue, space: Word, drop: Any = False) -> LaneValue:
    count = per_lane(n)
    tokens = np.zeros(LANES, np.uint64)
    for lane, barrier in each(m, space, a, Event.MBARRIER_ARRIVE):
        barrier.expect_bytes(int(count[lane]))
        tokens[lane] = barrier.arrive(1, who(m), drop)
    return tokens


def arrive(m: Port, a: LaneValue, n: LaneValue, *, space: Word, noComplete: Word) -> LaneValue:
    return _arrive(m, a, n, space, may_complete=not noComplete)


def arrive_drop(m: Port, a: LaneValue, n: LaneValue, *, space: Word, noComplete: Word) -> LaneValue:
    return _arrive(m, a, n, space, drop=True, may_complete=not noComplete)


def arrive_expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> LaneValue:
    return _arrive_expecting(m, a, n, space)


def arrive_drop_expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> LaneValue:
    return _arrive_expecting(m, a, n, space, drop=True)


_arrive_forms(arrive, "mbarrier.arrive")
_arrive_forms(arrive_drop, "mbarrier.arrive_drop")
_arrive_expect_forms(arrive_expect_tx, "mbarrier.arrive.expect_tx")
_arrive_expect_forms(arrive_drop_expect_tx, "mbarrier.arrive_drop.expect_tx")

_transfer_form: Options = {
    "requires": "8.0 sm_90", "sem": "relaxed", "scope": "cta cluster", "space": CLUSTER, "operands": _transfer,
    "rules": (order_with_scope,),
}  # fmt: skip


@instruction(
    "mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [a], n", name="mbarrier.expect_tx", facts=COUNTS, **_transfer_form
)
def expect_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> None:
    count = per_lane(n)
    for lane, barrier in each(m, space, a):
        barrier.expect_bytes(int(count[lane]))


@instruction(
    "mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [a], n",
    name="mbarrier.complete_tx",
    facts=ARRIVES,
    **_transfer_form,
)
def complete_tx(m: Port, a: LaneValue, n: LaneValue, *, space: Word) -> None:
    count = per_lane(n)
    for lane, barrier in each(m, space, a, Event.MBARRIER_ARRIVE):
        barrier.complete_bytes(int(count[lane]))


_COUNT: Options = {"name": "mbarrier.pending_count", "facts": COUNTS, "operands": {"d": Reg("u32"), "state": _state}}


@instruction("mbarrier.pending_count.b64 d, state", requires="7.0 sm_80", **_COUNT)
@instruction("mbarrier.pending_count.layout::v0.b64 d, state", requires="9.3 sm_90", **_COUNT)
def pending_count(m: Port, state: LaneValue) -> LaneValue:
    mask = np.uint64((1 << TOKEN_PHASE) - 1)
    return (per_lane(state).astype(np.uint64) & mask).astype(np.uint32)


# ---- waits -----------------------------------------------------------------------------------------------------------


class Watch:
    """What the lanes of one wait look at. A lane is done when its mbarrier has left the phase it was in."""

    def __init__(self, m: Port, space: Word, a: LaneValue, wanted: LaneValue, parity: bool) -> None:
        self.port, self.space, self.address = snapshot(m), space, a
        self.key = (m.cta.linear, m.warp.index)
        self.timed_out = False
        self.lanes: list[tuple[int, MBarrier, int]] = []
        self.result = np.zeros(LANES, bool)
        value = per_lane(wanted)
        for lane, barrier in each(m, space, a):
            if parity:
                if int(value[lane]) not in (0, 1):
                    raise Fault("mbarrier-phase", f"phase parity {int(value[lane])}; it must be 0 or 1", int(lane))
                passed = barrier.passed_parity(int(value[lane]))
            else:
                passed = barrier.passed_token(int(value[lane]))
            self.result[lane] = passed
            if not passed:
                self.lanes.append((int(lane), barrier, barrier.phase))

    @property
    def open(self) -> list[MBarrier]:
        return list(dict.fromkeys(barrier for _, barrier, phase in self.lanes if barrier.phase == phase))

    def ready(self) -> bool:
        return self.timed_out or not self.open

    def finish(self) -> Any:
        """The predicate of each lane; tells observers about the waits that are over."""
        for lane, barrier, phase in self.lanes:
            self.result[lane] = barrier.phase != phase
        if self.result.any():
            for _, memory, offsets, mask in places(snapshot(self.port, self.result), self.space, self.address):
                self.port.emit(
                    Event.MBARRIER_WAIT, Space.SHARED, 8, 0, mask, cluster_addresses(self.port, memory, offsets)
                )
        return self.result

    def give_up(self) -> None:
        self.timed_out = True

    def suspend(self) -> Wait:
        """Wait for the open phases. A wait may time out, and returns false then; a limited number of times."""
        timeout = None
        if all(barrier.polls[self.key] < TIMEOUTS for barrier in self.open):
            timeout = later(self.port, self.give_up, TIMEOUT_TURNS)

        def finish() -> Any:
            if timeout is not None:
                timeout.callback = None
            if self.timed_out:
                for barrier in self.open:
                    barrier.polls[self.key] += 1
            return self.finish()

        return Wait(f"the mbarrier at {self.open[0].address:#x}", self.ready, self.describe, finish)

    def describe(self) -> str:
        return "; ".join(f"waits for parity {barrier.phase & 1} of {barrier.describe()}" for barrier in self.open)


def _wait_forms(effect: Any, name: str, parity: bool, requires: str, hint: str) -> None:
    instruction(
        f"{name}{{.phase}}{{.sem}}{{.scope}}{{.space}}.b64 d, [a], wanted{hint}", name=name, requires=requires,
        facts=WAITS, phase="phase_type::primary@9.3:sm_90", sem=ACQUIRE, scope=SCOPE, space=SHARED, rules=(order_with_scope,), writes="d",
        operands={**_object, "d": Pred(), "wanted": _parity if parity else _state, "limit": Value("u32")},
    )(effect)  # fmt: skip


def _test_wait(m: Port, a: LaneValue, wanted: LaneValue, space: Word, parity: Any) -> LaneValue:
    watch = Watch(m, space, a, wanted, parity)
    if not watch.open:
        return watch.finish()
    for barrier in watch.open:
        barrier.polls[watch.key] += 1
    # A warp that does nothing but poll is waiting; so that a deadlock is a report, it waits in the end.
    return watch.finish() if any(b.polls[watch.key] <= POLLS for b in watch.open) else watch.suspend()


def _try_wait(m: Port, a: LaneValue, wanted: LaneValue, space: Word, parity: Any) -> LaneValue:
    watch = Watch(m, space, a, wanted, parity)
    machine = m.machine
    if not watch.open or (machine.seed and machine.random.random() < EARLY_FALSE):
        return watch.finish()
    return watch.suspend()


def test_wait(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return _test_wait(m, a, wanted, space, parity=False)


def test_wait_parity(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return _test_wait(m, a, wanted, space, parity=True)


def try_wait(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return _try_wait(m, a, wanted, space, parity=False)


def try_wait_parity(m: Port, a: LaneValue, wanted: LaneValue, *, space: Word) -> LaneValue:
    return _try_wait(m, a, wanted, space, parity=True)


_wait_forms(test_wait, "mbarrier.test_wait", False, "7.0 sm_80", "")
_wait_forms(test_wait_parity, "mbarrier.test_wait.parity", True, "7.1 sm_80", "")
_wait_forms(try_wait, "mbarrier.try_wait", False, "7.8 sm_90", "{, limit}")
_wait_forms(try_wait_parity, "mbarrier.try_wait.parity", True, "7.8 sm_90", "{, limit}")

"""bar, barrier and bar.warp.sync. PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ptxsim import lanes
from ptxsim.isa.facts import Facts, Mechanism, Role, Scope, Synchronisation, Word, warp_facts
from ptxsim.isa.operand import Either, Imm, Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue, mask_word
from ptxsim.machine.barriers.cta import ALL, ANY, COUNT, vote
from ptxsim.machine.event import Event
from ptxsim.machine.fault import AtBarrier, Converge, Fault, first_lane
from ptxsim.machine.port import Port

SYNC, ARRIVES = (
    Facts(family="barrier", scope=Scope.CTA, synchronises=Synchronisation(Mechanism.BARRIER, role))
    for role in (Role.SYNC, Role.ARRIVE)
)
VOTES = replace(SYNC, votes=lambda words: {"and": ALL, "or": ANY}.get(str(words.get("op")), COUNT))
OPERANDS: Kinds = {
    "a": Either((Imm(0, 15), Reg("u32"))), "b": Either((Imm(0, multiple=32), Reg("u32"))), "d": Reg("u32"),
    "p": Pred(), "q": Pred(negatable=True, immediate=True),
}  # fmt: skip
ARRIVE: Kinds = {**OPERANDS, "b": Either((Imm(32, multiple=32), Reg("u32")))}


def uniform(m: Port, value: LaneValue, what: str) -> int:
    """The one value of an operand that all executing lanes must agree on; immediates are ints already."""
    if isinstance(value, int):
        return value
    lane = first_lane(m.mask)
    other = m.mask & (value != value[lane])
    if other.any():
        raise Fault(
            "operands-not-uniform",
            f"lanes {lane} and {first_lane(other)} of one warp give different {what}: {value[lane]} and {value[other][0]}",
            first_lane(other),
        )
    return int(value[lane])


def arrive_at(m: Port, a: LaneValue, b: LaneValue) -> AtBarrier:
    """Count the executing lanes in at barrier a, in the phase that is on."""
    number = uniform(m, a, "barrier numbers")
    threads = None if b is None else uniform(m, b, "thread counts") or None
    if number > 15:
        raise Fault("barrier-count", f"there is no barrier {number}; a CTA has barriers 0 to 15", first_lane(m.mask))
    phase = m.cta.barriers.phase(number)
    m.cta.barriers.arrive(m.warp.record, m.mask, threads, number)
    m.emit(Event.ARRIVE, addresses=[number, phase])
    return AtBarrier(number, phase)


def synchronize(m: Port, a: LaneValue, b: LaneValue) -> AtBarrier:
    """bar.sync: wait until all expected threads have come."""
    return arrive_at(m, a, b)


def arrive(m: Port, a: LaneValue, b: LaneValue) -> None:
    """bar.arrive: be counted, and go on."""
    arrive_at(m, a, b)


def reduce(m: Port, a: LaneValue, b: LaneValue, q: LaneValue, *, op: Word = None) -> AtBarrier:
    """bar.red: the same, and then in how many of them a predicate holds, or whether in all, in any (engine.votes)."""
    at = arrive_at(m, a, b)
    vote(m.cta.record, at.number, at.phase, mask_word(m.mask), mask_word(np.broadcast_to(q, lanes.LANES)))
    return at


# bar is barrier.aligned; the name with .cta came later. What the name is made of cannot move (.sync can).
for name, since, aligned, implied in (
    ("bar", "", "", {"aligned": True}),
    ("bar.cta", "7.8", "", {"aligned": True}),
    ("barrier", "6.0", "{.aligned}", {}),
    ("barrier.cta", "7.8", "{.aligned}", {}),
):
    common: Options = {"requires": since, "implies": implied}

    instruction(f"{name}.sync{aligned} a{{, b}}", name=name, operands=OPERANDS, facts=SYNC, **common)(synchronize)
    instruction(f"{name}.arrive{aligned} a, b", name=f"{name}.arrive", operands=ARRIVE, facts=ARRIVES, **common)(arrive)
    for given in ("a, b, q", "a, q"):
        instruction(
            f"{name}.red.popc{aligned}.u32 d, {given}", name=f"{name}.red", operands=OPERANDS, facts=VOTES, **common
        )(reduce)  # fmt: skip
        instruction(
            f"{name}.red.op{aligned}.pred p, {given}",
            name=f"{name}.red", op="and or", writes="p", operands=OPERANDS, facts=VOTES, **common,
        )(reduce)  # fmt: skip


@instruction(
    "bar.warp.sync membermask", name="bar.warp.sync", requires="6.0", facts=warp_facts("warp_barrier"),
    operands={"membermask": Value("u32")}, writes="",
)  # fmt: skip
def synchronize_warp(m: Port, membermask: LaneValue) -> Converge | None:
    """All member lanes meet here and see each other's memory accesses."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    m.emit(Event.SYNC_WARP, addresses=membermask)
    return None

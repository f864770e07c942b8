"""vote and vote.sync. PTX ISA, "Parallel Synchronization and Communication Instructions: vote.sync"."""

from __future__ import annotations

from ptxsim.isa.facts import Word, warp_facts
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port

FACTS = warp_facts("vote", uniform=True, names_lanes=True, straight=True)
PREDICATE: Kinds = {"d": Pred(), "a": Pred(negatable=True, immediate=True), "membermask": Value("u32")}
BALLOT: Kinds = {**PREDICATE, "d": Reg("b32")}
BALLOTS: Options = {"cost": "vote", "operands": BALLOT, "implies": {"mode": "ballot"}, "facts": FACTS}
TESTS: Options = {"cost": "alu", "operands": PREDICATE, "mode": "all any uni", "facts": FACTS}


@instruction("vote.sync.ballot.b32 d, a, membermask", requires="6.0", **BALLOTS)
@instruction("vote.ballot.b32 d, a", requires="1.0-6.3", **BALLOTS)
@instruction("vote.sync.mode.pred d, a, membermask", requires="6.0", **TESTS)
@instruction("vote.mode.pred d, a", requires="1.0-6.3", **TESTS)
def vote(m: Port, a: LaneValue, membermask: LaneValue, *, mode: Word) -> LaneValue:
    """Whether the predicate holds in all, any, or all or none of the member lanes; ballot is the mask of those where it does."""
    members = m.ballot(m.active())
    if membermask is not None:
        waiting = m.converge(membermask)
        if waiting is not None:
            return waiting
        members = members & membermask
    true = m.ballot(a) & members
    if mode == "ballot":
        return true
    if mode == "any":
        return true != 0
    return true == members if mode == "all" else (true == members) | (true == 0)

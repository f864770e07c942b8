"""vote and vote.sync. PTX ISA, "Parallel Synchronization and Communication Instructions: vote.sync"."""

from __future__ import annotations

from ptxsim.isa.facts import Facts, Mechanism, Role, Scope, Synchronisation, Word
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port

FACTS = Facts(family="vote", scope=Scope.WARP, synchronises=Synchronisation(Mechanism.WARP, Role.SYNC))
PREDICATE: Kinds = {"d": Pred(), "a": Pred(negatable=True, immediate=True), "membermask": Value("u32")}
BALLOT: Kinds = {**PREDICATE, "d": Reg("b32")}


@instruction(
    "vote.sync.ballot.b32 d, a, membermask",
    cost="vote",
    operands=BALLOT,
    requires="6.0",
    implies={"mode": "ballot"},
    facts=FACTS,
)
@instruction(
    "vote.ballot.b32 d, a", cost="vote", operands=BALLOT, requires="1.0-6.3", implies={"mode": "ballot"}, facts=FACTS
)
@instruction(
    "vote.sync.mode.pred d, a, membermask",
    cost="alu",
    mode="all any uni",
    operands=PREDICATE,
    requires="6.0",
    facts=FACTS,
)
@instruction("vote.mode.pred d, a", cost="alu", mode="all any uni", operands=PREDICATE, requires="1.0-6.3", facts=FACTS)
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

"""Instructions of a warp among the lanes that happen to run together: data flow over the program, no run needed.

`activemask` says which lanes execute it together, and no more: lanes of one branch may come apart. Who asks the mask who is there - takes
the source lane of a shuffle from it, lets a leader of it go on, or takes places by ranks in it - has an answer whichever lanes these are
(cooperative_groups::coalesced_threads, sums of a warp before an atomic). A lane that is named otherwise may not be among them, and where
lanes have parted, who takes part in a reduction, a vote or a barrier depends on the schedule. PTX ISA, "activemask"; "shfl.sync";
"redux.sync"; "bar.warp.sync".
"""

from __future__ import annotations

from collections.abc import Callable

from ptxsim.diagnostic import Finding, lines_of
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of
from ptxsim.engine.analysis.divergence import divergent_slots
from ptxsim.engine.program.operand import Address, Register
from ptxsim.engine.program.operation import Op, Program, fact, families

MASK, SHUFFLE = "activemask", "shuffle"  # families
MEMBERS = "membermask"  # the operand that says who takes part


@fact
def uses_of_active_masks(program: Program) -> list[Finding]:
    """A warning for every `activemask` that says who takes part where nothing asks it who is there."""
    masks = [op for op in program.ops if op.family == MASK] if MASK in families(program) else []
    if not masks:
        return []
    flow = def_use(program)
    parted = _parted(program, flow)
    found = (
        _use(program, flow, mask, flow.block_of[mask.site] in parted) for mask in masks if mask.site in flow.block_of
    )
    return [finding for finding in found if finding is not None]


def _use(program: Program, flow: DefUse, mask: Op, has_parted: bool) -> Finding | None:
    """The finding about one activemask; has_parted: lanes that execute it may have parted from others."""
    come = _come_from(program, flow, mask, lambda op: op.source(MEMBERS) is None)
    named = [op for op in program.ops if op.site in flow.block_of and come & {*_slots(flow, op, MEMBERS)}]
    shuffles = [op for op in named if op.family == SHUFFLE and not come & {*_slots(flow, op, "b")}]
    asked = _come_from(program, flow, mask, lambda op: op.source(MEMBERS) is None or op.facts.names_lanes)
    others = [op for op in named if op.family != SHUFFLE] if has_parted and not _is_asked(program, flow, asked) else []
    if not shuffles and not others:
        return None
    first = min((*shuffles, *others), key=lambda op: (op.family != SHUFFLE, op.site))
    more = sorted({op.line for op in (*shuffles, *others)} - {first.line})
    what, or_else = "nothing says that the lane it reads is one of them", "take the source lane from the mask, too"
    if first.family != SHUFFLE:
        what, or_else = (
            "which lanes of a branch these are depends on the schedule",
            "let a leader taken from the mask use the result",
        )
    return Finding(
        "member-mask",
        f"the member mask of {first.opcode} comes from activemask (line {mask.line}), which names the lanes that happen to run together: {what}",
        first.line, first.column, len(first.opcode), "warning",
        help="name the lanes that are to take part by their condition: vote.sync.ballot (__ballot_sync) before the branch; or " + or_else,
        notes=(f"the same at {lines_of(more)}",) if more else (),
    )  # fmt: skip


def _parted(program: Program, flow: DefUse) -> set[int]:
    """Blocks to which some lanes of a warp may come without others."""
    differs, graph = divergent_slots(flow), control_flow(program)
    return {
        block
        for op in program.ops
        if op.leads_away and op.guard is not None and op.site in flow.block_of and differs & {*flow.reads[op.site]}
        for block in graph.between(flow.block_of[op.site])
    }


def _is_asked(program: Program, flow: DefUse, come: set[int]) -> bool:
    """Whether what comes from a mask decides who goes on, or is where something stands in memory."""
    for op in program.ops:
        if op.site in flow.block_of and come & {*flow.reads[op.site]}:
            sources = flow.reads[op.site][: len(slots_of(op.sources))]
            is_guard = op.guard is not None and bool(come & {*flow.reads[op.site][len(sources) :]})
            addresses = [n for n, source in enumerate(op.sources) if isinstance(source, Address) and slots_of([source])]
            if is_guard or any(flow.value(op, n) in come for n in addresses):
                return True
    return False


def _come_from(program: Program, flow: DefUse, mask: Op, goes_on: Callable[[Op], bool]) -> set[int]:
    """Slots computed of a mask, by operations through which it goes on."""
    return flow.made_of(flow.writes[mask.site], goes_on)


def _slots(flow: DefUse, op: Op, name: str) -> list[int]:
    """The slot of an operand that is a register."""
    operand = op.source(name)
    return [flow.value(op, op.sources.index(operand))] if isinstance(operand, Register) else []

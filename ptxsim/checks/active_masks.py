"""Shuffles among the lanes that happen to run together: data flow over the program, no run needed.

`activemask` says which lanes execute it together, and no more: lanes of one branch may come apart. Who takes the source lane from the
mask, too, has an answer whichever lanes these are (a leader, a rank: cooperative_groups::coalesced_threads); a lane that is named
otherwise may not be among them. PTX ISA, "activemask"; "shfl.sync".
"""

from __future__ import annotations

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.def_use import DefUse, def_use
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Op, Program, fact, families

MASK, SHUFFLE = "activemask", "shuffle"  # families


@fact
def shuffles_by_active_masks(program: Program) -> list[Finding]:
    """A warning for every shuffle whose member mask comes from `activemask`, and whose source lane does not."""
    known = families(program)
    if MASK not in known or SHUFFLE not in known:
        return []
    flow, source = def_use(program), dict[int, int]()  # the line of the activemask that a slot's value comes from
    rest = [(slot, op.line) for op in program.ops if op.family == MASK for slot in flow.writes.get(op.site, ())]
    while rest:
        slot, line = rest.pop()
        if slot not in source:
            source[slot] = line
            rest += [(written, line) for site in flow.readers[slot] for written in flow.writes[site]]
    found: list[Finding] = []
    for op in program.ops:
        if op.family != SHUFFLE or op.site not in flow.block_of:
            continue
        came, lane = (_comes_from(op, name, flow, source) for name in ("membermask", "b"))
        if came is not None and lane is None:
            message = (
                f"the member mask of {op.opcode} comes from activemask (line {came}), which names the lanes that happen to run "
                "together: nothing says that the lane it reads is one of them"
            )
            help = (
                "name the lanes that are to take part by their condition: vote.sync.ballot (__ballot_sync) before the branch; or "
                "take the source lane from the mask, too"
            )
            found.append(Finding("member-mask", message, op.line, op.column, len(op.opcode), "warning", help=help))
    return found


def _comes_from(op: Op, name: str, flow: DefUse, source: dict[int, int]) -> int | None:
    """The line of the activemask that an operand's value comes from, if there is one."""
    operand = op.source(name)
    return source.get(flow.value(op, op.sources.index(operand))) if isinstance(operand, Register) else None

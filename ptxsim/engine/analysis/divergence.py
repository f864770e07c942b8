"""Which registers hold one value for all lanes of a warp that execute together, as the assembler's divergence analysis finds it.

Read from the code of ptxas 13.0 for sm_90. Lanes differ by their indices, by what they exchange, and by branches that they take
differently; a load from an address that is one for the warp gives one value.
"""

from __future__ import annotations

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import DefUse
from ptxsim.engine.program.operand import Special
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism

LANE_SPECIALS = ("%tid", "%laneid", "%lanemask")
PRIVATE = ("local", None)  # memory in which an address names something else for each lane, or may
LOADED = (*PRIVATE, "global", "shared")


def divergent_slots(flow: DefUse, loads: bool = False) -> set[int]:
    """Slots whose value may differ between the lanes of a warp. With `loads` also all that comes from memory: what the uniform
    datapath cannot compute, since it does not load."""
    ops = flow.program.ops
    graph = control_flow(flow.program)
    rest = [slot for op in ops if op.site in flow.block_of and _differs(op, loads) for slot in flow.writes[op.site]]
    rest += [slot for slot in flow.readers if not flow.definers.get(slot)]  # given by a caller, lane by lane
    found = set(rest)

    def add(slots: list[int]) -> None:
        new = [slot for slot in slots if slot not in found]
        found.update(new)
        rest.extend(new)

    while rest:
        for site in flow.readers[rest.pop()]:
            op = ops[site]
            if not op.facts.uniform:
                add(flow.writes[site])
            if op.leads_away:
                # Lanes that come by different ways bring different values of what is written on more than one of them.
                for block in graph.between(flow.block_of[site]):
                    for inside in flow.program.blocks[block]:
                        add([slot for slot in flow.writes[inside.site] if len(flow.definers[slot]) > 1])
    return found


def meetings(flow: DefUse) -> frozenset[int]:
    """Sites of the instructions that all lanes named must reach and that some may reach without the others: those between a branch that lanes may take
    differently and where they meet again. ptxas has another way through them for lanes that have parted (BRA.DIV)."""
    graph, divergent = control_flow(flow.program), divergent_slots(flow)
    parted: set[int] = set()
    for op in flow.program.ops:
        if op.leads_away and op.site in flow.block_of and divergent.intersection(flow.reads[op.site]):
            parted.update(graph.between(flow.block_of[op.site]))
    return frozenset(
        op.site
        for block in parted
        for op in flow.program.blocks[block]
        if op.synchronises is not None and op.synchronises.mechanism is Mechanism.WARP
    )


def _differs(op: Op, loads: bool) -> bool:
    """Whether lanes may get different results from the same sources."""
    return (
        op.call is not None
        or op.facts.reads_lanes
        or op.facts.product is not None
        or (op.synchronises is not None and op.synchronises.mechanism is Mechanism.WARP and not op.facts.uniform)
        or any(
            access.reads and (access.writes or access.space in (LOADED if loads else PRIVATE)) for access in op.accesses
        )
        or any(isinstance(s, Special) and s.name.startswith(LANE_SPECIALS) for s in op.sources)
    )

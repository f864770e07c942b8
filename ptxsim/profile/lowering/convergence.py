"""Where lanes that may have parted meet again: an instruction that says where (BSSY) before the branches, and one that waits there (BSYNC).

Read from ptxas 13.0 for sm_90: of 162 kernels of tools/data 113 have as many as this rule gives, 146 two more or fewer at most. The
branches to one place share them; there are none where the rest only ends, nor for looks at an mbarrier.
"""

from __future__ import annotations

from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp

ENDING = (Kind.EXIT, Kind.RETURN, Kind.COPY)


def converge(fusion: Fusion, blocks: list[MachineBlock]) -> None:
    """Add both to the blocks, whose branches are those that predicates have left."""
    heads = {head for head, _ in fusion.graph.back_edges}
    for join, parted in sorted(_joins(fusion, blocks).items()):
        made = blocks[join].ops
        if not made or all(op.kind in ENDING for op in made):
            continue
        before = _before(fusion, blocks, join, parted)
        site = made[0].site
        meet = MachineOp("branch", site=site)
        if join in heads:  # lanes meet before the loop begins
            before.append(meet)
        else:
            made.insert(0, meet)
        place = len(before) - (bool(before) and before[-1].kind in (Kind.BRANCH, Kind.LOOP_BRANCH))
        before.insert(place, MachineOp("branch", site=before[-1].site if before else site))


def _joins(fusion: Fusion, blocks: list[MachineBlock]) -> dict[int, set[int]]:
    """The blocks in which lanes meet again that a branch may have parted, with the blocks that end with those branches."""
    graph = fusion.graph
    found: dict[int, set[int]] = {}
    for block in blocks:
        for op in block.ops:
            if op.kind not in (Kind.BRANCH, Kind.LOOP_BRANCH) or not fusion.divergent.intersection(op.predicates):
                continue
            number = fusion.flow.block_of[op.site]
            after = graph.postdominators[number] - {number}
            if after and not _looks(fusion, op):
                join = max(after, key=lambda block: len(graph.postdominators[block]))
                found.setdefault(join, set()).add(number)
    return found


def _looks(fusion: Fusion, branch: MachineOp) -> bool:
    """Whether a branch goes by what an mbarrier has said."""
    sites = [site for slot in branch.predicates for site in fusion.flow.definers.get(slot, ())]
    return any(fusion.program.ops[site].family == "mbarrier" for site in sites)


def _before(fusion: Fusion, blocks: list[MachineBlock], join: int, parted: set[int]) -> list[MachineOp]:
    """The instructions of the last block that all of those branches come after, in no loop that the place where they meet is not in."""
    graph = fusion.graph
    common = set.intersection(*(graph.dominators[block] for block in parted)) - {join}
    shallow = [block for block in common if graph.loop_depth[block] <= graph.loop_depth[join]]
    place = max(shallow or common or {0}, key=lambda block: len(graph.dominators[block]))
    return next((block.ops for block in blocks if place in block.absorbed), blocks[place].ops)

"""How many registers a thread needs: live values at the fullest point, in 32-bit registers."""

from __future__ import annotations

from ptxsim.profile.flow import Flow
from ptxsim.profile.machine_code import Kind, MachineBlock

FIXED = 6  # stack pointer, addresses in the making, alignment of pairs
LEAST, MOST = 16, 255


def registers(flow: Flow, blocks: list[MachineBlock]) -> int:
    """An estimate, rounded up to a multiple of 2; predicates and per-warp values cost nothing."""
    slots = flow.types

    def words(slot: int) -> int:
        if slot >= len(slots) or slots[slot].kind == "predicate" or slot in flow.uniform:
            return 0
        return max(1, slots[slot].bits // 32)

    blocks = blocks[: len(flow.successors)]
    live_in: list[set[int]] = [set() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            live = set().union(*(live_in[s] for s in flow.successors[number]))
            for op in reversed(blocks[number].ops):
                live = (live - set(op.writes)) | set(op.reads) | set(op.predicates)
            if live != live_in[number]:
                live_in[number], changed = live, True
    most = 0
    for number, block in enumerate(blocks):
        live = set().union(*(live_in[s] for s in flow.successors[number]))
        for op in reversed(block.ops):
            if op.kind != Kind.COPY:
                most = max(most, sum(words(s) for s in live | set(op.writes)))
            live = (live - set(op.writes)) | set(op.reads) | set(op.predicates)
    return min(MOST, max(LEAST, -(-(most + FIXED) // 2) * 2))

"""Short branches that the assembler turns into predicates."""

from __future__ import annotations

from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Control
from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.lowering.machine_code import Kind, MachineBlock

SHORT_BRANCH = 7  # instructions a branch may skip to become predication


def predicate(fusion: Fusion, blocks: list[MachineBlock]) -> None:
    """Short forward branches over one block become predicates: the branch goes, the block runs as part of this one.

    What comes after, if nothing else goes there, is part of it too.
    """
    full = [number for number, source in enumerate(fusion.program.blocks) if source]
    taken: set[int] = set()
    for place, number in enumerate(full):
        if number in taken:
            continue
        rest = full[place + 1 :]
        while len(rest) >= 2 and (branch := _short_branch(fusion, blocks, number, *rest[:2])) is not None:
            inside, after = rest[:2]
            _absorb(fusion, blocks, number, inside, branch)
            taken.add(inside)
            rest = rest[1:]
            if not _entered_from(fusion, after, {number, inside, *blocks[number].absorbed}):
                break
            blocks[number].ops += blocks[after].ops
            blocks[after].ops = []
            blocks[number].absorbed += (after,)
            taken.add(after)
            rest = rest[1:]


def keep_old_values(blocks: list[MachineBlock]) -> None:
    """What a predicated instruction does not write keeps its old value, and so reads it; unless nothing reads it but under the same predicates."""
    readers: dict[int, set[tuple[int, ...]]] = {}
    for block in blocks:
        for op in block.ops:
            for slot in (*op.reads, *op.predicates):
                readers.setdefault(slot, set()).add(op.predicates)
    for block in blocks:
        for op in block.ops:
            if op.predicates:
                own = set(op.predicates)
                kept = [w for w in op.writes if any(not own <= set(reader) for reader in readers.get(w, ()))]
                op.reads = tuple(dict.fromkeys([*op.reads, *kept]))


def _last(fusion: Fusion, blocks: list[MachineBlock], number: int) -> Op | None:
    """The operation a block ends with, the blocks it has absorbed counted in."""
    source = fusion.program.blocks[(number, *blocks[number].absorbed)[-1]]
    return source[-1] if source else None


def _short_branch(fusion: Fusion, blocks: list[MachineBlock], number: int, inside: int, after: int) -> Op | None:
    """The branch that ends a block and skips `inside` alone, if predicates can stand for it."""
    last, inner = _last(fusion, blocks, number), blocks[inside]
    if (
        last is None
        or last.control is not Control.BRANCH
        or last.guard is None
        or not inside < last.targets[0] <= after
    ):
        return None
    if len(fusion.graph.predecessors[inside]) != 1 or any(op.control for op in fusion.program.blocks[inside]):
        return None
    fits = len(inner.ops) <= SHORT_BRANCH
    return last if fits and all(op.kind in (Kind.PLAIN, Kind.COPY, Kind.ACCESS) for op in inner.ops) else None


def _entered_from(fusion: Fusion, block: int, known: set[int]) -> bool:
    """Whether a block is reached from these blocks alone, through empty ones or not."""
    queue, seen = [block], set()
    while queue:
        for before in fusion.graph.predecessors[queue.pop()]:
            if before in known or before in seen:
                continue
            if fusion.program.blocks[before] or before >= block:
                return False
            seen.add(before)
            queue.append(before)
    return True


def _absorb(fusion: Fusion, blocks: list[MachineBlock], number: int, inside: int, branch: Op) -> None:
    block, inner = blocks[number], blocks[inside]
    guard = fusion.guard(branch)
    block.ops = [op for op in block.ops if op.site != branch.site]
    for machine in inner.ops:
        machine.predicates = (*machine.predicates, *guard)
    block.ops += inner.ops
    block.absorbed += (inside,)
    inner.ops = []

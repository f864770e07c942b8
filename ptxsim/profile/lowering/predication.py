"""Branches over little code, which the assembler turns into predicates.

Limits are those of ptxas 13.0 for sm_90, found with blocks of growing size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxsim.closure import closure
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Control
from ptxsim.profile.lowering.fusion import Fusion, accesses_of
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp

# Instructions that a branch may skip, itself counted where it ends the block: where lanes may part, and where they cannot; with loads from
# global memory among them, or among the first of what comes after, which then need not wait for the branch.
PARTING, UNIFORM, WITH_LOADS, SOON = 8, 6, 20, 18
MADE = (Kind.PLAIN, Kind.COPY, Kind.ACCESS, Kind.ASYNC_COPY)


class Skip(NamedTuple):
    """A branch, the blocks that it chooses among, in the order of the text, and what comes after."""

    branch: Op
    inside: tuple[int, ...]
    after: int


def predicate(fusion: Fusion, blocks: list[MachineBlock]) -> None:
    """Forward branches over one short block, or to the other of two, become predicates: the branch goes, the blocks run as part of this one.

    What comes after, if nothing else goes there, is part of it too.
    """
    full = [number for number, source in enumerate(fusion.program.blocks) if source]
    taken: set[int] = set()
    for place, number in enumerate(full):
        if number in taken:
            continue
        rest = full[place + 1 :]
        while (skip := _skip(fusion, blocks, number, rest[:4])) is not None:
            _absorb(fusion, blocks, number, skip)
            taken.update(skip.inside)
            rest = rest[len(skip.inside) :]
            if not _entered_from(fusion, skip.after, {number, *blocks[number].absorbed}):
                break
            blocks[number].ops += blocks[skip.after].ops
            blocks[skip.after].ops = []
            blocks[number].absorbed += (skip.after,)
            taken.add(skip.after)
            rest = rest[1:]


def keep_old_values(blocks: list[MachineBlock]) -> None:
    """What a predicated instruction does not write keeps its old value, and so reads it; unless there is none, or nothing reads it but under the
    same predicates."""
    readers: dict[int, set[tuple[int, ...]]] = {}
    writers: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for op in block.ops:
            for slot in (*op.reads, *op.predicates):
                readers.setdefault(slot, set()).add(op.predicates)
            for slot in op.writes:
                writers.setdefault(slot, set()).add(number)
    for number, block in enumerate(blocks):
        written: set[int] = set()
        for op in block.ops:
            if op.predicates:
                own = set(op.predicates)
                old = [w for w in op.writes if w in written or writers[w] != {number}]
                kept = [w for w in old if any(not own <= set(reader) for reader in readers.get(w, ()))]
                op.kept = (*op.kept, *(w for w in kept if w not in op.reads))
                op.reads = tuple(dict.fromkeys([*op.reads, *kept]))
            written.update(op.writes)


def _last(fusion: Fusion, blocks: list[MachineBlock], number: int) -> Op | None:
    """The operation a block ends with, the blocks it has absorbed counted in."""
    source = fusion.program.blocks[(number, *blocks[number].absorbed)[-1]]
    return source[-1] if source else None


def _skip(fusion: Fusion, blocks: list[MachineBlock], number: int, rest: list[int]) -> Skip | None:
    """The branch that ends a block and what it skips, if predicates can stand for it. rest: the next blocks that are not empty."""
    branch = _last(fusion, blocks, number)
    if len(rest) < 2 or branch is None or branch.control is not Control.BRANCH or branch.guard is None:
        return None
    target = branch.targets[0]
    if rest[0] < target <= rest[1] and _falls_through(fusion, blocks, rest[0]):
        count = 1
    else:  # two blocks, the second of which it goes to; or it goes to the first, and what comes before that is a jump to the second
        count = 3 if len(rest) > 3 and _jump_over(fusion, *rest[:3]) else 2
        if len(rest) <= count or not rest[0] < target <= rest[1] or not _joins(fusion, *rest[count - 2 : count + 1]):
            return None
    inside, after = rest[:count], rest[count]
    if any(len(fusion.graph.predecessors[block]) != 1 for block in inside):
        return None
    skip = Skip(branch, tuple(inside), after)
    return skip if all(_fits(fusion, blocks, number, skip, block) for block in inside) else None


def _falls_through(fusion: Fusion, blocks: list[MachineBlock], number: int) -> bool:
    """Whether a block just goes on to the next one."""
    end = _last(fusion, blocks, number)
    return end is not None and end.control is None


def _jump_over(fusion: Fusion, block: int, over: int, to: int) -> bool:
    """Whether a block is nothing but a jump over the next one to another."""
    jump, *more = fusion.program.blocks[block]
    return not more and jump.control is Control.BRANCH and jump.guard is None and over < jump.targets[0] <= to


def _joins(fusion: Fusion, inside: int, other: int, after: int) -> bool:
    """Whether the first of two blocks ends with a jump over the second, which goes on to where that leads."""
    jump, end = (fusion.program.blocks[block][-1] for block in (inside, other))
    jumps = jump.control is Control.BRANCH and jump.guard is None and other < jump.targets[0] <= after
    return jumps and end.control is None


def _fits(fusion: Fusion, blocks: list[MachineBlock], head: int, skip: Skip, number: int) -> bool:
    """Whether a block is one that ptxas would rather execute under a predicate."""
    source = fusion.program.blocks[number]
    made = [op for op in blocks[number].ops if op.kind != Kind.BRANCH]
    if any(op.control for op in source[:-1]) or any(op.family == "atomic" for op in source):
        return False
    if blocks[number].absorbed or any(op.kind not in MADE or op.unit == "find" for op in made):
        return False
    assert skip.branch.guard is not None
    limit = PARTING if skip.branch.guard[0] in fusion.divergent else UNIFORM
    loaded = {w for op in made if _is_load(op, "global") for w in op.writes}
    soon = any(_is_load(op, "global") for op in [o for o in blocks[skip.after].ops if o.kind != Kind.COPY][:SOON])
    if loaded or soon:
        waits = any(loaded.intersection(op.reads) for op in made)
        spaces = _loaded_from(fusion, skip.branch)
        # A predicate that comes late would hold the loads back, and what waits for them, unless something else is under way.
        if loaded and (soon or not waits or not spaces or _is_under_way(blocks[head].ops, spaces)):
            limit = WITH_LOADS
        elif loaded:
            limit = 0
        elif spaces != {"shared"} or _is_under_way(blocks[head].ops, spaces):
            limit = WITH_LOADS
    size = sum(op.kind != Kind.COPY for op in blocks[number].ops)
    return size <= limit


def _is_load(op: MachineOp, unit: str) -> bool:
    return op.unit == unit and op.kind == Kind.ACCESS and not op.stores and bool(op.writes)


def _is_under_way(ops: list[MachineOp], spaces: set[str]) -> bool:
    """Whether a block ends with loads that it has not waited for. spaces: where its branch's predicate was loaded from; shared memory answers in order."""
    read = {slot for op in ops for slot in (*op.reads, *op.predicates)}
    units = ("global",) if "shared" in spaces else ("global", "shared")
    return any(_is_load(op, unit) and not read.intersection(op.writes) for op in ops for unit in units)


def _loaded_from(fusion: Fusion, branch: Op) -> set[str]:
    """Which of global and shared memory the predicate of a branch depends on."""
    ops, definers = fusion.program.ops, fusion.flow.definers

    def made_of(slots: Iterable[int]) -> list[int]:
        return [site for slot in slots for site in definers.get(slot, ())]

    sites = closure(made_of(fusion.guard(branch)), lambda site: made_of(fusion.reads(ops[site])))
    spaces = {access.space or "global" for site in sites for access in accesses_of(ops[site]) if access.reads}
    return spaces & {"global", "shared"}


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


def _absorb(fusion: Fusion, blocks: list[MachineBlock], number: int, skip: Skip) -> None:
    block, guard = blocks[number], fusion.guard(skip.branch)
    block.ops = [op for op in block.ops if op.site != skip.branch.site]
    for inside in skip.inside:
        block.ops += [_under(op, guard) for op in blocks[inside].ops if op.kind != Kind.BRANCH]
        block.absorbed += (inside,)
        blocks[inside].ops = []


def _under(op: MachineOp, guard: tuple[int, ...]) -> MachineOp:
    op.predicates = (*op.predicates, *guard)
    return op

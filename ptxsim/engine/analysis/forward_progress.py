"""Forward progress: where lanes may be waiting for other lanes of their warp, and how long those are held at a join.

The hardware holds lanes where a divergent branch joins again. That may be for ever: a lane in a spin loop waits for what
another one does after the join. A waiting lane reads again and again what others can write, and what it reads decides
whether its loop ends. So the patience of the lanes at the join is measured in turns of blocks that read so. A loop that
ends by itself - it counts, or computes, whatever it loads meanwhile - takes none of it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from itertools import chain
from operator import and_, or_

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.callees import blocks_of, callees, reached
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Access, AccessKind, Control, Mechanism

# What a turn of a block takes of the patience. A lane that spins on an atomic, a strong load or an mbarrier most likely waits; a
# plain load also decides how far a list goes or where a search ends.
STRONG, PLAIN = 16, 1
PATIENCE = 4096
# When it has come to an end, one of the splits at the joins has a turn, and so much is left until the next one. Once all
# lanes are together it is as it was, but a part less for each such turn: in a warp that had to do so once it will be so again.
RENEWED = STRONG
LESS = 4

LOCAL, SHARED = -1, -2  # stand among register slots for all local memory, and all shared memory


@fact
def impatience(program: Program) -> tuple[int, ...]:
    """What a turn of each block takes of the patience of the lanes that wait at a join."""
    return tuple(_Loops(program).found)


@fact
def polls(program: Program) -> tuple[bool, ...]:
    """Whether the innermost loop around each block reads again and again, strongly, what other CTAs can write, until it ends it.

    One thread may do so, and tell the others in shared memory. A called function may do so for the loop; so the blocks of functions that
    such a loop calls count as well, outside of loops of their own.
    """
    graph, found = control_flow(program), [False] * len(program.blocks)
    if not any(map(_asks_others, chain.from_iterable(program.blocks))):
        return tuple(found)
    weights = _Loops(program, {"shared"}).found
    innermost: dict[int, int] = {}
    for head, body in sorted(graph.loops.items(), key=lambda loop: -len(loop[1])):
        innermost |= dict.fromkeys(body, head)
    functions = blocks_of(program)
    asked = {
        name for name, blocks in functions.items() if any(_asks_others(op) for n in blocks for op in program.blocks[n])
    }
    asking = asked | {name for name, blocks in functions.items() if reached(program, blocks) & asked}
    polling = {
        head for number, head in innermost.items()
        if weights[number] == STRONG
        and (any(map(_asks_others, program.blocks[number])) or callees(program, [number]) & asking)
    }  # fmt: skip
    for number, head in innermost.items():
        found[number] = head in polling
    for name in reached(program, [number for number, polls in enumerate(found) if polls]):
        for number in functions[name]:
            found[number] = innermost.get(number) is None or found[number]
    return tuple(found)


def _asks_others(op: Op) -> bool:
    """Whether an operation reads strongly outside of shared memory."""
    return any(access.reads and access.space != "shared" and _weight_of(access) == STRONG for access in op.accesses)


class _Loops:
    """Finds in all loops of a program the reads of memory that decide whether a lane stays in the loop.

    They do so through registers and local memory, through other memory `through` which is asked for, and through the branches that
    decide which blocks are executed. A called function counts as one operation that reads whatever any function reads; its own
    loops are looked at like others.
    """

    def __init__(self, program: Program, through: Collection[str] = ()):
        self.blocks = program.blocks
        self.spaces = {"local": LOCAL} | ({"shared": SHARED} if "shared" in through else {})
        self.graph = control_flow(program)
        self.follow = self.graph.successors
        self.writers: dict[int, list[tuple[int, Op]]] = {}
        for number, block in enumerate(self.blocks):
            for op in block:
                for slot in set(self._written(op)):
                    self.writers.setdefault(slot, []).append((number, op))
        called = self.blocks[self.graph.entries[1] :] if len(self.graph.entries) > 1 else []
        self.weight_of_calls = max((_weight(op) for block in called for op in block), default=0)
        self.found = [0] * len(self.blocks)
        loops: dict[int, list[set[int]]] = {}
        for head, tail in self.graph.back_edges:
            loops.setdefault(head, []).append(self.graph.loop_body(head, tail))
        for head, ways in loops.items():
            self._weigh(head, ways)

    def _read(self, op: Op) -> list[int]:
        """Slots that an operation reads, and memory."""
        return reads(op) + self._memory(op, "reads")

    def _written(self, op: Op) -> list[int]:
        return writes(op) + self._memory(op, "writes")

    def _memory(self, op: Op, does: str) -> list[int]:
        """What stands for the memory that an operation reads, or writes."""
        if op.call is not None:
            return list(self.spaces.values())
        found = [LOCAL] if _is_local(op) and (does == "reads" or any(access.writes for access in op.accesses)) else []
        if SHARED in self.spaces.values() and any(
            getattr(access, does) and access.space in (None, "shared") for access in op.accesses
        ):
            found.append(SHARED)
        return found

    def _weigh(self, head: int, ways: list[set[int]]) -> None:
        """Note what the blocks of a loop read that decides whether a lane stays on one of its ways around."""
        body = set().union(*ways)
        controls = self._controls(body, head)
        rest = [
            (number, self.blocks[number][-1])
            for number in body
            if self._branches(number)
            and any(
                number in way and (self._returns(number) or not way.issuperset(self.follow[number])) for way in ways
            )
        ]
        slots: set[int] = set()
        blocks: set[int] = set()
        while rest:
            number, op = rest.pop()
            if number not in blocks:
                blocks.add(number)
                rest += [(decides, self.blocks[decides][-1]) for decides in controls[number]]
            for slot in set(self._read(op)) - slots:
                slots.add(slot)
                for place, writer in self.writers.get(slot, ()):
                    if place in body:
                        weight = self.weight_of_calls if writer.call is not None else _weight(writer)
                        self.found[place] = max(self.found[place], weight)
                        rest.append((place, writer))

    def _controls(self, body: set[int], head: int) -> dict[int, list[int]]:
        """For each block of a loop the branches that decide, each time around, whether it is executed.

        That is, those after which it comes in any case one way, and the other way not.
        """
        bit = {number: 1 << i for i, number in enumerate(sorted(body, reverse=True))}
        over = 1 << len(body)  # the loop is left, or begins again
        # What comes after a block in any case, itself included; at first everything.
        sure = dict.fromkeys(body, 2 * over - 1) | {None: over}
        after: dict[int, list[int | None]] = {}
        for number in body:
            after[number] = [target if target in body and target != head else None for target in self.follow[number]]
            if self._returns(number):
                after[number].append(None)
        changed = True
        while changed:
            changed = False
            for number in bit:
                new = reduce(and_, (sure[target] for target in after[number])) | bit[number]
                if new != sure[number]:
                    sure[number], changed = new, True
        found: dict[int, list[int]] = {number: [] for number in body}
        for number in filter(self._branches, body):
            ways = [sure[target] for target in after[number]]
            decided = reduce(or_, ways) & ~reduce(and_, ways)
            for other in body:
                if decided & bit[other]:
                    found[other].append(number)
        return found

    def _branches(self, number: int) -> bool:
        """Whether lanes may go different ways after a block."""
        last = self.blocks[number][-1:]
        return any(op.control is Control.TABLE or (op.leads_away and op.guard is not None) for op in last)

    def _returns(self, number: int) -> bool:
        """Whether lanes may leave the function after a block."""
        return number + 1 == len(self.blocks) or any(op.leaves_function for op in self.blocks[number][-1:])


def _is_local(op: Op) -> bool:
    """Whether an operation may access local memory: it says so, or its address is generic."""
    return op.definition.uses_machine and op.wants.get("space", "") in (None, "local")


def _weight(op: Op) -> int:
    """How much it tells about lanes that they execute an operation over and over."""
    if not op.destinations:
        return 0
    if op.synchronises is not None:
        return {Mechanism.MBARRIER: STRONG, Mechanism.BARRIER: PLAIN}.get(op.synchronises.mechanism, 0)
    return max((_weight_of(access) for access in op.accesses if access.reads), default=0)


def _weight_of(access: Access) -> int:
    if access.kind is AccessKind.ATOMIC:
        return STRONG
    if access.space in ("const", "param", "local") or access.read_only:
        return 0
    return PLAIN if access.order == "weak" else STRONG

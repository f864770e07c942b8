"""The order of instructions within a block: loads early, their users late, as far as dependences and memory order allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from ptxsim.profile.figures import UNITS
from ptxsim.profile.machine_code import Kind, MachineOp, Pipe, go_before

# What the assembler plans with for what it cannot know.
PLANNED = {"global": 300.0, "shared": 30.0}
ORDERED = 1.0  # cycles from an instruction to one that only has to come after it
# Cycles that the assembler leaves between instructions of a pipe, read from the stall counts of ptxas 13.0.
PLANNED_COST = {
    Pipe.ALU: 2.0, Pipe.FMA: 1.0, Pipe.FMA_HEAVY: 2.0, Pipe.FP64: 2.0, Pipe.LSU: 4.0, Pipe.XU: 4.0, Pipe.ADU: 4.0, Pipe.UNIFORM: 2.0,
}  # fmt: skip
WALLS = (Kind.BARRIER, Kind.FENCE, Kind.PRODUCT_WAIT, Kind.MBARRIER_WAIT, Kind.ASYNC_WAIT, Kind.BULK_WAIT)
# Of them, what arithmetic and loads of what nobody writes may go ahead of (statements given to ptxas 13.0).
PASSED = (Kind.BARRIER,)
UNWRITTEN = ("nc", "const")
ENDS = (Kind.BRANCH, Kind.LOOP_BRANCH, Kind.EXIT, Kind.RETURN, Kind.CHECK)
WINDOW = 192  # instructions the assembler looks ahead
NEARER = (128, 64)  # the same past barriers where more would take more registers than there are
FARTHER = 512  # the same where it is to need few registers: sometimes that finds fewer, sometimes more


def schedule(
    ops: list[MachineOp], budget: Budget, passed: tuple[Kind, ...] = (), ahead: int = WINDOW
) -> list[MachineOp]:
    """List scheduling by the longest way to the end of the block. Branches stay where they are, and walls but those `passed`, ahead
    of which arithmetic may go, and loads of what nobody writes. Nothing goes before what is `ahead` instructions before it in the text."""

    def order(part: list[MachineOp], budget: Budget) -> list[MachineOp]:
        return _schedule(part, budget, ahead)

    return _by_parts(ops, budget, order, passed, WINDOW)


def narrow(ops: list[MachineOp], budget: Budget, window: int = WINDOW) -> list[MachineOp]:
    """The same with few registers in use, whatever has to wait."""
    return _by_parts(ops, budget, _narrow, (), window)


def _by_parts(
    ops: list[MachineOp],
    budget: Budget,
    order: Callable[[list[MachineOp], Budget], list[MachineOp]],
    passed: tuple[Kind, ...],
    window: int,
) -> list[MachineOp]:
    parts: list[list[MachineOp]] = [[]]
    meetings = [i for i, op in enumerate(ops) if op.site in budget.meetings]
    ends = {meetings[0] - 1, meetings[-1]} if meetings else set()
    for i, op in enumerate(ops):
        parts[-1].append(op)
        if (op.kind in WALLS and op.kind not in passed) or op.kind in ENDS or i in ends or len(parts[-1]) >= window:
            parts.append([])
    needed = set(budget.live_out)
    ordered: list[list[MachineOp]] = []
    for part in reversed(parts):  # what later parts read is live at the end of this one
        ordered.append(order(part, replace(budget, live_out=frozenset(needed))))
        for op in reversed(part):
            go_before(op, needed)
    return [op for part in reversed(ordered) for op in part]


def planned_latency(op: MachineOp) -> float:
    if op.kind == Kind.COPY:
        return 0
    if op.latency is not None:
        return op.latency
    return PLANNED.get(op.unit, UNITS[op.unit].latency)


def _schedule(ops: list[MachineOp], budget: Budget, ahead: int) -> list[MachineOp]:
    """What need not wait, for a result or for its pipe, goes first, the longest way to the end before others; then what waits least."""
    if len(ops) < 3:
        return ops
    after, waiting = dependences(ops)
    height = [0.0] * len(ops)
    for i in range(len(ops) - 1, -1, -1):
        own = planned_latency(ops[i])
        height[i] = max([own, *(height[j] + (own if result else ORDERED) for j, result in after[i].items())])
    ready = [i for i in range(len(ops)) if not waiting[i]]
    live = _Live(ops, budget)
    order = []
    start, now = [0.0] * len(ops), 0.0  # when what an instruction reads is there, as far as the assembler can plan
    free = dict.fromkeys(Pipe, 0.0)
    pipes = [Pipe.NONE if op.kind == Kind.COPY else UNITS[op.unit].pipe for op in ops]

    # A load goes as soon as its address is there, but what else takes registers, addresses among it, no earlier than the longest way through
    # the block has it: so ptxas 13.0 reads the next word of a chain of look-ups when the last look-up of the word before is under way.
    whole = max(height)
    least = [0.0 if op.unit in PLANNED else whole - h for op, h in zip(ops, height)]

    def rank(i: int) -> tuple[float, float, int]:
        soonest = max(start[i], now, free[pipes[i]])
        return max(soonest, least[i]) if live.change(i) > 0 else soonest, -height[i], i

    first, gone = 0, [False] * len(ops)
    while ready:
        # The first that fits; where none does, the one that frees most.
        near = [i for i in ready if i < first + ahead]
        fitting = [i for i in near if live.fits(i)]
        freeing = None if fitting else min(near, key=lambda i: (live.change(i), -height[i], i))
        chosen = min(fitting, key=rank) if freeing is None else freeing
        ready.remove(chosen)
        live.run(chosen)
        order.append(ops[chosen])
        gone[chosen] = True
        while first < len(ops) and gone[first]:
            first += 1
        begin, done = max(start[chosen], now, free[pipes[chosen]]), start[chosen]
        if ops[chosen].kind != Kind.COPY:
            free[pipes[chosen]] = begin + PLANNED_COST.get(pipes[chosen], 0.0)
            now, done = begin + 1, begin + planned_latency(ops[chosen])
        for j, result in after[chosen].items():
            start[j] = max(start[j], done if result else start[j])
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
    return order


def _narrow(ops: list[MachineOp], budget: Budget) -> list[MachineOp]:
    """From the end: always what then needs fewest registers before it, of several what comes last in the text."""
    if len(ops) < 3:
        return ops
    after, _ = dependences(ops)
    before: list[list[int]] = [[] for _ in ops]
    for i, follows in enumerate(after):
        for j in follows:
            before[j].append(i)
    waiting = [len(follows) for follows in after]
    # What comes from before is in use there whatever the order: its last reader is no worse than others.
    given = {r for op in ops for r in (*op.reads, *op.predicates)}.difference(*(op.writes for op in ops))
    live, order = {*budget.live_out, *given}, []
    named: dict[int, list[int]] = {}
    for i, op in enumerate(ops):
        for r in {*op.reads, *op.writes}:
            named.setdefault(r, []).append(i)
    changes = {i: _added(ops[i], live, budget.words) for i in range(len(ops)) if not waiting[i]}
    first = [(change, -i) for i, change in changes.items()]  # a heap, of what has held at some time
    heapify(first)
    while changes:
        change, chosen = heappop(first)
        chosen = -chosen
        if changes.get(chosen) != change:
            continue
        del changes[chosen]
        op = ops[chosen]
        reads = set(op.reads)
        moved = (reads - live) | (live.intersection(op.writes) - reads)
        live.difference_update(op.writes)
        live |= reads
        order.append(op)
        others = {i for r in moved for i in named[r] if i in changes}
        for j in before[chosen]:
            waiting[j] -= 1
            if not waiting[j]:
                others.add(j)
        for i in others:
            changes[i] = _added(ops[i], live, budget.words)
            heappush(first, (changes[i], -i))
    return order[::-1]


def _added(op: MachineOp, live: set[int], words: Callable[[int], int]) -> int:
    """How many more registers are in use before an operation than after it, if those are."""
    return sum(words(r) for r in set(op.reads) if r not in live or r in op.writes) - sum(
        words(w) for w in set(op.writes) if w in live
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """Registers a schedule may use: `words` says how many 32-bit registers a value takes. meetings: sites that lanes may reach one after the other;
    nothing moves from before the first of a block to after it, or past the last. whole: the words of a vector lie side by side, and another vector
    finds room where all of them are free."""

    limit: int
    words: Callable[[int], int]
    live_out: frozenset[int]
    meetings: frozenset[int] = frozenset()
    whole: bool = False


def is_vector(op: MachineOp) -> bool:
    """Whether an instruction loads several words."""
    return op.kind == Kind.ACCESS and len(op.writes) > 1


class _Live:
    """Registers in use while a part of a block is put in order."""

    def __init__(self, ops: list[MachineOp], budget: Budget):
        self.words, self.live_out = budget.words, budget.live_out
        self.reads, self.writes = [{*op.reads, *op.predicates} for op in ops], [set(op.writes) for op in ops]
        self.uses = Counter(r for reads in self.reads for r in reads)
        self.changes: dict[int, int] = {}  # what is known of `change`
        self.named: dict[int, list[int]] = {}  # register -> instructions that name it
        for i, named in enumerate(map(set.union, self.reads, self.writes)):
            for r in named:
                self.named.setdefault(r, []).append(i)
        self.live = set(budget.live_out)
        for op in reversed(ops):
            go_before(op, self.live)
        self.total = sum(map(self.words, self.live))
        self.limit = budget.limit
        self.vectors = [budget.whole and is_vector(op) for op in ops]
        self.vector_of: dict[int, int] = {}  # word of a vector that is there -> what has loaded it
        self.left: dict[int, int] = {}  # words of each that are in use
        self.parted = 0  # registers beside those, which no vector can have

    def fits(self, i: int) -> bool:
        """Whether there are registers for an instruction, of that number, now."""
        change = self.changes[i] if i in self.changes else self.change(i)
        return change <= 0 or self.total + (self.parted if self.vectors[i] else 0) + change <= self.limit

    def change(self, i: int) -> int:
        """How many more registers are in use once an instruction has run."""
        if i not in self.changes:
            words, live = self.words, self.live
            born = sum([words(w) for w in self.writes[i] if w not in live])
            self.changes[i] = born - sum(map(words, self._dying(i)))
        return self.changes[i]

    def _dying(self, i: int) -> list[int]:
        uses, live_out, live, writes = self.uses, self.live_out, self.live, self.writes[i]
        return [r for r in self.reads[i] if uses[r] == 1 and r not in live_out and r not in writes and r in live]

    def run(self, i: int) -> None:
        self.total += self.change(i)
        gone = self._dying(i)
        for r in self.reads[i]:
            self.uses[r] -= 1
        self.live.update(self.writes[i])
        self.live.difference_update(gone)
        for r in self.reads[i] | self.writes[i]:
            for other in self.named[r]:
                self.changes.pop(other, None)
        for r in gone:
            if (vector := self.vector_of.pop(r, None)) is not None:
                self.left[vector] -= 1
                words = self.words(r)
                self.parted += words if self.left[vector] else -(len(self.writes[vector]) - 1) * words
        if self.vectors[i]:
            self.left[i] = len(self.writes[i])
            self.vector_of.update(dict.fromkeys(self.writes[i], i))


_Place: TypeAlias = tuple[tuple[int, int], int, int] | None  # base and who has written it, offset, bytes
MANY = 256  # accesses that are told apart


class _Accesses:
    """The loads and stores of a space so far that others may have to come after: those to other words of the same base need not."""

    def __init__(self) -> None:
        self.loads: list[tuple[int, _Place]] = []
        self.stores: list[tuple[int, _Place]] = []

    def meet(self, i: int, place: _Place, stores: bool) -> list[int]:
        """Add access i; returns those that it has to come after."""
        if place is None or len(self.loads) + len(self.stores) > MANY:
            place = None
        before = [j for j, other in self.stores if not apart(place, other)]
        if stores:
            before += [j for j, other in self.loads if not apart(place, other)]
            self.loads = [(j, other) for j, other in self.loads if apart(place, other)]
            self.stores = [(j, other) for j, other in self.stores if apart(place, other)]
        (self.stores if stores else self.loads).append((i, place))
        return before


def apart(one: _Place, other: _Place) -> bool:
    """Whether two accesses are to different bytes from what is in the same register."""
    return (
        one is not None
        and other is not None
        and one[0] == other[0]
        and (one[1] + one[2] <= other[1] or other[1] + other[2] <= one[1])
    )


def dependences(ops: list[MachineOp]) -> tuple[list[dict[int, bool]], list[int]]:
    """Who must come after whom, and whether for a result: registers, memory of one space, and the block's last instruction after all others."""
    after: list[dict[int, bool]] = [{} for _ in ops]
    written: dict[int, int] = {}
    read: dict[int, list[int]] = {}
    spaces: dict[str, _Accesses] = {}
    for i, op in enumerate(ops):
        made = {written[r] for r in (*op.reads, *op.predicates) if r in written}
        before = list(made)
        for slot in op.writes:
            before += read.get(slot, [])
            if slot in written:
                before.append(written[slot])
        if op.space:
            place = None
            if op.place is not None and op.reads:
                place = (op.reads[0], written.get(op.reads[0], -1)), *op.place
            before += spaces.setdefault(op.space, _Accesses()).meet(i, place, op.stores)
        elif op.stores and op.kind not in ENDS:  # ordered against everything that is
            for space in dict.fromkeys(("global", "shared", "local", "async", *UNWRITTEN, *spaces)):
                if op.kind not in PASSED or space not in UNWRITTEN:
                    before += spaces.setdefault(space, _Accesses()).meet(i, None, True)
        if op.kind in PASSED:
            before += range(i)  # what comes after one may go before it, not the other way round
        for j in before:
            if j != i:
                after[j][i] = j in made
        for slot in (*op.reads, *op.predicates):
            read.setdefault(slot, []).append(i)
        for slot in op.writes:
            written[slot], read[slot] = i, []
    last = len(ops) - 1
    if ops[last].kind in ENDS or ops[last].kind in WALLS:
        for i in range(last):
            after[i].setdefault(last, False)
    waiting = [0] * len(ops)
    for follows in after:
        for j in follows:
            waiting[j] += 1
    return after, waiting

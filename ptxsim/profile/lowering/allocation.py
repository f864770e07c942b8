"""Which registers values get: the lowest that are free, in pairs and fours where an instruction names them together.

What an instruction reads late - accesses, exchanges - stays taken until one of its results is read: the assembler rather takes
another register than have a warp wait for the operands of what is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import count
from typing import NamedTuple

from ptxsim.engine.analysis import def_use
from ptxsim.engine.program.operand import Operand, Register, Vector
from ptxsim.isa.facts import Scope
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.assembly import Assembly
from ptxsim.profile.lowering.pressure import MOST, Pressure
from ptxsim.profile.lowering.schedule import WALLS
from ptxsim.profile.machine_code import Kind, MachineOp, Pipe, go_before
from ptxsim.types import parse_target

STACK = 1  # the number of the register of the stack's pointer, and how many it is
UNNAMED = 2  # registers more than the code names: what ptxas says of every kernel
GAPS = 4  # between pairs and fours, of many registers, where no walk counts them
LEAST = 8
CALLING = 24  # registers at least of a kernel that calls: those that the calling convention names
ACCUMULATORS = 24  # the first register of what a warpgroup's products add to, as nvdisasm shows ptxas 13.0's code: others are before it, and after it
SPARE = 28  # registers that values may spread over, however few are live
# What reads its registers some time after it has been issued: they are free once something waits for it.
LATE = (Kind.ACCESS, Kind.ASYNC_COPY, Kind.SHUFFLE)
IN_ORDER = 120  # targets from here on place values as they come, and what IMAD.WIDE multiplies in odd registers, as nvdisasm shows ptxas 13.0's code
FOUR = 4  # registers of the widest operand but those of a warpgroup's products
# What lies in odd registers: nothing, what goes to global memory, and what IMAD.WIDE multiplies, too.
ODD = ("none", "stored", "factors")


def registers(
    facts: Assembly, pressure: Pressure, orders: Sequence[tuple[Sequence[MachineOp], Set[int]]], calls: bool = False
) -> int:
    """Registers that a thread is given, with blocks in these orders and so much live after them: an estimate."""
    live = STACK + pressure.most(orders)
    if live < SPARE:
        live = max(live, min(Allocation(facts, pressure).run(orders), SPARE))
    else:
        live += GAPS
    return min(MOST, max(CALLING if calls else LEAST, live + UNNAMED))


def fewest(facts: Assembly) -> int:
    """Registers that a thread has at least, because of what the products of warpgroups add to."""
    products = [op for op in facts.program.ops if op.facts.scope is Scope.WARPGROUP and op.site in facts.flow.live]
    named = [v for op in products if op.facts.product for v in op.destinations if isinstance(v, Vector)]
    return max((ACCUMULATORS + len(_slots(v.elements)) + UNNAMED for v in named), default=LEAST)


class Held(NamedTuple):
    """Registers that an instruction reads late, until one of its results is read."""

    registers: Set[int]
    until: set[int]


class Allocation:
    """Places of the values of a program: a walk over its blocks finds which are in use at one time, and each takes the first that is left."""

    def __init__(self, facts: Assembly, pressure: Pressure, late: bool = True):
        """late: whether what an instruction reads late stays taken."""
        self.pressure, self.facts, self.late = pressure, facts, late
        self.parents: dict[int, tuple[int, int]] = {}  # value -> one that it lies beside, and how far after it
        self.spans: dict[int, tuple[int, int]] = {}  # of the first of such values: where all begin and end, from it
        self._join_copies()
        self._join_operands()
        self.in_order = parse_target(facts.target).number >= IN_ORDER
        self.odd: Set[int] = set()  # values that lie in odd registers
        self.sent: set[int] = set()  # copies that go to global memory
        self.beside: dict[int, dict[int, None]] = {}  # value -> those that are in use at one time with it

    # ---- values side by side ----

    def root(self, slot: int) -> tuple[int, int]:
        """The value that stands for those side by side, and how many registers after it this one is."""
        offset = 0
        while slot in self.parents:
            slot, more = self.parents[slot]
            offset += more
        return slot, offset

    def _join(self, one: int, other: int, offset: int) -> None:
        """Let `other` lie so many registers after `one`, if nothing speaks against it."""
        (first, before_), (second, own) = self.root(one), self.root(other)
        if first == second:
            return
        offset += before_ - own
        low, high = self._span(first)
        other_low, other_high = self._span(second)
        low, high = min(low, offset + other_low), max(high, offset + other_high)
        self.parents[second] = first, offset
        self.spans[first] = low, high

    def _span(self, slot: int) -> tuple[int, int]:
        return self.spans[slot] if slot in self.spans else (0, self.pressure.words(slot))

    def _join_copies(self) -> None:
        words = self.pressure.words
        for block in self.pressure.blocks:
            for op in block.ops:
                if (
                    op.kind == Kind.COPY
                    and len(op.writes) == 1 == len(op.reads)
                    and words(op.reads[0]) == words(op.writes[0]) > 0
                ):
                    self._join(op.reads[0], op.writes[0], 0)
                elif op.kind == Kind.COPY and len(op.writes) == 1:
                    self._join_all(op.writes[0], op.reads)
                elif op.kind == Kind.COPY and len(op.reads) == 1:
                    self._join_all(op.reads[0], op.writes)

    def _join_all(self, whole: int, parts: Sequence[int]) -> None:
        words = self.pressure.words
        if 0 < words(whole) == sum(map(words, parts)) and all(map(words, parts)):
            offset = 0
            for part in parts:
                self._join(whole, part, offset)
                offset += words(part)

    def _join_operands(self) -> None:
        flow = self.facts.flow
        for op in self.facts.program.ops:
            if op.site not in flow.live:
                continue
            most = 1 << 10 if op.facts.scope is Scope.WARPGROUP else FOUR
            for operands, declared, named in (
                (op.sources, def_use.reads(op), flow.reads[op.site]),
                (op.destinations, def_use.writes(op), flow.writes[op.site]),
            ):
                names = dict(zip(declared, named))
                for operand in operands:
                    if isinstance(operand, Vector):
                        self._side_by_side([names.get(slot, slot) for slot in _slots(operand.elements)], most)

    def _side_by_side(self, slots: Sequence[int], most: int) -> None:
        start, offset = None, 0
        for slot in slots:
            words = self.pressure.words(slot)
            if not words:
                continue
            if start is None or offset + words > most:
                start, offset = slot, 0
            else:
                self._join(start, slot, offset)
            offset += words

    # ---- places ----

    def run(self, orders: Iterable[tuple[Sequence[MachineOp], Set[int]]]) -> int:
        """Registers that are taken, the stack's pointer among them, with the blocks in these orders. What takes several registers chooses first,
        then the rest, each in the order of the text; from sm_120 on all in the order of the text."""
        self.meet(orders)
        return self.places(self.in_order, ODD[1 + self.in_order], self.sent)

    def meet(self, orders: Iterable[tuple[Sequence[MachineOp], Set[int]]]) -> None:
        """Note who is in use beside whom, with the blocks in these orders."""
        for ops, live in orders:
            self._block(ops, live)

    def places(self, in_order: bool, odd: str, others: Set[int] = frozenset()) -> int:
        """Registers that are taken once `meet` has noted that: all in the order of the text, or what takes several first. odd: one of ODD;
        others: what is in odd registers beside that."""
        blocks = self.pressure.blocks
        self.odd = others | {self.root(s)[0] for block in blocks for op in block.ops for s in _in_odd(op, odd)}
        places: dict[int, range] = {}
        for root in sorted(
            self.beside, key=lambda root: not in_order and root not in self.spans and self._size(root) == 1
        ):
            places[root] = self._place(root, [places[other] for other in self.beside[root] if other in places])
        return max((place.stop for place in places.values()), default=STACK + 1)

    def _block(self, ops: Sequence[MachineOp], live: Set[int]) -> None:
        """Note who is in use beside whom."""
        after: list[Set[int]] = []
        for op in reversed(ops):
            after.append(live)
            go_before(op, live := set(live))
        held: list[Held] = []
        there = self._roots(live)
        self._meet(there, held)
        for op, live in zip(ops, reversed(after)):
            reads = {*op.reads, *op.predicates}
            if op.kind == Kind.COPY:
                for h in held:
                    if h.until & reads:
                        h.until.update(op.writes)
            else:
                held = [h for h in held if not h.until & reads]
            written = self._roots(op.writes)
            stay = self._roots(live) | written
            gone = there - stay
            late = self.late and is_late(op)
            if late and any(self._size(self.root(slot)[0]) > self.pressure.words(slot) for slot in op.writes):
                self._meet(stay | gone, held)  # a part of what lies side by side does not take the place of an address
            self._meet(stay, held)
            there = stay
            if late:
                copies = self._copies(op)
                self._meet(stay | gone | copies, held)
                held = [*held, Held(gone | copies, set(op.writes))]
            if op.kind in WALLS:
                held = []

    def _copies(self, op: MachineOp) -> set[int]:
        """What is the same for the warp comes to such an access in registers of its own: values that have no number."""
        found: set[int] = set()
        if op.unit == "global" or op.stores:
            for slot in op.reads[op.unit != "global" :]:
                if not self.pressure.words(slot) and (size := self.pressure.width(slot)):
                    name = -1 - len(self.spans)
                    self.spans[name] = 0, size
                    found.add(name)
                    if _stores(op):
                        self.sent.add(name)
        return found

    def _meet(self, values: Set[int], held: Iterable[Held]) -> None:
        for value in values:
            self.beside.setdefault(value, {}).update(dict.fromkeys(values))
        for h in held:
            others = values - self._roots(h.until) - h.registers
            for value in h.registers:
                self.beside.setdefault(value, {}).update(dict.fromkeys(others))
            for value in others:
                self.beside[value].update(dict.fromkeys(h.registers))

    def _roots(self, slots: Iterable[int]) -> set[int]:
        return {self.root(slot)[0] for slot in slots if self.pressure.words(slot)}

    def _size(self, root: int) -> int:
        low, high = self._span(root)
        return high - low

    def _place(self, root: int, taken: Sequence[range]) -> range:
        """The first registers that no neighbour has; what goes to global memory is in an odd register where it is one."""
        size = self._size(root)
        odd = root in self.odd and size == 1
        step = 1 if size == 1 and not odd else 2 if size <= 2 else FOUR
        full = {STACK}.union(*taken)
        for start in count(int(odd), step):
            if not full.intersection(range(start, start + size)):
                return range(start, start + size)
        raise AssertionError("count() ends nowhere")


def _stores(op: MachineOp) -> bool:
    """Whether an operation sends registers to global memory."""
    return op.unit == "global" and op.kind == Kind.ACCESS and op.stores


def is_late(op: MachineOp) -> bool:
    """Whether an operation reads its registers some time after it has been issued."""
    return op.kind in LATE or UNITS[op.unit].pipe is Pipe.XU


def _in_odd(op: MachineOp, odd: str) -> tuple[int, ...]:
    """Of what an operation reads, what lies in odd registers if those are as `odd` says, one of ODD."""
    if odd != ODD[0] and _stores(op):
        return op.reads[1:]
    return op.reads if odd == ODD[2] and op.unit == "imad.wide" else ()


def _slots(operands: Iterable[Operand | None]) -> list[int]:
    return [operand.slot for operand in operands if isinstance(operand, Register)]

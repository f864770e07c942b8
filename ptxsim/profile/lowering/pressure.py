"""How many registers a thread needs: live values at the fullest point, in 32-bit registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache

from ptxsim.engine.analysis.control_flow import flow_back
from ptxsim.engine.program.operand import Constant
from ptxsim.profile.lowering.assembly import Assembly
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp, go_before
from ptxsim.types import parse_target

# Rules found with half of the corpus' files by `ptxas -v` and `nvdisasm -plr`; the other half says what they are worth (tools/conformance registers).
MOST = 255
FULL_OCCUPANCY = 32  # registers a thread may have for 64 warps on an SM
LOADS_CONSTANTS = 90  # targets from here on have no operand that is a constant in a multiplication of double width

# Units of what reads uniform registers only, or any number of them.
NO_OPERANDS = ("constant", "s2r", "s2r.thread", "s2ur", "nothing", "branch", "barrier", "clock", "gmma", "tma")
ADDENDS = 2  # registers of such a multiplication by a constant


class Pressure:
    """Live registers of a program by block."""

    def __init__(self, facts: Assembly, blocks: list[MachineBlock], like: Mapping[int, int], moved: bool = False):
        """`like`: registers of unrolled copies -> those they stand for. moved: with what is the same for the warp where it has to be
        in registers all the same; while instructions are put in order the assembler counts on uniform ones."""
        self.program = facts.program
        self.types, self.divergent, self.graph = facts.flow.types, facts.divergent, facts.graph
        self.blocks, self.like = blocks[: len(self.graph.successors)], like
        self.moved: set[int] = set()
        known = cache(self._taken)
        self.words: Callable[[int], int] = known  # how many 32-bit registers a value takes, see _taken
        self.absent, self.narrow = facts.absent, facts.narrow
        self.multiplies_loaded = parse_target(facts.target).number >= LOADS_CONSTANTS
        if moved:
            self.moved = self._moved()
            known.cache_clear()
        self.after = flow_back(self.graph.successors, self._before)

    def _taken(self, slot: int) -> int:
        """32-bit registers a value takes; predicates and what is the same for the warp take none."""
        slot = self.like.get(slot, slot)
        if slot >= len(self.types):
            return 1
        if slot in self.absent:
            return 0
        is_kept = self.types[slot].kind != "predicate" and (slot in self.divergent or slot in self.moved)
        return self.width(slot) if is_kept else 0

    def _moved(self) -> set[int]:
        """What is the same for the warp but in registers all the same, from where it is loaded: bases that indices are multiplied and
        added to, and what accesses and tensor cores read."""
        loaded = {slot for block in self.blocks for op in block.ops if op.unit == "constant" for slot in op.writes}
        for block in self.blocks:
            for op in block.ops:
                if op.kind == Kind.COPY and loaded.issuperset(op.reads):
                    loaded.update(op.writes)
        found: set[int] = set()
        for block in self.blocks:
            for op in block.ops:
                found.update(self._one_uniform(op, loaded, found))
                if op.unit == "imad.wide" and self.multiplies_loaded and any(map(self.words, op.writes)):
                    alone = len(set(op.reads)) <= ADDENDS  # what they are multiplied by is in the instruction
                    found.update(
                        slot for slot in op.reads if slot < len(self.types) and (alone or self.types[slot].bits == 64)
                    )
                elif op.unit == "global" and op.kind in (Kind.ACCESS, Kind.ASYNC_COPY):
                    found.update(loaded.intersection(op.reads))
        # A parameter that is used by another name is loaded to a register, too.
        copied = {w: op.reads for block in self.blocks for op in block.ops if op.kind == Kind.COPY for w in op.writes}
        rest = list(found)
        while rest:
            source = copied.get(rest.pop(), ())
            if len(source) == 1 and source[0] in loaded - found:
                found.add(source[0])
                rest.append(source[0])
        return found

    def _one_uniform(self, op: MachineOp, loaded: set[int], moved: set[int]) -> list[int]:
        """What an instruction cannot read as it is the same for the warp: one operand is a uniform register or a constant of the text, no more.
        A comparison of two of them is one of lanes."""
        if op.kind != Kind.PLAIN or op.unit in NO_OPERANDS:
            return []
        same = sorted(
            (s for s in op.reads if not self.words(s) and self.width(s) and s not in moved), key=lambda s: s in loaded
        )
        found = same[1 - self.has_constant(op) :]
        if any(self.words(w) or not self.width(w) for w in op.writes):
            return found if op.unit != "uniform" or (found and found[-1] in loaded) else []
        return []

    def has_constant(self, op: MachineOp) -> bool:
        """Whether the instruction of PTX names a number."""
        return any(isinstance(s, Constant) for s in self.program.ops[op.site].sources)

    def _before(self, number: int, live: set[int]) -> set[int]:
        live = set(live)
        for op in reversed(self.blocks[number].ops):
            go_before(op, live)
        return live

    def most(self, orders: Iterable[tuple[Sequence[MachineOp], Set[int]]] | None = None) -> int:
        """Registers in use at the fullest point, in the order the blocks have now, or in others: with what is live after them."""
        if orders is None:
            orders = zip([block.ops for block in self.blocks], self.after)
        return max((self.within(*found) for found in orders), default=0)

    def width(self, slot: int) -> int:
        """32-bit registers a value would take if lanes had each their own; none for predicates and what only the machine has."""
        slot = self.like.get(slot, slot)
        if slot >= len(self.types) or self.types[slot].kind == "predicate":
            return 0
        return 1 if slot in self.narrow else max(1, self.types[slot].bits // 32)

    def within(self, ops: Sequence[MachineOp], live: Set[int]) -> int:
        """The same of one block's instructions; `live`: after them."""
        most, now = 0, set(live)
        count = sum(map(self.words, now))
        for op in reversed(ops):
            writes, needed = set(op.writes), {*op.reads, *op.predicates}
            if op.kind != Kind.COPY:
                most = max(most, count + sum(map(self.words, writes - now)))
            count -= sum(map(self.words, writes & now))
            now -= writes
            count += sum(map(self.words, needed - now))
            now |= needed
        return most

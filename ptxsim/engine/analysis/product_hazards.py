"""Static hazard analysis for asynchronous products: proves on all paths that fences and in-flight registers are respected.

The interpreter compares registers with what they were at the last fence of the warpgroup, and looks at every operation for registers
that the tensor core owns. Native code of a program that is proved free of hazards skips these checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxsim.closure import closure
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.analysis.fragment_flow import types_match
from ptxsim.engine.analysis.liveness import product_slots
from ptxsim.engine.program.operand import Constant, Literal, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program, calls_functions, fact
from ptxsim.isa.facts import Mechanism, Role

EVERYTHING = None  # no fence has been met yet: every register may have been written since
OLDEST = 1 << 30


@dataclass
class State:
    """At one point of the program: registers written since the last fence, and the products that may be under way with
    the least number of groups that were committed since their issue."""

    written: set[int] | None = EVERYTHING
    ages: dict[int, int] = field(default_factory=dict)

    def copy(self) -> State:
        return State(None if self.written is None else set(self.written), dict(self.ages))

    def join(self, other: State) -> bool:
        """Take in what holds on another way; whether that was anything new."""
        changed = False
        if self.written is not None and (other.written is None or other.written - self.written):
            self.written = None if other.written is None else self.written | other.written
            changed = True
        for site, age in other.ages.items():
            if age < self.ages.get(site, OLDEST):
                self.ages[site] = age
                changed = True
        return changed


@fact
def keeps_rules(program: Program) -> bool:
    """Whether a program has asynchronous products, and on no path anything can happen that the interpreter watches them for."""
    return any(map(_is_product, program.ops)) and types_match(program) and _is_hazard_free(program)


def _is_hazard_free(program: Program) -> bool:
    """Whether no path accesses a register in flight or uses an unfenced one."""
    if calls_functions(program):
        return False
    slots = {op.site: {*factors(op), *slots_of(op.destinations)} for op in program.ops if _is_product(op)}
    before: dict[int, State] = {0: State()} if program.blocks else {}
    waiting = list(before)
    while waiting:
        number = waiting.pop()
        state = before[number].copy()
        for op in program.blocks[number]:
            if not _step(op, state, slots):
                return False
        for follower in control_flow(program).successors[number]:
            known = before.get(follower)
            if known is None:
                before[follower] = state.copy()
                waiting.append(follower)
            elif known.join(state):
                waiting.append(follower)
    return True


def _is_product(op: Op) -> bool:
    return op.completes_by is Mechanism.PRODUCT_GROUP


def _step(op: Op, state: State, slots: dict[int, set[int]]) -> bool:
    """Follow one operation; False for a breach."""
    if Mechanism.PRODUCT_GROUP not in op.mechanisms:
        flying = set().union(*(slots[site] for site in state.ages))
        if flying and not flying.isdisjoint((*reads(op), *writes(op))):
            return False
        if state.written is not None:
            source = copied(op)
            if source is None or source in state.written:
                state.written.update(writes(op))
            else:
                state.written.difference_update(writes(op))
        return True
    if op.guard is not None:
        return False
    match op.synchronises and op.synchronises.role:
        case Role.FENCE:
            state.written = set()
        case None:
            if state.written is None or state.written & used(op):
                return False
            # From here to the end of the product the tensor core alone writes them.
            state.written.difference_update(slots_of(op.destinations))
            state.ages[op.site] = 0
        case Role.COMMIT:
            state.ages = {site: age + 1 for site, age in state.ages.items()}
        case Role.WAIT:
            pending = value_of(op.sources[0])
            if pending is None:
                return False
            state.ages = {site: age for site, age in state.ages.items() if age <= pending}
    return True


def copied(op: Op) -> int | None:
    """The register of which an operation makes a plain copy, in all lanes; None for any other."""
    if not op.facts.copies or op.guard is not None or not isinstance(op.sources[0], Register):
        return None
    return op.sources[0].slot if isinstance(op.destinations[0], Register) else None


@fact
def copied_into(program: Program) -> dict[int, set[int]]:
    """By a register of a product: those of which it may be a copy, or a copy of one. A fence that has ordered a value has ordered it in a
    copy that comes later, too: where copies stand is the affair of compilers, whose registers the assembler chooses anew."""
    sources: dict[int, set[int]] = {}
    for op in program.ops:
        if (source := copied(op)) is not None:
            sources.setdefault(slots_of(op.destinations)[0], set()).add(source)
    return {
        slot: closure(sources[slot], lambda one: sources.get(one, ()))
        for slot in product_slots(program)
        if slot in sources
    }


def used(op: Op) -> set[int]:
    """Registers whose values a product takes from the threads."""
    accumulates = value_of(op.source("p")) != 0
    return {*factors(op), *(slots_of(op.destinations) if accumulates else ())}


def factors(op: Op) -> list[int]:
    """The registers of A, where it does not come from shared memory. Descriptors and metadata are taken when the product starts."""
    a = op.source("a")
    return list(slots_of([a])) if isinstance(a, Vector) else []


def value_of(operand: Operand | None) -> int | None:
    """The number a constant operand stands for."""
    return int(operand.value) if isinstance(operand, Literal | Constant) else None

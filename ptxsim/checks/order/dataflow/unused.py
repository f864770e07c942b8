"""Loads that race by the memory model, where no result depends on what they read.

Compilers of programs that have one thread in mind (Triton) let all threads of a CTA load a scalar, and one store the new one: only
that thread needs the value. And loops of compare-and-swap begin with a plain load in nearly every program (the CUDA Programming
Guide's atomicAdd of doubles does): an old value fails the comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ptxsim.checks.order.dataflow.served_in_turn import is_turn
from ptxsim.closure import closure
from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.program.operand import Address, Constant, Operand, Register
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Scope


def is_stored_back_alone(program: Program, load: Op, store: Op) -> bool:
    """Whether what a load brings reaches nothing but stores under the guard of one to the same address.

    A thread that does not execute the store makes no use of the value then; those that do race with each other, if there are several.
    """
    if not is_ordinary(load, AccessKind.READ) or not is_ordinary(store, AccessKind.WRITE) or store.guard is None:
        return False
    if not at_one_place(program, load, store):
        return False
    definitions = Counter(slot for op in program.ops for slot in writes(op))
    values, grows = set(writes(load)), True
    while grows:
        grows = False
        for op in program.ops:
            if values.isdisjoint(reads(op)):
                continue
            if is_arithmetic(op):
                grows = grows or not values.issuperset(writes(op))
                values |= set(writes(op))
            elif not _stores_alike(op, store, values, definitions):
                return False
    return True


def sinks(program: Program, load: Op) -> set[int] | None:
    """The stores through which a result may depend on what an ordinary load brings, by arithmetic and exchanges within its warp.

    None if a result may depend on it in another way: by an address, a branch, or which threads store.
    """
    if not is_ordinary(load, AccessKind.READ):
        return None
    returned = {r.slot for function in program.functions.values() for r in function.returns}
    values, found, grows = set(writes(load)), set[int](), True
    while grows:
        grows = False
        for op in program.ops:
            if values.isdisjoint(reads(op)):
                continue
            if is_arithmetic(op) or (op.facts.reads_lanes and not op.accesses):
                grows = grows or not values.issuperset(writes(op))
                values |= set(writes(op))
            elif is_ordinary(op, AccessKind.WRITE) and values.isdisjoint(_not_values(op)):
                found.add(op.site)
            else:
                return None
    return found if values.isdisjoint(returned) else None


def is_update(program: Program, load: Op, store: Op) -> bool:
    """Whether an ordinary store puts back, changed, what an ordinary load has brought from its place: `x += 1`."""
    if not is_ordinary(load, AccessKind.READ) or not is_ordinary(store, AccessKind.WRITE) or load.site > store.site:
        return False
    return at_one_place(program, load, store) and _reaches(program, load, store)


def strong_updates(program: Program) -> set[int]:
    """Strong stores of what strong loads have brought; and atomics that change by what is given (add), where all of global memory are such.

    A place that threads take in turn, each when it holds its own number (a ticket lock), is left out: coherence alone orders the
    store of a thread that is served after that of the one before. So is a place that a compare-and-swap has taken, if it still held what was loaded:
    others find that it is taken and store nothing there (a sequence lock of several writers).
    """
    loads = [op for op in program.ops if _is_strong(op, AccessKind.READ)]
    stores = [op for op in program.ops if _is_strong(op, AccessKind.WRITE)]
    atomics = [op for op in program.ops for a in op.accesses if a.kind is AccessKind.ATOMIC and a.space != "shared"]
    is_sums = all(op.accesses[0].neutral is not None for op in atomics)
    by_place: dict[object, Op] = {}  # the last load of each place
    found = {op.site for op in atomics if is_sums and stores}
    turns = {_place_of(program, op) for op in loads if is_turn(program, op)} if stores else set()
    for op in sorted((*loads, *stores), key=lambda each: each.site):
        place = _place_of(program, op)
        if place is None:
            continue
        if _is_strong(op, AccessKind.READ):
            by_place[place] = op
        elif place in by_place and place not in turns and _reaches(program, by_place[place], op):
            if not _is_taken_before(program, by_place[place], op):
                found.add(op.site)
    return found


def _is_taken_before(program: Program, load: Op, store: Op) -> bool:
    """Whether every way from a load to a store comes past a compare-and-swap of their place with what was loaded, whose result is looked at."""
    read = {slot for op in program.ops for slot in reads(op)}
    return any(
        _compares(op) and not read.isdisjoint(writes(op)) and at_one_place(program, load, op)
        and not _carried(program, load, op).isdisjoint(slots_of(_compared(op))) and _lies_between(program, load, op, store)
        for op in program.ops[load.site + 1 : store.site]
    )  # fmt: skip


def _reaches(program: Program, load: Op, store: Op) -> bool:
    """Whether a store takes what arithmetic makes of what a load before it has brought."""
    return not _carried(program, load, store).isdisjoint(set(reads(store)) - set(_not_values(store)))


def _carried(program: Program, load: Op, end: Op) -> set[int]:
    """Registers with what a load has brought, or what arithmetic makes of it, at an instruction after it."""
    values = set(writes(load))
    for op in program.ops[load.site + 1 : end.site]:
        if is_arithmetic(op) and not values.isdisjoint(reads(op)):
            values |= set(writes(op))
        elif op.guard is None and not values.isdisjoint(writes(op)) and _lies_between(program, load, op, end):
            values -= set(writes(op))
    return values


def _lies_between(program: Program, first: Op, op: Op, last: Op) -> bool:
    """Whether every way from one instruction to another one comes past a third."""
    graph = control_flow(program)
    start, past, end = (block_of(program)[each.site] for each in (first, op, last))

    def after(number: int) -> set[int]:
        return set(graph.successors[number]) - {past}

    return past in (start, end) or end not in closure(after(start), after)


def is_compared(program: Program, load: Op, update: Op) -> bool:
    """Whether what an ordinary load brings reaches nothing but compare-and-swaps of its place, as what they compare with or store.

    Then only what they have found there decides how the program goes on: whether it was what the load had brought.
    """
    if not is_ordinary(load, AccessKind.READ) or not _compares(update) or not at_one_place(program, load, update):
        return False
    updates = {op.site for op in program.ops if _compares(op) and at_one_place(program, load, op)}
    graph = control_flow(program)
    returned = {r.slot for function in program.functions.values() for r in function.returns}
    # Registers at the start of each block: those with the loaded value, or made of it, and those with the compare-and-swap's result.
    entering: dict[int, tuple[set[int], set[int]]] = {}
    is_used = False
    rest = [block_of(program)[load.site]]
    while rest:
        number = rest.pop()
        loaded, found = map(set, entering.setdefault(number, (set(), set())))
        for op in program.blocks[number]:
            is_used |= op.site in updates and not loaded.isdisjoint(reads(op))
            if not _goes_on(op, load, updates, loaded, found):
                return False
        if not loaded.isdisjoint(returned):
            return False
        for follower in graph.successors[number]:
            before = entering.setdefault(follower, (set(), set()))
            if not (loaded <= before[0] and found <= before[1]):
                before[0].update(loaded)
                before[1].update(found)
                rest.append(follower)
    return is_used


def _goes_on(op: Op, load: Op, updates: set[int], loaded: set[int], found: set[int]) -> bool:
    """Take an instruction into account; false if it makes another use of the loaded value than a compare-and-swap may."""
    used, written = set(reads(op)), set(writes(op))
    is_loaded, is_found = op is load, op.site in updates
    if op.site in updates:
        compares = not loaded.isdisjoint(slots_of(_compared(op)))
        if not loaded.isdisjoint(_not_values(op)) or not (compares or used.isdisjoint(loaded)):
            return False
    elif not used.isdisjoint(loaded):
        if not is_arithmetic(op):
            return False
        is_found = _is_test(op, loaded, found)
        is_loaded = not is_found
    is_found |= op.family == "mov" and not used.isdisjoint(found)
    for slots, gets in ((loaded, is_loaded), (found, is_found)):
        if gets:
            slots |= written
        elif op.guard is None:
            slots -= written
    return True


def _is_test(op: Op, loaded: set[int], found: set[int]) -> bool:
    """Whether an instruction only asks whether a compare-and-swap has found what it compared with."""
    if op.family != "setp" or op.words["cmp"] not in ("eq", "ne"):
        return False
    one, other, *rest = (set(slots_of([source])) for source in op.sources)
    rest.append({op.guard[0]} if op.guard else set())
    if not loaded.isdisjoint(set().union(*rest)):
        return False
    return any(a and b and a <= loaded and b <= found - loaded for a, b in ((one, other), (other, one)))


def _compares(op: Op) -> bool:
    return any(access.compares for access in op.accesses)


def _compared(op: Op) -> Sequence[Operand | None]:
    """What a compare-and-swap compares with: the operand after its address."""
    at = next(number for number, operand in enumerate(op.sources) if isinstance(operand, Address))
    return op.sources[at + 1 : at + 2]


def at_one_place(program: Program, one: Op, two: Op) -> bool:
    """Whether two accesses have one address: a constant, or a distance from registers that are written once and hold the same."""
    place = _place_of(program, one)
    return place is not None and place == _place_of(program, two)


@fact
def _held(program: Program) -> dict[int, int]:
    """Registers that are written once, each with the first that holds the same: it is a copy, or made of the same by the same instruction."""
    definitions = Counter(slot for op in program.ops for slot in writes(op))
    held: dict[int, int] = {}
    first: dict[tuple[object, ...], int] = {}
    for op in program.ops:
        held.update((slot, slot) for slot in writes(op) if definitions[slot] == 1)
        target = op.destinations[0] if len(op.destinations) == 1 else None
        if op.guard is not None or not op.facts.formula or not isinstance(target, Register) or target.slot not in held:
            continue
        sources = [_same(source, held) for source in op.sources if source is not None]
        if op.facts.formula == "a" and isinstance(op.sources[0], Register):
            if sources[0] is None:
                del held[target.slot]  # of a register that changes
            else:
                held[target.slot] = held[op.sources[0].slot]
        elif None not in sources:
            held[target.slot] = first.setdefault((op.opcode, *sources), target.slot)
    return held


def same_values(program: Program, one: Operand | None, other: Operand | None) -> bool:
    """Whether two operands hold the same, as far as that is known."""
    held = _held(program)
    found = None if one is None else _same(one, held)
    return found is not None and other is not None and found == _same(other, held)


def _same(source: Operand, held: dict[int, int]) -> object:
    """What is equal for operands that are; None where that is not known."""
    if isinstance(source, Register) and not source.negated:
        return held.get(source.slot)
    return ("constant", source.value) if type(source) is Constant else None


def _place_of(program: Program, op: Op) -> tuple[int | None, int, int] | None:
    """What is the same for accesses to one address; None where a register in it is written more than once."""
    address = next(a for a in op.sources if isinstance(a, Address))
    if isinstance(address.base, Register):
        slot = _held(program).get(address.base.slot)
        return None if slot is None else (slot, 0, address.offset)
    return None, address.base.value if isinstance(address.base, Constant) else 0, address.offset


def is_ordinary(op: Op, kind: AccessKind) -> bool:
    """Whether an instruction is an ordinary access of each lane for itself."""
    accesses = op.accesses
    return (
        len(accesses) == 1 and accesses[0].kind is kind and accesses[0].order == "weak" and op.facts.scope is Scope.LANE
    )


def _is_strong(op: Op, kind: AccessKind) -> bool:
    return op.facts.scope is Scope.LANE and any(a.kind is kind and a.order != "weak" for a in op.accesses)


def is_arithmetic(op: Op) -> bool:
    acts = op.accesses or op.control or op.call or op.synchronises
    return not acts and op.facts.scope is Scope.LANE and bool(writes(op))


def _stores_alike(op: Op, store: Op, values: set[int], definitions: Counter[int]) -> bool:
    """Whether an instruction stores some of these values, and does so only in threads that execute a store."""
    if op is not store and (op.guard != store.guard or definitions[op.guard[0] if op.guard else -1] != 1):
        return False
    return is_ordinary(op, AccessKind.WRITE) and values.isdisjoint(_not_values(op))


def _not_values(op: Op) -> list[int]:
    """What an access reads that is no value for memory: addresses, its guard."""
    return slots_of(a for a in op.sources if isinstance(a, Address)) + [op.guard[0] if op.guard else -1]

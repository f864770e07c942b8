"""Loads that race by the memory model, where no result depends on what they read.

Compilers of programs that have one thread in mind (Triton) let all threads of a CTA load a scalar, and one store the new one: only
that thread needs the value. And loops of compare-and-swap begin with a plain load in nearly every program (the CUDA Programming
Guide's atomicAdd of doubles does): an old value fails the comparison.
"""

from __future__ import annotations

from collections import Counter

from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.program.operand import Address, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind, Scope


def is_stored_back_alone(program: Program, load: Op, store: Op) -> bool:
    """Whether what a load brings reaches nothing but stores under the guard of one to the same address.

    A thread that does not execute the store makes no use of the value then; those that do race with each other, if there are several.
    """
    if not _is(load, AccessKind.READ) or not _is(store, AccessKind.WRITE) or store.guard is None:
        return False
    places = [next(a for a in op.sources if isinstance(a, Address)) for op in (load, store)]
    bases = [place.base.slot if isinstance(place.base, Register) else None for place in places]
    definitions = Counter(slot for op in program.ops for slot in writes(op))
    if bases[0] is None or bases[0] != bases[1] or places[0].offset != places[1].offset or definitions[bases[0]] != 1:
        return False
    values, grows = set(writes(load)), True
    while grows:
        grows = False
        for op in program.ops:
            if values.isdisjoint(reads(op)):
                continue
            if _is_arithmetic(op):
                grows = grows or not values.issuperset(writes(op))
                values |= set(writes(op))
            elif not _stores_alike(op, store, values, definitions):
                return False
    return True


def is_compared(program: Program, load: Op, update: Op) -> bool:
    """Whether a load is an ordinary one, and what it brings is what a compare-and-swap compares with."""
    if not _is(load, AccessKind.READ) or not any(access.compares for access in update.accesses):
        return False
    at = next(number for number, operand in enumerate(update.sources) if isinstance(operand, Address))
    compared, values, grows = set(slots_of(update.sources[at + 1 : at + 2])), set(writes(load)), True
    while grows and values.isdisjoint(compared):
        new = {
            slot for op in program.ops if _is_arithmetic(op) and not values.isdisjoint(reads(op)) for slot in writes(op)
        }
        grows = not values.issuperset(new)
        values |= new
    return not values.isdisjoint(compared)


def _is(op: Op, kind: AccessKind) -> bool:
    """Whether an instruction is an ordinary access of each lane for itself."""
    accesses = op.accesses
    return (
        len(accesses) == 1 and accesses[0].kind is kind and accesses[0].order == "weak" and op.facts.scope is Scope.LANE
    )


def _is_arithmetic(op: Op) -> bool:
    acts = op.accesses or op.control or op.call or op.synchronises
    return not acts and op.facts.scope is Scope.LANE and bool(writes(op))


def _stores_alike(op: Op, store: Op, values: set[int], definitions: Counter[int]) -> bool:
    """Whether an instruction stores some of these values, and does so only in threads that execute a store."""
    if op is not store and (op.guard != store.guard or definitions[op.guard[0] if op.guard else -1] != 1):
        return False
    others = slots_of(a for a in op.sources if isinstance(a, Address)) + [op.guard[0] if op.guard else -1]
    return _is(op, AccessKind.WRITE) and values.isdisjoint(others)

"""What stores write that loads have brought: a kernel that copies tiles from global to shared memory through registers.

By register slot, wherever a program stands: a slot may hold what any of its loads has left there, and the last that a warp
has executed is what it does hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Op, Program, fact

ORDINARY = (None, "global", "shared")


@dataclass(frozen=True, slots=True)
class Copied:
    """What a store writes comes from one of these loads (sites), the first bytes `offset` bytes after the address it loads from."""

    loads: frozenset[int]
    offset: int


@fact
def copied_loads(program: Program) -> dict[int, Copied]:
    """By the site of a store, what it copies; stores that copy nothing are left out."""
    found = def_use(program)
    copies = {op.site: _copied(found, op) for op in program.ops if op.family == "store" and _is_ordinary(op)}
    return {site: copied for site, copied in copies.items() if copied is not None}


def _is_ordinary(op: Op) -> bool:
    return all(access.space in ORDINARY for access in op.accesses)


def _copied(found: DefUse, store: Op) -> Copied | None:
    value = store.source("b")
    elements = value.elements if isinstance(value, Vector) else [value]
    if store.site not in found.reads or not slots_of(elements[:1]):
        return None
    start = len(slots_of(store.sources[: store.sources.index(value)]))
    slots = found.reads[store.site][start : start + len(slots_of(elements))]
    ops, slot = found.program.ops, slots[0]
    definers = [ops[site] for site in found.definers[slot]]
    loads = {op.site for op in _loads_of(found, slot)}
    if not loads or any({op.site for op in _loads_of(found, each)} != loads for each in slots[1:]):
        return None
    offsets = {_offset(found, op, slot) for op in definers} if loads == {op.site for op in definers} else {0}
    return Copied(frozenset(loads), offsets.pop()) if len(offsets) == 1 else None


def _offset(found: DefUse, load: Op, slot: int) -> int:
    """How many bytes after its address a load reads the value of a slot."""
    type = load.words["type"]
    return int(found.writes[load.site].index(slot) * type.bits // 8)


def _loads_of(found: DefUse, slot: int) -> list[Op]:
    """Loads from global memory whose values reach a slot, through arithmetic too."""
    loads, seen, queue = [], {slot}, [slot]
    while queue:
        for site in found.definers[queue.pop()]:
            op = found.program.ops[site]
            if op.family == "load":
                if any(access.space in (None, "global") for access in op.accesses):
                    loads.append(op)
                continue
            # Not the guard: it says whether, not what.
            values = found.reads[site][: len(slots_of(op.sources))]
            queue += [each for each in values if each not in seen]
            seen.update(values)
    return loads

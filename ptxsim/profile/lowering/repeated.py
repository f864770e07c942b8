"""Loads of what the block has loaded before, which the assembler leaves out.

Found by giving ptxas 13.0 two loads with a statement in between: of shared memory they are one unless something is stored there, even beside
it; of global memory unless something is stored or changed there; of what nobody writes, always. Barriers, those of a warp too, part them.
"""

from __future__ import annotations

from typing import TypeAlias

from ptxsim.engine.analysis.def_use import DefUse
from ptxsim.engine.program.operand import Address, Register, SharedAddress
from ptxsim.engine.program.operation import Op, Program
from ptxsim.profile.lowering.fusion import accesses_of
from ptxsim.profile.lowering.schedule import WALLS
from ptxsim.profile.machine_code import Kind, MachineOp

_Key: TypeAlias = tuple[object, ...]
SPACES = ("shared", "global", "nc")


def loaded_once(program: Program, flow: DefUse, ops: list[MachineOp]) -> list[MachineOp]:
    """The instructions of a block without such loads: what they had written is a copy of what is there."""
    known: dict[str, dict[_Key, MachineOp]] = {space: {} for space in SPACES}
    made: list[MachineOp] = []
    for op in ops:
        source = program.ops[op.site]
        key = _key(flow, source, op)
        first = known[op.space].get(key) if key is not None else None
        if first is not None:
            made += [MachineOp("nothing", (w,), (r,), op.site, Kind.COPY) for w, r in zip(op.writes, first.writes)]
        else:
            made.append(op)
        for space in _changed(op, source):
            known[space].clear()
        written = set(op.writes)
        for loads in known.values():
            for other in [
                k for k, load in loads.items() if written.intersection((*load.writes, *load.reads, *load.predicates))
            ]:
                del loads[other]
        if key is not None and first is None and not written.intersection((*op.reads, *op.predicates)):
            known[op.space][key] = op
    return made


def _key(flow: DefUse, source: Op, op: MachineOp) -> _Key | None:
    """What tells two loads apart; None of what is no plain load."""
    if op.kind != Kind.ACCESS or op.stores or op.space not in SPACES or source.family != "load" or not op.writes:
        return None
    address = source.sources[0]
    if accesses_of(source)[0].order != "weak" or not isinstance(address, Address):
        return None
    if isinstance(address.base, SharedAddress):
        place: _Key = ("named", address.base.value + address.offset)
    elif isinstance(address.base, Register):
        place = (flow.value(source, 0), address.offset)
    else:
        return None
    # Its type and how it goes by caches, and how many words of shared memory it has been made of.
    words = tuple(sorted((name, str(word)) for name, word in source.words.items()))
    return (*place, words, len(op.writes), op.reads, op.predicates)


def _changed(op: MachineOp, source: Op) -> tuple[str, ...]:
    """The spaces of which nothing is known any more after an instruction."""
    if op.kind == Kind.FENCE:
        return SPACES
    if op.kind in WALLS or source.family == "warp_barrier":
        return SPACES[:2]
    if not op.stores or op.kind == Kind.COPY:
        return ()
    if op.kind != Kind.ACCESS or any(access.space is None for access in accesses_of(source)):
        return SPACES[:2]
    return (op.space,) if op.space in SPACES else SPACES[:2]

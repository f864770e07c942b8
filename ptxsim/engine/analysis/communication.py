"""Whether warps, or CTAs, can see by memory what others have done: then the order in which they run matters, though nothing races."""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.engine.analysis.control_flow import control_flow, leads
from ptxsim.engine.analysis.def_use import def_use
from ptxsim.engine.analysis.forward_progress import polls
from ptxsim.engine.program.operand import Address
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Access, AccessKind, Control, Mechanism, Role, Synchronisation

_OWN = ("local", "param", "const")  # spaces in which no thread meets another one


@fact
def warps_tell(program: Program) -> bool:
    """Whether warps may find out in which order they run: there are atomics or strong accesses."""
    return any(_tells(access) for op in program.ops for access in op.accesses)


@fact
def ctas_tell(program: Program) -> bool:
    """The same of CTAs: there are such outside of a CTA's own shared memory."""
    return any(
        _tells(access) and (access.space != "shared" or (access.kind is AccessKind.ATOMIC and access.remote))
        for op in program.ops
        for access in op.accesses
    )


def _tells(access: Access) -> bool:
    return access.kind is AccessKind.ATOMIC or access.order != "weak"


def only_reads(program: Program, blocks: Iterable[int]) -> bool:
    """Whether the loops around these blocks change nothing: then warps that go round in them do so in every order of theirs."""
    if any(op.call is not None for op in program.ops):
        return False
    here = set(blocks)
    around = set[int]().union(*(body for body in control_flow(program).loops.values() if body & here))
    return not any(map(_changes, (op for number in around for op in program.blocks[number])))


def _changes(op: Op) -> bool:
    writes = any(access.kind is not AccessKind.READ for access in op.accesses)
    return writes or op.synchronises is not None or op.completes_by is not None


@fact
def meeting_blocks(program: Program) -> tuple[int, ...]:
    """Blocks before which it may matter what others do first: they access memory that others see, and do not poll it."""
    asks = polls(program)
    return tuple(
        number
        for number, block in enumerate(program.blocks)
        if not asks[number] and any(access.space not in _OWN for op in block for access in op.accesses)
    )


@fact
def looks_again(program: Program) -> bool:
    """Whether a wait for an mbarrier that has given up is followed by another one for the same: libcu++ unrolls the first looks of its loop. Which
    of them sees the end of the phase is luck, and with seed 0 it is the first."""
    waits = [op for op in program.ops if op.synchronises == _WAIT]
    return len({_place(op) for op in waits}) < len(waits) and any(_looks_after(program, op) for op in waits)


@fact
def goes_on_early(program: Program) -> bool:
    """Whether not the result of a wait for an mbarrier alone decides that a lane goes on: some may do so though the look has given up (the first lane waits, and
    nothing keeps the others; a loop ends after so many looks). With seed 0 no look gives up."""
    return any(_goes_on_early(program, op) for op in program.ops if op.synchronises == _WAIT)


def _goes_on_early(program: Program, wait: Op) -> bool:
    flow = def_use(program)
    rest = list(flow.writes[wait.site])
    seen = set(rest)
    while rest:
        for site in flow.readers[rest.pop()]:
            op = program.ops[site]
            if op.control is Control.BRANCH:
                is_near = flow.block_of[site] == flow.block_of[wait.site]
                is_its_own = is_near or len(flow.definers[flow.reads[site][0]]) == 1
                if is_its_own and _goes_on_anyway(program, op, wait):
                    return True
                continue
            if len(set(flow.reads[site])) > 1 or op.accesses or op.call is not None:
                return True
            new = set(flow.writes[site]) - seen
            seen |= new
            rest += new
    return False


def _goes_on_anyway(program: Program, branch: Op, wait: Op) -> bool:
    """Whether both ways from a branch lead to what others can notice, past no wait for the mbarrier of one."""
    successors, place = control_flow(program).successors, _place(wait)

    def goes_on(first: int) -> bool:
        rest, seen = [first], {first}
        while rest:
            number = rest.pop()
            for op in program.blocks[number]:
                if op.synchronises == _WAIT and _place(op) == place:
                    break
                if _shows(op):
                    return True
            else:
                new = set(successors[number]) - seen
                seen |= new
                rest += new
        return False

    return all(map(goes_on, successors[def_use(program).block_of[branch.site]]))


_WAIT = Synchronisation(Mechanism.MBARRIER, Role.WAIT)


def _looks_after(program: Program, wait: Op) -> bool:
    """Whether a way leads from a wait to another one for the same mbarrier with nothing else between that others can notice."""
    place = _place(wait)

    def is_other(op: Op) -> bool:
        return op.synchronises == _WAIT and op is not wait and _place(op) == place

    return leads(program, wait, is_other, _shows)


def _shows(op: Op) -> bool:
    """Whether others can notice what an operation does."""
    return bool(op.synchronises is not None or op.call or any(access.space not in _OWN for access in op.accesses))


def _place(wait: Op) -> tuple[object, int]:
    """Which mbarrier a wait names, as its text says."""
    address = next(source for source in wait.sources if isinstance(source, Address))
    return address.base, address.offset

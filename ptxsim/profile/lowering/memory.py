"""Machine code of accesses to memory by threads, and of warp-wide exchanges, which pass through the same pipe."""

from __future__ import annotations

from ptxsim.engine.analysis import def_use
from ptxsim.engine.analysis.ptxas.accesses import LOOPS, Assembled, assembled_accesses
from ptxsim.engine.program.operand import Address, Constant, Operand, Register, Vector
from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering.assembly import Assembly, lowers
from ptxsim.profile.lowering.fusion import accesses_of, cost_of, is_remote
from ptxsim.profile.lowering.synchronisation import GPU_FENCE, SYSTEM_FENCE
from ptxsim.profile.machine_code import ASYNC_STORE, Kind, MachineOp

WMMA_ACCESSES = {"s8": 2, "u8": 2, "f64": 1}  # of a fragment, by type; 4 of the others

DOUBLED = 8  # registers of a fragment of .f16 of A or B in PTX, which has every element twice


def space_of(op: Op) -> str:
    """State space of an access; generic addresses count as global."""
    return accesses_of(op)[0].space or "global"


def unit_of(assembly: Assembly, op: Op) -> str:
    """Row of the figures of an access: shared memory of the own CTA or of the cluster, or what lies outside the SM."""
    if is_remote(op, assembly.maps_shared):
        return "remote"
    return "shared" if space_of(op) == "shared" else "global"


@lowers("load")
def load(assembly: Assembly, op: Op) -> list[MachineOp]:
    space = space_of(op)
    if space in ("param", "const"):
        return [assembly.machine(op, "constant", Kind.ACCESS, space="const")]
    read = accesses_of(op)[0]
    space, ordered = "nc" if read.read_only else space, read.order in ("volatile", "acquire")
    made = assembly.machine(op, unit_of(assembly, op), Kind.ACCESS, space=space, stores=ordered, place=_place(op))
    return widened(assembly, op, made)


def _place(op: Op) -> tuple[int, int] | None:
    """Where a weak access is from the register that it names, and how many bytes a lane accesses."""
    address, kind = op.sources[0], op.words.get("type")
    if not isinstance(address, Address) or not isinstance(address.base, Register) or kind is None:
        return None
    count = int(str(op.words.get("vec") or "v1")[1:])
    return (address.offset, kind.bits // 8 * count) if accesses_of(op)[0].order == "weak" else None


def widened(assembly: Assembly, op: Op, made: MachineOp) -> list[MachineOp]:
    """An access, and what makes a generic address of one in the cluster's shared memory: two moves to registers side by side."""
    if op.completes_by is not None or not any(access.remote for access in op.accesses):
        return [made]
    moves = [MachineOp("alu", (assembly.new_slot(),), made.reads[:1], op.site) for _ in range(2)]
    made.reads = (*made.reads, *(slot for move in moves for slot in move.writes))
    return [*moves, made]


@lowers("store", "async_store", "bulk_store")
def store(assembly: Assembly, op: Op) -> list[MachineOp]:
    if space_of(op) == "param":  # what a call passes, in registers
        return [MachineOp("imad", (), assembly.reads(op), op.site) for _ in _elements(op)]
    amount = ASYNC_STORE if op.family == "async_store" else 0
    made = assembly.machine(
        op, unit_of(assembly, op), Kind.ACCESS, space=space_of(op), stores=True, place=_place(op), amount=amount
    )
    moves = [MachineOp("alu", (assembly.new_slot(),), (), op.site) for _ in range(_literals(op))]
    made.reads = (*made.reads, *(slot for move in moves for slot in move.writes))
    return [*moves, *released(op), *widened(assembly, op, made)]


def _literals(op: Op) -> int:
    """Different constants that a store writes, each from a register; there is one that is zero always."""
    return len({repr(value.value) for value in _elements(op) if isinstance(value, Constant)} - {"0"})


def _elements(op: Op) -> list[Operand | None]:
    """What a store writes, element by element."""
    return [e for source in op.sources[1:] for e in (source.elements if isinstance(source, Vector) else (source,))]


def released(op: Op) -> list[MachineOp]:
    """The fence that comes before an access that releases to other SMs."""
    access = accesses_of(op)[0]
    if access.order not in ("release", "acq_rel") or access.scope not in ("gpu", "sys", "cluster"):
        return []
    latency = SYSTEM_FENCE if access.scope == "sys" else GPU_FENCE
    return [MachineOp("fence", (), (), op.site, Kind.FENCE, latency=latency, stores=True)]


@lowers("atomic")
def atomic(assembly: Assembly, op: Op) -> list[MachineOp]:
    space = space_of(op)
    if space == "shared" and assembled_accesses(assembly.program).get(op.site) in LOOPS:
        loop = [MachineOp("branch", (), (), op.site), MachineOp("shared", (), assembly.reads(op), op.site)]
        last = assembly.machine(op, "shared", Kind.ACCESS, space=space, stores=True, latency=97)
        return [*loop, MachineOp("alu", (), (), op.site), last, MachineOp("branch", (), (), op.site)]
    unit = unit_of(assembly, op)
    made = assembly.machine(op, unit, Kind.ACCESS, space=space, stores=True, amount=int(unit == "remote"))
    made.writes = tuple(slot for slot in made.writes if assembly.live_readers(slot))  # ptxas makes a reduction of it
    if assembled_accesses(assembly.program).get(op.site) is Assembled.REDUCED:
        return [*released(op), *led(assembly, op, made)]
    return [*released(op), *widened(assembly, op, made)]


SCAN = 5  # shuffles that add up what the lanes before have


def led(assembly: Assembly, op: Op, made: MachineOp) -> list[MachineOp]:
    """An atomic of one lane for the warp: a vote, who leads, what all bring (their count, the product with a value that is one for all, a sum),
    and for the old value of each lane what those before it bring."""
    index = op.definition.sources.index("b")
    value = (assembly.flow.value(op, index),) if isinstance(op.sources[index], Register) else ()
    differs = bool(assembly.divergent.intersection(value))
    voted, first, lane, leads, brought, before = (assembly.new_slot() for _ in range(6))
    ops = [
        MachineOp("vote", (voted,), (), op.site),
        MachineOp("uniform", (first,), (voted,), op.site),
        MachineOp("s2r.thread", (lane,), (), op.site),
        MachineOp("alu", (leads,), (first, lane), op.site),
    ]
    if differs and made.writes:
        sums = [value, *[(before,)] * (SCAN - 1)]
        ops += [MachineOp("shuffle", (before,), reads, op.site, Kind.SHUFFLE) for reads in sums]
        ops.append(MachineOp("iadd", (brought,), (before, *value), op.site))
    elif differs:
        ops.append(MachineOp("redux", (brought,), value, op.site, Kind.SHUFFLE))
    else:
        ops.append(MachineOp("convert", (brought,), (voted,), op.site))
        if value:
            ops.append(MachineOp("imad", (brought,), (brought, *value), op.site))
    old, writes = assembly.new_slot(), made.writes
    made.reads = (*(read for read in made.reads if read not in value), brought)
    made.writes, made.predicates = (old,) if writes else (), (leads,)
    ops.append(made)
    if writes and not differs:
        ops.append(MachineOp("convert", (before,), (voted,), op.site))
    if writes:
        ops.append(MachineOp("shuffle", (old,), (old, first), op.site, Kind.SHUFFLE, latency=26))
        ops.append(MachineOp("imad", writes, (old, before), op.site))
    return ops


@lowers("ldmatrix", "stmatrix")
def matrix_rows(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "shared", Kind.ACCESS, space="shared", stores=accesses_of(op)[0].writes)]


@lowers("wmma_load", "wmma_store")
def wmma_fragment(assembly: Assembly, op: Op) -> list[MachineOp]:
    """One access per pair of registers."""
    space, stores = space_of(op), accesses_of(op)[0].writes
    stored = set(def_use.slots_of([op.source("b")])) if stores else set()
    named = list(zip(def_use.reads(op), assembly.flow.reads[op.site]))
    data = [slot for declared, slot in named if declared in stored]
    reads = tuple(slot for declared, slot in named if declared not in stored)
    count = min(WMMA_ACCESSES.get(op.words["type"].name, 4), len(data) or len(assembly.writes(op)))
    unit = "shared" if space == "shared" else "global"
    if op.words["type"].name == "f16" and len(assembly.writes(op)) == DOUBLED:
        assembly.absent.update(assembly.writes(op)[DOUBLED // 2 :])
    # Every other row has its own address.
    rows = [(assembly.new_slot(), assembly.new_slot()) for _ in range(min(count, 2))]
    address = [MachineOp("imad.wide", rows[0], reads, op.site), MachineOp("alu", rows[-1], rows[0], op.site)]
    accesses = [
        MachineOp(
            unit, assembly.writes(op)[i::count], (*rows[i % len(rows)], *data[i::count]), op.site, Kind.ACCESS,
            space=space, stores=stores,
        )
        for i in range(count)
    ]  # fmt: skip
    return address + accesses


@lowers("shuffle")
def shuffle(assembly: Assembly, op: Op) -> list[MachineOp]:
    by_register = isinstance(op.source("b"), Register)
    return [assembly.machine(op, "shuffle", Kind.SHUFFLE, latency=26 if by_register else 24)]


@lowers("redux")
def reduction(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "redux", Kind.SHUFFLE), MachineOp("nothing", (), (), op.site)]


@lowers("match", "movmatrix")
def exchange(assembly: Assembly, op: Op) -> list[MachineOp]:
    """What costs one row but passes through the pipe of shared memory."""
    return [assembly.machine(op, cost_of(op) or "shuffle", Kind.SHUFFLE)]

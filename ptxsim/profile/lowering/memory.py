"""Machine code of whatever reaches beyond the registers: memory, barriers, warp-wide and asynchronous instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxsim.engine.program.operand import Address, Literal, Register
from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering import tensor
from ptxsim.profile.lowering.flow import registers_of
from ptxsim.profile.lowering.machine_code import Kind, MachineOp

if TYPE_CHECKING:
    from ptxsim.profile.lowering.lower import Lowering

SPACES = ("global", "shared", "local", "const", "param")
SHARED_CAS = ("f32", "f64", "u64", "s64", "b64", "f16x2", "bf16x2", "f16", "bf16")  # types whose shared add is a loop


def space_of(op: Op) -> str:
    """State space in an opcode; generic addresses count as global."""
    return next((s for s in SPACES for w in op.opcode.split(".") if w.partition("::")[0] == s), "global")


def unit_of(parts: list[str], space: str) -> str:
    """Row of the figures of an access: shared memory of the own CTA or of the cluster, or what lies outside the SM."""
    if space != "shared":
        return "global"
    return "remote" if "shared::cluster" in parts else "shared"


def lower(lowering: Lowering, op: Op) -> list[MachineOp] | None:
    """Machine code of an operation that is no plain arithmetic; None for one that is."""
    parts = op.opcode.split(".")
    name = parts[0]
    handler = _HANDLERS.get(".".join(parts[:2])) or _HANDLERS.get(name)
    return handler(lowering, op, parts) if handler else None


def machine(lowering: Lowering, op: Op, unit: str, kind: Kind = Kind.PLAIN, **more) -> MachineOp:
    made = MachineOp(unit, lowering.writes(op), lowering.reads(op), op.site, kind, **more)
    if any(isinstance(s, Address) and s.base is None for s in op.sources) and ".shared" in op.opcode:
        made.reads = (*made.reads, lowering.shared_base)
    return made


def load(lowering, op, parts):
    space = space_of(op)
    if space in ("param", "const"):
        return [machine(lowering, op, "constant", Kind.ACCESS, space="const")]
    unit = unit_of(parts, space)
    ordered = "volatile" in parts or "acquire" in parts
    space = "" if "nc" in parts else space
    return [machine(lowering, op, unit, Kind.ACCESS, space=space or "nc", stores=ordered)]


def store(lowering, op, parts):
    space = space_of(op)
    return [machine(lowering, op, unit_of(parts, space), Kind.ACCESS, space=space, stores=True)]


def atomic(lowering, op, parts):
    space = space_of(op)
    if space == "shared" and parts[-1] in SHARED_CAS and not {"cas", "exch"} & set(parts):
        loop = [MachineOp("branch", (), (), op.site), MachineOp("shared", (), lowering.reads(op), op.site)]
        last = machine(lowering, op, "shared", Kind.ACCESS, space=space, stores=True, latency=97)
        return [*loop, MachineOp("alu", (), (), op.site), last, MachineOp("branch", (), (), op.site)]
    return [machine(lowering, op, unit_of(parts, space), Kind.ACCESS, space=space, stores=True)]


def matrix_rows(lowering, op, parts):
    """ldmatrix and stmatrix."""
    return [machine(lowering, op, "shared", Kind.ACCESS, space="shared", stores=parts[0] == "stmatrix")]


def wmma(lowering, op, parts):
    """wmma.load and wmma.store are one access per pair of registers; wmma.mma is arithmetic."""
    if parts[1] not in ("load", "store"):
        return None
    space = space_of(op)
    count = {"f16": 4, "bf16": 4, "tf32": 4, "s8": 2, "u8": 2, "f64": 1}.get(parts[-1], 4)
    if parts[2] in ("c", "d") and parts[-1] in ("f32", "s32"):
        count = 4
    slots = lowering.writes(op) if parts[1] == "load" else ()
    unit = "shared" if space == "shared" else "global"
    address = [MachineOp("imad.wide", (), lowering.reads(op), op.site), MachineOp("alu", (), (), op.site)]
    return address + [
        MachineOp(
            unit, tuple(slots[i::count]), lowering.reads(op), op.site, Kind.ACCESS, space=space, stores=parts[1] == "store"
        )
        for i in range(count)
    ]  # fmt: skip


def shuffle(lowering, op, parts):
    by_register = any(isinstance(s, Register) for s in op.sources[1:2])
    return [machine(lowering, op, "shuffle", Kind.SHUFFLE, latency=26 if by_register else 24)]


def reduction(lowering, op, parts):
    return [machine(lowering, op, "redux", Kind.SHUFFLE), MachineOp("nothing", (), (), op.site)]


def matching(lowering, op, parts):
    return [machine(lowering, op, "match.any" if "any" in parts else "match.all", Kind.SHUFFLE)]


def movmatrix(lowering, op, parts):
    return [machine(lowering, op, "shuffle", Kind.SHUFFLE)]


def barrier(lowering, op, parts):
    if "cluster" in parts:
        waiting = "wait" in parts
        return [machine(lowering, op, "barrier", Kind.BARRIER, amount=2 + waiting, stores=True)]
    if "warp" in parts:
        return [machine(lowering, op, "nothing")]
    counted = len(op.sources) > 1 and op.sources[1] is not None and "red" not in parts
    latency = 24.6 if counted else 36.6 if "red" in parts else None  # named with a count; with a vote to read back
    arrives = "arrive" in parts
    made = [machine(lowering, op, "barrier", Kind.BARRIER, amount=int(arrives), latency=latency, stores=True)]
    return [*made, MachineOp("alu", (), (), op.site)] if "red" in parts else made


def membar(lowering, op, parts):
    wide = {"gl", "gpu", "sys", "cluster"} & set(parts)
    if "mbarrier_init" in parts:
        return [machine(lowering, op, "nothing", stores=True)]
    if "proxy" in parts or not wide:
        return [machine(lowering, op, "fence", Kind.FENCE, latency=10, stores=True)]
    latency = 1024 if "sys" in parts else 269
    return [
        machine(lowering, op, "fence", Kind.FENCE, latency=latency, stores=True), *[MachineOp("nothing", (), (), op.site)] * 3
    ]  # fmt: skip


def mbarrier(lowering, op, parts):
    if "test_wait" in parts or "try_wait" in parts:
        return [machine(lowering, op, "mbarrier", Kind.MBARRIER_WAIT, stores=True)]
    if {"arrive", "arrive_drop", "complete_tx"} & set(parts):
        return [machine(lowering, op, "mbarrier", Kind.MBARRIER_ARRIVE, stores=True)]
    if "init" in parts:
        setup = [MachineOp("uniform", (), (), op.site)] * 3
        return [*setup, machine(lowering, op, "mbarrier", stores=True)]
    return [machine(lowering, op, "mbarrier", stores=True)]


def copy_async(lowering, op, parts):
    if parts[1] != "async":
        return None
    if "bulk" in parts:
        return bulk(lowering, op, parts)
    if "commit_group" in parts:
        return [machine(lowering, op, "nothing", Kind.ASYNC_COMMIT, stores=True)]
    if "wait_group" in parts or "wait_all" in parts:
        kept = literal(op) if "wait_group" in parts else 0
        return [machine(lowering, op, "nothing", Kind.ASYNC_WAIT, amount=kept, stores=True)]
    if "mbarrier" in parts:
        return [machine(lowering, op, "mbarrier", Kind.MBARRIER_ARRIVE, amount=1, stores=True)]
    return [machine(lowering, op, "global", Kind.ASYNC_COPY, space="async", stores=False)]


def bulk(lowering, op, parts):
    if "commit_group" in parts:
        return [machine(lowering, op, "tma", Kind.BULK_COMMIT, stores=True)]
    if "wait_group" in parts:
        return [machine(lowering, op, "nothing", Kind.BULK_WAIT, amount=literal(op), stores=True)]
    elected = [MachineOp("alu", (), (), op.site)] * 4 + [MachineOp("uniform", (), (), op.site)] * 2
    return [*elected, machine(lowering, op, "tma", Kind.BULK, amount=int("tensor" in parts), stores=True),
            MachineOp("branch", (), (), op.site)]  # fmt: skip


def literal(op: Op) -> int:
    return next((int(s.value) for s in op.sources if isinstance(s, Literal) and isinstance(s.value, int)), 0)


def wgmma(lowering, op, parts):
    if "fence" in parts:
        return [machine(lowering, op, "nothing", stores=True)]
    if "commit_group" in parts:
        return [machine(lowering, op, "nothing", Kind.WGMMA_COMMIT, stores=True)]
    if "wait_group" in parts:
        return [machine(lowering, op, "nothing", Kind.WGMMA_WAIT, amount=literal(op), stores=True)]
    accumulators = set(lowering.writes(op))
    a_registers = len(registers_of(op.sources[1])) > 1 if len(op.sources) > 1 and op.sources[1] is not None else False
    cost = tensor.wgmma(op.opcode, a_registers)
    # The accumulators are nobody's until the wait: products on the same ones queue in the tensor core.
    reads = tuple(r for r in lowering.reads(op) if r not in accumulators)
    # Descriptors of all products pass through the same uniform registers: they are set up behind the product before.
    setup = [MachineOp("uniform", (), (), op.site, stores=True) for _ in range(2)]
    product = MachineOp("wgmma", (), reads, op.site, Kind.WGMMA, cost=cost, stores=True)
    return [*setup, product]


def nothing(lowering, op, parts):
    return [machine(lowering, op, "nothing", stores=True)]


_HANDLERS = {
    "ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic, "ldmatrix": matrix_rows, "stmatrix": matrix_rows,
    "wmma": wmma, "shfl": shuffle, "redux": reduction, "match": matching, "movmatrix": movmatrix, "bar": barrier,
    "barrier": barrier, "membar": membar, "fence": membar, "mbarrier": mbarrier, "cp": copy_async, "wgmma": wgmma,
    "prefetch": nothing, "prefetchu": nothing, "griddepcontrol": nothing, "setmaxnreg": nothing, "discard": nothing,
    "nanosleep": nothing, "applypriority": nothing, "tensormap": nothing, "trap": nothing, "brkpt": nothing, "pmevent": nothing,
}  # fmt: skip

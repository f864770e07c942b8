"""Matrix products: cycles of one sub-core's tensor core per warp instruction, by shape and types.

Measured on sm_90, for the shapes and types in MEASURED. Others, and other targets, are charged what comes nearest, and the
profile says so.
"""

from __future__ import annotations

from ptxsim.engine.analysis import def_use
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Op
from ptxsim.isa.registry import Form as Notation
from ptxsim.numerics.forms import Form
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.assembly import Assembly, lowers
from ptxsim.profile.machine_code import Kind, MachineOp
from ptxsim.types import TYPES, Target, parse_target

MEASURED_TARGET = 90
EIGHT_BITS = ("e4m3", "e5m2")  # floats that sm_90 multiplies as halves
# Shapes by family and type of A. Where two types of one width were measured they cost the same, and so do the three shapes of wmma.
_BYTES, _WIDE = "m8n8k16 m16n8k16 m16n8k32", "m16n16k16 m32n8k16 m8n32k16"
_NIBBLES, _SPARSE_HALVES, _SPARSE_BYTES = "m8n8k32 m16n8k32 m16n8k64", "m16n8k16 m16n8k32", "m16n8k32 m16n8k64"
MEASURED = {
    "mma": {
        "f16": "m8n8k4 m16n8k8 m16n8k16", "bf16": "m16n8k8 m16n8k16", "tf32": "m16n8k4 m16n8k8",
        "f64": "m8n8k4 m16n8k4 m16n8k8 m16n8k16", "s8": _BYTES, "u8": _BYTES, "s4": _NIBBLES, "u4": _NIBBLES,
        "b1": "m8n8k128 m16n8k128 m16n8k256", "e4m3": "m16n8k32", "e5m2": "m16n8k32",
    },
    "mma.sp": {
        "f16": _SPARSE_HALVES, "bf16": _SPARSE_HALVES, "tf32": "m16n8k8 m16n8k16", "s8": _SPARSE_BYTES, "u8": _SPARSE_BYTES,
    },
    "wmma": {"f16": _WIDE, "bf16": _WIDE, "tf32": "m16n16k8", "s8": _WIDE, "u8": _WIDE, "f64": "m8n8k4"},
}  # fmt: skip
# (cycles, latency) of an mma.sync by bytes of a row of A (K times its width).
_BY_ROW_BYTES = {16: (4.1, 17.0), 32: (6.2, 24.4), 64: (8.3, 24.5)}
# What sm_90 emulates: (machine instructions, latency of all) by rows and K.
_FOUR_BITS = {
    (8, 32): (27, 174.0),
    (16, 32): (44, 231.0),
    (16, 64): (80, 463.0),
    (16, 128): (160, 926.0),  # twice K = 64
}
_DOUBLE = {(8, 4): (16, 26), (16, 4): (16.5, 34), (16, 8): (33, 50), (16, 16): (66, 82)}


@lowers("mma", "wmma")
def warp_product(assembly: Assembly, op: Op) -> list[MachineOp]:
    """mma and wmma.mma."""
    form = op.product(assembly.target, "target").form
    here = parse_target(assembly.target).number == MEASURED_TARGET
    if not here or not is_measured(form.family, form.sparse, form.shape, form.a):
        assembly.unknown.add(op.site)
    if here and op.family == "mma" and form.a in EIGHT_BITS:
        return _unpacked(assembly, op, form)
    count, cycles, latency = mma(form) if op.family == "mma" else wmma(form)
    made = [MachineOp("tensor", (), assembly.reads(op), op.site, cost=cycles) for _ in range(count)]
    made[-1].writes, made[-1].latency = assembly.writes(op), max(cycles, latency - (count - 1) * cycles)
    return made


def _unpacked(assembly: Assembly, op: Op, form: Form) -> list[MachineOp]:
    """A product of floats of eight bits: each register of A and B becomes two of halves, where no product before has done that; two products of
    those, each of half of K, the second on top of the first; and C is added (machine code of ptxas 13.0)."""
    named = dict(zip(def_use.reads(op), assembly.flow.reads[op.site]))
    made: list[MachineOp] = []
    halves: list[list[int]] = [[], []]
    for declared in def_use.slots_of([op.source("a"), op.source("b")]):
        for part, half in zip(halves, _halves(assembly, op, named[declared], made)):
            part.append(half)
    before: tuple[int, ...] = ()
    for part in halves:
        sums = tuple(assembly.new_slot() for _ in assembly.writes(op))
        cycles, latency = _BY_ROW_BYTES[form.k]
        made.append(MachineOp("tensor", sums, (*part, *before), op.site, cost=cycles, latency=latency))
        before = sums
    added = [named.get(declared) for declared in def_use.slots_of([op.source("c")])]
    for k, (made_, sum_) in enumerate(zip(assembly.writes(op), before)):
        other = added[k : k + 1]
        made.append(MachineOp("fma", (made_,), (sum_, *(slot for slot in other if slot is not None)), op.site))
    return made


def _halves(assembly: Assembly, op: Op, slot: int, made: list[MachineOp]) -> tuple[int, int]:
    """The two registers of halves of one of four floats of eight bits, made now if nothing has."""
    here = assembly.flow.block_of[op.site]
    before = assembly.graph.dominators[here]
    is_one = len(assembly.flow.definers[slot]) == 1
    home, low, high = assembly.unpacked.get(slot, (-1, -1, -1))
    if not is_one or home not in before:
        low, high = assembly.new_slot(), assembly.new_slot()
        assembly.unpacked[slot] = here, low, high
        made += [MachineOp("alu", (half,), (slot,), op.site) for half in (low, high)]
    return low, high


@lowers("wgmma")
def warpgroup_product(assembly: Assembly, op: Op) -> list[MachineOp]:
    """wgmma.mma_async."""
    form = op.product(assembly.target, "target").form
    cost = gmma(form, isinstance(op.source("a"), Vector))
    # The accumulators are the tensor core's until the wait: products on the same ones queue there.
    accumulators = set(assembly.writes(op))
    reads = tuple(r for r in assembly.reads(op) if r not in accumulators)
    # Descriptors of all products pass through the same uniform registers: they are set up after the product before.
    setup = [MachineOp("uniform", (), (), op.site, stores=True) for _ in range(2)]
    return [*setup, MachineOp("gmma", (), reads, op.site, Kind.PRODUCT, cost=cost, stores=True)]


@lowers("tensor_product", "tensor_memory_copy")
def tensor_work(assembly: Assembly, op: Op) -> list[MachineOp]:
    """What the SM's tensor core does by itself; how long is said by what the run recorded (model.tensor_core)."""
    return [assembly.machine(op, "tensor.issue", Kind.TENSOR_WORK, stores=True)]


@lowers("tensor_commit")
def tensor_commit(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "tensor.issue", Kind.TENSOR_COMMIT, stores=True)]


@lowers("tensor_memory_load", "tensor_memory_store")
def tensor_move(assembly: Assembly, op: Op) -> list[MachineOp]:
    """Registers to and from tensor memory: so many a cycle and lane."""
    unit = UNITS["tensor.memory"]
    cost = unit.cost * max(len(v.elements) for v in (*op.sources, *op.destinations) if isinstance(v, Vector))
    move = assembly.machine(op, "tensor.memory", Kind.TENSOR_MOVE, stores=True)
    move.cost, move.latency = cost, unit.latency + cost
    return [move]


@lowers("tensor_memory_wait")
def tensor_wait(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "nothing", Kind.TENSOR_WAIT, stores=True)]


@lowers("tensor_memory_fence")
def tensor_fence(assembly: Assembly, op: Op) -> list[MachineOp]:
    """An order for the assembler: what follows is not issued before what it waits for."""
    return [assembly.machine(op, "nothing", stores=True)]


def is_measured(family: str, sparse: bool, shape: str, factor: str) -> bool:
    """Whether the cost of an mma or wmma.mma was measured; factor: the type of A."""
    return shape in MEASURED[f"{family}.sp" if sparse else family].get(factor, "").split()


def is_form_measured(form: Notation, target: Target) -> bool:
    """Whether some product of a form was measured, on this target. A form without types of A multiplies .f16."""
    if target.number != MEASURED_TARGET or not form.requires.on(target):
        return False
    words = {slot.name: [word for word, since in slot.words.items() if since.on(target)] for slot in form.slots}
    return any(
        is_measured(form.definition.facts.family, "sparsity" in words, shape, factor)
        for shape in words["shape"]
        for factor in words.get("atype", ["f16"])
    )


def mma(form: Form) -> tuple[int, float, float]:
    """(machine instructions, cycles each, latency of all) of an mma.sync or mma.sp."""
    cycles: float
    latency: float
    if form.a == "f64":
        cycles, latency = _DOUBLE.get((form.m, form.k), (16, 26))
        return 1, cycles, latency
    if form.m == 8 and form.a == "f16":
        return 40, 4.1, 427.0
    if form.a in ("s4", "u4"):
        count, latency = _FOUR_BITS[form.m, form.k]
        return count, 4.1, latency
    if form.a == "b1" and form.popc_op == "xor":
        return (5, 4.1, 90.0) if form.m == 8 else (8, 4.1, 97.0)
    if form.m == 8:
        return 1, 4.0, 14.0
    row = form.k * TYPES[form.a].bits // 8
    if form.sparse:
        cycles, latency = (8.3, 24.5) if row >= 64 else (6.2, 17.3)
    else:
        cycles, latency = _BY_ROW_BYTES.get(row, (row / 5.2, 24.4))
    return 1, cycles, latency


def wmma(form: Form) -> tuple[int, float, float]:
    """(machine instructions, cycles each, latency of all) of a wmma.mma."""
    return {"f64": (2, 16, 42), "tf32": (4, 4.1, 29), "s8": (2, 4.1, 21), "u8": (2, 4.1, 21)}.get(
        form.a, (2, 6.1, 24.4)
    )


def gmma(form: Form, a_in_registers: bool) -> float:
    """Cycles a product of a warpgroup holds the tensor cores: max(N / 2, shared bytes / 128)."""
    n = form.n
    if form.sparse:
        return max(n / 2, 31) if a_in_registers else 16 + n / 2
    return max(12.3, n / 2) if a_in_registers else max(n / 2, 16 + n / 4)

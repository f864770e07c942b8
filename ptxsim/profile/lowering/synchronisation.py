"""Machine code of barriers, fences, mbarriers and asynchronous copies, and of the waits for what is asynchronous."""

from __future__ import annotations

from ptxsim.engine.program.operand import Literal
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism, Proxy, Role
from ptxsim.profile.lowering.assembly import Assembly, lowers
from ptxsim.profile.machine_code import Kind, MachineOp


def role_of(op: Op) -> Role | None:
    return op.synchronises.role if op.synchronises is not None else None


def literal(op: Op) -> int:
    """The number of groups that a wait leaves open."""
    return next((int(s.value) for s in op.sources if isinstance(s, Literal) and isinstance(s.value, int)), 0)


GPU_FENCE, SYSTEM_FENCE = 264.0, 1024.0  # cycles of a fence when no store is under way


@lowers("barrier")
def barrier(assembly: Assembly, op: Op) -> list[MachineOp]:
    arrives = role_of(op) is Role.ARRIVE
    votes = op.source("q") is not None
    counted = op.source("b") is not None and not votes
    latency = 24.6 if counted else 36.6 if votes else None  # named with a count; with a vote to read back
    made = [assembly.machine(op, "barrier", Kind.BARRIER, amount=int(arrives), latency=latency, stores=True)]
    return [*made, MachineOp("alu", (), (), op.site)] if votes else made


@lowers("warp_barrier")
def warp_barrier(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "nothing")]


@lowers("cluster_barrier")
def cluster_barrier(assembly: Assembly, op: Op) -> list[MachineOp]:
    waits = role_of(op) is Role.WAIT
    made = assembly.machine(op, "barrier", Kind.BARRIER, amount=2 + waits, stores=True)
    if waits:
        return [made, MachineOp("nothing", (), (), op.site, Kind.INVALIDATE, stores=True)]
    if op.words.get("order") == "relaxed":
        return [made]
    fence = MachineOp("fence", (), (), op.site, Kind.FENCE, latency=GPU_FENCE, stores=True)
    return [fence, *[MachineOp("nothing", (), (), op.site, stores=True)] * 2, made]


@lowers("fence")
def fence(assembly: Assembly, op: Op) -> list[MachineOp]:
    orders = op.fence
    assert orders is not None
    if orders.of_mbarriers:
        return [assembly.machine(op, "nothing", stores=True)]
    if orders.proxy is not Proxy.GENERIC or orders.scope == "cta":
        return [assembly.machine(op, "fence", Kind.FENCE, latency=10, stores=True)]
    latency = SYSTEM_FENCE if orders.scope == "sys" else GPU_FENCE
    wide = assembly.machine(op, "fence", Kind.FENCE, latency=latency, stores=True)
    return [wide, *[MachineOp("nothing", (), (), op.site)] * 3]


@lowers("mbarrier")
def mbarrier(assembly: Assembly, op: Op) -> list[MachineOp]:
    kinds: dict[Role | None, Kind] = {Role.WAIT: Kind.MBARRIER_WAIT, Role.ARRIVE: Kind.MBARRIER_ARRIVE}
    made = assembly.machine(op, "mbarrier", kinds.get(role_of(op), Kind.PLAIN), stores=True)
    if role_of(op) is Role.INIT:
        return [*[MachineOp("uniform", (), (), op.site)] * 3, made]
    if op.words.get("scope") != "cluster" or op.words.get("sem") == "relaxed":
        return [made]
    if role_of(op) is Role.ARRIVE:
        return [MachineOp("fence", (), (), op.site, Kind.FENCE, latency=GPU_FENCE, stores=True), made]
    return [made, MachineOp("nothing", (), (), op.site, Kind.INVALIDATE, stores=True)]


@lowers("cp_async")
def lane_copy(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "global", Kind.ASYNC_COPY, space="async", stores=False)]


@lowers("cp_async_mbarrier")
def lane_copy_arrival(assembly: Assembly, op: Op) -> list[MachineOp]:
    return [assembly.machine(op, "mbarrier", Kind.MBARRIER_ARRIVE, amount=1, stores=True)]


@lowers("bulk_copy", "tensor_copy", "bulk_prefetch", "tensor_prefetch")
def bulk_copy(assembly: Assembly, op: Op) -> list[MachineOp]:
    """One thread is elected to start it."""
    elected = [MachineOp("alu", (), (), op.site)] * 4 + [MachineOp("uniform", (), (), op.site)] * 2
    copy = assembly.machine(op, "tma", Kind.BULK, amount=int(op.names_tensor_map), stores=True)
    return [*elected, copy, MachineOp("branch", (), (), op.site)]


_GROUPS = {
    (Mechanism.CP_ASYNC_GROUP, Role.COMMIT): Kind.ASYNC_COMMIT, (Mechanism.CP_ASYNC_GROUP, Role.WAIT): Kind.ASYNC_WAIT,
    (Mechanism.BULK_GROUP, Role.COMMIT): Kind.BULK_COMMIT, (Mechanism.BULK_GROUP, Role.WAIT): Kind.BULK_WAIT,
    (Mechanism.PRODUCT_GROUP, Role.COMMIT): Kind.PRODUCT_COMMIT, (Mechanism.PRODUCT_GROUP, Role.WAIT): Kind.PRODUCT_WAIT,
}  # fmt: skip


@lowers("cp_async_commit", "cp_async_wait", "bulk_commit", "bulk_wait", "warpgroup_commit", "warpgroup_wait")
def group(assembly: Assembly, op: Op) -> list[MachineOp]:
    """Commits and waits."""
    assert op.synchronises is not None
    kind = _GROUPS[op.synchronises.mechanism, op.synchronises.role]
    unit = "tma" if kind is Kind.BULK_COMMIT else "nothing"
    return [assembly.machine(op, unit, kind, amount=literal(op), stores=True)]

"""st.async, red.async and st.bulk. PTX ISA, "Data Movement and Conversion Instructions: st.async, st.bulk"; "red.async".

The data of st.async and red.async lands later, and completes on the mbarrier then (machine.copies.lane_work).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ptxsim.instructions.access_rules import SHARED, vector_size
from ptxsim.instructions.atomic_update import update
from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Word, Words, access
from ptxsim.isa.operand import Addr, Either, Imm, Reg, Value, Vec, resolve_count
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LANES, LaneValue
from ptxsim.machine.asynchronous import later, snapshot
from ptxsim.machine.barriers.mbarrier import each, tell
from ptxsim.machine.copies.bulk import Bulk
from ptxsim.machine.copies.lane_work import number_of
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_ISSUED, FLAG_STRONG, LANE_SHIFT, Event, Space
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.memory import check_alignment, pack, scatter
from ptxsim.machine.port import Port
from ptxsim.types import TYPES as SCALARS
from ptxsim.types import ScalarType

TYPES = "b32 u32 s32 f32 b64 u64 s64 f64"
NARROW = "b8 u8 s8 b16 u16 s16"
Places = list[tuple[Space, np.ndarray, np.ndarray, np.ndarray]]  # state space, memory, offsets, lanes


def _remote(kind: AccessKind) -> Facts:
    """An access to the cluster's shared memory that an mbarrier is informed of."""

    def accesses(words: Words) -> tuple[Access, ...]:
        return (access(kind, words["space"] or "shared", "relaxed", "cluster"),)

    return Facts(family="async_store", accesses=accesses, completes_by=Mechanism.MBARRIER, by_lanes=True, later=True)


def _system(kind: AccessKind, family: str) -> Facts:
    def accesses(words: Words) -> tuple[Access, ...]:
        return (access(kind, "global", "release", words["scope"]),)

    return Facts(family=family, accesses=accesses, by_lanes=True, straight=True)


STORE, REDUCTION = _remote(AccessKind.WRITE), _remote(AccessKind.ATOMIC)
SYSTEM_STORE, SYSTEM_REDUCTION = _system(AccessKind.WRITE, "store"), _system(AccessKind.ATOMIC, "atomic")
BULK = Facts(family="bulk_store", accesses=lambda words: (access(AccessKind.WRITE, words["space"]),), by_lanes=True)
SYSTEM: Options = {"order": "release", "requires": "8.7 sm_100"}
# By way of memory-mapped devices the scope is the system.
SCOPES = (("", "gpu sys"), (".mmio", "sys"))


def announce(port: Any, space: Word, mbar: LaneValue, size: int) -> None:
    """Tell every lane's mbarrier that its bytes have come."""
    for _, barrier in each(port, space, mbar):
        barrier.complete_bytes(size)


def tell_issue(port: Any, places: Places, a: LaneValue, size: int) -> None:
    """Record that lanes will write."""
    for kind, memory, offsets, mask in places:
        names = port.named(kind, memory, offsets, a)
        for lane in np.flatnonzero(mask).tolist():
            flags = FLAG_ASYNC_PROXY | lane << LANE_SHIFT
            port.emit(Event.ASYNC_ISSUE, kind, size, flags, np.arange(mask.size) == lane, names)


def tell_end(port: Any, places: Places, a: LaneValue, size: int) -> None:
    """Record that lanes have written."""
    for kind, memory, offsets, mask in places:
        names = port.named(kind, memory, offsets, a)
        port.emit(Event.ASYNC_WAIT, kind, size, FLAG_ASYNC_PROXY, mask, names)


def tell_arrivals(port: Any, space: Word, mbar: LaneValue, flag: int = 0) -> None:
    """Record which mbarriers bytes complete on, before what is written; flag: FLAG_ISSUED where they will."""
    phases = np.zeros(LANES, np.uint64)
    for lane, barrier in each(port, space, mbar):
        phases[lane] = barrier.record.phase
    tell(port, space, mbar, phases, FLAG_ASYNC_PROXY | flag)


@instruction(
    "st.async{.weak}{.space}.mbarrier::complete_tx::bytes.type [a], b, [mbar]", name="st.async", space=SHARED, type=TYPES,
    operands={"b": Value("type")}, implies={"vec": None}, requires="8.1 sm_90", facts=STORE,
)  # fmt: skip
@instruction(
    "st.async{.weak}{.space}.mbarrier::complete_tx::bytes.vec.type [a], b, [mbar]", name="st.async", space=SHARED,
    vec="v2 v4", type=TYPES, operands={"b": Vec("vec", Value("type"))}, rules=(vector_size,), requires="8.1 sm_90",
    facts=STORE,
)  # fmt: skip
def store_async(
    m: Port, a: LaneValue, b: LaneValue, mbar: LaneValue, *, space: Word, vec: Word, type: ScalarType
) -> None:
    """A store into the cluster's shared memory that completes on an mbarrier there."""
    size = type.bytes * resolve_count("vec", {"vec": vec})
    check_alignment(a, m.mask, size, "store")
    post(m, space or "shared::cluster", a, mbar, pack(list(b) if vec else [b], type), size)


def post(
    m: Port, space: Word, a: LaneValue, mbar: LaneValue, data: np.ndarray, size: int, by_proxy: bool = False
) -> None:  # fmt: skip
    """Bytes of each lane are written to shared memory later, and complete on an mbarrier then. data: as memory.pack has it; by_proxy: through
    the async proxy."""
    if not by_proxy and Bulk.of(m.machine).begin_stores(m, space, a, mbar, data):
        return
    places = list(m.resolve(space, a, size, write=True))
    port = snapshot(m)
    tell_issue(port, places, a, size)
    with suppress(Fault):  # what lands without an mbarrier is reported then
        tell_arrivals(port, space, mbar, FLAG_ISSUED)

    def land() -> None:
        tell_arrivals(port, space, mbar)
        for kind, memory, offsets, mask in places:
            names = port.named(kind, memory, offsets, a)
            for lane in np.flatnonzero(mask).tolist() if by_proxy else ():
                flags = FLAG_ASYNC_PROXY | lane << LANE_SHIFT
                port.emit(Event.ASYNC_WRITE, kind, size, flags, np.arange(mask.size) == lane, names)
            if not by_proxy:
                port.emit(Event.ASYNC_WRITE, kind, size, 0, mask, names)
            scatter(memory, offsets, mask, data)
        tell_end(port, places, a, size)
        announce(port, space, mbar, size)

    later(port, land)


@instruction(
    "st.async{.weak}{.space}.mbarrier::complete_tx::bytes.b128 [a], b, [mbar]", name="st.async", space=SHARED,
    operands={"b": Reg("b128")}, requires="9.2 sm_90", writes="", facts=STORE,
)  # fmt: skip
def store_async_wide(m: Port, a: LaneValue, b: LaneValue, mbar: LaneValue, *, space: Word) -> None:
    check_alignment(a, m.mask, 16, "store")
    post(m, space or "shared::cluster", a, mbar, pack(list(b), SCALARS["u64"]), 16)


def store_system(m: Port, a: LaneValue, b: LaneValue, *, type: ScalarType) -> None:
    """A release store to global memory, done at once: nothing else can tell."""
    m.store("global", a, [b], type, FLAG_STRONG)


for mmio, scopes in SCOPES:
    instruction(
        f"st.async{mmio}.order.scope{{.global}}.type [a], b", name="st.async", type=f"{NARROW} {TYPES}", scope=scopes,
        operands={"b": Value("type")}, facts=SYSTEM_STORE, **SYSTEM,
    )(store_system)  # fmt: skip


def reduce_async(
    m: Port, a: LaneValue, b: LaneValue, mbar: LaneValue, *, op: Word, space: Word, type: ScalarType
) -> None:
    """A reduction on the cluster's shared memory that completes on an mbarrier there."""
    check_alignment(a, m.mask, type.bytes, "atomic access")
    data = pack([b], type)
    if Bulk.of(m.machine).begin_stores(m, space or "shared::cluster", a, mbar, data, number_of(str(op), type)):
        return
    places = list(m.resolve(space or "shared::cluster", a, type.bytes, write=True))
    port = snapshot(m)
    tell_issue(port, places, a, type.bytes)
    tell_arrivals(port, space or "shared::cluster", mbar, FLAG_ISSUED)

    def land() -> None:
        tell_arrivals(port, space or "shared::cluster", mbar)
        tell_end(port, places, a, type.bytes)
        port.atomic(space or "shared::cluster", a, type, update(op, type), [b], 1, Event.REDUCE, FLAG_STRONG)
        announce(port, space or "shared::cluster", mbar, type.bytes)

    later(port, land)


def reduce_system(m: Port, a: LaneValue, b: LaneValue, *, op: Word, type: ScalarType) -> None:
    """A release reduction on global memory, done at once as above."""
    m.atomic("global", a, type, update(op, type), [b], 1, Event.REDUCE, FLAG_STRONG)


def integer(modifiers: Words) -> Any:
    """The type that b is checked as: an integer where the statement says .b32."""
    return "u32" if modifiers["type"].name == "b32" else modifiers["type"]


for operations, types in (
    ("add", "u32 s32 u64 s64"),
    ("min max", "u32 s32"),
    ("inc dec", "u32"),
    ("and or xor", "b32"),
):
    words: Options = {"name": "red.async", "op": operations, "type": types}
    instruction(
        "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
        space="shared::cluster", operands={"b": Value("type")}, requires="8.1 sm_90", facts=REDUCTION, **words,
    )(reduce_async)  # fmt: skip
    for mmio, scopes in SCOPES:
        instruction(
            f"red.async{mmio}.order.scope{{.global}}.op.type [a], b", scope=scopes,
            operands={"b": Value(integer)}, facts=SYSTEM_REDUCTION, **words, **SYSTEM,
        )(reduce_system)  # fmt: skip


@instruction(
    "st.bulk{.weak}{.space} [a], size, value", name="st.bulk", space="shared::cta", requires="8.6 sm_100", facts=BULK,
    operands={"a": Addr(register=True), "size": Either((Imm(0, multiple=8), Reg("u64"))), "value": Imm(0, 0)},
)  # fmt: skip
@instruction(
    "st.bulk{.weak}{.space} [a], size, value", name="st.bulk", space="shared::cta", requires="9.0 sm_100", facts=BULK,
    operands={"a": Addr(register=True), "size": Reg("u32"), "value": Imm(0, 0)},
)  # fmt: skip
def store_bulk(m: Port, a: LaneValue, size: LaneValue, value: LaneValue, *, space: Word) -> None:
    """`size` zero bytes of shared memory per lane; address and size are multiples of 8."""
    sizes = np.broadcast_to(np.asarray(size, np.uint64), m.mask.shape)
    check_alignment(a, m.mask, 8, "bulk store")
    if (m.mask & (sizes % 8 != 0)).any():
        lane = first_lane(m.mask & (sizes % 8 != 0))
        raise Fault("misaligned-address", f"st.bulk of {sizes[lane]} bytes, which is no multiple of 8", lane)
    port = snapshot(m)
    for lane in map(int, np.flatnonzero(m.mask & (sizes > 0))):
        port.mask = np.arange(m.mask.size) == lane
        for kind, memory, offsets, _ in port.resolve(space, a, int(sizes[lane]), write=True):
            if kind != Space.SHARED:
                raise Fault(
                    "wrong-space", f"st.bulk writes shared memory, here is a {kind.name.lower()} address", int(lane)
                )
            start, end = int(offsets[lane]), int(offsets[lane]) + int(sizes[lane])
            memory[start:end] = 0
            words = np.arange(start, end, 8, dtype=np.uint64)
            rows = port.named(kind, memory, words, words)
            for first in range(0, len(rows), m.mask.size):
                group = rows[first : first + m.mask.size]
                m.emit(Event.STORE, kind, 8, 0, np.arange(m.mask.size) < len(group), group)

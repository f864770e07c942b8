"""cp.async.bulk and cp.reduce.async.bulk: one thread moves a run of bytes between global and shared memories.

PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk". What they begin lands later (machine.copies.bulk).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Proxy, Role, Synchronisation, Word, Words
from ptxsim.isa.operand import Addr, Either, Imm, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LANES, LaneValue, mask_word, word_mask
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.barriers.mbarrier import MBarrier, each, find, per_lane
from ptxsim.machine.copies.bulk import Bulk, shared_side, side_at
from ptxsim.machine.copies.bulk_records import BulkCopy, Side
from ptxsim.machine.copies.bulk_state import loose_lanes
from ptxsim.machine.copies.groups import commit_group
from ptxsim.machine.copies.reduction import MASKED, number_of
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.memory import check_alignment
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType

PREFETCH = Facts(family="bulk_prefetch")
COMMITS, WAITS = (
    Facts(family=family, synchronises=Synchronisation(Mechanism.BULK_GROUP, role))
    for family, role in (("bulk_commit", Role.COMMIT), ("bulk_wait", Role.WAIT))
)
KINDS: Kinds = {
    "n": Either((Reg("u32"), Imm(0, multiple=16))),
    "policy": Value("u64"),
    "ctas": Value("u16"),
    "bytes": Value("u16"),
}


def copies(family: str, a: str, b: str, kind: AccessKind = AccessKind.WRITE) -> Facts:
    """Facts of a copy to space a from space b: what goes to shared memory completes on an mbarrier, the rest in a bulk group."""
    by = Mechanism.MBARRIER if a == "shared" else Mechanism.BULK_GROUP

    def accesses(words: Words) -> tuple[Access, ...]:
        remote = words.get("dst") == "shared::cluster"
        return (
            Access(AccessKind.READ, b, proxy=Proxy.ASYNC), Access(kind, a, proxy=Proxy.ASYNC, remote=remote)
        )  # fmt: skip

    return Facts(family=family, accesses=accesses, completes_by=by)


WEAK = "weak@9.3:sm_90"


def words(a: str, b: str = "shared", facts: Facts | None = None) -> Options:
    """What all forms of one direction share; a and b are the state spaces of target and source, c is an mbarrier."""
    kinds: Kinds = {**KINDS, "a": Addr(a), "b": Addr(b), "c": Addr("shared")}
    return {"facts": facts or copies("bulk_copy", a, b), "writes": "", "operands": kinds}


def sizes(m: Port, n: LaneValue) -> np.ndarray:
    """Sizes in bytes per lane. Raises for one that is no multiple of 16."""
    size = per_lane(n).astype(np.int64) & 0xFFFFFFFF
    bad = m.mask & (size % 16 != 0)
    if bad.any():
        lane = int(np.argmax(bad))
        raise Fault(
            "misaligned-address", f"bulk copy of {int(size[lane])} bytes; sizes are multiples of 16", lane,
            "pad the run, or copy its end with ordinary loads and stores",
        )  # fmt: skip
    return size


def multicast(
    m: Port, lane: int, target: Side, barrier: MBarrier, ctas: int, side: int | None
) -> Iterator[tuple[Side, MBarrier]]:
    """The same place and the same mbarrier in every CTA of a mask of ranks; with a side (0 or 1) the mbarrier of that side of its pair."""
    members = m.cta.cluster.ctas
    for rank in range(16):
        if not ctas >> rank & 1:
            continue
        if rank >= len(members):
            raise Fault(
                "out-of-bounds", f"the multicast mask {ctas:#06x} names CTA {rank}, the cluster has {len(members)}", lane,
                "set only bits of CTAs that are there",
            )  # fmt: skip
        waits = members[rank if side is None else rank & ~1 | side]
        yield shared_side(members[rank], target.start), find(waits, barrier.record.offset, barrier.record.called)


def load_to_shared(m: Port, copy: BulkCopy, barrier: MBarrier, ctas: LaneValue = None, side: int | None = None) -> None:
    """Start copies that complete on mbarriers: one, or one for each CTA of a multicast, which completes on a side of its pair."""
    places = [(copy.target, barrier)]
    if ctas is not None:
        places = list(multicast(m, copy.lane, copy.target, barrier, int(per_lane(ctas)[copy.lane]), side))
    for copy.target, its_barrier in places:
        copy.barrier = its_barrier.record.address
        Bulk.of(m.machine).begin(m, copy)


# ---- copies ----------------------------------------------------------------------------------------------------------

_NAME: Options = {"name": "cp.async.bulk", "ordered": (("dst", "global", "shared::cta"),)}
TO_SHARED: Options = {**words("shared", "global"), **_NAME}


@instruction(
    "cp.async.bulk{.weak}.dst.global.mbarrier::complete_tx::bytes [a], [b], n, [c]",
    weak=WEAK, requires="8.0 sm_90", dst="shared::cluster shared::cta@8.6", **TO_SHARED,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.dst.global.mbarrier::complete_tx::bytes.L2::cache_hint [a], [b], n, [c], policy",
    weak=WEAK, requires="8.0 sm_90", dst="shared::cluster shared::cta@8.6", **TO_SHARED,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.dst.global.mbarrier::complete_tx::bytes.multicast::cluster [a], [b], n, [c], ctas",
    weak=WEAK, requires="8.0 sm_90", dst="shared::cluster", **TO_SHARED,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.dst.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [a], [b], n, [c], ctas, policy",
    weak=WEAK, requires="8.0 sm_90", dst="shared::cluster", **TO_SHARED,
)  # fmt: skip
def global_to_shared(
    m: Port, a: LaneValue, b: LaneValue, n: LaneValue, c: LaneValue, ctas: LaneValue, *, dst: Word
) -> None:
    _to_shared(m, "global", dst, a, b, n, c, ctas)


@instruction(
    "cp.async.bulk{.weak}.dst.shared::cta.mbarrier::complete_tx::bytes [a], [b], n, [c]",
    weak=WEAK, requires="8.0 sm_90", dst="shared::cluster", **words("shared"), **_NAME,
)  # fmt: skip
def shared_to_cluster(m: Port, a: LaneValue, b: LaneValue, n: LaneValue, c: LaneValue, *, dst: Word) -> None:
    _to_shared(m, "shared::cta", dst, a, b, n, c)


IGNORED = Either((Reg("u32"), Imm(0, 15)))
_LEAVING_OUT: Options = {**words("shared", "global"), "name": "cp.async.bulk", "ordered": (("shared::cta", "global"),)}
_LEAVING_OUT["operands"] = {**_LEAVING_OUT["operands"], "left": IGNORED, "right": IGNORED}


@instruction(
    "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [a], [b], n, left, right, [c]",
    weak=WEAK, requires="9.2 sm_90", **_LEAVING_OUT,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.L2::cache_hint [a], [b], n, left, right, [c], policy",
    weak=WEAK, requires="9.2 sm_90", **_LEAVING_OUT,
)  # fmt: skip
def inside_to_shared(
    m: Port, a: LaneValue, b: LaneValue, n: LaneValue, left: LaneValue, right: LaneValue, c: LaneValue
) -> None:
    """Up to 15 bytes at either end may lie outside of an allocation: they are not read, and anything stands in their place."""
    ends = per_lane(left).astype(np.int64), per_lane(right).astype(np.int64)
    for bytes_of_end in ends:
        bad = m.mask & ((bytes_of_end < 0) | (bytes_of_end > 15))
        if bad.any():
            lane = int(np.argmax(bad))
            raise Fault(
                "out-of-bounds", f"{int(bytes_of_end[lane])} bytes at one end of a bulk copy are to be ignored; 0 to 15 may be", lane,
                "begin the copy at the last 16-byte line before the data, and end it at the first one after",
            )  # fmt: skip
    _to_shared(m, "global", "shared::cta", a, b, n, c, ends=ends)


def _to_shared(
    m: Port, source_space: str, space: Word, a: LaneValue, b: LaneValue, n: LaneValue, c: LaneValue,
    ctas: LaneValue = None, reduction: int = 0, ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> None:  # fmt: skip
    size = sizes(m, n)
    check_alignment(a, m.mask, 16, "bulk copy write")
    check_alignment(b, m.mask, 16, "bulk copy read")
    for lane, barrier in each(m, space, c):
        left, right = (0, 0) if ends is None else (int(ends[0][lane]), int(ends[1][lane]))
        copy = _run(m, lane, int(size[lane]), (source_space, b), (space, a), reduction, left, right)
        load_to_shared(m, copy, barrier, ctas)


def _run(
    m: Port, lane: int, size: int, source: tuple[str, LaneValue], target: tuple[str, LaneValue], reduction: int,
    left: int = 0, right: int = 0,
) -> BulkCopy:  # fmt: skip
    """The copy of a run of bytes by one lane, between addresses in state spaces. `left` and `right` bytes of the source are not read."""
    one = snapshot(m, np.arange(LANES) == lane)
    copy = BulkCopy(lane=lane, size=size, reduction=reduction, left=left, right=right)
    space, start = source
    copy.source = side_at(one, space, start + left if left else start, lane, max(size - left - right, 0))
    copy.source.start, copy.source.named = copy.source.start - left, copy.source.named - left
    copy.target = side_at(one, *target, lane, size, write=True)
    return copy


FROM_SHARED: Options = {**words("global"), "ordered": (("global", "shared::cta"),)}


def _from_shared(m: Port, a: LaneValue, b: LaneValue, n: LaneValue, reduction: int = 0, selected: Any = None) -> None:
    size = sizes(m, n)
    check_alignment(a, m.mask, 16, "bulk copy write")
    check_alignment(b, m.mask, 16, "bulk copy read")
    for lane in map(int, np.flatnonzero(m.mask)):
        if selected is not None:
            reduction = MASKED + int(per_lane(selected)[lane])
        Bulk.of(m.machine).begin(m, _run(m, lane, int(size[lane]), ("shared::cta", b), ("global", a), reduction))


@instruction(
    "cp.async.bulk{.weak}.global.shared::cta.bulk_group [a], [b], n",
    name="cp.async.bulk",
    weak=WEAK,
    requires="8.0 sm_90",
    **FROM_SHARED,
)
@instruction(
    "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint [a], [b], n, policy",
    name="cp.async.bulk", weak=WEAK, requires="8.0 sm_90", **FROM_SHARED,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask [a], [b], n, bytes",
    name="cp.async.bulk", weak=WEAK, requires="8.6 sm_100", **FROM_SHARED,
)  # fmt: skip
@instruction(
    "cp.async.bulk{.weak}.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [a], [b], n, policy, bytes",
    name="cp.async.bulk", weak=WEAK, requires="8.6 sm_100", **FROM_SHARED,
)  # fmt: skip
def shared_to_global(m: Port, a: LaneValue, b: LaneValue, n: LaneValue, bytes: LaneValue) -> None:
    _from_shared(m, a, b, n, selected=bytes)


@instruction(
    "cp.async.bulk.prefetch.L2.global [a], n",
    name="cp.async.bulk.prefetch",
    requires="8.0 sm_90",
    **words("global", facts=PREFETCH),
)
@instruction(
    "cp.async.bulk.prefetch.L2.global.L2::cache_hint [a], n, policy",
    name="cp.async.bulk.prefetch", requires="8.0 sm_90", **words("global", facts=PREFETCH),
)  # fmt: skip
def prefetch(m: Port, a: LaneValue, n: LaneValue) -> None:
    """Caches are not modeled; the range is checked, as the GPU does not."""
    sizes(m, n)
    check_alignment(a, m.mask, 16, "bulk prefetch")


# ---- reductions ------------------------------------------------------------------------------------------------------

# PTX ISA, "cp.reduce.async.bulk": operations with their types, into shared and into global memory.
INTO_SHARED = {
    "add": "u32 s32 u64", "min": "u32 s32", "max": "u32 s32", "inc": "u32", "dec": "u32",
    "and": "b32", "or": "b32", "xor": "b32",
}  # fmt: skip
INTO_GLOBAL = {
    "add": "u32 s32 u64 f32 f64", "min": "u32 s32 u64 s64 f16 bf16", "max": "u32 s32 u64 s64 f16 bf16",
    "inc": "u32", "dec": "u32", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64",
}  # fmt: skip
REDUCE_TO_SHARED, REDUCE_TO_GLOBAL = (copies("bulk_copy", a, "shared", AccessKind.ATOMIC) for a in ("shared", "global"))


def reduce_to_cluster(
    m: Port, a: LaneValue, b: LaneValue, n: LaneValue, c: LaneValue, *, dst: Word, op: Word, type: ScalarType
) -> None:
    _to_shared(m, "shared::cta", dst, a, b, n, c, reduction=number_of(str(op), type.name))


def reduce_to_global(m: Port, a: LaneValue, b: LaneValue, n: LaneValue, *, op: Word, type: ScalarType) -> None:
    _from_shared(m, a, b, n, reduction=number_of(str(op), type.name))


def _reduction_forms() -> None:
    common: Options = {"name": "cp.reduce.async.bulk", "requires": "8.0 sm_90"}
    for op, types in INTO_SHARED.items():
        instruction(
            "cp.reduce.async.bulk.dst.shared::cta.mbarrier::complete_tx::bytes.op.type [a], [b], n, [c]",
            dst="shared::cluster", op=op, type=types, ordered=(("dst", "shared::cta"),), **words("shared", facts=REDUCE_TO_SHARED), **common,
        )(reduce_to_cluster)  # fmt: skip
    opcode = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
    rows = [(op, types, ".op.type") for op, types in INTO_GLOBAL.items()] + [("add", "f16 bf16", ".op.noftz.type")]
    for op, types, end in rows:
        common = {**common, **FROM_SHARED, "facts": REDUCE_TO_GLOBAL, "op": op, "type": types}
        instruction(f"{opcode}{end} [a], [b], n", **common)(reduce_to_global)
        instruction(f"{opcode}.L2::cache_hint{end} [a], [b], n, policy", **common)(reduce_to_global)


_reduction_forms()

# ---- groups ----------------------------------------------------------------------------------------------------------


@instruction("cp.async.bulk.commit_group", name="cp.async.bulk.commit_group", requires="8.0 sm_90", facts=COMMITS)
def commit(m: Port) -> None:
    commit_group(m.warp.record.bulk.groups, m.warp.record.live, mask_word(m.mask))


@instruction(
    "cp.async.bulk.wait_group{.read} n", name="cp.async.bulk.wait_group", requires="8.0 sm_90", facts=WAITS,
    operands={"n": Imm()},
)  # fmt: skip
def wait_group(m: Port, n: LaneValue, *, read: bool) -> None:
    bulk, lanes = Bulk.of(m.machine), mask_word(m.mask)
    loose = loose_lanes(bulk.record, m.warp.record, lanes)
    if loose:
        m.report(
            "missing-commit", "cp.async.bulk.wait_group waits for nothing: copies were issued but never committed to a group",
            first_lane(word_mask(loose)), "add cp.async.bulk.commit_group between the copies and the wait",
        )  # fmt: skip
        commit(m)  # one mistake, one finding
    bulk.wait(m.warp, lanes, max(n, 0), read)

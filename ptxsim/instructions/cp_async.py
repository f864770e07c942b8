"""cp.async: copies of 4, 8 or 16 bytes a lane from global to shared memory, and the groups they are waited for in.

PTX ISA, "Data Movement and Conversion Instructions: cp.async". The effects here are the interpreter's; the copies in
flight are records of machine.copies.lane_copies, which native code uses too (engine.compiled.codegen.cp_async).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.isa.facts import Access, AccessKind, Facts, Mechanism, Role, Synchronisation, Word, Words, access
from ptxsim.isa.operand import Addr, Either, Imm, Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.jit.record import I32, U64, row
from ptxsim.lanes import LANES, LaneValue, mask_word, word_mask
from ptxsim.machine.asynchronous import cluster_addresses, delay, snapshot
from ptxsim.machine.copies.bulk import Bulk
from ptxsim.machine.copies.groups import commit_group
from ptxsim.machine.copies.lane_copies import (
    ROOM,
    issue_copy,
    land_later,
    make_room,
    uncommitted,
    wait_for_copies,
    wait_for_groups,
)
from ptxsim.machine.event import FLAG_MORE, Event, Space
from ptxsim.machine.fault import distinct, first_lane
from ptxsim.machine.memory import NARROWER, check_alignment
from ptxsim.machine.port import Port


def accesses(_words: Words) -> tuple[Access, ...]:
    return access(AccessKind.READ, "global"), access(AccessKind.WRITE, "shared")


FACTS = Facts(family="cp_async", accesses=accesses, completes_by=Mechanism.CP_ASYNC_GROUP)
COMMITS, WAITS = (
    Facts(family=family, synchronises=Synchronisation(Mechanism.CP_ASYNC_GROUP, role))
    for family, role in (("cp_async_commit", Role.COMMIT), ("cp_async_wait", Role.WAIT))
)
ARRIVES = Facts(family="cp_async_mbarrier", synchronises=Synchronisation(Mechanism.MBARRIER, Role.ARRIVE), later=True)

_words: Options = {
    "name": "cp.async", "facts": FACTS, "writes": "", "shared": "shared shared::cta", "ordered": (("shared", "global"),),
    "prefetch": "L2::64B@7.4 L2::128B@7.4 L2::256B@7.4",
}  # fmt: skip


def _forms(effect: Any) -> Any:
    """Sizes with their cache operator, with and without a source size or predicate, with and without a cache policy."""
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        kinds: Kinds = {
            "a": Addr("shared"), "b": Addr("global"), "size": Imm(choices=(size,)), "n": Either((Reg("u32"), Imm(0, size))),
            "ignore": Pred(negatable=True), "policy": Value("u64"),
        }  # fmt: skip
        opcode = f"cp.async.{cache}.shared.global"
        for operands, since in (("", "7.0 sm_80"), (", n", "7.0 sm_80"), (", ignore", "7.5 sm_80")):
            instruction(f"{opcode}{{.prefetch}} [a], [b], size{operands}", requires=since, operands=kinds, **_words)(
                effect
            )
            hinted = max(since, "7.4 sm_80")
            instruction(
                f"{opcode}.L2::cache_hint{{.prefetch}} [a], [b], size{operands}, policy", requires=hinted, operands=kinds,
                **_words,
            )(effect)  # fmt: skip
    return effect


def cp_async(m: Port, a: LaneValue, b: LaneValue, size: LaneValue, n: LaneValue, ignore: LaneValue) -> None:
    count = (
        np.full(LANES, size) if n is None else np.minimum(np.broadcast_to(np.asarray(n), LANES).astype(np.int64), size)
    )
    if ignore is not None:
        count = np.where(ignore, 0, count)
    check_alignment(a, m.mask, size, "cp.async write", NARROWER)
    reading = m.mask & (count > 0)
    check_alignment(b, reading, size, "cp.async read", NARROWER)
    flags = 0
    for length in distinct(count[reading]):
        part = snapshot(m, reading & (count == length))
        for kind, _, _, lanes in part.resolve("global", b, length):
            m.emit(Event.LOAD, kind, length, flags, lanes, b)
            flags = FLAG_MORE
    for _, memory, offsets, lanes in m.resolve("shared", a, size, write=True):
        _begin(snapshot(m, lanes), size, memory, cluster_addresses(m, memory, offsets), count, b)


def _begin(m: Port, size: int, memory: np.ndarray, to: np.ndarray, count: np.ndarray, source: np.ndarray) -> None:
    """A copy of the port's lanes into some CTA's shared memory begins; lands at a moment that is drawn, or as late as allowed."""
    record = m.warp.record
    lanes, rows = mask_word(m.mask), (row(count, I32), row(to, U64), row(source, U64))
    while not issue_copy(record, m.site, size, lanes, memory.ctypes.data, *rows):
        m.warp.copies = make_room(record.copies, max(ROOM, 2 * record.copies.room), m.machine.memory)
    m.emit(Event.ASYNC_ISSUE, Space.SHARED, size, 0, m.mask, to)
    if m.machine.seed:
        land_later(record, m.machine.steps + delay(m.machine))


_forms(cp_async)


@instruction("cp.async.commit_group", name="cp.async.commit_group", requires="7.0 sm_80", facts=COMMITS)
def commit(m: Port) -> None:
    commit_group(m.warp.record.copies.groups, m.warp.record.live, mask_word(m.mask))


@instruction(
    "cp.async.wait_group n", name="cp.async.wait_group", requires="7.0 sm_80", facts=WAITS, operands={"n": Imm()}
)
def wait_group(m: Port, n: LaneValue) -> None:
    warp, lanes = m.warp.record, mask_word(m.mask)
    loose = uncommitted(warp, lanes)
    if loose:
        m.report(
            "missing-commit", "cp.async.wait_group waits for nothing: copies were issued but never committed to a group",
            first_lane(word_mask(loose)),
            "add cp.async.commit_group between the copies and the wait, or use cp.async.wait_all",
        )  # fmt: skip
        commit_group(warp.copies.groups, warp.live, loose)  # one mistake, one finding
    wait_for_groups(m.machine.stream, warp, lanes, max(n, 0))


@instruction("cp.async.wait_all", name="cp.async.wait_all", requires="7.0 sm_80", facts=WAITS)
def wait_all(m: Port) -> None:
    warp = m.warp.record
    wait_for_copies(m.machine.stream, warp, mask_word(m.mask), warp.copies.issued)


@instruction(
    "cp.async.mbarrier.arrive{.noinc}{.space}.b64 [a]", name="cp.async.mbarrier.arrive", requires="7.0 sm_80",
    space="shared shared::cta@7.8", facts=ARRIVES, operands={"a": Addr("shared")},
)  # fmt: skip
def mbarrier_arrive(m: Port, a: LaneValue, *, space: Word, noinc: bool) -> None:
    """The arrival happens when all copies the lane has issued so far have landed."""
    Bulk.of(m.machine).begin_arrivals(m, space, a, not noinc)

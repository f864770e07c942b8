"""Faults of addresses: out of bounds, misaligned, of the wrong space; and what such an address may have been meant for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.memory import ARENA, ARENA_HIGH, LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_SIZE

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta
    from ptxsim.machine.state import Machine

Lanes = np.ndarray  # a lane value


def refuse_windows(address: Lanes, mask: Lanes) -> None:
    """.global with an address in the windows of shared and local memory."""
    for window, name in ((SHARED_WINDOW, "shared"), (LOCAL_WINDOW, "local")):
        inside = mask & (address - np.uint64(window) < np.uint64(WINDOW_SIZE))
        if inside.any():
            lane = first_lane(inside)
            raise Fault(
                "wrong-space", f"global access to {int(address[lane]):#x}, which lies in the {name} window", lane,
                f"use an access without .global, or .{name} with a converted address",
            )  # fmt: skip


def refuse_others(machine: Machine, cta: Cta, address: Lanes, mask: Lanes, size: int, given: Lanes) -> None:
    """.shared::cta with an address of another CTA of the cluster: an H100 takes it for an illegal instruction."""
    rank, owner = cta.rank, address >> np.uint64(RANK_SHIFT)
    others = mask & (owner != rank) & (owner < len(cta.cluster.ctas))
    if others.any():
        lane = first_lane(others)
        if given[lane] >= ARENA:
            refuse_shared(machine, cta, given, others, size)
        raise Fault(
            "wrong-space",
            f"shared access to {int(address[lane]):#x}, which lies in the CTA of rank {int(owner[lane])} of the cluster; "
            f".shared and .shared::cta reach the executing CTA's memory only, of rank {rank}",
            lane,
            "access it with .shared::cluster or a generic address, or take the address of the CTA's own variable",
        )


def refuse_shared(machine: Machine, cta: Cta, given: Lanes, bad: Lanes, size: int) -> NoReturn:
    """An access to shared memory with an address where there is none."""
    lane = first_lane(bad)
    at = int(given[lane])
    start, end = machine.shared_start, cta.shared_bytes
    if at >= ARENA:
        raise Fault(
            "wrong-space", f"shared access to {at:#x}, a global address: {machine.memory.describe(at)}", lane,
            "access it with .global, or take the address of the shared variable (mov.u32 %r, variable)",
        )  # fmt: skip
    if holder := machine.memory.holder(at + SHARED_WINDOW):
        raise Fault(
            "wrong-space", f"shared access to {at:#x}: cvta.to.shared made it of an address in {machine.memory.called(holder)}", lane,
            "convert only generic addresses of shared memory, or access it with .global",
        )  # fmt: skip
    rank, own = at >> RANK_SHIFT, at & (1 << RANK_SHIFT) - 1
    if at < WINDOW_SIZE and rank >= len(cta.cluster.ctas) and start <= own < end:
        count = len(cta.cluster.ctas)
        raise Fault(
            "out-of-bounds",
            f"shared access to {at:#x}, which is {own:#x} of a CTA of rank {rank}; "
            f"the cluster has {count} CTA{'s' * (count > 1)}",
            lane, "let mapa take a rank below %cluster_nctarank, or launch larger clusters: cluster=X",
        )  # fmt: skip
    ends = [(first + bytes, first, name) for name, (first, bytes) in machine.shared_variables.items()]
    before = max((end for end in ends if end[0] <= at < WINDOW_SIZE), default=None)
    last, first, name = next((end for end in ends if end[1] <= at < end[0]), before or (at, at, None))
    where = f", {f'{at - last} bytes' if at > last else 'right'} after {name}" if name else ""
    if at < last:
        where = f", in {name}, which is {first:#x}..{last:#x} ({last - first} bytes)"
    more = "give the launch more shared memory: --shared-mem BYTES, launch(shared_mem=BYTES)"
    if name and not machine.has_open_array:  # more bytes of the launch would lie behind it, and be nobody's
        more = f"declare {name} larger"
    raise Fault(
        "out-of-bounds",
        f"shared access of {size} bytes at {at:#x}{where}; the CTA's shared memory is {start:#x}..{end:#x} "
        f"({end - start} bytes)",
        lane,
        f"check the index, or {more}",
    )


def where_astray(machine: Machine, cta: Cta, at: int) -> tuple[str, str]:
    """What an address in no allocation may be, and help."""
    memory = machine.memory
    if holder := memory.holder(at + ARENA_HIGH):
        return f"the lower half of an address in {memory.called(holder)}", "keep pointers in 64-bit registers"
    if at < machine.shared_start:
        return "a null pointer and an offset, or an offset alone", "add the pointer to the offset: add.u64"
    if at < cta.shared_bytes:
        return (
            "a number that small is an offset alone, or a shared address as it stands",
            "add the pointer to the offset; shared memory is accessed with .shared, or made generic with cvta.shared",
        )
    if at < 1 << 32:
        return "a number that small is no address of a buffer", "add the pointer to the offset: add.u64"
    if memory.is_foreign(at):
        return (
            "no address of device memory, but a pointer of the host's perhaps",
            "copy what it points to into device memory, and pass the pointer that that has",
        )
    return memory.describe(at), "check the index and the size of the buffer"

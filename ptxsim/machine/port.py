"""The machine port: the named operations through which an effect reaches memory and the other lanes of its warp.

An effect whose first parameter is `m` gets a port. `m.mask` are the lanes that execute; addresses are uint64 lane values.
The interpreter runs these methods; the compiled engine has native forms of load, store, atomic, shuffle, ballot and
load_rows and store_rows, and runs everything else here, on the same registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ptxsim import lanes
from ptxsim.diagnostic import DOUBTFUL, Case, Finding, Label, Level
from ptxsim.edits import Fix
from ptxsim.machine.bad_addresses import refuse_others, refuse_shared, refuse_windows, where_astray
from ptxsim.machine.event import FLAG_MIXED, FLAG_UNCHANGED, Event, Space
from ptxsim.machine.fault import Converge, Fault, distinct, first_lane
from ptxsim.machine.memory import (
    ARENA,
    ARENA_HIGH,
    LOCAL_WINDOW,
    NARROWER,
    RANK_SHIFT,
    SHARED_WINDOW,
    WINDOW_SIZE,
    check_alignment,
    gather,
    join,
    pack,
    scatter,
    store_order,
    unpack,
)  # fmt: skip
from ptxsim.types import ScalarType

if TYPE_CHECKING:
    from ptxsim.machine.cta import Warp
    from ptxsim.machine.product import Product
    from ptxsim.machine.state import Machine

Lanes = np.ndarray  # a lane value
Unit = TypeVar("Unit")
Resolved = tuple[Space, np.ndarray, Lanes, Lanes]  # a memory: its space, bytes, offsets and the lanes that access it
_SPACES = {
    "global": Space.GLOBAL, "shared": Space.SHARED, "local": Space.LOCAL, "const": Space.CONST, "param": Space.PARAM,
}  # fmt: skip


class Operation(Protocol):
    """What a port knows of the instruction that executes."""

    @property
    def site(self) -> int: ...

    @property
    def sources(self) -> tuple[Any, ...]: ...

    @property
    def destinations(self) -> tuple[Any, ...]: ...

    def source(self, name: str) -> Any: ...

    def product(self, target: str, numerics: str) -> Product: ...


class Port:
    """What one instruction of one warp sees while it executes."""

    def __init__(self, machine: Machine, warp: Warp):
        self.machine, self.warp, self.cta = machine, warp, warp.cta
        self.mask = warp.live
        self.site = 0
        self.line, self.column, self.length = 0, 1, 1
        self.op: Operation | None = None  # the instruction as the engine resolved it

    def product(self) -> Product:
        """The matrix product of the instruction that executes, on this machine."""
        assert self.op is not None
        return self.op.product(str(self.machine.target), self.machine.numerics)

    def unit(self, kind: Callable[[Port], Unit]) -> Unit:
        """The operations of a unit beside the lanes (machine.barriers.mbarrier.MBarriers), for this instruction."""
        return kind(self)

    # ---- memory ----

    def load(self, space: str | None, address: Lanes, t: ScalarType, count: int = 1, flags: int = 0) -> list[Lanes]:
        """`count` consecutive elements of type t per lane, as lane values of t. `space` None is generic."""
        size = t.bytes * count
        check_alignment(address, self.mask, size, "load", NARROWER)
        data = np.zeros((lanes.LANES, size), np.uint8)
        places = list(self.resolve(space, address, size))
        self._tell(Event.LOAD, size, places, [flags] * len(places), address)
        for _, memory, offsets, mask in places:
            data[mask] = gather(memory, offsets, mask, size)[mask]
        return unpack(data, t, count)

    def store(self, space: str | None, address: Lanes, values: list[Lanes], t: ScalarType, flags: int = 0) -> None:
        """Store one element of each value per lane, next to each other."""
        size = t.bytes * len(values)
        check_alignment(address, self.mask, size, "store", NARROWER)
        data = pack(values, t)
        places = list(self.resolve(space, address, size, write=True))
        noted = []
        for _, memory, offsets, mask in places:
            if self.machine.stream is None:
                scatter(memory, offsets, mask, data, store_order(size))
                continue
            before = gather(memory, offsets, mask, size)[mask]
            scatter(memory, offsets, mask, data, store_order(size))
            after = gather(memory, offsets, mask, size)[mask]
            noted.append(flags | (FLAG_UNCHANGED if np.array_equal(after, before) else 0))
            noted[-1] |= 0 if np.array_equal(after, data[mask]) else FLAG_MIXED
        self._tell(Event.STORE, size, places, noted, address)

    def atomic(
        self, space: str | None, address: Lanes, t: ScalarType, update: Callable[..., Lanes], operands: list[Any],
        count: int = 1, event: Event = Event.ATOMIC, flags: int = 0, shared_update: Callable[..., Lanes] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Read, `update(old, *operands)` and write back, one lane after the other. Returns the old values.

        With count > 1 (vector atomics) operands are lists of `count` values and each element is updated by itself.
        `shared_update` takes the place of `update` where the address lies in shared memory.
        """
        size = t.bytes * count
        check_alignment(address, self.mask, size, "atomic access")
        old = np.zeros((lanes.LANES, size), np.uint8)
        if t.bits == 128:
            operands = [join(*operand) for operand in operands]
        columns = [operand if isinstance(operand, list) else [operand] for operand in operands]
        places = list(self.resolve(space, address, size, write=True))
        self._tell(event, size, places, [flags] * len(places), address)
        for kind, memory, offsets, mask in places:
            change = shared_update if shared_update is not None and kind == Space.SHARED else update
            for lane in np.flatnonzero(mask):
                cell = memory[int(offsets[lane]) : int(offsets[lane]) + size]
                old[lane] = cell
                before = cell.copy().view(lanes.dtype(t))
                after = [
                    change(before[i : i + 1], *(column[i][lane : lane + 1] for column in columns)) for i in range(count)
                ]
                cell[:] = np.concatenate(after).view(np.uint8)
        values = unpack(old, t, count)
        return [[value["lo"], value["hi"]] for value in values] if t.bits == 128 else values

    def _tell(self, event: Event, size: int, places: list[Resolved], flags: list[int], address: Lanes) -> None:
        """Tell observers of an access: once for all lanes that access the shared memory of the cluster, whichever CTA's it is. flags: of
        each of the places, of which a store that leaves the memory as it was must do so at all."""
        if self.machine.stream is None:
            return
        at = [n for n, (kind, *_) in enumerate(places) if kind == Space.SHARED]
        for n, (kind, memory, offsets, mask) in enumerate(places):
            if n not in at[1:]:
                names, told = self.named(kind, memory, offsets, address), flags[n]
                for other in at[1:] if n in at[:1] else ():
                    _, memory, offsets, more = places[other]
                    names, mask = np.where(more, self.named(kind, memory, offsets, address), names), mask | more
                    told = (told | flags[other]) & ~FLAG_UNCHANGED | (told & flags[other])
                self.emit(event, kind, size, told, mask, names)

    def resolve(self, space: str | None, address: Lanes, size: int, write: bool = False) -> Iterator[Resolved]:
        """Yield (Space, bytes, offsets, mask) of the memories an access touches. Raises Fault outside of them."""
        mask = self.mask
        if not mask.any():
            return
        space, _, part = (space or "").partition("::")  # param::entry; which CTA's shared memory, the address says
        if space == "shared":
            low = address & np.uint64(0xFFFFFFFF)
            if part != "cluster":
                refuse_others(self.machine, self.cta, low, mask, size, address)
            yield from self._shared(low, mask, size, address)
        elif space == "local":
            yield self._local(address, mask, size)
        elif space in ("global", "const", "param"):
            if space == "global":
                refuse_windows(address, mask)
            elif space == "param":  # an address of a kernel parameter may have been kept in 32 bits
                address = np.where(address >> np.uint64(32) == 0, address + np.uint64(ARENA_HIGH), address)
            yield self._arena(space, address, mask, size, write)
        else:
            shared = mask & (address - np.uint64(SHARED_WINDOW) < np.uint64(WINDOW_SIZE))
            local = mask & (address - np.uint64(LOCAL_WINDOW) < np.uint64(WINDOW_SIZE))
            rest = mask & ~shared & ~local
            if shared.any():
                yield from self._shared(address - np.uint64(SHARED_WINDOW), shared, size, address)
            if local.any():
                yield self._local(address - np.uint64(LOCAL_WINDOW), local, size)
            if rest.any():
                yield self._arena(None, address, rest, size, write)

    def named(self, kind: Space, memory: np.ndarray, offsets: Lanes, address: Lanes) -> Lanes:
        """Addresses as events name them: shared memory by its owner's rank and offset, everything else as it is."""
        if kind != Space.SHARED:
            return address
        ctas = self.cta.cluster.ctas
        owner = self.cta if memory is self.cta.shared else next(cta for cta in ctas if cta.shared is memory)
        return offsets + np.uint64(ctas.index(owner) << RANK_SHIFT) if len(ctas) > 1 else offsets

    def _shared(self, address: Lanes, mask: Lanes, size: int, given: Lanes) -> Iterator[Resolved]:
        """`address` is relative to the window, of what was `given`."""
        ctas = self.cta.cluster.ctas
        which = (address >> np.uint64(RANK_SHIFT)).astype(np.int64)
        for number in distinct(which[mask]):
            part = mask & (which == number)
            if number >= len(ctas):
                refuse_shared(self.machine, self.cta, given, part, size)
            owner = ctas[number]
            offset = address & np.uint64((1 << RANK_SHIFT) - 1)
            bad = part & (
                (offset + np.uint64(size) > np.uint64(owner.shared_bytes))
                | (offset < np.uint64(self.machine.shared_start))
            )
            if bad.any():
                refuse_shared(self.machine, self.cta, given, bad, size)
            yield Space.SHARED, owner.shared, offset, part

    def _local(self, address: Lanes, mask: Lanes, size: int) -> Resolved:
        local = self.warp.local
        if local is None:
            local = self.warp.local = np.zeros((lanes.LANES, self.machine.local_bytes), np.uint8)
        width = local.shape[1]
        bad = mask & (address > np.uint64(width - size)) if width >= size else mask
        if bad.any():
            lane = first_lane(bad)
            what = f"local access of {size} bytes at {int(address[lane]):#x}; the lane has {width} bytes"
            raise Fault("out-of-bounds", what, lane)
        offsets = address + np.arange(lanes.LANES, dtype=np.uint64) * np.uint64(width)
        return Space.LOCAL, local.reshape(-1), offsets, mask

    def _arena(self, space: str | None, address: Lanes, mask: Lanes, size: int, write: bool) -> Resolved:
        memory = self.machine.memory
        index = memory.find(address, size)
        bad = mask & (index < 0)
        if bad.any():
            lane = first_lane(bad)
            at = int(address[lane])
            where, help = where_astray(self.machine, self.cta, at)
            raise Fault("out-of-bounds", f"{space or 'generic'} access of {size} bytes at {at:#x}: {where}", lane, help)
        first = memory.allocations[int(index[first_lane(mask)])]
        if write or space not in (None, first.kind):
            for number in distinct(index[mask]):
                found = memory.allocations[number]
                lane = first_lane(mask & (index == number))
                if write and found.read_only:
                    what = "a read-only array" if found.kind == "global" else f"{found.kind} memory"
                    raise Fault("read-only-write", f"store to {found.name}, which is {what}", lane)
                if space is not None and found.kind != space and not (space == "global" and found.kind == "const"):
                    raise Fault("wrong-space", f"{space} access to {found.name}, which is {found.kind} memory", lane)
        kind = _SPACES[space or first.kind]
        return kind, memory.bytes, address - np.uint64(ARENA), mask

    # ---- the other lanes ----

    def shuffle(self, value: Lanes, source: Lanes, members: Lanes | None = None) -> Lanes:
        """Lane i gets the value of lane source[i] mod 32 (an integer lane value).

        members: a member mask, where what a lane reads is undefined if the source is no member or does not execute. The first such
        read of an instruction is reported as doubtful: many reductions make values so that no lane uses.
        """
        index = source.astype(np.int64) & 31
        found: Lanes = value[index]
        if members is None:
            return found
        stray = self.mask & ((members & lanes.mask_word(self.mask)) >> index.astype(np.uint32) & 1 == 0)
        if not stray.any():
            return found
        if not self.machine.strayed[self.site]:
            self.machine.strayed[self.site] = 1
            lane = first_lane(stray)
            other, word = int(index[lane]), int(members[lane])
            why = "does not execute it" if word >> other & 1 else f"is not in its member mask {word:#010x}"
            self.report(
                "member-mask", f"lane {lane} reads a register of lane {other}, which {why}; what it gets is used", lane,
                "let all lanes execute it that are read and name them, or keep the sources inside with c (the width)", DOUBTFUL,
            )  # fmt: skip
        return np.where(stray, found ^ found.dtype.type(self.machine.garbage), found)

    def ballot(self, condition: Lanes) -> Lanes:
        """A u32 lane value, the same in all lanes: bit i is set if lane i executes and its condition holds."""
        return np.full(lanes.LANES, lanes.mask_word(self.mask & condition), np.uint32)

    def active(self) -> Lanes:
        """The executing lanes as a mask lane value."""
        return self.mask

    # ---- convergence, reports, events ----

    def uniform(self, value: Lanes | int, what: str, help: str) -> int:
        """The first lane's value of an operand that all executing lanes must agree on; reports where they do not."""
        if not isinstance(value, np.ndarray):
            return int(value)
        first = first_lane(self.mask)
        different = self.mask & (value != value[first])
        if different.any():
            lane = first_lane(different)
            values = f"{int(value[first])} in lane {first}, {int(value[lane])} in lane {lane}"
            self.report("operands-not-uniform", f"the {what} differs between lanes: {values}", lane, help)
        return int(value[first])

    def converge(self, members: np.ndarray) -> Converge | None:
        """None if every member lane executes now; else what to return from the effect to try again later.

        `members` is a member mask: a u32 lane value (lanes may belong to different groups), or 32 booleans for all lanes.
        Lanes that have exited are not waited for. Raises Fault `member-mask` if an executing lane is no member of its own
        group or two lanes of a group name different members.
        """
        if members.dtype == bool:
            members = np.full(lanes.LANES, lanes.mask_word(members), np.uint32)
        missing = 0
        here = lanes.mask_word(self.mask)
        for word in distinct(members[self.mask]):
            group = self.mask & (members == word)
            stranger = lanes.mask_word(group) & ~word
            if stranger:
                lane = first_lane(lanes.word_mask(stranger))
                raise Fault("member-mask", f"lane {lane} executes, but is not in its member mask {word:#010x}", lane)
            other = word & here & ~lanes.mask_word(group)
            if other:
                lane, first = first_lane(lanes.word_mask(other)), first_lane(group)
                raise Fault(
                    "member-mask",
                    f"the member mask {word:#010x} of lane {first} names lane {lane}, whose own mask is {members[lane]:#010x}",
                    first,
                    "all lanes of a group must give the same member mask",
                )
            missing |= word & ~here
        missing &= lanes.mask_word(self.warp.live)
        if not missing:
            return None
        return Converge(lanes.word_mask(missing | here))

    def report(
        self, name: str, message: str, lane: int | None = None, help: str | None = None, level: Level | None = None,
        fixes: tuple[Fix, ...] = (), labels: tuple[Label, ...] = (), case: Case | None = None,
    ) -> None:  # fmt: skip
        """Add a finding at this instruction and continue; not where the launch asked for no checks."""
        if self.machine.checks == "none":
            return
        self.machine.add_finding(
            replace(self.finding(name, message, lane, help, level), fixes=fixes, labels=labels, case=case)
        )

    def finding(
        self, name: str, message: str, lane: int | None, help: str | None, level: Level | None = None
    ) -> Finding:
        """A finding with this instruction's place, CTA and warp."""
        return Finding(
            name, message, self.line, self.column, self.length, level, help=help,
            cta=self.cta.index, warp=self.warp.index, lane=lane,
        )  # fmt: skip

    def emit(
        self, event: Event, space: int = 0, width: int = 0, flags: int = 0, mask: Lanes | None = None,
        addresses: Lanes | Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        stream = self.machine.stream
        if stream is not None:
            word = lanes.mask_word(self.mask if mask is None else mask)
            stream.emit(self.site, self.cta.linear, self.warp.index, event, space, width, flags, word, addresses)

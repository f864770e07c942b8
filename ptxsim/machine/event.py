"""The stream of events that checks, bank counting and the cycle model listen to.

Records are fixed-size and travel in batches; the stream is a bounded ring and never kept whole. Without an observer
nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from itertools import repeat
from operator import or_
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from ptxsim.jit.body import Numbers
from ptxsim.jit.export import extern
from ptxsim.jit.native import PreparedCall
from ptxsim.jit.record import I32, OPAQUE, U32, Pointer
from ptxsim.lanes import LANES
from ptxsim.machine.records import WarpRecord


class Event(IntEnum):
    """What a record says. Accesses carry addresses; the others use `addresses[0]` as noted."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    CAS = 3
    REDUCE = 4
    LDMATRIX = 5
    STMATRIX = 6
    ASYNC_READ = 7  # the async proxy reads (bulk stores, operands; those of a warpgroup until an ASYNC_WAIT)
    ASYNC_WRITE = 8  # the async proxy or cp.async writes, when the data lands
    ASYNC_ISSUE = 9  # memory at the addresses belongs to an asynchronous operation from now on (see FLAG_READ)
    ASYNC_WAIT = 10  # a wait covers that operation: the memory is the threads' again
    TENSOR_WORK = 11  # the tensor core is given work; addresses: the fields of a machine.tensor_memory.core.Load
    ARRIVE = 16  # at CTA barrier addresses[0], in its phase number addresses[1]
    LEAVE = 17  # that phase of the barrier is over for this warp; addresses as for ARRIVE
    FENCE = 18  # addresses[0]: Scope, addresses[1]: Proxy
    EXECUTE = 19  # a block of the program: site is its first instruction
    MMA = 20  # addresses: the descriptors of A and B, of a product of a warpgroup
    MBARRIER_ARRIVE = 21  # addresses: of the mbarriers, and ODD_PHASE
    MBARRIER_WAIT = 22  # a wait that succeeded; addresses alike, of the phase that it waited for
    SYNC_WARP = 23  # bar.warp.sync; addresses: the member mask of each lane
    EXIT = 24
    WGMMA_WAIT = 25  # of one warp; addresses[0]: how many products of its warpgroup its waits have covered
    SET_REGISTERS = 26  # setmaxnreg
    MATCH = 27  # match.any; addresses: the value of each lane
    TENSOR_USE = (
        28  # of tensor memory; addresses: the rank of its CTA, a TensorUse, rows (a bit for 16), columns (64 in each)
    )
    TENSOR_FREE = 29  # columns are given back; addresses alike
    DETOUR = 31  # an operation whose operands may need a routine (facts.detour); addresses: not 0 in lanes that need it
    TENSOR_FENCE = 30  # for tensor memory; addresses[0]: whether it comes after a synchronisation, or before one


ACCESSES = frozenset(event for event in Event if event <= Event.ASYNC_WAIT)


class TensorUse(IntFlag):
    """What is done with cells of tensor memory."""

    WRITES = 1
    CORE = 2  # by the tensor core, until a commit tells
    ENDS = 4  # a wait covers loads or stores of the warp that were begun before
    SAID = 8  # that it is out of order has been reported


class Space(IntEnum):
    """State space of an access after generic addresses are resolved."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    CONST = 3
    PARAM = 4


class Scope(IntEnum):
    """Whom a fence orders for."""

    CTA = 0
    CLUSTER = 1
    GPU = 2
    SYS = 3


class Proxy(IntEnum):
    """What a fence orders: generic accesses among themselves, or with another proxy."""

    GENERIC = 0  # fence, membar
    ALIAS = 1
    ASYNC = 2  # fence.proxy.async without a state space
    ASYNC_GLOBAL = 3
    ASYNC_SHARED = 4
    TENSORMAP = 5  # release
    MBARRIER_INIT = 6
    TENSORMAP_ACQUIRE = 7  # of the tensor map at addresses[2]
    DEPENDENTS = 8  # no proxy: the grids that depend on this one may begin (griddepcontrol.launch_dependents)
    PREREQUISITES = 9  # no proxy: those that this one depends on are over (griddepcontrol.wait)


RECORD = np.dtype(
    [
        ("site", "<i4"),  # index of the instruction in the program
        ("cta", "<i4"),  # linear index in the grid
        ("warp", "<i2"),  # within the CTA
        ("event", "u1"),
        ("space", "u1"),
        ("width", "<u2"),  # bytes per lane
        ("flags", "<u2"),  # VOLATILE, ATOMIC_SCOPE, ...
        ("mask", "<u4"),
        ("gap", "<u4", (3,)),  # so that vectors of addresses begin at multiples of 32 bytes
        ("addresses", "<u8", (LANES,)),
    ]
)

FLAG_STRONG = 1  # volatile, relaxed, acquire or release: not a data race
FLAG_ASYNC_PROXY = 2
FLAG_WMMA = 4  # one of the accesses a wmma load or store is made of
FLAG_UNCHANGED = 64  # a store or a copy that leaves the memory as it was: harmless in a race
FLAG_MIXED = 128  # lanes of a store put different values into one place
FLAG_READ = 8  # of ASYNC_ISSUE and ASYNC_WAIT: the operation reads the memory; without it, it writes
FLAG_MORE = 32  # of LOAD: more lanes of the instruction whose record is the one before, which read fewer bytes
ODD_PHASE = 62  # the bit of an mbarrier's address that says that the number of its phase is odd
LANE_SHIFT = 8  # from this bit on: the lane whose bulk copy it is
FLAG_EACH = LANES << LANE_SHIFT  # in place of a lane: what each lane does is its own
FLAG_ISSUED, FLAG_LANDED = 8, 16  # of MBARRIER_ARRIVE: copies of the lanes will arrive when they land; they have
FLAG_CORE = 4  # of both: it is the tensor core that will, or has
# Of shared memory that a tensor copy reads (ASYNC_READ) or writes (ASYNC_WRITE): the swizzle from this bit on, 0 none to 3 128B; or that
# it is another, or that what is written is no run of bytes for each row.
SWIZZLE_SHIFT, SWIZZLE_MASK, FLAG_OTHERWISE = 4, 3, 128
# Of the rows of a tensor (ASYNC_READ in global memory), lane n having row n of 32, those outside of it in no mask: from this bit on, before
# how many rows a record has been left out because all of its rows are outside; at most this.
OUTSIDE_SHIFT, MOST_OUTSIDE = 5, 7
FLAG_TENSORMAP = 16  # the bytes are a tensor map: a copy reads it, or tensormap.replace edits it


class Wanted(NamedTuple):
    """What is recorded: bits by the numbers of events, and by those of the spaces whose accesses are."""

    events: int = 0
    spaces: int = 0

    def has(self, event: int, space: int | None = None) -> bool:
        """Whether an event is recorded, of an access to `space` if that is known."""
        where = space is None or event > Event.ASYNC_WAIT or bool(self.spaces >> space & 1)
        return where and bool(self.events >> event & 1)

    def __bool__(self) -> bool:
        return self.events != 0


class Observer:
    """Listens to events.

    `events`: those it wants, None is all; `spaces`: those whose accesses it wants. `selects`: it takes batches as they are, with
    what others want, and picks out its own.
    """

    events: frozenset[Event] | None = None
    spaces: frozenset[Space] = frozenset(Space)
    selects = False

    def consume(self, records: np.ndarray) -> None:
        """Records of dtype RECORD in program order of the run; the array is reused after the call."""

    def consumer(self, records: np.ndarray) -> PreparedCall | None:
        """A call of a body by which native code has it consume the first of these records without Python, for as long as it listens; None
        where that cannot be, or not yet. The body's first arguments are the records and the first of them to look at; it returns the
        first that it has no room for, or the end."""
        return None

    def finish(self) -> None:
        """The launch is over."""

    def release(self) -> None:
        """Nobody asks what it has found any more: it may give back what it remembers."""

    def beside(self) -> Observer | None:
        """Another one, which listens to CTAs that run on another thread meanwhile; None if one observer must hear all."""
        return None

    def take(self, others: Sequence[Self]) -> bool:
        """Whether this one would have found the same, had it heard in order what it and these have, which `beside` made and which are
        finished. It takes what they have counted then."""
        return False


def _bits(numbers: Iterable[int]) -> int:
    word = 0
    for number in numbers:
        word |= 1 << number
    return word


def listed(events: Iterable[Event]) -> np.ndarray:
    """Whether an event is one of these, by its number."""
    found = np.zeros(256, bool)
    found[[int(event) for event in events]] = True
    return found


class EventStream:
    """A ring of records that hands full batches to observers."""

    def __init__(self, observers: Iterable[Observer], capacity: int = 4096):
        self.observers = list(observers)
        spaces = _bits(space for observer in self.observers for space in observer.spaces)
        self.wanted = Wanted(self.events_of(self.observers), spaces)
        self._listed = {id(observer): listed(observer.events or ()) for observer in self.observers}
        self.records = np.zeros(capacity, RECORD)
        self.count = 0

    @staticmethod
    def events_of(observers: Iterable[Observer]) -> int:
        """What some observers listen to, as bits by the numbers of events."""
        return _bits(event for each in observers for event in (Event if each.events is None else each.events))

    def emit(
        self, site: int, cta: int, warp: int, event: int, space: int = 0, width: int = 0, flags: int = 0, mask: int = 0xFFFFFFFF,
        addresses: np.ndarray | Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Append one record, if it is wanted; `addresses` is up to 32 byte addresses (or other numbers, see Event)."""
        if not self.wanted.has(event, space):
            return
        record = self.records[self.count]
        record["site"], record["cta"], record["warp"] = site, cta, warp
        record["event"], record["space"], record["width"] = event, space, width
        record["flags"], record["mask"] = flags, mask
        if addresses is not None:
            record["addresses"][: len(addresses)] = addresses
        self.count += 1
        if self.count == len(self.records):
            self.flush()

    def emit_all(
        self, site: int, cta: int, warp: int, event: int, space: int, width: int, flags: int, addresses: np.ndarray
    ) -> None:
        """Append records for any number of addresses, 32 in each, if they are wanted; their masks count them."""
        if not self.wanted.has(event, space):
            return
        rows = -(-len(addresses) // LANES)
        for start in range(0, rows, len(self.records)):
            count = min(rows - start, len(self.records))
            if self.count + count > len(self.records):
                self.flush()
            part = self.records[self.count : self.count + count]
            part["site"], part["cta"], part["warp"] = site, cta, warp
            part["event"], part["space"], part["width"] = event, space, width
            part["flags"], part["mask"] = flags, 0xFFFFFFFF
            own = addresses[start * LANES : (start + count) * LANES]
            full, rest = divmod(len(own), LANES)
            part["addresses"][:full] = own[: full * LANES].reshape(full, LANES)
            if rest:
                part["addresses"][full, :rest] = own[full * LANES :]
                part["mask"][full] = (1 << rest) - 1
            self.count += count
        if self.count == len(self.records):
            self.flush()

    def end(self) -> None:
        """Nobody listens any longer. What observers remember may be large, and machines, which have streams, refer to each other in circles."""
        self.observers.clear()

    def beside(self) -> EventStream | None:
        """For CTAs on another thread: with others in place of the observers; None if one of them must hear all."""
        others = [observer.beside() for observer in self.observers]
        return EventStream([each for each in others if each is not None]) if all(others) else None

    def take(self, streams: Sequence[EventStream]) -> bool:
        """Whether the observers would have found the same, had all that these streams have heard come to this one in order."""
        heard = zip(*(stream.observers for stream in streams), strict=True)
        return all(observer.take(others) for observer, others in zip(self.observers, heard, strict=True))

    def consumers(self) -> list[PreparedCall | None]:
        """How native code hands over batches to each observer without Python; None for those that need it, and listen to no accesses. Empty
        while others need it, too."""
        found = [each.consumer(self.records) if each.selects else None for each in self.observers]
        rare = [not each.selects and each.events is not None and not each.events & ACCESSES for each in self.observers]
        return found if any(found) and all(map(or_, map(bool, found), rare)) else []

    def flush(self, taken: Sequence[int] = ()) -> None:
        """Hand over the records, to each observer from the one on up to which it has taken them; one with a negative number need not look."""
        if not self.count:
            return
        for observer, first in zip(self.observers, taken or repeat(0)):
            if first < 0:
                continue
            batch = self.records[first : self.count]
            if observer.events is None or observer.selects:
                observer.consume(batch)
            else:
                listed = self._listed[id(observer)][batch["event"]]
                if listed.any():
                    observer.consume(batch.take(np.flatnonzero(listed)))
        self.count = 0

    def finish(self) -> None:
        self.flush()
        for observer in self.observers:
            observer.finish()


# As bodies get them: what records events (an EventStream or None, in native code the context), addresses or other numbers.
Stream = Annotated[Any, Pointer(OPAQUE)]
Addresses = Annotated[Numbers | Sequence[int], Pointer(np.dtype(np.uint64), LANES)]


@extern
def event(
    stream: Stream, warp: WarpRecord, site: I32, kind: I32, space: I32, width: I32, flags: I32, mask: U32, addresses: Addresses
) -> None:  # fmt: skip
    """Record what some lanes of a warp do, if there is a stream. (In native code, engine.compiled.runtime.events does.)"""
    if stream is not None:
        stream.emit(site, warp.cta, warp.index, kind, space, width, flags, mask, addresses)

"""A program's native code on one machine, and the memory that it runs in."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.analysis.communication import warps_tell
from ptxsim.engine.analysis.forward_progress import polls
from ptxsim.engine.analysis.product_hazards import keeps_rules
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.library import Code, Library, Wish
from ptxsim.engine.compiled.run.call_tables import CallTables
from ptxsim.engine.compiled.run.tables import layout_of, tables_of
from ptxsim.engine.compiled.runtime.abi import KINDS, READ_ONLY, Context, WarpLayout
from ptxsim.engine.compiled.runtime.events import CONSUMER
from ptxsim.engine.convergence import ways_to
from ptxsim.engine.program.call_paths import call_paths
from ptxsim.engine.program.operation import (
    Program,
    calls_functions,
    copies_in_bulk,
    families,
    lengths_of,
    sites_of,
    works_later,
)
from ptxsim.jit.callbacks import Callbacks
from ptxsim.jit.compiler import Refused
from ptxsim.lanes import LANES, word_mask
from ptxsim.machine.cta import Register
from ptxsim.machine.event import EventStream, Wanted
from ptxsim.machine.memory import ARENA
from ptxsim.machine.records import aligned
from ptxsim.machine.state import Machine
from ptxsim.machine.warpgroup import ProductRecord

if TYPE_CHECKING:
    from ptxsim.machine.copies.bulk import Bulk

REST = 8  # one part in so many of a program that runs once may be left out for code to be made of it
BATCH = 512  # records that native code hands over at a time where it needs no Python for that
Test = Callable[[], str | None]  # of native code on this machine: why it is not to be used
MOST_OPERATIONS = 100_000  # of a program: LLVM takes about half a millisecond and 18 KB of memory for each


class Registers:
    """A warp's registers by slot, read and written like a list of arrays. What is read is a copy, as of now."""

    __slots__ = ("block", "places", "types")

    def __init__(self, block: np.ndarray, places: WarpLayout, program: Program):
        self.block, self.places, self.types = block, places.registers, program.slots

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, slot: int) -> Register:
        t, at = self.types[slot], self.places[slot]
        if t.kind == "predicate":
            return word_mask(self.block[at : at + 4].view("<u4")[0])
        if t.bits == 128:
            return [self.block[at + 256 * i : at + 256 * (i + 1)].copy().view(np.uint64) for i in (0, 1)]
        return self.block[at : at + 32 * t.bytes].copy().view(f"u{t.bytes}")

    def __setitem__(self, slot: int, value: Register) -> None:
        t, at = self.types[slot], self.places[slot]
        if t.kind == "predicate":
            self.block[at : at + 4] = np.packbits(np.asarray(value), bitorder="little")
        elif t.bits == 128:
            for i in (0, 1):
                self.block[at + 256 * i : at + 256 * (i + 1)] = np.ascontiguousarray(value[i]).view(np.uint8)
        else:
            self.block[at : at + 32 * t.bytes] = np.ascontiguousarray(value).view(np.uint8)


class NativeContext:
    """The context record of one thread of execution, what it points to, and the code for whole warps and parts of warps.

    `keep` writes registers back that no instruction reads again. `slow_path`: why operations are there, by site, for whole warps
    (True) and for parts; `refused`: why there is no code.
    """

    def __init__(self, program: Program, machine: Machine, library: Library, keep: bool, test: Test | None):
        self.program, self.machine, self.library, self.keep = program, machine, library, keep
        self.layout = layout_of(program)
        self.record = Context.of(aligned(Context.dtype.itemsize))
        self.keeps_rules = keeps_rules(program)
        self.slow_path: dict[bool, dict[int, str]] = {True: {}, False: {}}
        self._codes: dict[bool, Code] = {}
        self.refused: dict[bool, str] = {}
        self._wishes: dict[bool, Wish] = {}
        # Whether code is put off, so that Python gives the turns, and whether a block is left to it for that.
        self.test, self.puts_off, self.waits = test, False, False
        self.has_waited = False  # one has been
        self.whole = test is None  # whether code is made of all blocks at once
        self._has_failed = False  # the test
        # Whether native code can compute a product that Python has started.
        self.prepares: Callable[[ProductRecord], bool] = lambda product: False
        self.callbacks = Callbacks()
        self._bulk: Bulk | None = None
        self._listening, self._consumers = list[int](), np.zeros(0, CONSUMER)  # observers that take batches natively
        self._fill()

    def registers(self, memory: np.ndarray) -> Registers:
        """A view of the registers in a warp's memory."""
        return Registers(memory, self.layout, self.program)

    def _fill(self) -> None:
        memory, machine = self.machine.memory, self.machine
        self._tables: list[np.ndarray] = [
            np.array([a.address for a in memory.allocations], np.uint64),
            np.array([a.size for a in memory.allocations], np.uint64),
            np.array([KINDS[a.kind] | READ_ONLY * a.read_only for a in memory.allocations], np.uint32),
            np.zeros((sites_of(self.program) + 1, 2), np.uint64),
            *tables_of(self.program),
        ]
        names = ("starts", "sizes", "kinds", "caches", "impatience", "lengths", "lines", "results", "asked", "polls")
        for name, table in zip(names, self._tables, strict=True):
            setattr(self.record, name, table.ctypes.data)
        if calls_functions(self.program) and call_paths(self.program) is not None:
            self._calls = CallTables(self.program, self.layout)
            self.record.calls = self._calls.record.address
        if not any(polls(self.program)):
            self.record.polls = 0
        # Of code: for parts of warps, for whole warps.
        self._places = np.zeros((2, len(lengths_of(self.program))), np.int64)
        self.record.masked, self.record.full = (row.ctypes.data for row in self._places)
        self._ways = np.zeros(len(lengths_of(self.program)), np.int64)
        self.record.ways = self._ways.ctypes.data
        self.record.find_ways = self.callbacks.address(self._find_ways, None, ctypes.c_int32)
        self.record.strayed, self.record.garbage = machine.strayed.ctypes.data, machine.garbage
        self.record.allocations = len(memory.allocations)
        self.record.arena = memory.bytes.ctypes.data - ARENA
        if machine.mixes:
            self.mix()
        if copies_in_bulk(self.program):
            from ptxsim.machine.copies.bulk import Bulk  # most programs have no copies

            self._bulk = Bulk.of(machine)
            self.record.bulk = self._bulk.record.address
            if works_later(self.program) and not self._bulk.record.free_work:
                self._bulk.make_work()
            self.library.bodies("bulk copies")
            for name in ("land_due", "land_all"):
                setattr(self.record, name, self.library.jit.address(self.library.prefix + name))
        if "cp_async" in families(self.program):
            self.library.bodies("lane copies")
            self.record.land_copies = self.library.jit.address(self.library.prefix + "land_copies")
        self.record.land = self.callbacks.address(self._land, None)
        self.record.compile = self.callbacks.address(self._want_code, None, ctypes.c_int32, ctypes.c_int32)
        if machine.stream is not None:
            stream = machine.stream
            self.record.records = stream.records.ctypes.data
            self.record.capacity = len(stream.records)
            self._let_consume(stream)
            self.record.wanted = stream.wanted.events
            self.record.flush = self.callbacks.address(self._flush_stream, None)

    def _flush_stream(self) -> None:
        stream = self.machine.stream
        assert stream is not None
        stream.count = self.record.recorded
        self.record.recorded = 0
        taken = [0] * len(stream.observers)
        for number, consumer in zip(self._listening, self._consumers):
            taken[number] = int(consumer["taken"])
        try:
            if self.callbacks.error is None:  # else the launch ends as soon as native code comes back
                stream.flush(taken)
                self._let_consume(stream)
        except BaseException:
            self._end()  # which is at once
            raise
        finally:
            stream.count = 0

    def _let_consume(self, stream: EventStream) -> None:
        """Leave Python out where a batch is full, from when that can be on; batches are small then, and stay near the processor."""
        if self.record.consumers or not (calls := stream.consumers()):
            return
        self._listening = [number for number, call in enumerate(calls) if call is not None]
        native = [(call.code, call.block, call.noted, 0) for call in calls if call is not None]
        self._consumers = np.array(native, CONSUMER)
        self.record.consumers, self.record.consumer = len(native), self._consumers.ctypes.data
        self.record.others = stream.events_of(each for each, call in zip(stream.observers, calls) if call is None)
        self.record.capacity = BATCH

    def mix(self) -> None:
        """Turns have lengths by chance, where warps can tell."""
        self.record.draws, self.record.mixes = self.machine.draws.address, warps_tell(self.program)

    def _find_ways(self, block: int) -> None:
        """Called from native code: lanes wait for others at the start of a block."""
        self._ways[block] = ways_to(self.program, frozenset([block])).ctypes.data

    def _land(self) -> None:
        """Called from native code: asynchronous work of Python completes."""
        with self.in_python():
            self.machine.complete_due()

    @contextmanager
    def in_python(self, counted: int = 0) -> Iterator[None]:
        """Within a callback: the machine's counters and the event stream go on in Python. `counted`: warp instructions that native code
        has yet to count."""
        machine, stream, record = self.machine, self.machine.stream, self.record
        machine.steps, machine.warp_instructions = record.steps, record.count + counted
        if stream is not None:
            stream.count = record.recorded
        try:
            yield
        finally:
            record.count, record.next_due = machine.warp_instructions, machine.next_due
            if stream is not None:
                record.recorded = stream.count

    def _want_code(self, full: int, block: int) -> None:
        """Called from native code that is to run where there is none. Then the interpreter executes the block."""
        self.waits = self._can_wait(bool(full), block)
        self.has_waited |= self.waits
        if not self.waits:
            self._have(bool(full), block)

    def leaves(self, full: bool, block: int) -> bool:
        """Whether the interpreter has a block since code is put off. Until that is over nothing native runs: neither what gives turns
        there, nor the test of it, which take longer to make than such blocks."""
        if self.puts_off and not self._has_failed:
            self.puts_off = self._can_wait(full, block) or self._fails()
        self.waits = self.puts_off
        self.has_waited |= self.waits
        return self.puts_off

    def _fails(self) -> bool:
        """Whether native code fails its test, and all is left to the interpreter."""
        reason = self.test() if self.test is not None else None
        if reason is not None:
            self._has_failed = True
            warnings.warn(f"the interpreter runs this, which takes longer: {reason}", RuntimeWarning, stacklevel=2)
        return reason is not None

    def _may_wait(self, full: bool) -> bool:
        """Whether code may still be put off."""
        is_known = self._is_whole(full) or full in self.refused or sites_of(self.program) > MOST_OPERATIONS
        return self.test is not None and not is_known and self.library.patience(self._wish(full)) > 0

    def _is_whole(self, full: bool) -> bool:
        """Whether there is code of all blocks."""
        return full in self._codes and self._codes[full].is_whole

    def _can_wait(self, full: bool, block: int) -> bool:
        """Whether the interpreter had better execute a block."""
        if not self._may_wait(full):
            return False
        wish = self._wish(full)
        if full not in self._codes and self.library.has_some(wish):
            self._have(full)
        if self._places[int(full), block] != 0 or not self.library.can_wait(wish, block):
            return False
        self.slow_path[full].update(self.library.printed(wish).slow_path)
        return True

    def refusal(self) -> str | None:
        """Why there is no native code for the warps that the launch begins with, or None; compiles it, or puts that off."""
        x, y, z = self.machine.block
        full = x * y * z >= LANES
        self.puts_off = self._may_wait(full) and not self.library.has_some(self._wish(full))
        if self.puts_off:
            return None
        reason = self.test() if self.test is not None else None
        return reason or (None if self._have(full, tell=False) else self.refused[full])

    def _have(self, full: bool, block: int | None = None, tell: bool = True) -> bool:
        """Make sure of code for whole warps, or for parts of warps, and of that of a block; False if there is none."""
        is_there = full in self._codes and (block is None or self._places[int(full), block] != 0)
        if not is_there and full not in self.refused:
            try:
                self._compile(full, block)
            except Refused as error:
                self.refused[full] = str(error)
                if tell:
                    why = f"the interpreter runs parts of this, which takes longer: {self.refused[full]}"
                    warnings.warn(why, RuntimeWarning, stacklevel=2)
        return full in self._codes

    def _compile(self, full: bool, block: int | None) -> None:
        if (count := sites_of(self.program)) > MOST_OPERATIONS:
            raise Refused(
                f"{self.program.name} has {count} operations, and native code is made of {MOST_OPERATIONS} at most"
            )
        code = self._codes[full] = self.library.kernel(self._wish(full), block, self.whole)
        self.slow_path[full].update(code.slow_path)
        for number, address in [*code.places.items()]:  # other launches' threads add to them
            self._places[int(full), number] = address

    def _wish(self, full: bool) -> Wish:
        if full not in self._wishes:
            machine = self.machine
            wanted = machine.stream.wanted if machine.stream is not None else Wanted()
            cluster = machine.cluster != (1, 1, 1)
            options = Options(full, wanted, self.keep, str(machine.target), machine.numerics, cluster)
            self._wishes[full] = self.library.wish(self.program, self.layout, options)
        return self._wishes[full]

    def enter(self, function: str, warp: int = 0) -> int:
        """Call a function of the native scheduler; the counters go there and come back."""
        machine, stream, record = self.machine, self.machine.stream, self.record
        record.count, record.steps, record.next_due = machine.warp_instructions, machine.steps, machine.next_due
        record.idle, record.began = machine.polled, machine.round_began
        if stream is not None:
            record.recorded = stream.count
        crash = self.library.crash
        crash.enter(self.program.name, self._mark)  # a crash of the process is reported as one of this kernel
        try:
            with self.callbacks.hearing(self._end):
                status: int = self.library.enter(self.library.scheduler[function], record.address, warp)
        finally:
            crash.leave()
        machine.warp_instructions, machine.steps = record.count, record.steps
        machine.polled, machine.round_began = record.idle, record.began
        if stream is not None:
            stream.count = record.recorded
        self.callbacks.check()
        if self._bulk is not None:
            self._bulk.callbacks.check()
        return status

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A launch runs within."""
        try:
            with self.callbacks.listening():
                yield
            self._make_for_others()
        finally:  # a launch that a fault ends has shown as much
            for wanted in self._wishes.values():
                self.library.write_printed(wanted)

    def _make_for_others(self) -> None:
        """Where the interpreter has executed nearly as much as the program has, the next process finds code."""
        if self._has_failed or not self.puts_off or self.library.jit.store.folder is None:
            return
        most = sites_of(self.program) // REST
        for full in [full for full, wanted in self._wishes.items() if self.library.patience(wanted) <= most]:
            if not self._fails():
                _ = self.library.scheduler  # is made, too
                self._have(full, tell=False)

    def _end(self) -> None:
        """Native code is to come back."""
        self.record.end_count = 0

    @cached_property
    def _mark(self) -> Path | None:
        return self.library.mark(self.program)

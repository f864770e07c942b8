"""The compiled engine, with the same interface as the interpreter: native code for blocks, the interpreter for the rest.

Registers live in native memory; `warp.registers` is a list-like view of it. What takes the slow path - operations without a
native lowering, faults, lanes that must wait - the interpreter executes on the same registers, so it is the same in both
engines by construction. Each such execution is counted in `machine.slow_path`.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine import control
from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.analysis.forward_progress import impatience
from ptxsim.engine.analysis.wgmma_hazards import keeps_rules
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.library import Library, library, specials_of
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import (
    CONTEXT,
    CONTEXT_BYTES,
    KINDS,
    READ_ONLY,
    WarpLayout,
    aligned,
    header_of,
)
from ptxsim.engine.interpreter import Interpreter, choose
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.jit.compiler import Refused
from ptxsim.lanes import LANES, mask_word, word_mask
from ptxsim.machine.cta import Split, Warp
from ptxsim.machine.memory import ARENA
from ptxsim.machine.port import Port
from ptxsim.machine.special import value as special_value
from ptxsim.machine.state import Machine

EVERY = 0xFFFF_FFFF  # the mask of a whole warp
# Why operations that are native take the slow path.
UNUSUAL, IN_FLIGHT = "a fault or a case that native code leaves", "registers of a product in flight"
NOWHERE = 0xFFFF_FFFF  # in place of a site: nothing of the block has been executed


class Registers:
    """A warp's registers by slot, read and written like a list of arrays. What is read is a copy, as of now."""

    __slots__ = ("block", "header", "places", "types")

    def __init__(self, block: np.ndarray, places: WarpLayout, program: Program):
        self.block, self.places, self.types = block, places.registers, program.slots
        self.header = header_of(block)

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, slot: int):
        t, at = self.types[slot], self.places[slot]
        if t.kind == "predicate":
            return word_mask(self.block[at : at + 4].view("<u4")[0])
        if t.bits == 128:
            return [self.block[at + 256 * i : at + 256 * (i + 1)].copy().view(np.uint64) for i in (0, 1)]
        return self.block[at : at + 32 * t.bytes].copy().view(f"u{t.bytes}")

    def __setitem__(self, slot: int, value) -> None:
        t, at = self.types[slot], self.places[slot]
        if t.kind == "predicate":
            self.block[at : at + 4] = np.packbits(value, bitorder="little")
        elif t.bits == 128:
            for i in (0, 1):
                self.block[at + 256 * i : at + 256 * (i + 1)] = np.ascontiguousarray(value[i]).view(np.uint8)
        else:
            self.block[at : at + 32 * t.bytes] = np.ascontiguousarray(value).view(np.uint8)


if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.cta_runner import Alone


class CompiledEngine:
    """Executes warps of one program on one machine. `keep` writes back registers that nobody reads again, for those who
    want to see them; `jobs` threads run CTAs where that cannot show (None: as many as
    there are cores, where it pays); `native` is the library of another CPU than this one's (for tests)."""

    name = "compiled"

    def __init__(
        self, program: Program, machine: Machine, *, keep: bool = False, jobs: int | None = 1, native: Library | None = None
    ):  # fmt: skip
        self.program, self.machine, self.keep, self.jobs = program, machine, keep, jobs
        self.interpreter = Interpreter(program, machine)
        self.library = native or library()
        self.places = WarpLayout.of(program, specials_of(program))
        self.context = aligned(CONTEXT_BYTES)
        self.words = self.context.view("<u8")  # by CONTEXT[name] // 8
        self._place = self.context.ctypes.data
        self._kernels: dict[bool, int] = {}
        self._refused: dict[bool, str] = {}
        self._slow_path: dict[bool, dict[int, str]] = {
            True: {},
            False: {},
        }  # by site why, for whole warps and for parts
        self._touched: dict[int, set[int]] = {}
        self._error: BaseException | None = None
        self._fill_context()
        self._compile_masked = ctypes.CFUNCTYPE(None)(self._want_masked)
        self.keeps_rules = keeps_rules(program)
        if self.keeps_rules:
            self._assist_wgmma()
        self.set_field("compile", ctypes.cast(self._compile_masked, ctypes.c_void_p).value or 0)

    def _assist_wgmma(self) -> None:
        """Compute natively what Python keeps account of: the program cannot break the rules that Python watches."""
        from ptxsim.engine.compiled.run.wgmma_assist import NativeProducts

        self._products = NativeProducts(self)  # the context points into it; the machine's may become another engine's
        self.machine.native_product = self._products

    @property
    def current(self) -> Op | None:
        """What executes now, for faults."""
        return self.interpreter.current

    def set_field(self, name: str, value: int) -> None:
        """Write a 64-bit field of the context."""
        self.words[CONTEXT[name] // 8] = value & (2**64 - 1)

    def field(self, name: str) -> int:
        return int(self.words[CONTEXT[name] // 8])

    def _fill_context(self) -> None:
        memory, machine = self.machine.memory, self.machine
        self._tables = [
            np.array([a.address for a in memory.allocations], np.uint64),
            np.array([a.size for a in memory.allocations], np.uint64),
            np.array([KINDS[a.kind] | READ_ONLY * a.read_only for a in memory.allocations], np.uint32),
            np.zeros((sites_of(self.program) + 1, 2), np.uint64),
            np.array(impatience(self.program), np.int64),
        ]
        for name, table in zip(("starts", "sizes", "kinds", "caches", "impatience"), self._tables):
            self.set_field(name, table.ctypes.data)
        self.set_field("allocations", len(memory.allocations))
        self.set_field("arena", memory.bytes.ctypes.data - ARENA)
        if machine.stream is not None:
            stream = machine.stream
            self._flush = ctypes.CFUNCTYPE(None)(self._flush_stream)
            self.set_field("records", stream.records.ctypes.data)
            self.set_field("capacity", len(stream.records))
            self.set_field("flush", ctypes.cast(self._flush, ctypes.c_void_p).value or 0)

    def _flush_stream(self) -> None:
        stream = self.machine.stream
        try:
            stream.count = self.field("recorded")
            stream.flush()
        except BaseException as error:
            self._error = self._error or error
        stream.count = 0
        self.set_field("recorded", 0)

    def _want_masked(self) -> None:
        """Called from native code, on the first divergence. Without a kernel native code leaves the block as a whole."""
        self.context[CONTEXT["site"] : CONTEXT["site"] + 4].view("<u4")[0] = NOWHERE
        try:
            self._have(False)
        except BaseException as error:
            self._error = self._error or error

    def refusal(self) -> str | None:
        """Why there is no native code for the warps that the launch begins with, or None; compiles it."""
        x, y, z = self.machine.block
        full = x * y * z >= LANES
        return None if self._have(full, tell=False) else self._refused[full]

    def _have(self, full: bool, tell: bool = True) -> bool:
        """Make sure of the code for whole warps, or for parts of warps; False if it cannot be had."""
        if full not in self._kernels and full not in self._refused:
            try:
                self._compile(full)
            except Refused as error:
                self._refused[full] = str(error)
                if tell:
                    why = f"the interpreter runs parts of this, which takes longer: {self._refused[full]}"
                    warnings.warn(why, RuntimeWarning, stacklevel=2)
        return full in self._kernels

    def _compile(self, full: bool) -> None:
        machine = self.machine
        events, proxies = machine.stream is not None, machine.stream is not None and machine.stream.proxies
        options = Options(full, events, self.keep, str(machine.target), machine.numerics, proxies)
        self._kernels[full], self._slow_path[full] = self.library.kernel(self.program, self.places, options)
        self.set_field("full" if full else "masked", self._kernels[full])

    # ---- the interface of engines ----

    def prepare(self, warp: Warp) -> None:
        """Give a new warp its registers."""
        block = aligned(self.places.stride)
        warp.registers = registers = self.registers(block)
        header, cta = registers.header, warp.cta
        # Events name shared memory by its CTA in the cluster, which native code does not.
        alone = self.machine.stream is None or len(cta.cluster.ctas) == 1
        header["shared"] = cta.shared.ctypes.data
        header["shared_start"] = self.machine.shared_start
        header["shared_span"] = max(0, cta.shared_bytes - self.machine.shared_start) if alone else 0
        if self.program.local_bytes:
            warp.local = np.zeros((LANES, self.machine.local_bytes), np.uint8)
            header["local"], header["local_bytes"] = warp.local.ctypes.data, warp.local.shape[1]
        header["cta"], header["index"] = cta.linear, warp.index
        for name, at in self.places.specials.items():
            value = special_value(name, warp, self.machine)
            if value.dtype == bool:
                block[at : at + 4] = np.packbits(value, bitorder="little")
            else:
                data = np.ascontiguousarray(value).view(np.uint8)
                block[at : at + len(data)] = data

    def registers(self, block: np.ndarray) -> Registers:
        """A view of the registers in a warp's block."""
        return Registers(block, self.places, self.program)

    def cta_runner(self) -> Alone:
        """What runs whole CTAs natively."""
        from ptxsim.engine.compiled.run.cta_runner import Alone

        return Alone(self)

    def read_register(self, warp: Warp, slot: int):
        """The raw bits of a register: unsigned words, bool for predicates, a list of two for 128 bits."""
        return warp.registers[slot]

    def write_register(self, warp: Warp, slot: int, value) -> None:
        warp.registers[slot] = value

    def run(self, warp: Warp, turns: int) -> bool:
        """Execute up to `turns` blocks of a warp; True if anything was executed."""
        port = Port(self.machine, warp)
        left = turns
        while left:
            split = choose(warp, self.program)
            if split is None:
                return left < turns
            flying = warp.in_flight and not self.keeps_rules
            touched = flying and self._touches(split.block, warp.in_flight)
            full = mask_word(split.mask) == EVERY
            if split.op == 0 and not touched and self._have(full):
                alone = len(warp.splits) == 1 and not flying
                left -= self._native(warp, split, left if alone else 1, port)
                continue
            if split.op == 0:
                self._count(split, IN_FLIGHT if touched else self._refused[full])
            self._interpret(warp, split, port)
            left -= 1
        return True

    def _touches(self, block: int, slots) -> bool:
        found = self._touched.get(block)
        if found is None:
            ops = self.program.blocks[block]
            found = self._touched[block] = {s for op in ops for s in slots_of([*op.sources, *op.destinations])}
        return not found.isdisjoint(slots)

    # ---- into native code and back ----

    def _native(self, warp: Warp, split: Split, turns: int, port: Port) -> int:
        """Run a split for up to `turns` blocks; returns how many turns it took."""
        header, machine = warp.registers.header, self.machine
        word = mask_word(split.mask)
        header["block"], header["mask"], header["left"], header["live"] = split.block, word, turns, mask_word(warp.live)
        header["fence"] = abi.ALONE
        if self.program.local_bytes:
            header["stack"] = warp.stack
        status = self._enter(warp.registers.block.ctypes.data)
        split.block, split.op = int(header["block"]), 0
        used = turns - int(header["left"])
        if status in (abi.BAIL, abi.BARRIER):
            used += 1
            self.go_on(warp, split, port, status == abi.BARRIER)
            return used
        if status == abi.NEXT:
            control.merge(warp, split)
            return used
        # The split still stands at the branch, not at the start of its block.
        split.op = len(self.program.blocks[split.block]) - 1
        if status == abi.DIVERGE:
            control.go(warp, split, word_mask(int(header["taken"])), int(header["target"]))
        else:
            op = self.program.blocks[split.block][split.op]
            control.leave(warp, split, word_mask(int(header["taken"])), machine, op.site)
        return used

    def go_on(self, warp: Warp, split: Split, port: Port | None = None, is_barrier: bool = False) -> None:
        """The interpreter executes the rest of the block, from the instruction on where native code took the slow path."""
        site = int(self.context[CONTEXT["site"] : CONTEXT["site"] + 4].view("<u4")[0])
        if site != NOWHERE:
            split.block, split.op = places_of(self.program)[site]
            self.machine.warp_instructions += split.op
        if site == NOWHERE:
            self._count(split, self._refused.get(False, UNUSUAL))
        elif not is_barrier and site not in self._slow_path[mask_word(split.mask) == EVERY]:
            self._count(split, UNUSUAL)
        self._interpret(warp, split, port or Port(self.machine, warp), entered=site != NOWHERE)

    def _interpret(self, warp: Warp, split: Split, port: Port, entered: bool = False) -> None:
        """The interpreter executes the rest of a block. Those of its operations that are not native are counted."""
        block, start, end = self.program.blocks[split.block], split.op, None
        slow_path = self._slow_path[mask_word(split.mask) == EVERY]
        try:
            self.interpreter._block(warp, split, port, entered)
            if split.wait is not None:  # on the way
                end = split.op
        except BaseException:
            end = split.op + 1
            raise
        finally:
            for op in block[start:end]:
                if op.site in slow_path:
                    self.machine.slow_path[op.site, slow_path[op.site]] += 1

    def _count(self, split: Split, why: str) -> None:
        """Count that the operation where a split stands takes the slow path."""
        for op in self.program.blocks[split.block][split.op :][:1]:
            self.machine.slow_path[op.site, why] += 1

    def enter_cta(self) -> int:
        """Run the CTA that the context describes; schedule.ENDED and so on."""
        self._have(True)
        self._go_in()
        self.set_field("steps", self.machine.steps)
        with self._guarded():
            status = self.library.run_cta(self._place)
        self.machine.steps = self.field("steps")
        self._come_back()
        return status

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """A crash meanwhile is this kernel's."""
        self.library.crash.enter(self.program.name, self._mark)
        try:
            yield
        finally:
            self.library.crash.leave()

    @cached_property
    def _mark(self) -> Path | None:
        return self.library.mark(self.program)

    def _go_in(self) -> None:
        self.set_field("count", self.machine.warp_instructions)
        if self.machine.stream is not None:
            self.set_field("recorded", self.machine.stream.count)

    def _enter(self, block: int) -> int:
        self._go_in()
        with self._guarded():
            status = self.library.enter(self._place, block)
        self._come_back()
        return status

    def _come_back(self) -> None:
        """Take over the counters that native code has moved; raise what a callback could not."""
        machine, stream = self.machine, self.machine.stream
        machine.warp_instructions = self.field("count")
        if stream is not None:
            stream.count = self.field("recorded")
        if self._error is not None:
            error, self._error = self._error, None
            raise error


@fact
def sites_of(program: Program) -> int:
    """How many operations a program has."""
    return len(program.ops)


@fact
def places_of(program: Program) -> dict[int, tuple[int, int]]:
    """Block, and index in it, of every operation by its site."""
    return {op.site: (b, i) for b, block in enumerate(program.blocks) for i, op in enumerate(block)}

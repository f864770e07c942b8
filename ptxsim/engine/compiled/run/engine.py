"""The compiled engine, with the same interface as the interpreter: native code for blocks, the interpreter for the rest.

Registers live in native memory; `warp.registers` is a list-like view of it. What takes the slow path the interpreter executes on the
same records and registers, so it is the same in both engines by construction: an operation without a native lowering is a call from
native code, which goes on after it; after a fault, or where lanes must wait for what only Python knows, native code leaves, and the
interpreter finishes the block. `machine.slow_path` counts the former, and the latter once, at the operation that leaves.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import numpy as np

from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.compiled.library import Library, library
from ptxsim.engine.compiled.run.context import NativeContext, Test
from ptxsim.engine.compiled.run.cta_runner import WholeCtas
from ptxsim.engine.compiled.runtime.abi import FINISHED, NOWHERE, WATCHED
from ptxsim.engine.compiled.runtime.scheduler import LEFT, MOVED
from ptxsim.engine.interpreter import Interpreter
from ptxsim.engine.program.call_paths import calls_of
from ptxsim.engine.program.operation import Op, Program, fact, families
from ptxsim.engine.splits import NONE
from ptxsim.isa.facts import Mechanism
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.copies.lane_copies import ROOM, make_room
from ptxsim.machine.cta import Register, Warp
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.port import Port
from ptxsim.machine.records import CONVERGES
from ptxsim.machine.special import value as special_value
from ptxsim.machine.state import Machine

# Why operations that are native take the slow path.
UNUSUAL, IN_FLIGHT = "a fault or a case that native code leaves", "registers of a product in flight"


class CompiledEngine:
    """Executes warps of one program on one machine. `keep` writes back registers that no instruction reads
    again, so that they can be looked at after the run; `jobs` threads run CTAs where that cannot show (None: as many as there are
    cores, where it pays); `native` is the library of another CPU than this one's (for tests); `test`: the interpreter may begin
    a long program (Library.patience), and native code is tested before it is needed."""

    name = "compiled"

    def __init__(
        self, program: Program, machine: Machine, *, keep: bool = False, jobs: int | None = 1, native: Library | None = None,
        test: Test | None = None,
    ):  # fmt: skip
        self.program, self.machine, self.jobs = program, machine, jobs
        self.interpreter = Interpreter(program, machine)
        self.native = NativeContext(program, machine, native or library(), keep, test)
        self.warp_bytes = self.native.layout.stride
        self._touched: dict[int, set[int]] = {}
        # The warp that runs in native code; None where Python must not run it.
        self.who: Callable[[], Warp | None] = lambda: None
        self.native.record.python = self.native.callbacks.address(
            self._execute, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32
        )
        if self.native.keeps_rules:
            from ptxsim.engine.compiled.run.products import NativeProducts

            # The context points into it, and the machine's may become another engine's.
            self._products = machine.native_product = NativeProducts(self.native)
            self.native.prepares = lambda product: self._products.prepare(product) is not None

        if "tensor_product" in families(program):
            from ptxsim.engine.compiled.run.tensor_products import NativeTensorProducts

            machine.native_tensor_product = NativeTensorProducts(self.native.library, machine)

    def refusal(self) -> str | None:
        """Why there is no native code for the warps that the launch begins with, or None; compiles it."""
        reason = self.native.refusal()
        if reason is not None:
            self.machine.native_product = self.machine.native_tensor_product = None  # another engine runs
        return reason

    @property
    def current(self) -> Op | None:
        """What executes now, for faults."""
        return self.interpreter.current

    # ---- the interface of engines ----

    def prepare(self, warp: Warp) -> None:
        """Give a new warp its registers."""
        memory, record, cta = warp.memory, warp.record, warp.cta
        warp.registers = self.native.registers(memory)
        warp.calls = calls_of(self.program)
        record.shared, record.named = cta.shared.ctypes.data, cta.rank << RANK_SHIFT
        record.cluster, record.ctas = record.shared - record.named, cta.cluster.size
        record.shared_start = self.machine.shared_start
        record.shared_span = max(0, cta.shared_bytes - self.machine.shared_start)
        if "cp_async" in families(self.program):
            warp.copies = make_room(record.copies, ROOM, self.machine.memory)
        if self.program.local_bytes:
            warp.local = np.zeros((LANES, self.machine.local_bytes), np.uint8)
            record.local, record.local_bytes = warp.local.ctypes.data, warp.local.shape[1]
        for name, at in self.native.layout.specials.items():
            value = special_value(name, warp, self.machine)
            if value.dtype == bool:
                memory[at : at + 4] = np.packbits(value, bitorder="little")
            else:
                data = np.ascontiguousarray(value).view(np.uint8)
                memory[at : at + len(data)] = data

    def listening(self) -> AbstractContextManager[None]:
        """A launch runs within."""
        return self.native.listening()

    def mix(self) -> None:
        """From now on turns have lengths by chance."""
        self.native.mix()

    def cta_runner(self, alone: bool = True) -> WholeCtas:
        """What runs whole CTAs natively; `alone`: not in one of several threads."""
        return WholeCtas(self, alone)

    def on_another_machine(self, machine: Machine) -> WholeCtas:
        """What runs whole CTAs of the same program, for a thread."""
        other = CompiledEngine(self.program, machine, native=self.native.library)
        other.native.whole = self.native.whole
        return other.cta_runner(alone=False)

    def read_register(self, warp: Warp, slot: int) -> Register:
        """The raw bits of a register: unsigned words, bool for predicates, a list of two for 128 bits."""
        raw: Register = warp.registers[slot]
        return raw

    def write_register(self, warp: Warp, slot: int, value: Register) -> None:
        warp.registers[slot] = value

    def run(self, warp: Warp, turns: int) -> bool:
        """Execute up to `turns` blocks of a warp; True if anything was executed."""
        warp.record.left = turns
        self._finish_turn(warp, Port(self.machine, warp))
        return warp.record.left < turns

    def resume(self, warp: Warp) -> None:
        """Finish the turn of a warp that native code has left in the middle."""
        port = Port(self.machine, warp)
        self._slow_path(warp, port)
        self._finish_turn(warp, port)

    def _finish_turn(self, warp: Warp, port: Port) -> None:
        record = warp.record
        warp.stays = False
        while record.left > 0:
            if not (warp.in_flight or warp.waits or warp.converges or self.native.puts_off):
                if self._enter("turn", warp) != LEFT:
                    return
            else:  # Python looks at waits and at registers in flight before each block, or gives the turns
                record.chosen = self.interpreter.choose(warp)
                if record.chosen == NONE:
                    return
                if not self._one_block(warp, record.chosen):
                    continue
            self._slow_path(warp, port)

    def _one_block(self, warp: Warp, s: int) -> bool:
        """Execute a block of a split; True if the interpreter has to finish it."""
        record, split = warp.record, warp.record.split[s]
        if self.native.leaves(split.mask == EVERY, split.block) or (
            warp.in_flight and self._touches(split.block, warp.in_flight)
        ):
            self.native.record.site = NOWHERE
            return True
        if (
            not warp.in_flight
            and record.splits > 1
            and all(each.wait == CONVERGES for place, each in enumerate(warp.splits) if place != s)
        ):
            status = self._enter("stay", warp)
            warp.stays = status == MOVED
            return status == LEFT
        left, record.left, record.stop_before = record.left, 1, 0
        status = self._enter("execute", warp)
        record.left += left - 1
        return status == LEFT

    def _touches(self, block: int, slots: Iterable[int]) -> bool:
        found = self._touched.get(block)
        if found is None:
            ops = self.program.blocks[block]
            found = self._touched[block] = {s for op in ops for s in slots_of([*op.sources, *op.destinations])}
        return not found.isdisjoint(slots)

    # ---- into native code and back ----

    def _slow_path(self, warp: Warp, port: Port) -> None:
        """The interpreter executes the rest of the block, from the instruction on where native code took the slow path."""
        record, machine, site = warp.record, self.machine, self.native.record.site
        if site == WATCHED:
            return
        split = record.split[record.chosen]
        full = split.mask == EVERY
        known = self.native.slow_path[full]
        if site != NOWHERE:
            split.block, split.op = places_of(self.program)[site]
            machine.warp_instructions += split.op
            if not (self.native.has_waited and _is_of_products(self.program.ops[site])):
                machine.slow_path[site, UNUSUAL] += 1
        block, start, before = self.program.blocks[split.block], split.op, machine.warp_instructions
        if site == NOWHERE and start == 0 and block and not self.native.waits:
            in_flight = self._touches(split.block, warp.in_flight)
            machine.slow_path[block[0].site, IN_FLIGHT if in_flight else self.native.refused.get(full, UNUSUAL)] += 1
        self.native.waits = False
        try:
            self.interpreter.execute(warp, record.chosen, port, entered=site != NOWHERE)
        finally:
            for op in block[start : start + machine.warp_instructions - before]:
                if op.site in known:
                    machine.slow_path[op.site, known[op.site]] += 1
        record.left -= 1

    def _execute(self, _: int, site: int) -> bool:
        """Called from native code: the interpreter executes an operation, and what follows in its block where native code cannot.
        True: native code goes on after it."""
        native, machine = self.native, self.machine
        native.record.site = site
        warp = self.who()
        if warp is None:
            return False
        split = warp.record.split[warp.record.chosen]
        machine.slow_path[site, native.slow_path[split.mask == EVERY][site]] += 1
        split.block, split.op = places_of(self.program)[site]
        with native.in_python(split.op):
            port = Port(machine, warp)
            goes_on = self.interpreter.execute(warp, warp.record.chosen, port, entered=True, one=True)
        if goes_on:
            native.record.count -= split.op + 1  # native code counts blocks
            split.op = 0
        elif warp.waits or warp.converges or warp.in_flight or warp.cta.is_multiplying:
            native.record.site, warp.record.left = WATCHED, warp.record.left - 1
        else:
            native.record.site = FINISHED
        return goes_on

    def _enter(self, function: str, warp: Warp) -> int:
        """Call the native scheduler for a warp."""
        self.who = lambda: warp
        self.native.record.cta = warp.cta.record.address
        return self.native.enter(function, warp.record.address)


@fact
def places_of(program: Program) -> dict[int, tuple[int, int]]:
    """Block, and index in it, of every operation by its site."""
    return {op.site: (b, i) for b, block in enumerate(program.blocks) for i, op in enumerate(block)}


def _is_of_products(op: Op) -> bool:
    """Whether an instruction is of products of a warpgroup: where a CTA has begun in the interpreter since there was no code yet, all of them
    are left to it until the CTA ends."""
    meeting = op.synchronises
    return Mechanism.PRODUCT_GROUP in (op.completes_by, meeting.mechanism if meeting else None)

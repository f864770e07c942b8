"""The interpreter: one warp at a time, numpy lanes, no compilation. The oracle for the compiled engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine import control, convergence, splits
from ptxsim.engine.access import read, write, zero
from ptxsim.engine.analysis.forward_progress import impatience
from ptxsim.engine.analysis.fragment_flow import can_mix
from ptxsim.engine.analysis.liveness import product_slots
from ptxsim.engine.analysis.product_hazards import copied_into
from ptxsim.engine.program.call_paths import calls_of
from ptxsim.engine.program.operation import Op, Program, sites_of
from ptxsim.lanes import lanes_of, mask_word
from ptxsim.machine.barriers.mbarrier_state import wait_for
from ptxsim.machine.cta import Register, Warp
from ptxsim.machine.event import Event
from ptxsim.machine.fault import KEEP, AtBarrier, AtMBarriers, Converge, Fault, Wait
from ptxsim.machine.port import Port
from ptxsim.machine.records import Split, WarpRecord
from ptxsim.machine.state import Machine

Outcome = Wait | Converge | AtBarrier | AtMBarriers  # what an operation may return in place of results


class NotModeled(Exception):
    """The kernel reached an instruction that has no effect here."""

    def __init__(self, op: Op):
        super().__init__(op.opcode)
        self.op = op


class Watch(Protocol):
    """Sees every operation; `before` is called again where the operation waits for lanes and is repeated."""

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None: ...

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None: ...


class Interpreter:
    """Executes warps of one program on one machine; an `engine.turns.Engine`. `watch` sees every operation."""

    name = "interpreter"
    warp_bytes = WarpRecord.dtype.itemsize

    def __init__(self, program: Program, machine: Machine, watch: Watch | None = None):
        self.program, self.machine = program, machine
        self.current: Op | None = None  # what executes now, for faults
        self.watch = watch
        machine.strayed = np.full(sites_of(program), machine.checks == "none", np.uint8)
        machine.op_at = lambda site: program.ops[site]  # read when asked: a remembered program has no operations yet
        machine.can_mix = partial(can_mix, program)
        machine.copied_into = copied_into(program)
        machine.product_slots = product_slots(program).union(*machine.copied_into.values())

    def prepare(self, warp: Warp) -> None:
        """Give a new warp its registers."""
        warp.registers = [zero(t) for t in self.program.slots]
        warp.calls = calls_of(self.program)

    def read_register(self, warp: Warp, slot: int) -> Register:
        """The raw bits of a register: unsigned words, bool for predicates, a list of two for 128 bits."""
        raw: Register = warp.registers[slot]
        return raw

    def write_register(self, warp: Warp, slot: int, value: Register) -> None:
        warp.registers[slot] = value

    def listening(self) -> AbstractContextManager[None]:
        """A launch runs within."""
        return nullcontext()

    def mix(self) -> None:
        """Turns are given by engine.turns, which asks the machine."""

    def cta_runner(self) -> None:
        """The interpreter runs warp by warp."""

    def run(self, warp: Warp, turns: int) -> bool:
        """Execute up to `turns` blocks of a warp; True if anything was executed."""
        port = Port(self.machine, warp)
        for turn in range(turns):
            s = self.choose(warp)
            if s == splits.NONE:
                return turn > 0
            self.execute(warp, s, port)
        return True

    def choose(self, warp: Warp) -> int:
        """The split of a warp to run next. Raises Fault where lanes wait for others that have gone past them."""
        convergence.settle(warp, self.program, self.machine)
        found = convergence.passed(warp, self.program) if warp.converges else None
        if found is not None:
            self.current, fault = found
            raise fault
        return splits.choose(warp.record, impatience(self.program))

    def execute(self, warp: Warp, s: int, port: Port, entered: bool = False, one: bool = False) -> bool:
        """Execute the rest of a split's block; `entered`: that it runs has already been recorded.

        `one`: no more than its next operation, and True, where that is not the last, all lanes go on, and no product owns registers.
        """
        split, machine = warp.record.split[s], self.machine
        block, lanes = self.program.blocks[split.block], lanes_of(split.mask)
        if machine.stream is not None and split.op == 0 and block and not entered:
            machine.stream.emit(block[0].site, warp.cta.linear, warp.index, Event.EXECUTE, mask=split.mask)
        first, everyone = split.op, lanes
        for number in range(first, len(block)):
            if one and number > first and lanes is everyone and not warp.in_flight:
                return True
            op = self.current = block[number]
            machine.warp_instructions += 1
            mask = lanes
            if op.guard is not None:
                slot, negated = op.guard
                predicate = warp.registers[slot]
                mask = mask & ~predicate if negated else mask & predicate
            if op.control is not None:
                split.op = number
                if self.watch is not None:
                    self.watch.before(op, warp, mask)
                control.execute(op, warp, s, mask, self.program, machine)
                if self.watch is not None:
                    self.watch.after(op, warp, mask)
                return False
            if not mask.any():
                continue
            if self.watch is not None:
                self.watch.before(op, warp, mask)
            outcome = self._execute(op, warp, lanes, mask, port)
            if self.watch is not None and not isinstance(outcome, Converge):
                self.watch.after(op, warp, mask)
            if outcome is None:
                continue
            split.op = number
            rest = lanes & ~mask
            if rest.any() and not isinstance(outcome, AtMBarriers):
                # The lanes that the guard lets through wait here; the others continue.
                if isinstance(outcome, Converge):
                    convergence.refuse_guarded(op, split, outcome, rest, self.program)
                    machine.warp_instructions += 1
                waiting = splits.add(warp.record, s, mask_word(mask))
                self._suspend(op, warp, warp.record.split[waiting], mask, outcome)
                lanes = rest
                continue
            self._suspend(op, warp, split, mask, outcome)
            return False
        control.fall_through(warp.record, s)
        return False

    def _suspend(self, op: Op, warp: Warp, split: Split, mask: np.ndarray, outcome: Outcome) -> None:
        """Let a split wait; where it waits for lanes, it executes the operation again."""
        if isinstance(outcome, Converge):
            self.machine.warp_instructions -= 1
        else:
            split.op += 1
        if isinstance(outcome, AtBarrier):
            splits.wait_at(split, outcome.number, outcome.phase, op.site)
            split.lanes = mask_word(mask)
            return
        if isinstance(outcome, AtMBarriers):
            for report in op.destinations[1:]:
                write(report, np.uint32(0), warp, mask, bool(mask.all()))
            wait_for(warp.record, split, outcome.lanes, op.site, self.machine.steps)
            return
        if isinstance(outcome, Wait) and outcome.result is not None:
            outcome.result = _deliver(op, warp, mask, outcome.result)
        warp.wait(split, outcome)

    def _execute(self, op: Op, warp: Warp, lanes: np.ndarray, mask: np.ndarray, port: Port) -> Outcome | None:
        effect = op.definition.effect
        if effect is None:
            raise NotModeled(op)
        if op.aligned and not mask.all():
            waiting = convergence.aligned(op, warp, lanes, mask)
            if waiting is not None:
                return waiting
        if warp.in_flight:
            control.check_in_flight(op, warp, port, self.program)
        values = [read(source, warp, self.machine) for source in op.sources]
        if op.definition.uses_machine:
            port.mask, port.site = mask, op.site
            port.line, port.column, port.length = op.line, op.column, op.length
            port.op = op
            result = effect(port, *values, **op.wants)
            if isinstance(result, Outcome):
                return result
        else:
            result = effect(*values, **op.wants)
            if self.machine.stream is not None and op.facts.detour is not None:
                port.mask, port.site = mask, op.site
                port.emit(Event.DETOUR, addresses=np.asarray(op.facts.detour(*values), np.uint64))
        _store(op, result, warp, mask)
        return None


def _store(op: Op, result: Any, warp: Warp, mask: np.ndarray) -> None:
    destinations = op.destinations
    if not destinations or result is KEEP:
        return
    full = bool(mask.all())
    if len(destinations) == 1:
        write(destinations[0], result, warp, mask, full)
    else:
        for destination, value in zip(destinations, result):
            write(destination, value, warp, mask, full)


def _deliver(op: Op, warp: Warp, mask: np.ndarray, result: Callable[[], object]) -> Callable[[], None]:
    def deliver() -> None:
        _store(op, result(), warp, mask)

    return deliver


def fault_finding(fault: Fault, op: Op, warp: Warp) -> Finding:
    """The finding of a fault: where in the text, which CTA, warp and lane."""
    return Finding(
        fault.name,
        fault.message,
        help=fault.help,
        cta=warp.cta.index,
        warp=warp.index,
        lane=fault.lane,
        case=fault.case,
    ).at(op)

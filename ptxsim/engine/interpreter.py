"""The interpreter: one warp at a time, numpy lanes, no compilation. The oracle for the compiled engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine import control
from ptxsim.engine.access import read, write, zero
from ptxsim.engine.analysis.forward_progress import LESS, PATIENCE, RENEWED, impatience
from ptxsim.engine.analysis.fragment_flow import can_mix
from ptxsim.engine.analysis.liveness import product_slots
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import mask_word
from ptxsim.machine.cta import Register, Split, Warp
from ptxsim.machine.event import Event
from ptxsim.machine.fault import KEEP, Converge, Fault, Wait
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine


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
    """Executes warps of one program on one machine; an `engine.grid.Engine`. `watch` sees every operation."""

    name = "interpreter"

    def __init__(self, program: Program, machine: Machine, watch: Watch | None = None):
        self.program, self.machine = program, machine
        self.current: Op | None = None  # what executes now, for faults
        self.watch = watch
        machine.can_mix = partial(can_mix, program)
        machine.product_slots = product_slots(program)

    def prepare(self, warp: Warp) -> None:
        """Give a new warp its registers."""
        warp.registers = [zero(t) for t in self.program.slots]

    def read_register(self, warp: Warp, slot: int) -> Register:
        """The raw bits of a register: unsigned words, bool for predicates, a list of two for 128 bits."""
        raw: Register = warp.registers[slot]
        return raw

    def write_register(self, warp: Warp, slot: int, value: Register) -> None:
        warp.registers[slot] = value

    def cta_runner(self) -> None:
        """The interpreter runs warp by warp."""

    def run(self, warp: Warp, turns: int) -> bool:
        """Execute up to `turns` blocks of a warp; True if anything was executed."""
        port = Port(self.machine, warp)
        for turn in range(turns):
            split = choose(warp, self.program)
            if split is None:
                return turn > 0
            self._block(warp, split, port)
        return True

    def _block(self, warp: Warp, split: Split, port: Port, entered: bool = False) -> None:
        """Execute the rest of a split's block; `entered`: that it runs has already been recorded."""
        block = self.program.blocks[split.block]
        machine = self.machine
        if machine.stream is not None and split.op == 0 and block and not entered:
            machine.stream.emit(block[0].site, warp.cta.linear, warp.index, Event.EXECUTE, mask=mask_word(split.mask))
        while split.op < len(block):
            op = self.current = block[split.op]
            machine.warp_instructions += 1
            mask = split.mask
            if op.guard is not None:
                slot, negated = op.guard
                predicate = warp.registers[slot]
                mask = mask & ~predicate if negated else mask & predicate
            if op.control is not None:
                control.execute(op, warp, split, mask, self.program, machine)
                return
            if not mask.any():
                split.op += 1
                continue
            if self.watch is not None:
                self.watch.before(op, warp, mask)
            outcome = self._execute(op, warp, split, mask, port)
            if self.watch is not None and not isinstance(outcome, Converge):
                self.watch.after(op, warp, mask)
            if isinstance(outcome, Wait | Converge):
                behind_guard = split.mask & ~mask
                if isinstance(outcome, Converge) and behind_guard.any():
                    # The lanes that the guard lets through wait here for the others, which continue.
                    warp.splits.append(Split(split.block, mask, split.op, outcome, split.frames, split.steps))
                    split.mask = behind_guard
                    split.op += 1
                    continue
                split.wait = outcome
                if isinstance(outcome, Wait):
                    split.op += 1
                    if outcome.result is not None:
                        outcome.result = _deliver(op, warp, mask, outcome.result)
                else:
                    machine.warp_instructions -= 1
                return
            split.op += 1
        split.block, split.op = split.block + 1, 0
        control.merge(warp, split)

    def _execute(self, op: Op, warp: Warp, split: Split, mask: np.ndarray, port: Port) -> Wait | Converge | None:
        effect = op.definition.effect
        if effect is None:
            raise NotModeled(op)
        if op.aligned and not mask.all():
            waiting = control.aligned(op, warp, split, mask)
            if waiting is not None:
                return waiting
        if warp.in_flight:
            control.check_in_flight(op, warp, port, self.program)
        values = [read(source, warp, self.machine) for source in op.sources]
        if op.definition.uses_machine:
            port.mask, port.site = mask, op.site
            port.line, port.column, port.length = op.line, op.column, len(op.opcode)
            port.op = op
            result = effect(port, *values, **op.wants)
            if isinstance(result, Wait | Converge):
                return result
        else:
            result = effect(*values, **op.wants)
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


def choose(warp: Warp, program: Program) -> Split | None:
    """The split to run next: deepest call and smallest block first, so that lanes meet where the program joins.

    When the others have lost patience (engine.analysis.forward_progress), the one that has not run for the longest time.
    """
    runnable = []
    for split in warp.splits:
        wait = split.wait
        if wait is not None:
            if isinstance(wait, Converge):
                if not control.converged(warp, split, wait):
                    continue
            elif wait.ready():
                if wait.result is not None:
                    wait.result()
            else:
                continue
            split.wait = None
        runnable.append(split)
    if not runnable:
        return None
    if len(warp.splits) == 1:
        warp.spent = 0
    if len(runnable) == 1:
        return runnable[0]
    most = PATIENCE - warp.lost
    if warp.spent < most:
        split = min(runnable, key=lambda s: (-len(s.frames), s.block, s.op))
        warp.spent += impatience(program)[split.block]
    else:
        split = min(runnable, key=lambda s: s.steps)
        most = max(most - most // LESS, RENEWED)
        warp.spent, warp.lost = most - RENEWED, PATIENCE - most
    warp.turns += 1
    split.steps = warp.turns
    return split


def fault_finding(fault: Fault, op: Op, warp: Warp) -> Finding:
    """The finding of a fault: where in the text, which CTA, warp and lane."""
    return Finding(
        fault.name, fault.message, op.line, op.column, len(op.opcode), help=fault.help,
        cta=warp.cta.index, warp=warp.index, lane=fault.lane,
    )  # fmt: skip

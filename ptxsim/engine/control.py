"""Branches, calls, returns; splitting and merging of warps; registers that products in flight own."""

from __future__ import annotations

import numpy as np

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Label, beside
from ptxsim.engine import splits
from ptxsim.engine.access import read
from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.analysis.short_waits import short_wait
from ptxsim.engine.builtin import BUILTINS
from ptxsim.engine.call_arguments import fetch, mixed, place
from ptxsim.engine.decoding.linkage import ONE_FILE
from ptxsim.engine.program.call_paths import call_paths
from ptxsim.engine.program.operation import FunctionCode, Op, Program
from ptxsim.isa.facts import WAIT_FOR_ALL, WAITS, Control, Mechanism, Role, Synchronisation
from ptxsim.lanes import mask_word
from ptxsim.machine.async_product import complete_owners
from ptxsim.machine.cta import Frame, Warp
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Fault, distinct, first_lane
from ptxsim.machine.port import Port
from ptxsim.machine.records import WarpRecord
from ptxsim.machine.state import Machine

PRODUCT_WAIT = Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)


def execute(op: Op, warp: Warp, s: int, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """Carry out a control operation for the lanes of `mask`; the other lanes of split s fall through."""
    match op.control:
        case Control.BRANCH:
            after = warp.record.split[s].block + 1
            splits.diverge(warp.record, s, mask_word(mask), op.targets[0], after)
        case Control.TABLE:
            branch_table(op, warp, s, mask, machine)
        case Control.EXIT:
            leave(warp, s, mask, machine, op.site)
        case Control.RETURN:
            give_back(op, warp, s, mask, program, machine)
        case Control.CALL:
            call(op, warp, s, mask, program, machine)
        case other:
            raise AssertionError(other)


def fall_through(record: WarpRecord, s: int) -> None:
    """Split s goes on at the next block."""
    splits.move(record, s, record.split[s].block + 1)


def branch_table(op: Op, warp: Warp, s: int, mask: np.ndarray, machine: Machine) -> None:
    index = read(op.sources[0], warp, machine).astype(np.int64)
    bad = mask & (index >= len(op.targets))
    if bad.any():
        lane = first_lane(bad)
        raise Fault("out-of-bounds", f"branch index {int(index[lane])}; the table has {len(op.targets)} targets", lane)
    splits.scatter(warp.record, s, mask_word(mask), index.tolist(), op.targets, warp.record.split[s].block + 1)


def leave(warp: Warp, s: int, mask: np.ndarray, machine: Machine, site: int) -> None:
    """Lanes exit the kernel."""
    record = warp.record
    splits.leave(warp.cta.record, record, s, mask_word(mask), record.split[s].block + 1)
    if machine.stream is not None and mask.any():
        machine.stream.emit(site, warp.cta.linear, warp.index, Event.EXIT, mask=mask_word(mask))


# ---- calls ----


def call(op: Op, warp: Warp, s: int, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """Direct and indirect calls. Arguments are copied into the callee's formals lane by lane."""
    site, record = op.call, warp.record
    assert site is not None
    targets: list[tuple[str | int, np.ndarray]]
    if site.name is not None:
        targets = [(site.name, mask)] if mask.any() else []
    else:
        address = read(site.address, warp, machine)
        targets = [(a, mask & (address == a)) for a in distinct(address[mask])]
    rest, after = record.split[s].mask, record.split[s].block + 1
    for target, lanes in targets:
        enter(op, warp, splits.holding(record, rest), lanes, find(target, program, lanes), after, program, machine)
        rest &= ~mask_word(lanes)
    if rest:
        splits.move(record, splits.holding(record, rest), after)


def find(target: str | int, program: Program, lanes: np.ndarray) -> FunctionCode | str:
    if isinstance(target, str):
        return program.functions.get(target, target)
    for name, address in program.function_addresses.items():
        if address == target:
            return program.functions.get(name, name)
    raise Fault("out-of-bounds", f"call to {target:#x}, where no function is", first_lane(lanes))


def caller_of(op: Op, program: Program) -> FunctionCode:
    """The function whose code an operation belongs to."""
    site = op.call
    assert site is not None
    if site.caller is None:
        block = next(i for i, b in enumerate(program.blocks) if op in b)
        site.caller = max((f for f in program.functions.values() if f.entry <= block), key=lambda f: f.entry)
    return site.caller


def enter(
    op: Op, warp: Warp, s: int, lanes: np.ndarray, callee: FunctionCode | str, after: int, program: Program, machine: Machine
) -> None:  # fmt: skip
    """Lanes of a split enter a function, which gives back to block `after`; the others of it are nowhere until they are moved on."""
    site, record, split, word = op.call, warp.record, warp.record.split[s], mask_word(lanes)
    assert site is not None
    if isinstance(callee, str):
        if callee not in BUILTINS:
            why = f"{demangle(callee)} is called, which is declared .extern, and nothing in this file defines it"
            raise Fault("not-modeled", why, first_lane(lanes), ONE_FILE)
        BUILTINS[callee](site, warp, lanes, machine)
        splits.diverge(record, s, word, after, splits.NOWHERE)
        return
    caller, paths = caller_of(op, program), call_paths(program)
    number = paths.entered.get((split.call, op.site, callee.name)) if paths is not None else None
    if number is None and (paths is not None or (not program.is_recursive and _is_active(callee, warp, split.call))):
        why = f"{demangle(callee.name)} is called by an address that this kernel has got from outside"
        raise Fault("not-modeled", why, first_lane(lanes))
    arguments = [fetch(passed, warp, machine) for passed in site.arguments]
    # Registers are static per function: a recursive call saves the ones of the activation below.
    saved = {slot: warp.registers[slot] for slot in callee.slots} if program.is_recursive else {}
    pointer = warp.stack_pointer(program.local_bytes)
    warp.stack[lanes] += np.uint64(caller.frame)
    over = lanes & (warp.stack + np.uint64(callee.frame) > np.uint64(program.stack_bytes))
    if over.any() or split.depth > 512:
        raise Fault("stack-overflow", f"{demangle(callee.name)} is called too deeply for the stack", first_lane(lanes))
    for formal, value in zip(callee.parameters, arguments):
        place(formal, value, warp, lanes, machine)
    if number is None:
        number = warp.next_number()
        warp.calls[number] = Frame(number, after, warp.calls.get(split.call), callee, caller, site, saved, pointer)
    splits.change_call(record, s, word, number, split.depth + 1, callee.entry, splits.NOWHERE)


def _is_active(callee: FunctionCode, warp: Warp, call: int) -> bool:
    """Whether a function is among those that a call, or those that it was made from, have entered."""
    frame = warp.calls.get(call)
    while frame is not None:
        if frame.callee is callee:
            return True
        frame = frame.caller
    return False


def give_back(op: Op, warp: Warp, s: int, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """ret: back to the caller, or out of the kernel."""
    record, split = warp.record, warp.record.split[s]
    if not split.call:
        leave(warp, s, mask, machine, op.site)
        return
    if not mask.any():
        fall_through(record, s)
        return
    frame = warp.calls[split.call]
    values = [fetch(formal, warp, machine) for formal in frame.callee.returns]
    for slot, old in frame.saved.items():
        warp.registers[slot] = mixed(mask, old, warp.registers[slot])
    warp.stack[mask] -= np.uint64(frame.code.frame)
    if warp.allocated is not None and frame.pointer is not None:  # what the callee has allocated is free again
        warp.allocated = np.where(mask, frame.pointer, warp.allocated)
    for passed, value in zip(frame.site.returns, values):
        place(passed, value, warp, mask, machine)
    outer = 0 if frame.caller is None else frame.caller.number
    splits.change_call(record, s, mask_word(mask), outer, split.depth - 1, frame.return_block, split.block + 1)
    if call_paths(program) is None:
        warp.forget_calls(frame.caller)


# ---- registers of products in flight ----


def check_in_flight(op: Op, warp: Warp, port: Port, program: Program) -> None:
    """Whether an operation touches registers that the tensor core owns; the first touch of a product is reported.

    Results that are read where no wait follows lack a wait; every other touch is one too early. The values are those of the assembler's
    code: ptxas 13.0 puts a wait before the touch (C7517), or after each product of the kernel (C7510, C7514).
    """
    slot = next((slot for slot in touched(op) if slot in warp.in_flight), None)
    if slot is None or Mechanism.PRODUCT_GROUP in op.mechanisms:
        return
    line = warp.in_flight[slot]
    owner = next(o for o in program.ops if o.line == line and o.completes_by is Mechanism.PRODUCT_GROUP)
    waits = any(o.site > op.site and o.synchronises == PRODUCT_WAIT for o in program.ops)
    early = waits or slot in touched(op, sources=False)
    help, short = (
        f"wait first: {' and '.join(WAITS[Mechanism.PRODUCT_GROUP])} between the two",
        short_wait(program, owner),
    )
    if short is not None and (owner.site < short[0].site) + (short[0].site < op.site) > (owner.site < op.site):
        help = short[1]  # it stands between the two, in a loop perhaps around its end
    port.line, port.column, port.length = op.line, op.column, op.length
    port.report(
        "register-in-flight" if early else "missing-wait",
        f"{op.opcode} touches a register that {owner.name} of line {line} still owns",
        help=help,
        fixes=(beside(port, "before", WAIT_FOR_ALL[Mechanism.PRODUCT_GROUP]),),
        labels=(Label.at(owner, "the product"),),
    )
    complete_owners(port, touched(op))
    for owned in [owned for owned, owner_line in warp.in_flight.items() if owner_line == line]:
        del warp.in_flight[owned]


def touched(op: Op, sources: bool = True) -> list[int]:
    """Slots an operation reads or writes, or writes only."""
    return slots_of([*(op.sources if sources else ()), *op.destinations])

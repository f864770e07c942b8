"""Branches, calls, returns; splitting and merging of warps; what .aligned asks for."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.access import read
from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.builtin import BUILTINS
from ptxsim.engine.call_arguments import fetch, place
from ptxsim.engine.program.linkage import ONE_FILE
from ptxsim.engine.program.operation import FunctionCode, Op, Program
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.lanes import mask_word
from ptxsim.machine.cta import Frame, Split, Warp
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Converge, Fault, Wait, distinct, first_lane
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine

WGMMA_WAIT = Synchronisation(Mechanism.WGMMA_GROUP, Role.WAIT)


def execute(op: Op, warp: Warp, split: Split, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """Carry out a control operation for the lanes of `mask`; the split's other lanes fall through."""
    match op.control:
        case "bra":
            go(warp, split, mask, op.targets[0])
        case "brx.idx":
            branch_table(op, warp, split, mask, machine)
        case "exit":
            leave(warp, split, mask, machine, op.site)
        case "ret":
            give_back(op, warp, split, mask, program, machine)
        case "call":
            call(op, warp, split, mask, program, machine)
        case other:
            raise AssertionError(other)


def fall_through(warp: Warp, split: Split) -> None:
    split.block, split.op = split.block + 1, 0
    merge(warp, split)


def go(warp: Warp, split: Split, mask: np.ndarray, block: int, frames: tuple[Frame, ...] | None = None) -> None:
    """Move the lanes of `mask` to a block; the rest of the split continues after the branch."""
    frames = split.frames if frames is None else frames
    rest = split.mask & ~mask
    if not rest.any():
        split.block, split.op, split.frames = block, 0, frames
        merge(warp, split)
        return
    if mask.any():
        moved = Split(block, split.mask & mask, frames=frames, steps=split.steps)
        warp.splits.append(moved)
        split.mask = rest
        merge(warp, moved)
    fall_through(warp, split)


def merge(warp: Warp, split: Split) -> None:
    """Join splits that stand at the same block of the same call."""
    if len(warp.splits) == 1:
        return
    for other in warp.splits:
        if (
            other is not split
            and other.block == split.block
            and other.op == split.op
            and other.wait is None
            and split.wait is None
            and other.frames == split.frames
        ):
            split.mask = split.mask | other.mask
            split.steps = min(split.steps, other.steps)
            warp.splits.remove(other)
            return


def branch_table(op: Op, warp: Warp, split: Split, mask: np.ndarray, machine: Machine) -> None:
    index = read(op.sources[0], warp, machine).astype(np.int64)
    bad = mask & (index >= len(op.targets))
    if bad.any():
        lane = first_lane(bad)
        raise Fault("out-of-bounds", f"branch index {int(index[lane])}; the table has {len(op.targets)} targets", lane)
    wanted = distinct(index[mask])
    for number in wanted[:-1]:
        part = mask & (index == number)
        moved = Split(op.targets[number], part, frames=split.frames, steps=split.steps)
        warp.splits.append(moved)
        split.mask = split.mask & ~part
        merge(warp, moved)
    if len(wanted):
        go(warp, split, mask & (index == wanted[-1]), op.targets[wanted[-1]])
    else:
        fall_through(warp, split)


def leave(warp: Warp, split: Split, mask: np.ndarray, machine: Machine, site: int) -> None:
    """Lanes exit the kernel."""
    rest = split.mask & ~mask
    warp.exit(mask)
    if machine.stream is not None and mask.any():
        machine.stream.emit(site, warp.cta.linear, warp.index, Event.EXIT, mask=mask_word(mask))
    if rest.any():
        split.mask = rest
        fall_through(warp, split)
    else:
        warp.splits.remove(split)


# ---- calls ----


def call(op: Op, warp: Warp, split: Split, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """Direct and indirect calls. Arguments are copied into the callee's formals lane by lane."""
    site = op.call
    assert site is not None
    if not mask.any():
        fall_through(warp, split)
        return
    if site.name is not None:
        targets: list[tuple[str | int, np.ndarray]] = [(site.name, mask)]
    else:
        address = read(site.address, warp, machine)
        targets = [(a, mask & (address == a)) for a in distinct(address[mask])]
    caller = caller_of(op, program)
    for target, lanes in targets[:-1]:
        part = Split(split.block, lanes, split.op, frames=split.frames, steps=split.steps)
        warp.splits.append(part)
        split.mask = split.mask & ~lanes
        enter(op, warp, part, lanes, find(target, op, program, lanes), caller, program, machine)
    target, lanes = targets[-1]
    rest = split.mask & ~lanes
    if rest.any():
        part = Split(split.block, lanes, split.op, frames=split.frames, steps=split.steps)
        warp.splits.append(part)
        split.mask = rest
        enter(op, warp, part, lanes, find(target, op, program, lanes), caller, program, machine)
        fall_through(warp, split)
    else:
        enter(op, warp, split, lanes, find(target, op, program, lanes), caller, program, machine)


def find(target: str | int, op: Op, program: Program, lanes: np.ndarray) -> FunctionCode | str:
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
    op: Op,
    warp: Warp,
    split: Split,
    lanes: np.ndarray,
    callee: FunctionCode | str,
    caller: FunctionCode,
    program: Program,
    machine: Machine,
) -> None:
    site = op.call
    assert site is not None
    if isinstance(callee, str):
        if callee not in BUILTINS:
            why = f"{callee} is called, which is declared .extern, and nothing in this file defines it"
            raise Fault("not-modeled", why, first_lane(lanes), ONE_FILE)
        BUILTINS[callee](site, warp, lanes, machine)
        split.block, split.op = split.block + 1, 0
        merge(warp, split)
        return
    arguments = [fetch(passed, warp, machine) for passed in site.arguments]
    # Registers are static per function: a recursive call saves the ones of the activation below.
    saved = {slot: warp.registers[slot] for slot in callee.slots}
    pointer = warp.stack_pointer(program.local_bytes)
    frame = Frame(split.block + 1, [saved, pointer, callee, caller, site], callee.name)
    warp.stack = np.where(lanes, warp.stack + np.uint64(caller.frame), warp.stack)
    over = lanes & (warp.stack + np.uint64(callee.frame) > np.uint64(program.stack_bytes))
    if over.any() or len(split.frames) > 512:
        raise Fault("stack-overflow", f"{callee.name} is called too deeply for the stack", first_lane(lanes))
    for formal, value in zip(callee.parameters, arguments):
        place(formal, value, warp, lanes, machine)
    split.frames = (*split.frames, frame)
    split.block, split.op = callee.entry, 0
    merge(warp, split)


def give_back(op: Op, warp: Warp, split: Split, mask: np.ndarray, program: Program, machine: Machine) -> None:
    """ret: back to the caller, or out of the kernel."""
    if not split.frames:
        leave(warp, split, mask, machine, op.site)
        return
    if not mask.any():
        fall_through(warp, split)
        return
    frame = split.frames[-1]
    saved, pointer, callee, caller, site = frame.registers
    values = [fetch(formal, warp, machine) for formal in callee.returns]
    for slot, old in saved.items():
        now = warp.registers[slot]
        if isinstance(now, list):
            warp.registers[slot] = [np.where(mask, o, n) for o, n in zip(old, now)]
        else:
            warp.registers[slot] = np.where(mask, old, now)
    warp.stack = np.where(mask, warp.stack - np.uint64(caller.frame), warp.stack)
    if warp.allocated is not None:  # what the callee has allocated is free again
        warp.allocated = np.where(mask, pointer, warp.allocated)
    for passed, value in zip(site.returns, values):
        place(passed, value, warp, mask, machine)
    go(warp, split, mask, frame.return_block, split.frames[:-1])


# ---- convergence ----


def converged(warp: Warp, split: Split, wait: Converge) -> bool:
    """Whether the lanes a split waits for have come to the same place; joins them if so."""
    for other in list(warp.splits):
        if other is not split and (other.block, other.op) == (split.block, split.op) and other.frames == split.frames:
            if other.wait is None or isinstance(other.wait, Converge):
                split.mask = split.mask | other.mask
                warp.splits.remove(other)
    return not (wait.lanes & ~split.mask & warp.live).any() or bool((wait.lanes & ~warp.live).any())


def aligned(op: Op, warp: Warp, split: Split, mask: np.ndarray) -> Converge | None:
    """An .aligned operation met by part of a warp: wait for the others, or say that they cannot come.

    Barriers count the lanes that are left; everything else needs all 32.
    """
    behind_guard = split.mask & ~mask
    if behind_guard.any():
        lane = first_lane(behind_guard)
        raise Fault(
            "divergent-aligned", f"{op.opcode} is executed under a guard that lane {lane} does not fulfil", lane,
            "all lanes of the warp must execute an .aligned instruction together; branch around it instead",
        )  # fmt: skip
    if (warp.live & ~mask).any():
        return Converge(warp.live.copy())
    if op.mechanisms.isdisjoint((Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER)):
        lane = first_lane(~warp.live)
        raise Fault(
            "exited-lane", f"{op.opcode} needs all 32 lanes, lane {lane} has exited or never existed", lane,
            "let the lanes exit after it, and launch whole warps",
        )  # fmt: skip
    return None


def stuck(warp: Warp, program: Program) -> tuple[Op, Fault] | None:
    """For a warp of which no split can run: the .aligned or member-mask operation that waits for lanes elsewhere."""
    for split in warp.splits:
        if isinstance(split.wait, Converge):
            op = program.blocks[split.block][split.op]
            missing = split.wait.lanes & ~split.mask
            lane = first_lane(missing)
            name = "divergent-aligned" if op.aligned else "member-mask"
            where = next((s for s in warp.splits if s.mask[lane]), None)
            at = f", which waits at line {line_of(where, program)}" if where is not None else ""
            return op, Fault(
                name, f"{op.opcode} waits for lane {lane}{at}: the lanes of the warp have taken different ways", lane
            )
    return None


def line_of(split: Split, program: Program) -> int:
    """Line of the operation a split waits at (the one before its next)."""
    block = program.blocks[split.block]
    index = split.op - (1 if isinstance(split.wait, Wait) else 0)
    return block[max(0, min(index, len(block) - 1))].line if block else 0


def check_in_flight(op: Op, warp: Warp, port: Port, program: Program) -> None:
    """Whether an operation touches registers that the tensor core owns; the first touch of a product is reported.

    Results that are read where no wait follows lack a wait; every other touch is one too early.
    """
    if Mechanism.WGMMA_GROUP in op.mechanisms:
        return
    slot = next((slot for slot in touched(op) if slot in warp.in_flight), None)
    if slot is None:
        return
    line = warp.in_flight[slot]
    waits = any(o.site > op.site and o.synchronises == WGMMA_WAIT for o in program.ops)
    early = waits or slot in touched(op, sources=False)
    port.line, port.column, port.length = op.line, op.column, len(op.opcode)
    port.report(
        "register-in-flight" if early else "missing-wait",
        f"{op.opcode} touches a register that wgmma.mma_async of line {line} still owns",
        help="wait first: wgmma.commit_group and wgmma.wait_group between the two",
    )
    for owned in [owned for owned, owner in warp.in_flight.items() if owner == line]:
        del warp.in_flight[owned]


def touched(op: Op, sources: bool = True) -> list[int]:
    """Slots an operation reads or writes, or writes only."""
    return slots_of([*(op.sources if sources else ()), *op.destinations])

"""Machine programs as arrays for the replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxsim.engine.program.operation import Op
from ptxsim.jit.body import record
from ptxsim.profile.lowering.machine_code import Kind, MachineProgram, Pipe
from ptxsim.profile.model.figures import Figures

# Why a warp's registers are not ready yet, by what makes them; the profiler's stall names.
STALLS = (
    "selected", "wait", "short_scoreboard", "long_scoreboard", "math_pipe_throttle", "lg_throttle", "mio_throttle",
    "barrier", "membar", "branch_resolve", "no_instruction", "not_selected", "gmma", "imc_miss", "drain",
)  # fmt: skip
WAIT, SHORT, LONG, MATH, LG, MIO, BARRIER, MEMBAR, BRANCH, NO_INSTRUCTION, NOT_SELECTED, GMMA, IMC, DRAIN = range(1, 15)
_REASON = {"global": LONG, "remote": LONG, "shared": SHORT, "shuffle": SHORT, "mufu": SHORT, "convert": SHORT, "convert64": SHORT, "constant": IMC,
           "s2r": SHORT, "s2ur": SHORT, "redux": SHORT, "mbarrier": SHORT, "fence": MEMBAR, "check": SHORT}  # fmt: skip


OP = record(
        ("pipe", "i4"), ("kind", "i4"), ("latency", "f8"), ("cost", "f8"), ("site", "i4"), ("amount", "i8"), ("reason", "i4"),
        ("address", "i4"),  # in the code, in bytes
        ("reads", "i4"), ("writes", "i4"), ("guards", "i4"), ("stop", "i4"),  # where they begin in the list of registers
        ("last_of_site", "?"), ("bypass", "?"), ("is_constant", "?"),
    )  # fmt: skip
BLOCK = record(
        ("begin", "i4"), ("end", "i4"),  # its instructions
        ("absorber", "i4"),  # the block it runs predicated in, or -1
        ("large", "i4"), ("small", "i4"),  # unrolled copies of it, or -1
        ("iterations", "i4"),  # how many executions of the PTX block it is
    )  # fmt: skip


class Code(NamedTuple):
    """Instructions of all blocks one after the other, their registers in one list, and the blocks."""

    ops: np.ndarray
    registers: np.ndarray
    blocks: np.ndarray


def encode(machine: MachineProgram, source: Sequence[Op], figures: Figures) -> Code:
    """The code with a machine's latencies and rates; `source`: the PTX operations by site."""
    blocks = np.zeros(len(machine.blocks), BLOCK)
    blocks["absorber"] = blocks["large"] = blocks["small"] = -1
    rows: list[tuple[Any, ...]] = []
    registers: list[int] = []
    address = 0
    bypassing = {op.site for op in source if bypasses_l1(op)}
    for number, block in enumerate(machine.blocks):
        blocks[number]["begin"], blocks[number]["end"] = len(rows), len(rows) + len(block.ops)
        blocks[number]["iterations"] = block.unroll
        blocks["absorber"][list(block.absorbed)] = number
        last = {op.site: i for i, op in enumerate(block.ops) if op.kind not in (Kind.PLAIN, Kind.COPY)}
        for i, op in enumerate(block.ops):
            unit = figures.unit(op.unit)
            scale = figures.tensor_scale if unit.pipe == Pipe.TENSOR else 1.0
            reads = len(registers)
            writes = reads + len(op.reads)
            guards = writes + len(op.writes)
            registers += [*op.reads, *op.writes, *op.predicates]
            rows.append((
                unit.pipe, op.kind, scale * (unit.latency if op.latency is None else op.latency),
                scale * (unit.cost if op.cost is None else op.cost), op.site, op.amount, _REASON.get(op.unit, WAIT), address,
                reads, writes, guards, len(registers), last.get(op.site) == i, op.site in bypassing, op.unit == "constant",
            ))  # fmt: skip
            address += 16 * (op.kind != Kind.COPY)
    for number, found in machine.variants.items():
        for name, copy in zip(("large", "small"), found):
            blocks[number][name] = copy
    return Code(np.array(rows, OP), np.array(registers, np.int64), blocks)


def bypasses_l1(op: Op) -> bool:
    """Whether a load does not look into L1."""
    if op.words.get("cop") in ("cg", "cv") or op.words.get("cg"):
        return True
    return any(
        access.order == "volatile"
        or (access.order in ("relaxed", "acquire") and access.scope in ("gpu", "sys", "cluster"))
        for access in op.accesses
    )


def parameters(
    figures: Figures, sms: int, l1_bytes: int, cold: bool, atomics: float, readers: float = 1.0
) -> np.ndarray:
    """The figures, and what the replay needs beside them, by name, as an array of one row. `sms`: how many share L2 and DRAM;
    `atomics`: operations per cycle that all of them get done; `readers`: SMs that read a line, on average."""
    part = sms / figures.sms
    # What several SMs read leaves L2 once for those that ask at the same time.
    read = min(figures.l2_bandwidth_all * readers, figures.l2_bandwidth_shared)

    def share(alone: float, together: float) -> float:
        return max(alone, together * part)

    values = {name: float(value) for name, value in vars(figures).items() if isinstance(value, (int, float))}
    values |= {
        "l1_sets": max(1, l1_bytes // figures.l1_line // 4),
        "l2_bandwidth": min(figures.l2_bandwidth_sm, read / part),
        "copy_bandwidth": min(figures.bulk_bandwidth, read / part),
        "l2_line": share(figures.l2_line_alone, figures.l2_line_all),
        "store_line_now": share(figures.store_line, figures.store_line_all),
        "store_sector_now": share(figures.store_sector, figures.store_sector_all),
        "dram_share": figures.dram_bandwidth / sms,
        "cold": float(cold),
        "atomic_cost": max(figures.atomic_alone, sms / atomics),
    }
    return np.array([tuple(values.values())], record(*((name, "f8") for name in values)))

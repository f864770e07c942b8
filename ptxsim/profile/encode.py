"""Machine programs as arrays for the replay."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from ptxsim.profile.figures import Figures
from ptxsim.profile.machine_code import Kind, MachineProgram, Pipe

# Why a warp's registers are not ready yet, by what makes them; the profiler's stall names.
STALLS = (
    "selected", "wait", "short_scoreboard", "long_scoreboard", "math_pipe_throttle", "lg_throttle", "mio_throttle",
    "barrier", "membar", "branch_resolve", "no_instruction", "not_selected", "gmma", "imc_miss", "drain",
)  # fmt: skip
WAIT, SHORT, LONG, MATH, LG, MIO, BARRIER, MEMBAR, BRANCH, NO_INSTRUCTION, NOT_SELECTED, GMMA, IMC, DRAIN = range(1, 15)
_REASON = {"global": LONG, "shared": SHORT, "shuffle": SHORT, "mufu": SHORT, "convert": SHORT, "convert64": SHORT, "constant": IMC,
           "s2r": SHORT, "s2ur": SHORT, "redux": SHORT, "mbarrier": SHORT, "fence": MEMBAR, "check": SHORT}  # fmt: skip


class Code(NamedTuple):
    """Machine instructions of all blocks behind each other; registers in one list with offsets."""

    pipe: np.ndarray
    latency: np.ndarray
    cost: np.ndarray
    kind: np.ndarray
    site: np.ndarray
    amount: np.ndarray
    reason: np.ndarray
    last_of_site: np.ndarray
    bypass: np.ndarray
    is_constant: np.ndarray  # of each instruction: it reads a constant
    registers: np.ndarray
    reads: np.ndarray  # where each instruction's reads begin; n + 1
    writes: np.ndarray
    guards: np.ndarray
    begin: np.ndarray  # of each block
    end: np.ndarray
    absorber: np.ndarray  # of each block: the block it runs predicated in, or -1
    address: np.ndarray  # of each instruction in the code, in bytes
    variant: np.ndarray  # (blocks, 2): numbers of the unrolled copies, largest first, or -1
    iterations: np.ndarray  # of each block: how many executions of the PTX block it is


def encode(machine: MachineProgram, opcodes: list[str], figures: Figures) -> Code:
    """The code with a machine's latencies and rates; `opcodes` of the PTX operations by site."""
    ops = [op for block in machine.blocks for op in block.ops]
    begin, end, position = [], [], 0
    absorber = np.full(len(machine.blocks), -1)
    for number, block in enumerate(machine.blocks):
        begin.append(position)
        position += len(block.ops)
        end.append(position)
        for inner in block.absorbed:
            absorber[inner] = number
    variant = np.full((len(machine.blocks), 2), -1)
    for number, found in machine.variants.items():
        variant[number, : len(found)] = found
    registers: list[int] = []
    reads, writes, guards = [0], [], []
    for op in ops:
        registers += op.reads
        writes.append(len(registers))
        registers += op.writes
        guards.append(len(registers))
        registers += op.predicates
        reads.append(len(registers))
    last = np.zeros(len(ops), np.bool_)
    for first, stop in zip(begin, end):
        seen: set[int] = set()
        for i in range(stop - 1, first - 1, -1):
            if ops[i].kind not in (Kind.PLAIN, Kind.COPY) and ops[i].site not in seen:
                seen.add(ops[i].site)
                last[i] = True
    real = np.array([op.kind != Kind.COPY for op in ops], bool)

    units = [figures.unit(op.unit) for op in ops]
    scale = [figures.tensor_scale if unit.pipe == Pipe.TENSOR else 1.0 for unit in units]

    return Code(
        np.array([unit.pipe for unit in units], np.int64),
        np.array([k * (u.latency if op.latency is None else op.latency) for op, u, k in zip(ops, units, scale)]),
        np.array([k * (u.cost if op.cost is None else op.cost) for op, u, k in zip(ops, units, scale)]),
        np.array([op.kind for op in ops], np.int64),
        np.array([op.site for op in ops], np.int64),
        np.array([op.amount for op in ops], np.int64),
        np.array([_REASON.get(op.unit, WAIT) for op in ops], np.int64),
        last,
        np.array([bypasses(opcodes[op.site]) for op in ops], np.bool_),
        np.array([op.unit == "constant" for op in ops], np.bool_),
        np.array(registers, np.int64),
        np.array(reads, np.int64),
        np.array(writes, np.int64),
        np.array(guards, np.int64),
        np.array(begin, np.int64),
        np.array(end, np.int64),
        absorber.astype(np.int64),
        16 * (np.cumsum(real) - real),
        variant,
        np.array([block.unroll for block in machine.blocks], np.int64),
    )


def bypasses(opcode: str) -> bool:
    """Whether a load does not look into L1."""
    words = set(opcode.split("."))
    return bool(
        words & {"cg", "cv", "volatile"} or (words & {"relaxed", "acquire"} and words & {"gpu", "sys", "cluster"})
    )


# Figures, and what parameters() makes of them, by name; all are float.
Parameters = namedtuple(
    "Parameters",
    "cross_pipe shared_issue global_issue branch_latency guard_latency pipe_queue l1_latency l2_latency "
    "l2_sector_latency l2_line_latency dram_latency l2_bandwidth dram_share cold l1_sets l2_line store_line_now "
    "store_sector_now atomic_latency atomic_cost barrier_arrival mbarrier_arrival mbarrier_latency cp_async_shared "
    "cp_async_wait bulk_latency bulk_tensor_latency bulk_bandwidth bulk_store_latency bulk_store_bandwidth "
    "wgmma_overhead cluster_barrier launch first_launch drain first_constant code_line code_line_far code_cache "
    "fall_through",
)


def parameters(figures: Figures, sms: int, l1_bytes: int, cold: bool, atomics: float) -> Parameters:
    """The figures the replay needs. `sms`: how many share L2 and DRAM;
    `atomics`: operations per cycle that all of them get done."""
    part = sms / figures.sms

    def share(alone: float, together: float) -> float:
        return max(alone, together * part)

    values = {name: float(getattr(figures, name)) for name in Parameters._fields if hasattr(figures, name)}
    values |= {
        "l1_sets": max(1, l1_bytes // figures.l1_line // 4),
        "l2_bandwidth": min(figures.l2_bandwidth_sm, figures.l2_bandwidth_all / part),
        "l2_line": share(figures.l2_line_alone, figures.l2_line_all),
        "store_line_now": share(figures.store_line, figures.store_line_all),
        "store_sector_now": share(figures.store_sector, figures.store_sector_all),
        "dram_share": figures.dram_bandwidth / sms,
        "cold": float(cold),
        "atomic_cost": max(figures.atomic_alone, sms / atomics),
    }
    return Parameters(**{name: float(value) for name, value in values.items()})

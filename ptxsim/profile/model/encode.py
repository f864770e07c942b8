"""Machine programs as arrays for the replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxsim.closure import closure
from ptxsim.engine.program.operation import Op
from ptxsim.jit.body import record
from ptxsim.profile.figures import Figures
from ptxsim.profile.machine_code import BARRIERS, Kind, MachineProgram, Pipe, Segment

# Why a warp's registers are not ready yet, by what makes them; the profiler's stall names.
STALLS = (
    "selected", "wait", "short_scoreboard", "long_scoreboard", "math_pipe_throttle", "lg_throttle", "mio_throttle",
    "barrier", "membar", "branch_resolve", "no_instruction", "not_selected", "gmma", "imc_miss", "drain",
)  # fmt: skip
WAIT, SHORT, LONG, MATH, LG, MIO, BARRIER, MEMBAR, BRANCH, NO_INSTRUCTION, NOT_SELECTED, GMMA, IMC, DRAIN = range(1, 15)
_REASON = {"global": LONG, "remote": LONG, "shared": SHORT, "shuffle": SHORT, "mufu": SHORT, "convert": SHORT, "find": SHORT, "convert64": SHORT, "constant": IMC,
           "s2r": SHORT, "s2r.thread": SHORT, "s2ur": SHORT, "redux": SHORT, "mbarrier": SHORT, "fence": MEMBAR, "check": SHORT}  # fmt: skip


OP = record(
        ("pipe", "i4"), ("kind", "i4"), ("latency", "f8"), ("cost", "f8"), ("site", "i4"), ("amount", "i8"), ("bytes", "i4"), ("reason", "i4"),
        ("address", "i4"),  # in the code, in bytes
        ("reads", "i4"), ("writes", "i4"), ("guards", "i4"), ("stop", "i4"),  # where they begin in the list of registers
        ("last_of_site", "?"), ("bypass", "?"), ("again", "?"),
        ("stall", "i4"),  # of the assembler's code; 0 where registers say what waits for what
        ("write_barrier", "i4"), ("read_barrier", "i4"),  # the registers that stand for them, or -1
        ("moved", "?"), ("remote", "?"), ("is_own", "?"), ("guarded", "?"), ("stores", "?"), ("detour", "f8"), ("detour_early", "f8"), ("converges", "?"), ("constant", "i4"),  # line of 64 bytes, 0 for none
        ("even", "i4"), ("odd", "i4"), ("all_even", "i4"), ("all_odd", "i4"),  # registers it reads, by bank: of its warp, and those kept for reuse, too
    )  # fmt: skip
# Candidates: segments that it may begin; none: it runs as part of those before.
BLOCK = record(("begin", "i4"), ("end", "i4"))
SEGMENT = record(
        ("begin", "i4"), ("end", "i4"),  # its instructions
        ("parts", "i4"), ("parts_end", "i4"),  # of the pattern
        ("followers", "i4"), ("followers_end", "i4"),
        ("address", "i4"),
    )  # fmt: skip
PART = record(("block", "i4"), ("optional", "?"))
CANDIDATE = record(("segment", "i4"), ("part", "i4"))  # and the part of its pattern that the block is


class Code(NamedTuple):
    """Instructions of all segments one after the other, their registers in one list; segments and their patterns and followers;
    the PTX blocks and the segments that each can begin, or be within."""

    ops: np.ndarray
    registers: np.ndarray
    segments: np.ndarray
    parts: np.ndarray
    followers: np.ndarray
    blocks: np.ndarray
    candidates: np.ndarray


def encode(machine: MachineProgram, source: Sequence[Op], figures: Figures) -> Code:
    """The code with a machine's latencies and rates; `source`: the PTX operations by site."""
    segments = segments_of(machine)
    rows: list[tuple[Any, ...]] = []
    registers: list[int] = []
    places = np.zeros(len(segments), SEGMENT)
    parts: list[tuple[int, bool]] = []
    followers: list[int] = []
    candidates: list[list[tuple[int, int]]] = [[] for _ in machine.blocks]
    heads = {segment.pattern[0][0] for segment in segments if segment.pattern}
    address = 0
    bypassing = {op.site for op in source if bypasses_l1(op)}
    for number, segment in enumerate(segments):
        place, ops = places[number], segment.ops
        place["begin"], place["end"] = len(rows), len(rows) + len(ops)
        place["parts"], place["parts_end"] = len(parts), len(parts) + len(segment.pattern)
        place["followers"], place["followers_end"] = len(followers), len(followers) + len(segment.followers)
        place["address"] = ops[0].address if ops and ops[0].stall else address
        for k, (block, _) in enumerate(segment.pattern):
            if k == 0 or (block not in heads and block not in {b for b, _ in segment.pattern[:k]}):
                candidates[block].append((number, len(parts) + k))
        parts += segment.pattern
        followers += sorted(segment.followers)
        last = {op.site: i for i, op in enumerate(ops) if op.kind not in (Kind.PLAIN, Kind.COPY) and not op.again}
        for i, op in enumerate(ops):
            unit = figures.unit(op.unit)
            scale = figures.tensor_scale if unit.pipe == Pipe.TENSOR else 1.0
            reads = len(registers)
            awaited = [machine.slots - BARRIERS + k for k in range(BARRIERS) if op.waits >> k & 1]
            used = [r for r in op.reads if r not in op.kept]
            written = tuple(dict.fromkeys([*op.writes, *op.kept]))
            writes = reads + len(used) + len(awaited)
            guards = writes + len(written)
            registers += [*used, *awaited, *written, *op.predicates]
            rows.append((
                unit.pipe, op.kind, scale * (unit.latency if op.latency is None else op.latency),
                scale * (unit.cost if op.cost is None else op.cost), op.site, op.amount, op.bytes, _REASON.get(op.unit, WAIT),
                op.address if op.stall else address,
                reads, writes, guards, len(registers), last.get(op.site) == i, op.site in bypassing, op.again,
                op.stall, *(machine.slots - BARRIERS + k if k >= 0 else -1 for k in (op.write_barrier, op.read_barrier)), op.moved, op.unit == "remote", op.space in ("spill", "shared code"), op.guarded or bool(op.predicates), op.stores, op.detour, op.detour_early, op.converges, op.constant, *op.reading,
            ))  # fmt: skip
            address += 16 * (op.kind != Kind.COPY)
    blocks = np.zeros(len(machine.blocks), BLOCK)
    ends = np.cumsum([len(found) for found in candidates])
    blocks["begin"], blocks["end"] = ends - [len(found) for found in candidates], ends
    return Code(
        np.array(rows, OP), np.array(registers, np.int64), places, np.array(parts, PART), np.array(followers, np.int64), blocks,
        np.array([one for found in candidates for one in found], CANDIDATE),
    )  # fmt: skip


def segments_of(machine: MachineProgram) -> list[Segment]:
    """The code in pieces that run in one go: the assembler's, then what the lowering made of the blocks that those leave out.

    Of a block's, unrolled copies come first, the largest before the others.
    """
    found = list(machine.segments)
    covered = {number for segment in found for number, _ in segment.pattern}
    absorbed = {number for block in machine.blocks for number in block.absorbed}
    copies = {copy for variants in machine.variants.values() for copy in variants}
    for number in range(len(machine.blocks)):
        if number in covered or number in machine.silent or number in absorbed or number in copies:
            continue
        for copy in (*machine.variants.get(number, ()), number):
            made = machine.blocks[copy]
            found.append(Segment(made.ops, [(number, False)] * made.unroll))
    _link(found, machine)
    return found


def _link(segments: list[Segment], machine: MachineProgram) -> None:
    """Say what can follow the lowering's segments, and where those can follow the assembler's: what the PTX goes on with."""
    beginning: dict[int, set[int]] = {}
    for number, segment in enumerate(segments):
        for block, _ in segment.pattern[:1]:
            if segment.ops:
                beginning.setdefault(block, set()).add(number)
    estimated = set(range(len(machine.segments), len(segments)))
    for number, segment in enumerate(segments):
        following = _following(machine, {block for block, _ in segment.pattern}, beginning)
        segment.followers |= following if number in estimated else following & estimated


def _following(machine: MachineProgram, blocks: set[int], beginning: Mapping[int, set[int]]) -> set[int]:
    """Segments that come after some blocks, blocks without code of their own passed over."""
    starts = [after for block in blocks for after in machine.successors[block]]
    reached = closure(starts, lambda block: () if block in beginning else machine.successors[block])
    return set().union(*(beginning[block] for block in reached if block in beginning))


def bypasses_l1(op: Op) -> bool:
    """Whether a load does not look into L1, or a store leaves nothing in it."""
    if op.words.get("cop") in ("cg", "cv", "wt") or op.words.get("cg"):
        return True
    return any(
        access.order == "volatile"
        or (access.order in ("relaxed", "acquire") and access.scope in ("gpu", "sys", "cluster"))
        for access in op.accesses
    )


def parameters(
    figures: Figures,
    sms: int,
    at_work: float,
    l1_bytes: int,
    cold: float,
    atomics: float,
    readers: float = 1.0,
    warps: int = 1,
    lines: float = 1 << 30,
    few: bool = False,
    copied: float = 1.0,
    first_line: int = 0,
    reductions: float = 1 << 30,
    scattered: float = 0,
) -> np.ndarray:
    """The figures, and what the replay needs beside them, by name, as an array of one row. `sms`: how many have work;
    `at_work`: how many share L2 and DRAM, in the mean over the time of the one that has most to do;
    `atomics`: operations per cycle that all of them get done; `readers`: SMs that read a line, on average; `warps`: of a CTA; `lines`: of
    global memory that the launch reads; `few`: L2 serves each of the SMs as fast as it takes; `copied`: the part of what bulk copies
    read that an SM has not read before; `first_line`: of those that are read, by address;
    `reductions`: bytes per cycle that bulk reductions of all of them get done; `scattered`: lines among which lanes of all of them choose, each in
    an order of its own, 0: they do not."""
    part, started = at_work / figures.sms, sms / figures.sms
    replaced = figures.replacement_next + figures.replacement_warp * warps
    # What several SMs read leaves L2 once for those that ask at the same time.
    together = 1.0 if few else readers
    read = min(figures.l2_bandwidth_all * together, figures.l2_bandwidth_shared)
    # Half of the lines are in the other half of L2, until one of this half's SMs has read them.
    read = 1 / (1 / read + figures.l2_crossing * (1 - 0.5**together) / together)

    slower = (figures.l2_scattered / scattered) ** figures.l2_scattered_exponent if scattered else 1.0
    slower = min(figures.l2_scattered_most, slower)
    later = started * figures.constant_near_sub * min(3, warps - 1)

    def share(alone: float, together: float) -> float:
        return max(alone, together * part)

    values = {name: float(value) for name, value in vars(figures).items() if isinstance(value, (int, float))}
    values |= {
        "l1_sets": max(1, l1_bytes // figures.l1_line // 4),
        "l2_bandwidth": min(figures.l2_bandwidth_sm, read / part),
        "copy_bandwidth": min(figures.bulk_bandwidth, read / part),
        "l2_latency": figures.l2_latency + figures.l2_far * started,
        "constant_miss": figures.constant_miss + (figures.constant_miss_all - figures.constant_miss) * started,
        "constant_line_port": figures.constant_line_port if sms == 1 else figures.constant_line_port_all,
        "l2_line": min(
            share(figures.l2_line_alone, figures.l2_line_all) * max(1.0, figures.l2_slices / lines),
            max(figures.l2_line_alone, figures.l2_line_most * part),
        ),
        "l2_line_scattered": figures.l2_line_all * part * slower if slower > 1 else 0.0,
        "store_sector_now": figures.store_sector_all * part,
        "local_sector_now": figures.local_sector_all * part,
        "store_part_now": figures.store_part_all * part,
        "store_part_sector_now": figures.store_part_sector_all * part,
        "atomic_far": figures.atomic_far * (1 - 0.5 ** (sms - 1)),
        "fence_accessed": figures.fence_accessed + figures.fence_accessed_all * started,
        "replacement_interval": replaced * started,
        "replacement_written": max(replaced, figures.replacement_written) * started,
        "shared_latency": figures.unit("shared").latency,
        "bulk_stores": figures.bulk_store_bandwidth_all / part,
        "bulk_reductions": reductions / at_work,
        # Cycles of an SM's share for a byte. What several SMs read comes once for all of them.
        "dram_read": at_work / figures.dram_bandwidth / readers,
        "dram_bulk": at_work / figures.dram_bandwidth / readers * copied,
        "dram_write": at_work / figures.dram_bandwidth,
        "dram_turn_now": at_work / figures.dram_turn,
        "first_constants": figures.first_constants + figures.first_constants_all * started,
        "constant_near_loaded": figures.constant_near_loaded + figures.constant_near_loaded_all * started,
        "constant_near_now": figures.constant_near + figures.constant_near_all * started + later,
        "first_uniform": figures.first_uniform + figures.first_uniform_all * started + later,
        "cold": cold,
        "first_line": float(first_line),
        "atomic_cost": max(figures.atomic_alone, at_work / atomics),
    }
    return np.array([tuple(values.values())], record(*((name, "f8") for name in values)))

"""Where native code finds things: byte offsets in the context of a thread of execution and in the block of a warp.

Both are plain memory that Python and native code read and write in turn. A warp's block is its header, its special
registers and its PTX registers, next to each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.lanes import LANES
from ptxsim.machine.event import RECORD
from ptxsim.types import ScalarType

ALIGN = 64


def _fields(start: int, *rows: tuple[str, int]) -> tuple[dict[str, int], int]:
    offsets = {}
    for name, size in rows:
        start = -(-start // min(size, 8)) * min(size, 8)
        offsets[name] = start
        start += size
    return offsets, -(-start // ALIGN) * ALIGN


# The context: first the room for setjmp, then counters and tables.
CONTEXT, CONTEXT_BYTES = _fields(
    0,
    ("jump", 512),
    ("count", 8),  # warp instructions of the machine
    ("steps", 8),  # warp turns of the machine
    ("site", 4),  # the instruction that native code leaves to the interpreter
    ("mxcsr", 4),
    ("arena", 8),  # what to add to a device address of global memory
    ("starts", 8), ("sizes", 8), ("kinds", 8), ("allocations", 8),  # table of allocations
    ("caches", 8),  # {base, span} of every memory instruction
    ("records", 8), ("recorded", 8), ("capacity", 8), ("flush", 8),  # the event stream
    ("full", 8), ("masked", 8),  # entry points of the program
    ("compile", 8),  # callback: code for partial masks is wanted
    # A CTA that runs natively as a whole: its warps' blocks, where its round of turns stands, when to pause.
    ("warps", 8), ("warp_count", 8), ("stride", 8), ("threads", 8), ("live_warps", 8),
    ("cursor", 8), ("moved", 8), ("rounds", 8), ("end_count", 8), ("end_rounds", 8),
    ("arrived", 96), ("phases", 96),  # of the sixteen barriers and of eight warpgroups, i32 each
    # Native wgmma (engine.compiled.runtime.wgmma_state): groups, null where Python holds them; tiles that are known; callback for
    # others; room for panels; products under way; what completes those that may wait no longer.
    ("groups", 8), ("tiles", 8), ("tile", 8), ("scratch", 8), ("flying", 8), ("due", 8),
    ("impatience", 8),  # i64 for each block (engine.analysis.forward_progress)
    ("copies", 8),  # queues of cp.async (engine.compiled.runtime.cp_async_state), null where Python holds them
)  # fmt: skip

WARP, HEADER_BYTES = _fields(
    0,
    ("block", 4), ("mask", 4), ("live", 4), ("left", 4),
    ("taken", 4), ("target", 4), ("op", 4), ("own_site", 4),
    ("shared", 8), ("shared_start", 8), ("shared_span", 8),
    ("local", 8), ("local_bytes", 8),
    ("cta", 4), ("index", 4),
    ("splits", 4), ("chosen", 4), ("fence", 4),  # how many; which one runs; the block before which it stops
    ("barrier", 4), ("phase", 4),  # what the warp waits at: number + 1, or 0
    ("turns", 8), ("spent", 8), ("lost", 8),  # machine.cta.Warp
    ("split", 16 * LANES),  # {block, mask: i32, steps: i64}
    ("stack", 8 * LANES),
)  # fmt: skip

_SPLIT = np.dtype([("block", "<i4"), ("mask", "<u4"), ("steps", "<i8")])
HEADER = np.dtype(
    {
        "names": list(WARP),
        "formats": [
            {"split": (_SPLIT, (32,)), "stack": ("<u8", (32,))}.get(name, "<u4")
            if name in ("split", "stack", "block", "mask", "live", "left", "taken", "target", "op", "own_site", "cta", "index", "splits",
                        "chosen", "fence", "barrier", "phase")
            else "<u8"
            for name in WARP
        ],
        "offsets": list(WARP.values()),
        "itemsize": HEADER_BYTES,
    }
)  # fmt: skip


def header_of(block: np.ndarray) -> np.ndarray:
    """The header of a warp's block, as a record that is read and written in place."""
    return block[:HEADER_BYTES].view(HEADER)[0]


ALONE = 2**31 - 1  # the fence of a split that is the only one

# What the kernel function returns.
NEXT, DIVERGE, EXIT, BAIL, BARRIER, WARPGROUP = range(6)

RECORD_BYTES = RECORD.itemsize
RECORD_ADDRESSES = RECORD.fields["addresses"][1]  # type: ignore[index]

# Bits of an allocation's kind.
KINDS = {"global": 1, "const": 2, "param": 4}
READ_ONLY = 8


def register_bytes(t: ScalarType) -> int:
    """Room of a register in a warp's block; a predicate is a word of one bit per lane."""
    return 8 if t.kind == "predicate" else LANES * t.bytes


@dataclass(frozen=True, slots=True)
class WarpLayout:
    """Offsets of a program's registers and of the special registers it reads; `stride` is the size of a warp's block."""

    registers: tuple[int, ...]
    specials: dict[str, int]
    stride: int

    @classmethod
    def of(cls, program: Program, specials: list[str]) -> WarpLayout:
        at = HEADER_BYTES
        places = {}
        for name in specials:
            places[name] = at
            at += 8 * LANES
        registers = [0] * len(program.slots)
        # The widest first, so that all are aligned.
        for slot in sorted(range(len(program.slots)), key=lambda s: -register_bytes(program.slots[s])):
            registers[slot] = at
            at += register_bytes(program.slots[slot])
        return cls(tuple(registers), places, -(-at // ALIGN) * ALIGN)


def aligned(size: int) -> np.ndarray:
    """Zeroed bytes that begin at a multiple of 64."""
    raw = np.zeros(size + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start : start + size]

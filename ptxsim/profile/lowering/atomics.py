"""Atomics: those on shared memory that the assembler makes cheaper than they are written, and the rate of those on global memory."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.analysis.def_use import DefUse, def_use
from ptxsim.engine.program.operand import Address, Constant, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.profile.model.figures import Figures

COUNTED, REDUCED = "counted", "reduced"
_WARP_WIDE = {"add", "min", "max", "and", "or", "xor"}
_WORDS = {"u32", "s32", "b32"}


def cheaper(program: Program) -> dict[int, str]:
    """COUNTED or REDUCED by the site of the atomics on shared memory that are one of them, as ptxas 13.0 has it for sm_90.

    COUNTED: it adds the constant 1 and nobody wants the old value; the hardware counts the lanes of each word and adds once.
    REDUCED: an address that is one for the warp; the lanes' values are reduced first and one lane accesses.
    """
    found: dict[int, str] = {}
    flow: DefUse | None = None
    for op in program.ops:
        words = op.opcode.split(".")
        if words[0] not in ("atom", "red") or not any(word.startswith("shared") for word in words):
            continue
        flow = flow or def_use(program)
        wanted = any(reader in flow.live for slot in flow.writes.get(op.site, ()) for reader in flow.readers[slot])
        if not wanted and _adds_one(op, words):
            found[op.site] = COUNTED
        elif _WARP_WIDE & set(words) and _WORDS & set(words) and _one_address(op, flow):
            found[op.site] = REDUCED
    return found


def _adds_one(op: Op, words: list[str]) -> bool:
    value = next((source for source in reversed(op.sources) if source is not None), None)
    number = int(value.value) & 0xFFFFFFFF if isinstance(value, Constant) else None
    return "u32" in words and (("add" in words and number == 1) or ("inc" in words and number == 0xFFFFFFFF))


def _one_address(op: Op, flow: DefUse) -> bool:
    address = next((source for source in op.sources if isinstance(source, Address)), None)
    if address is None:
        return False
    return not isinstance(address.base, Register) or address.base.slot in flow.uniform


def atomic_rate(figures: Figures, entries: np.ndarray, all_lines: np.ndarray) -> float:
    """Atomic operations on global memory that the GPU completes per cycle: few pages or sectors are a bottleneck."""
    if not len(entries):
        return figures.atomic_rate
    counts = entries["count"].astype(np.int64)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = np.unique(all_lines[np.repeat(entries["first"], counts) + offsets])
    numbers, masks = lines >> 4, lines & 15
    pages = len(np.unique(numbers // (figures.atomic_page // figures.l1_line)))
    _, line = np.unique(numbers, return_inverse=True)
    touched = np.zeros(line.max() + 1, np.int64)
    np.bitwise_or.at(touched, line, masks)
    sectors = int(np.bitwise_count(touched).sum())
    return min(figures.atomic_rate, figures.atomic_page_rate * pages, figures.atomic_sector_rate * sectors)

"""Pictures of tensor memory, lanes by columns: fragments of loads and stores, where a product keeps its matrices and scales."""

from __future__ import annotations

import re

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.lanes import LANES
from ptxsim.layout import tensor_memory as layout
from ptxsim.layout.tensor_memory import QUARTER, ROWS
from ptxsim.report.drawing import Cell, Drawing, Panel
from ptxsim.report.pictures import run_length, spans

SHOWN = 32  # columns
CORNER = "lane\\column"
FAMILY = "tcgen05"
EXAMPLES = (
    "write tcgen05.ld.32x32b.x4 (or .st), tcgen05.mma.m64n32 (.ws; .cta_group::2 for M = 256) or tcgen05.scales.m128.4X"
)
NAMES = ("tcgen05.ld", "tcgen05.st", "tcgen05.mma", "tcgen05.scales")


def picture(form: str) -> Drawing | None:
    """The picture of a form, or None if it is of no tensor memory: tcgen05.ld.32x32b.x4 (or .st, with pack::16b or unpack::16b), the D of
    tcgen05.mma.m64n32 (.ws, cta_group::2: of one CTA of a pair), tcgen05.scales.m128 (of M rows, or N columns) with .1X, .2X or .4X.
    Raises PtxError for others of the family."""
    words = form.split(".")
    if words[0] != FAMILY:
        return None
    found = _picture(words)
    if found is None:
        raise PtxError(Finding("unknown-instruction", f"there is no picture of {form}", help=EXAMPLES))
    return found


def _picture(words: list[str]) -> Drawing | None:
    if ".".join(words[:2]) not in NAMES:
        return None
    if words[1] in ("ld", "st"):
        parts = _moved(words)
        return moved_map(*parts) if parts else None
    size = next((m for word in words[2:] if (m := re.fullmatch(r"m(\d+)(?:n(\d+))?(?:k\d+)?", word))), None)
    if size is None:
        return None
    if words[1] == "scales":
        vector = next((int(word[0]) for word in words if word in ("1X", "2X", "4X")), 1)
        return scale_map(int(size[1]), vector)
    ctas = 2 if "cta_group::2" in words else 1
    rows, n = int(size[1]) // ctas, int(size[2] or 0)
    if rows not in (32, 64, 128) or not n or n % 8 or n > 256:
        return None
    return accumulator_map(rows, n, ctas == 1 and "ws" not in words)


def _moved(words: list[str]) -> tuple[str, int, bool] | None:
    """Shape, number and whether packed, of a load or a store."""
    shapes = [word for word in words if word in layout.SHAPES]
    numbers = [int(word[1:]) for word in words if re.fullmatch(r"x(1|2|4|8|16|32|64|128)", word)]
    return (shapes[0], numbers[0], "pack::16b" in words or "unpack::16b" in words) if shapes and numbers else None


def moved_by_lane(form: str) -> list[list[str]] | None:
    """By lane of the warp, each register with its cells (lane, column) of tensor memory, counted from the address; None if the form is
    no load or store."""
    words = form.split(".")
    parts = _moved(words) if ".".join(words[:2]) in NAMES[:2] else None
    if parts is None:
        return None
    shape, number, packed = parts
    rows, columns = np.broadcast_arrays(*layout.moved(shape, number, split=number, packed=packed))
    halves = list(zip(rows, columns)) if packed else [(rows, columns)]

    def named(register: int, lane: int) -> str:
        return f"r{register} " + " ".join(f"({row[register, lane]},{column[register, lane]})" for row, column in halves)

    return [[named(register, lane) for register in range(rows.shape[-2])] for lane in range(LANES)]


def moved_map(shape: str, number: int, packed: bool = False) -> Drawing:
    """Which lane of the warp, and which of its registers, has each cell that a load or a store moves."""
    cells = layout.moved(shape, number, split=number, packed=packed)
    rows, columns = np.broadcast_arrays(*cells)
    register, thread = np.indices(rows.shape[-2:])
    size = int(rows.max()) + 1, int(columns.max()) + 1
    holder, held = np.zeros(size, int), np.zeros(size, int)
    holder[rows, columns] = thread
    held[rows, columns] = 2 * register + np.arange(2)[:, None, None] if packed else register
    across = run_length(holder, held, 1)
    table = [
        [Cell(f"T{holder[row, first]} {_registers(held[row, first : first + across], packed)}", int(holder[row, first]) // 4)
         for first in range(0, min(size[1], SHOWN), across)]
        for row in range(size[0])
    ]  # fmt: skip
    notes = [f"columns from {SHOWN} on continue alike"] if size[1] > SHOWN else []
    if shape == "16x32bx2":
        notes.append(f"the second half lies as many columns further as the instruction says, here {number}")
    title = f"{shape}.x{number}: lanes of tensor memory from those of the address on, {size[0]} x {size[1]} columns"
    names = spans(min(size[1], SHOWN), across)
    return Drawing(title, [Panel(spans(size[0], 1), names, table, corner=CORNER)], notes)


def _registers(held: np.ndarray, packed: bool) -> str:
    if packed and len(held) == 1:
        return f"r{held[0] // 2}.{['lo', 'hi'][held[0] % 2]}"
    first, last = (int(held[0]), int(held[-1])) if not packed else (int(held[0]) // 2, int(held[-1]) // 2)
    return f"r{first}" if first == last else f"r{first}-{last}"


def accumulator_map(rows: int, n: int, spread: bool) -> Drawing:
    """Where a CTA keeps its rows of D: in steps of 16 lanes and 8 columns, as they are nowhere parted."""
    lanes, columns = layout.accumulators(rows, n, spread)
    width = int(columns.max()) + 1
    m, first = np.full((ROWS, width), -1), np.zeros((ROWS, width), int)
    m[lanes, columns], first[lanes, columns] = np.arange(rows)[:, None], np.arange(n)
    table = [
        [Cell("-") if m[lane, at] < 0 else Cell(f"m{m[lane, at]}-{m[lane, at] + 15} n{first[lane, at]}-{first[lane, at] + 7}", int(m[lane, at]) // 16)
         for at in range(0, width, 8)]
        for lane in range(0, ROWS, 16)
    ]  # fmt: skip
    title = f"D of {rows} x {n} in the tensor memory of one CTA: {width} columns"
    return Drawing(title, [Panel(spans(ROWS, 16), spans(width, 8), table, corner=CORNER)])


def scale_map(count: int, vector: int) -> Drawing:
    """Where the block scales of so many rows of A, or columns of B, are: bytes of words, the same in each quarter of the lanes."""
    width = -(-count // QUARTER)
    table = [
        [Cell(f"row {lane + QUARTER * at}: b0{f'-{vector - 1}' if vector > 1 else ''}", at) for at in range(width)]
        for lane in range(QUARTER)
    ]  # fmt: skip
    notes = [
        f"lanes {QUARTER} to {ROWS - 1} have the same again, {QUARTER} at a time",
        "byte 0 or the one that the instruction descriptor chooses",
    ]
    return Drawing(
        f"scales of {count} rows, {vector} each",
        [Panel(spans(QUARTER, 1), spans(width, 1), table, corner=CORNER)],
        notes,
    )

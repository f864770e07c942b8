"""Pictures of layouts: fragment maps, row pointers over banks, swizzle atoms, shared-memory tiles, descriptors.

Every function takes layout objects and returns a Drawing, which renders itself as text, SVG, LaTeX or JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxsim.report.drawing import Cell, Drawing, Panel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ptxsim.layout.descriptor import Descriptor
    from ptxsim.layout.fragments import Fragment
    from ptxsim.layout.shared_layout import SharedLayout
    from ptxsim.layout.sparsity import Sparsity

_SHOWN = 32
_LINE = 128


def fragment_map(fragment: Fragment) -> Drawing:
    """The matrix with the lane and element that holds each place: `T5 a3`, or `T5 a2-3` for neighbours.

    Matrices wider or taller than what is readable are cut; the note says so. Surplus copies are not drawn.
    """
    panels = []
    for index in np.ndindex(fragment.shape[:-2]):
        lane, element = _holders(fragment, index)
        title = f"{_PANELS.get(fragment.family, 'selector')} {index[0]}" if index and fragment.shape[0] > 1 else ""
        panels.append(_fragment_panel(fragment, lane, element, title))
    notes = []
    if fragment.copies > 1:
        notes.append(f"elements from {fragment.elements // fragment.copies} on are copies of these")
    if fragment.shape[-1] > _SHOWN and fragment.operand in "CD":
        per_block = fragment.elements * 8 // fragment.shape[-1]
        notes.append(f"columns from {_SHOWN} on continue alike, {per_block} elements for every 8 columns")
    if fragment.family in ("ldmatrix", "stmatrix"):
        notes.append("rows are the 16-byte rows in memory, each named by the address of one lane")
    return Drawing(_fragment_title(fragment), panels, notes)


_PANELS = {
    "mma": "computation", "ldmatrix": "matrix", "stmatrix": "matrix", "movmatrix": "matrix",
}  # fmt: skip


def _fragment_title(fragment: Fragment) -> str:
    layout = f", {fragment.majority}" if fragment.majority else ""
    size = " x ".join(map(str, fragment.shape))
    return f"{fragment.family} {fragment.shape_name} .{fragment.type}{layout}, operand {fragment.operand}: {size}"


def _holders(fragment: Fragment, index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Lane and element, each (rows, columns), of the first copy in one of the matrices."""
    first = np.arange(fragment.elements // fragment.copies)
    flat = fragment.layout.flat[:, first]
    lane, element = np.meshgrid(np.arange(fragment.lanes), first, indexing="ij")
    lanes, elements = (np.zeros(fragment.shape, dtype=int) for _ in range(2))
    lanes.flat[flat.ravel()] = lane.ravel()
    elements.flat[flat.ravel()] = element.ravel()
    return lanes[index], elements[index]


def _fragment_panel(fragment: Fragment, lane: np.ndarray, element: np.ndarray, title: str) -> Panel:
    down, across = run_length(lane, element, 0), run_length(lane, element, 1)
    down, across = (down, 1) if down > across else (1, across)
    rows, columns = lane.shape
    columns = min(columns, _SHOWN) if fragment.operand in "CD" else columns
    letter = fragment.operand.lower()
    cells = []
    for row in range(0, rows, down):
        line = []
        for column in range(0, columns, across):
            holder, first = int(lane[row, column]), int(element[row, column])
            last = first + down * across - 1
            span = f"{letter}{first}" if first == last else f"{letter}{first}-{last}"
            line.append(Cell(f"T{holder} {span}", holder // 4))
        cells.append(line)
    return Panel(spans(rows, down), spans(columns, across), cells, title, _corner(fragment))


def _corner(fragment: Fragment) -> str:
    if fragment.family in ("ldmatrix", "stmatrix", "movmatrix"):
        return "row\\column"
    if fragment.operand == "E":
        return "m\\group"
    first, second = {"A": ("m", "k"), "B": ("k", "n")}.get(fragment.operand, ("m", "n"))
    return f"{first}\\{second}"


def run_length(lane: np.ndarray, element: np.ndarray, axis: int) -> int:
    """How many neighbours along `axis` are always consecutive elements of one lane (a power of two)."""
    lane, element = (np.moveaxis(array, axis, 1) for array in (lane, element))
    run = 1
    while lane.shape[1] % (2 * run) == 0:
        blocks = lane.reshape(lane.shape[0], -1, 2 * run), element.reshape(lane.shape[0], -1, 2 * run)
        same = (blocks[0] == blocks[0][..., :1]).all()
        if not same or (blocks[1] - blocks[1][..., :1] != np.arange(2 * run)).any():
            break
        run *= 2
    return run


def spans(size: int, step: int) -> list[str]:
    return [str(i) if step == 1 else f"{i}-{i + step - 1}" for i in range(0, size, step)]


def row_pointers(
    shape: str = "m8n8.x4", addresses: ArrayLike | None = None, pitch: int = 128, start: int = 0
) -> Drawing:
    """Which lane's address names each row of ldmatrix or stmatrix, and the banks the row lies in.

    addresses: bytes, one per lane; None puts one row below the other, `pitch` bytes apart, from `start` on.
    """
    from ptxsim.layout.banks import analyze
    from ptxsim.layout.conflicts import explain
    from ptxsim.layout.fragments import address_lanes

    lanes = address_lanes(shape)
    if addresses is None:
        addresses = start + np.arange(32) * pitch
    addresses = np.asarray(addresses, dtype=np.int64)
    panels = []
    for matrix, members in enumerate(lanes):
        labels, cells = [], []
        for row, lane in enumerate(members.tolist()):
            address = int(addresses[lane])
            labels.append(f"row {row}: T{lane} {address:#06x}")
            banks = set(range(address // 4 % 32, address // 4 % 32 + 4))
            cells.append([Cell("####" if first in banks else "", row if first in banks else None)
                          for first in range(0, 32, 4)])  # fmt: skip
        title = f"matrix {matrix}" if len(lanes) > 1 else ""
        panels.append(Panel(labels, spans(32, 4), cells, title, "banks"))
    count = lanes.size // 8
    found = analyze(addresses[: lanes.size], kind="ldmatrix", matrices=count)
    why = explain(addresses[: lanes.size], kind="ldmatrix", matrices=count)
    notes = [f"{found.wavefronts} wavefronts, {found.ideal} without conflicts: {why}"]
    if lanes.size < 32:
        notes.append(f"lanes {lanes.size}-31 give no address")
    return Drawing(f"row pointers of {shape}", panels, notes)


def swizzle_atom_map(mode: str, major: str = "K") -> Drawing:
    """One swizzle atom in memory: every 16-byte unit with the number of the logical unit that lies there.

    Rows are rows of the swizzle (32, 64 or 128 bytes); a unit's colour is its logical place in the row.
    """
    from ptxsim.layout.swizzle import SWIZZLE_BITS, pattern_bytes, swizzle, swizzle_width

    wide = swizzle_width(mode) // 16
    units = np.arange(8 * wide)
    physical = swizzle(units * 16, mode) // 16
    logical = np.empty_like(units)
    logical[physical] = units
    cells = [[Cell(str(u), int(u % wide)) for u in row] for row in logical.reshape(8, wide)]
    shape = f"8x{wide}" if major == "K" else f"{wide}x8"
    corner, along = ("row", "k") if major == "K" else ("k", "m or n")
    notes = [f"the numbers count units in logical order, {along} running within a line"]
    if SWIZZLE_BITS[mode]:
        notes.append(
            f"Swizzle<{SWIZZLE_BITS[mode]},4,3>: address bits from 4 up are flipped by those from 7 up; "
            f"the pattern repeats every {pattern_bytes(mode)} bytes"
        )
    title = f"swizzle atom {mode}, {major}-major: {shape} units of 16 bytes"
    return Drawing(title, [Panel([str(r) for r in range(8)], spans(wide, 1), cells, "", f"{corner}\\unit")], notes)


def shared_tile(layout: SharedLayout) -> Drawing:
    """A canonical tile as a matrix of 16-byte units, each with the unit of memory it lies in (byte offset / 16)."""
    rows, columns = layout.shape
    unit = layout.unit
    down, across = (1, unit) if layout.major == "K" else (unit, 1)
    where = layout.offsets[::down, ::across] // 16
    cells = [[Cell(str(u), int(u) // (128 // 16)) for u in row] for row in where]
    panel = Panel(spans(rows, down), spans(columns, across), cells, "", "row\\k")
    raw = layout.descriptor(0).raw()
    notes = [
        f"exact layout:     {layout.cute()}",
        f"canonical layout: {layout.canonical}, T = {unit}, m = {layout.m}, k = {layout.k}",
        f"in the descriptor: LBO {raw['leading']}, SBO {raw['stride']} (units of 16 bytes)",
        "cells: 16-byte unit of memory; one colour for each 128 bytes",
    ]
    if len(np.unique(where)) < where.size:
        notes.append("units that stand twice: past the width of the swizzle a column falls on later rows")
    title = f"{layout.major}-major, swizzle {layout.swizzle}, .{layout.type}: {rows} x {columns} elements"
    return Drawing(title, [panel], notes)


def descriptor_reads(descriptor: Descriptor, major: str = "K", rows: int = 64, bits: int = 16) -> Drawing:
    """Shared memory in lines of 128 bytes with what one product (32 bytes of K) reads there through a descriptor.

    A cell is a 16-byte unit: `r3 k8` is the first (row, k) in it, `x2` how often it is read. bits: element width.
    """
    k = 256 // bits
    found = descriptor.addresses(major, rows, k, bits)
    unit = 128 // bits
    down, across = (1, unit) if major == "K" else (unit, 1)
    starts = found[::down, ::across]
    names: dict[int, list[tuple[int, int]]] = {}
    for (row, column), address in np.ndenumerate(starts):
        names.setdefault(int(address) // 16, []).append((row * down, column * across))
    lines = sorted({unit_ // 8 for unit_ in names})
    labels, cells = [], []
    for previous, line in zip([lines[0] - 1, *lines], lines):
        if line > previous + 1:
            labels.append("...")
            cells.append([Cell("")] * 8)
        labels.append(f"{line * _LINE:#06x}")
        cells.append([_unit_cell(names.get(line * 8 + i)) for i in range(8)])
    notes = [f"{name}: {text}" for name, text in descriptor.problems()]
    repeated = sum(len(places) > 1 for places in names.values())
    if repeated:
        notes.append(f"{repeated} units are read more than once: rows or columns overlap")
    title = f"{descriptor.encode():#018x} reads, {major}-major, {rows} x {k} elements of {bits} bits"
    return Drawing(title, [Panel(labels, [f"+{16 * i}" for i in range(8)], cells, "", "address")], notes)


def _unit_cell(places: list[tuple[int, int]] | None) -> Cell:
    if not places:
        return Cell("")
    row, column = places[0]
    more = f" x{len(places)}" if len(places) > 1 else ""
    return Cell(f"r{row} k{column}{more}", row // 8)


def metadata_map(found: Sparsity, words: ArrayLike, selector: int = 0, title: str = "metadata") -> Drawing:
    """The dense A of a sparse product: `a3` where the compressed element 3 of the row stands, nothing where zero is.

    words: metadata, one word for each lane of the warp (32) or warpgroup (128). Raises PtxError for the selector.
    """
    words = np.asarray(words, dtype=np.uint32)
    nibbles, columns = found.rows_of(words, selector), found.columns(words, selector)
    bad = {(row, group): nibble for row, group, nibble in found.problems(words, selector)}
    cells = []
    for row in range(found.rows):
        line = [Cell("")] * found.k
        for element, column in enumerate(columns[row].tolist()):
            line[column] = Cell(f"a{element}", column // found.group)
        cells.append(line)
    labels = [f"{row}: {''.join(f'{n:x}' for n in reversed(line))}" for row, line in enumerate(nibbles.tolist())]
    first, last = found.lanes * selector, found.lanes * (selector + 1) - 1
    who = f"lane {first}" if first == last else f"lanes {first}-{last}"
    kept = f"{found.group // 2} of {found.group}" if found.run == 1 else "2 of 4 pairs"
    notes = [
        f"each nibble keeps {kept} columns; beside the row its metadata in hexadecimal, columns 0 rightmost",
        f"selector {selector}: {who} of every quad give{'s' * (first == last)} the metadata",
    ]
    notes += [
        f"row {r}, columns {g * found.group}-{(g + 1) * found.group - 1}: {n:#x} is not allowed"
        for (r, g), n in bad.items()
    ]
    return Drawing(title, [Panel(labels, spans(found.k, 1), cells, "", "row: metadata")], notes)


def fragment_drawing(fragment: Fragment, pitch: int = 16) -> Drawing:
    """The fragment map, with the row pointers of ldmatrix and stmatrix for rows `pitch` bytes apart."""
    drawing = fragment_map(fragment)
    if fragment.family in ("ldmatrix", "stmatrix"):
        drawing = drawing.above(row_pointers(fragment.shape_name, pitch=pitch))
    return drawing


def fragment_svg(fragment: Fragment) -> str:
    """The fragment map as SVG."""
    return fragment_map(fragment).svg()


def swizzle_atoms(mode: str, majors: tuple[str, ...] = ("K", "MN")) -> Drawing:
    """A swizzle atom, K-major above MN-major; mode: none, 32B, 64B, 128B. Raises PtxError."""
    from ptxsim.diagnostic import Finding, PtxError
    from ptxsim.layout.swizzle import SWIZZLE_BITS
    from ptxsim.spelling import did_you_mean

    if mode not in SWIZZLE_BITS:
        raise PtxError(Finding("descriptor-invalid", f"no swizzle {mode!r}", help=did_you_mean(mode, SWIZZLE_BITS)))
    first, *rest = (swizzle_atom_map(mode, major) for major in majors)
    return first.above(rest[0]) if rest else first

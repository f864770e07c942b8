"""Fragments of wmma between registers and memory: which accesses a load or store is made of, and what they ask for.

The machine instructions were read from what ptxas 13.0 makes of every form for sm_90: 16-bit A and B, and narrower
ones whose registers hold what is consecutive in memory, come from .shared memory through ldmatrix; all else are
ordinary accesses of one register (two for 32- and 64-bit accumulators) where its elements are consecutive in memory,
of a transposed 8x8 block for other 16-bit elements, and of single elements for the rest.
PTX ISA, "Matrix Storage for WMMA"; hardware.md, "wmma addresses".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.layout.fragments import Fragment
from ptxsim.layout.wmma_stride import fragment_bytes, wmma_stride
from ptxsim.machine.event import FLAG_WMMA, Event
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port

_LANE = np.arange(LANES)
SAME = "all lanes of a warp give wmma the same address and stride"


@dataclass(frozen=True, eq=False)
class Plan:
    """The accesses of one form. A matrix is stored in lines (its rows, or its columns), `stride` elements apart.

    `lines`, `positions`: int (accesses, 32), where each lane's access starts; `width` its bytes. `matrices`: for
    ldmatrix, how many 8x8 matrices one takes, lane i giving the address of row i. `drops`: pairs of 16-bit elements are
    addressed as words, an odd stride loses half a word. `element_lines`, `element_positions`: where the elements are,
    int (units, 32), each unit `unit` bytes that are consecutive in memory and in a register.
    """

    lines: np.ndarray
    positions: np.ndarray
    width: int
    matrices: int
    drops: bool
    element_lines: np.ndarray
    element_positions: np.ndarray
    unit: int

    def addresses(self, base: int, stride: int, bits: int) -> np.ndarray:
        """Byte address of every access, uint64 (accesses, 32)."""
        return _bytes(base, self.lines * self._stride(stride) + self.positions, bits)

    def element_addresses(self, base: int, stride: int, bits: int) -> np.ndarray:
        """Byte address of every unit of elements, uint64 (units, 32)."""
        return _bytes(base, self.element_lines * self._stride(stride) + self.element_positions, bits)

    def _stride(self, stride: int) -> int:
        return stride // 2 * 2 if self.drops else stride


def _bytes(base: int, elements: np.ndarray, bits: int) -> np.ndarray:
    """Where elements after a base are, in the 64 bits of addresses."""
    return np.uint64(base) + (elements * bits // 8).astype(np.uint64)


@cache
def plan(fragment: Fragment, layout: str, shared: bool) -> Plan:
    """How the GPU reads or writes a fragment of a matrix stored by rows ("row") or columns ("col")."""
    bits, inside = fragment.element_bits, fragment.per_register
    line, position = (
        part[:, : fragment.elements // fragment.copies].T.reshape(-1, inside, 32)
        for part in ((fragment.rows, fragment.columns) if layout == "row" else (fragment.columns, fragment.rows))
    )
    natural = inside == 1 or bool((np.diff(position, axis=1) == 1).all())
    factor = fragment.operand in "AB"
    matrix = shared and factor and bits <= 16 and (natural or bits == 16)
    matrices, width = 0, bits * inside // 8
    units = (line[:, 0], position[:, 0]) if natural else (line.reshape(-1, 32), position.reshape(-1, 32))
    lines, positions = units
    if matrix:
        matrices, width = min(4 if bits == 16 else 2, len(line)), 16
        row = _LANE % 8
        lane, slot = (4 * row, 0) if natural else (row // 2, row % 2)
        register = np.arange(len(line)).reshape(-1, matrices).repeat(8, axis=1)
        width_of_access = matrices * 8
        lines, positions = (np.zeros((len(register), 32), np.int64) for _ in "lp")
        for target, source in ((lines, line), (positions, position)):
            picked = source[register, np.broadcast_to(slot, 32)[:width_of_access], lane[:width_of_access]]
            target[:, :width_of_access] = picked
    elif not natural and bits == 16:
        # A lane reads two elements of one line; movmatrix then brings them to the lanes that hold them.
        read_line, read_position = _LANE // 4, _LANE % 4 * 2
        lane, slot = 4 * read_position + read_line // 2, read_line % 2
        lines, positions = line[:, slot, lane], position[:, slot, lane]
    elif not natural:
        width = bits // 8
    elif not factor and inside == 1 and bool((position[1::2] - position[::2] == 1).all()):
        lines, positions, width = lines[::2], positions[::2], 2 * width
    unit = width if not natural and bits < 16 else (bits * inside // 8 if natural else bits // 8)
    return Plan(lines, positions, width, matrices, bits == 16 and not matrix, *units, unit)


def load_fragment(
    m: Port, space: str | None, address: np.ndarray, stride: np.ndarray | None, fragment: Fragment, layout: str
) -> np.ndarray:
    """The words, uint32 (words, 32), of a fragment loaded from memory; `stride` is a lane value or None.

    Raises Fault where the GPU would (misaligned-address, out-of-bounds); reports what is undefined or breaks the
    manual's rules.
    """
    found, memory, offsets = _access(m, space, address, stride, fragment, layout, store=False)
    data = memory[offsets[..., None] + np.arange(found.unit)]  # (units, 32, bytes)
    whole = max(4, fragment.element_bits // 8)
    parts = data.reshape(-1, whole // found.unit, 32, found.unit).swapaxes(1, 2).reshape(-1, 32, whole)
    words = np.ascontiguousarray(parts).view("<u4")  # (registers, 32, words of each)
    words = np.moveaxis(words, -1, 1).reshape(-1, 32)
    return np.concatenate([words] * fragment.copies)


def store_fragment(
    m: Port, space: str | None, address: np.ndarray, stride: np.ndarray | None, words: np.ndarray, fragment: Fragment,
    layout: str,
) -> None:  # fmt: skip
    """Write a fragment's words, uint32 (words, 32), to memory. Faults and findings as in load_fragment."""
    found, memory, offsets = _access(m, space, address, stride, fragment, layout, store=True)
    whole = max(4, fragment.element_bits // 8)
    words = words[: len(words) // fragment.copies].reshape(-1, whole // 4, 32)
    data = np.ascontiguousarray(np.moveaxis(words, 1, -1), "<u4").view(np.uint8)  # (registers, 32, bytes)
    parts = data.reshape(-1, 32, whole // found.unit, found.unit).swapaxes(1, 2).reshape(-1, 32, found.unit)
    memory[offsets[..., None] + np.arange(found.unit)] = parts


def _access(
    m: Port, space: str | None, address: np.ndarray, stride: np.ndarray | None, fragment: Fragment, layout: str,
    store: bool,
) -> tuple[Plan, np.ndarray, np.ndarray]:  # fmt: skip
    """Check an access and record it; gives its plan, the bytes it goes to, and the offset of every unit there."""
    shared = space is not None and space.startswith("shared")
    found = plan(fragment, layout, shared and not store)
    default = wmma_stride(fragment.shape_name, fragment.operand, layout)
    base = m.uniform(address, "address", SAME)
    step = default if stride is None else m.uniform(stride, "stride", SAME)
    _check(m, found, fragment, layout, base, step, default)
    active = m.mask
    event = Event.LDMATRIX if found.matrices else Event.STORE if store else Event.LOAD
    place = None
    try:
        if found.matrices:
            m.mask = active & (8 * found.matrices > _LANE)
        for row in found.addresses(base, step, fragment.element_bits):
            for kind, memory, offsets, mask in m.resolve(space, row, found.width, write=store):
                lane = int(np.argmax(mask))
                place = memory, offsets[lane] - row[lane]
                m.emit(event, kind, found.width, FLAG_WMMA, mask, m.named(kind, memory, offsets, row))
    finally:
        m.mask = active
    assert place is not None
    memory, delta = place
    return found, memory, (found.element_addresses(base, step, fragment.element_bits) + delta).astype(np.int64)


def _check(m: Port, found: Plan, fragment: Fragment, layout: str, base: int, stride: int, default: int) -> None:
    """Report or raise what is wrong with address and stride, the worst first."""
    bits = fragment.element_bits
    if stride < default:
        m.report(
            "wmma-stride-too-small",
            f"stride {stride} is below {default}, the {'columns' if layout == 'row' else 'rows'} of the matrix",
            help="the manual leaves it undefined; lines overlap in memory",
        )
    addresses = found.addresses(base, stride, bits)
    wrong = addresses % found.width != 0
    if wrong.any():
        access, lane = np.argwhere(wrong)[0]
        at = int(addresses[access, lane])
        text = _line_text(layout, int(found.lines[access, lane]), at, found.width)
        raise Fault("misaligned-address", f"wmma: {text}", int(lane), _advice(base, found.width, bits, default, stride))
    if found.drops and stride % 2:
        text = _line_text(layout, 1, base + stride * bits // 8, 4)
        help = (
            f"the GPU drops half a word: it reads with stride {stride - 1}; {_advice(base, 4, bits, default, stride)}"
        )
        m.report("wmma-alignment", text, help=help, level="error")
        return
    size = fragment_bytes(fragment.shape_name, fragment.operand, fragment.type)
    step = stride * bits // 8
    if base % size:
        text = _line_text(layout, 0, base, size)
    elif stride > default and step % size:  # below the default the stride itself is the finding
        text = _line_text(layout, 1, base + step, size)
    else:
        return
    m.report(
        "wmma-alignment",
        f"{text}, the size of the fragment",
        help=_advice(base, size, bits, default, stride),
        level="note",
    )


def _line_text(layout: str, line: int, address: int, size: int) -> str:
    name = "row" if layout == "row" else "column"
    return f"{name} {line} starts at {address:#x}, {address % size} bytes off a multiple of {size}"


def _advice(base: int, size: int, bits: int, default: int, stride: int) -> str:
    """Where lines may start and what strides are legal: the smallest of all, and the next from the one given."""
    unit = size * 8 // bits
    smallest, following = (-(-step // unit) * unit for step in (default, max(default, stride)))
    move = f"start at a multiple of {size} bytes; " if base % size else ""
    more = f", the next above {stride} is {following}" if following > max(smallest, stride) else ""
    return f"{move}the smallest legal stride is {smallest} elements{more}"

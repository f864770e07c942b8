"""Products on tensor memory: which matrices they multiply, and where the results go. PTX ISA, "TensorCore 5th Generation
Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ptxsim import numerics
from ptxsim.layout.column_mask import column_shift, mask_problem, zero_columns
from ptxsim.layout.instruction_descriptor import InstructionDescriptor, NotModeled, field_problem, shape_problem
from ptxsim.layout.sparsity import Sparsity
from ptxsim.layout.tables import GROUPS
from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import QUARTER, ROWS, Area, Cells, accumulators, metadata_cells, row_of, scale_place
from ptxsim.machine.cta import Cta
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory.cells import TensorMemory, group_of, memory_of, place, run
from ptxsim.machine.tensor_memory.core import Load
from ptxsim.machine.tensor_memory.order import Use
from ptxsim.machine.tile import Tile
from ptxsim.numerics.forms import TENSOR_MEMORY, Form
from ptxsim.types import TYPES

BYTE_KINDS = ("f8f6f4", "mxf8f6f4")  # whose narrow elements have a byte each
IN_SCALES = 0x3FFFFFFF  # the address in an operand that may have the number of a byte above it


@dataclass(frozen=True)
class TensorProduct:
    """D = A*B + D of one CTA or a pair, as an instruction gives it.

    `words`: the instruction descriptor. `d`: address of D. `a`: a matrix descriptor, or the address in tensor memory if `from_memory`.
    `keep`: whether D is added. `shift`: D is divided by 2**shift before. `off`: rows of tensor memory that are not written, a bit
    each, of the pair's second CTA after those of the first. `metadata`: address of a sparse A's. `scales`: addresses of the block
    scales of A and B, `blocks` how many a row has. `moves_a` (.ashift): A's rows move down after the product. `mask`: the descriptor of
    columns of B that are zeros, and by how many columns B begins later.
    """

    words: InstructionDescriptor
    d: int
    a: int
    b: int
    keep: bool
    from_memory: bool = False
    ws: bool = False
    shift: int = 0
    off: int = 0
    ctas: int = 1
    metadata: int = 0
    scales: tuple[int, int] | None = None
    blocks: int = 0
    moves_a: bool = False
    mask: int = 0

    @property
    def rows(self) -> int:
        """Rows of D that a CTA has."""
        return self.words.m // self.ctas

    @property
    def storage_bits(self) -> int:
        """How many bits an element of A and B has to itself."""
        return 8 if self.words.kind in BYTE_KINDS else TYPES[self.words.a].bits

    @cached_property
    def tiles(self) -> list[Tile]:
        """What it reads of each CTA's shared memory: its part of B, and of A before it if that comes from there."""
        words = self.words
        major_a, major_b = ("MN" if transposed else "K" for transposed in (words.transpose_a, words.transpose_b))
        columns = words.n // self.ctas + -(-column_shift(self.mask) // 8 * 8)
        b = Tile(self.b, major_b, columns, words.k, self.storage_bits, TensorDescriptor)
        a = Tile(self.a, major_a, self.rows, words.values, self.storage_bits, TensorDescriptor)
        return [b] if self.from_memory else [a, b]

    @property
    def load(self) -> Load:
        """How much work it is for the tensor core of each CTA."""
        words = self.words
        row, part = words.values * self.storage_bits // 8, words.n // self.ctas
        a_bytes = 0 if self.from_memory else self.rows * row
        b_bytes = part * words.k * self.storage_bits // 8
        return Load(
            a_bytes + b_bytes,
            self.ctas,
            self.rows,
            words.n,
            row,
            not self.from_memory,
            2 * self.rows * words.n * words.k,
        )

    @cached_property
    def form(self) -> Form:
        words = self.words
        return Form(
            TENSOR_MEMORY, words.sparse, words.m, words.n, words.k, words.d, words.a, words.b, words.d, words.kind, words.scale,
            words.saturate,
        )  # fmt: skip

    @cached_property
    def cells(self) -> Cells:
        """Where D is in each CTA, from its address on."""
        return accumulators(self.rows, self.words.n, self.spread)

    @property
    def spread(self) -> bool:
        """Whether 64 rows take 16 of every 32 in tensor memory (PTX ISA, "Data Path Layout Organization": layouts F and C)."""
        return (self.ctas == 1 or self.words.sparse) and not self.ws

    @property
    def metadata_cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the metadata of a sparse A is in each CTA, from its address on."""
        bits = self.storage_bits
        return metadata_cells(self.rows, self.words.k, GROUPS[bits][0], bits, self.spread)

    def uses(self, m: Port) -> list[Use]:
        """What of tensor memory it reads and writes. Raises Fault where that is not there."""
        found, words, name = [], self.words, "the product"
        d, operands = self.cells.area, []
        if self.from_memory:
            operands.append((self.a, Area(d.rows, run(self.a_columns)), self.moves_a))
        if words.sparse:
            row, column, _ = self.metadata_cells
            operands.append((self.metadata, Cells(row, column).area, False))
        for address, count in zip(self.scales or (), (self.rows, words.n), strict=False):
            operands.append((address & IN_SCALES, Area(run(ROWS), run(-(-count // QUARTER))), False))
        for cta in group_of(m, self.ctas):
            memory = memory_of(cta)
            found.append(Use(memory, place(memory, self.d, d, "the product's D"), True, m.line, name))
            found += [
                Use(memory, place(memory, at, area, "an operand"), writes, m.line, name)
                for at, area, writes in operands
            ]
        return found

    @property
    def a_columns(self) -> int:
        """Columns of tensor memory that A takes."""
        return -(-self.words.values * self.storage_bits // 32)

    def run(self, m: Port) -> None:
        """Read the operands, write D."""
        ctas, native = group_of(m, self.ctas), m.machine.native_tensor_product
        if native is None or self.mask or not native(self, ctas):
            b = np.concatenate([read_codes(self.tiles[-1], self.words.b, cta.shared) for cta in ctas]).T
            if self.mask:
                shift, n = column_shift(self.mask), self.words.n
                b = np.where(zero_columns(self.mask, self.words.m, n), 0, b[:, shift : shift + n]).astype(b.dtype)
            for number, cta in enumerate(ctas):
                self._run_cta(m, cta, b, self.off >> ROWS * number)
        if self.moves_a:
            for cta in ctas:
                move_down(memory_of(cta), self.a & 0xFFFF, self.a_columns, 0, ROWS)

    def _run_cta(self, m: Port, cta: Cta, b: np.ndarray, off: int) -> None:
        words, memory = self.words, memory_of(cta)
        rows, columns = self.cells.at(self.d)
        if self.keep and self.shift:
            self.scale_down(memory, off)
        c = memory.cells[columns, rows].astype(f"u{TYPES[words.d].bits // 8}")
        if not self.keep:
            c = np.zeros_like(c)
        kept = None if not words.sparse else self.kept_columns(memory)
        d = np.empty_like(c)
        for block in self.parts():
            a = self._a_of(cta, block)
            d[block] = self._multiply(m, a, b[:, block[1][0]], c[block], kept, memory, block)
        self._write(memory, off, d)

    def _write(self, memory: TensorMemory, off: int, d: np.ndarray) -> None:
        """D, or what it is before the product, in the rows that are written."""
        rows, columns = self.cells.at(self.d)
        if off:
            writes = np.array([not off >> row & 1 for row in range(ROWS)])
            d = np.where(writes[rows], d, memory.cells[columns, rows])
        memory.cells[columns, rows] = d

    def scale_down(self, memory: TensorMemory, off: int) -> None:
        """D / 2**shift: exact, or rounded to nearest even where it becomes subnormal."""
        rows, columns = self.cells.at(self.d)
        codes = memory.cells[columns, rows].astype(f"u{TYPES[self.words.d].bits // 8}")
        kind = np.dtype("f4" if self.words.d == "f32" else "f2")
        self._write(
            memory, off, (codes.view(kind).astype(np.float64) * 2.0**-self.shift).astype(kind).view(codes.dtype)
        )

    def parts(self) -> list[tuple[np.ndarray, ...]]:
        """Parts of D, as indices for rows and columns, that are computed with one A and one set of scales."""
        lanes, n = self.cells.rows, self.words.n
        if self.scales is not None:
            quarters = [lanes // QUARTER == quarter for quarter in range(ROWS // QUARTER)]
            return [np.ix_(q.any(axis=1), q.any(axis=0)) for q in quarters if q.any()]
        # Where A stands several times one below the other, each part of the columns has its own.
        parts = 1 if self.spread or not self.from_memory else ROWS // self.rows
        every = np.ones(self.rows, bool)
        return [np.ix_(every, np.arange(n) // (n // parts) == part) for part in range(parts)]

    def _multiply(
        self, m: Port, a: np.ndarray, b: np.ndarray, c: np.ndarray, kept: np.ndarray | None, memory: TensorMemory, block: Any
    ) -> np.ndarray:  # fmt: skip
        words = self.words
        rule = numerics.find(self.form, str(m.machine.target))
        options: dict[str, Any] = {
            "negate_a": words.negate_a, "negate_b": words.negate_b, "satfinite": words.saturate,
            "numerics": m.machine.numerics,
        }  # fmt: skip
        if self.scales is not None:
            scale_a, scale_b = self.scales_of(memory, block)
            if kept is not None:  # sparse_product makes one problem of every row of A
                scale_a, scale_b = scale_a[:, None, :], scale_b[None]
            options.update(scale_a=scale_a, scale_b=scale_b)
        if kept is not None:
            found = numerics.sparse_product(rule, a, kept[block[0][:, 0]], b, c, **options)
        else:
            found = numerics.product(rule, a, b, c, **options)
        return np.asarray(found)

    def _a_of(self, cta: Cta, block: Any) -> np.ndarray:
        """The codes of A, (rows of the block, k)."""
        words, bits, m = self.words, self.storage_bits, block[0][:, 0]
        if not self.from_memory:
            return np.asarray(read_codes(self.tiles[0], words.a, cta.shared)[m])
        part = block[1][0, 0] * (1 if self.spread else ROWS // self.rows) // words.n
        row = row_of(m, self.rows, self.spread)[:, None] + part * self.rows
        at = np.arange(words.values)[None, :] * bits
        memory = memory_of(cta)
        rows, columns = Cells(row, at // 32).at(self.a)
        codes = memory.cells[columns, rows] >> (at % 32).astype(np.uint32)
        return narrowed(codes & np.uint32(0xFFFFFFFF >> 32 - bits), words.a, bits)

    def scales_of(self, memory: TensorMemory, block: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the scales of A, (rows, blocks), and B, (blocks, columns). Each quarter of the lanes has those of all rows and of its
        columns: of a row (or column) in lane i % 32 and column i / 32, a byte for every block from the chosen one on."""
        assert self.scales is not None
        rows, columns = block[0][:, 0], self.cells.columns[block][0]
        quarter = self.cells.rows[block][0, 0] // QUARTER * QUARTER
        found = []
        for address, first, index in (
            (self.scales[0], self.words.scale_a, rows),
            (self.scales[1], self.words.scale_b, columns),
        ):
            lane, column = scale_place(index)
            lanes, column = Cells(quarter + lane, column).at(address & IN_SCALES)
            shifts = 8 * (first + np.arange(self.blocks, dtype=np.uint32))
            found.append((memory.cells[column, lanes][:, None] >> shifts & 255).astype(np.uint8))
        return found[0], found[1].T

    def kept_columns(self, memory: TensorMemory) -> np.ndarray:
        """Dense k of every element of a sparse A, (rows, k / 2)."""
        words, bits = self.words, self.storage_bits
        group, run = GROUPS[bits]
        row, column, shift = self.metadata_cells
        selected = words.selector & 1 if bits >= 16 else 0
        rows, columns = Cells(row, column + selected).at(self.metadata)
        nibbles = memory.cells[columns, rows] >> shift & 15
        return np.asarray(Sparsity(self.rows, words.k, group, run, bits).columns_of(nibbles.astype(np.int64)))


def move_down(memory: TensorMemory, column: int, columns: int, row: int, rows: int) -> None:
    """Each row gets what the next one has, but for the last of every 32. PTX ISA, "tcgen05.shift", and which way is down: CUTLASS,
    1cta_mma_a_from_tmem.py, as observed on a B200."""
    for first in range(row, row + rows, QUARTER):
        quarter = memory.cells[column : column + columns, first : first + QUARTER]
        quarter[:, :-1] = quarter[:, 1:].copy()


def narrowed(codes: np.ndarray, name: str, bits: int) -> np.ndarray:
    """Codes of elements that have `bits` each: of a byte, a 4-bit float has those in the middle, where a 6-bit one begins."""
    if (TYPES[name].bits, bits) == (4, 8):
        codes = codes >> 2
    kept: np.ndarray = codes & codes.dtype.type((1 << TYPES[name].bits) - 1)
    return kept


def read_codes(tile: Tile, name: str, memory: np.ndarray) -> np.ndarray:
    """Element codes (rows, k) of a tile in shared memory. Elements of 4 and 6 bits with a byte each lie packed at the start of every 16 bytes
    for 16 of them."""
    bits = TYPES[name].bits
    if bits == tile.bits:
        return tile.read(memory)
    starts = tile.addresses()[:, ::16]
    chunks = memory[starts[..., None] + np.arange(16)]
    digits = np.unpackbits(chunks, axis=-1, bitorder="little")[..., : 16 * bits].reshape(*starts.shape, 16, bits)
    codes: np.ndarray = np.packbits(digits, axis=-1, bitorder="little")[..., 0]
    return codes.reshape(tile.rows, tile.k)


def legal(
    words: InstructionDescriptor | str, ctas: int, ws: bool, sparse: bool, moves_a: bool = False, mask: int = 0, blocks: int = 0
) -> InstructionDescriptor:  # fmt: skip
    """The instruction descriptor of a product of `ctas` CTAs, with so many block scales a row. Raises Fault `descriptor-invalid` with what
    is wrong with it, or `not-modeled`."""
    problem = words if isinstance(words, str) else shape_problem(words, ctas, ws) or field_problem(words, blocks)
    if not isinstance(words, str) and words.sparse != sparse:
        problem = f"the sparsity bit is {int(words.sparse)} in a product that is{'' if sparse else ' not'} .sp"
    transposed = [] if isinstance(words, str) else [(words.transpose_a, words.a), (words.transpose_b, words.b)]
    if any(is_so and TYPES[name].bits < 8 for is_so, name in transposed):
        problem = "elements of 4 and 6 bits are K-major: the transpose bits are 0"
    if moves_a and not isinstance(words, str) and words.m // ctas != ROWS:
        problem = f"M is {words.m} in a product with .ashift, which takes {ROWS} rows of each CTA"
    if mask and problem is None and not isinstance(words, str):
        problem = mask_problem(mask, words)
    if isinstance(words, str) or problem is not None:
        name = "not-modeled" if isinstance(words, NotModeled) else "descriptor-invalid"
        raise Fault(name, f"the instruction descriptor: {problem}", help="see `ptxsim desc` for its fields")
    return words

"""Products on tensor memory: which matrices they multiply, and where the results go. PTX ISA, "tcgen05.mma"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ptxsim import numerics
from ptxsim.layout.instruction_descriptor import InstructionDescriptor, shape_problem
from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import ROWS, Cells, accumulators, row_of
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import TensorMemory, memory_of, place
from ptxsim.machine.tile import Tile
from ptxsim.numerics.forms import Form
from ptxsim.types import TYPES

BYTE_KINDS = ("f8f6f4", "mxf8f6f4")  # whose narrow elements have a byte each


@dataclass(frozen=True)
class TensorProduct:
    """D = A*B + D of one CTA, as an instruction gives it.

    `words`: the instruction descriptor. `d`: address of D. `a`: a matrix descriptor, or the address in tensor memory if `from_memory`.
    `keep`: whether D is added. `scale`: D is divided by 2**scale before. `off`: rows of tensor memory that are not written, a bit each.
    """

    words: InstructionDescriptor
    d: int
    a: int
    b: int
    keep: bool
    from_memory: bool = False
    ws: bool = False
    scale: int = 0
    off: int = 0

    @property
    def storage_bits(self) -> int:
        """How many bits an element of A and B has to itself."""
        return 8 if self.words.kind in BYTE_KINDS else TYPES[self.words.a].bits

    @cached_property
    def tiles(self) -> list[Tile]:
        """What it reads of shared memory: B, and A before it if it comes from there."""
        words = self.words
        major_a, major_b = ("MN" if transposed else "K" for transposed in (words.transpose_a, words.transpose_b))
        b = Tile(self.b, major_b, words.n, words.k, self.storage_bits, TensorDescriptor)
        a = Tile(self.a, major_a, words.m, words.values, self.storage_bits, TensorDescriptor)
        return [b] if self.from_memory else [a, b]

    def run(self, m: Port) -> None:
        """Read the operands, write D."""
        words, memory = self.words, memory_of(m.cta)
        rule = numerics.find(self.form, str(m.machine.target))
        b = read_codes(self.tiles[-1], words.b, m.cta.shared).T
        a = self._a_of(memory) if self.from_memory else read_codes(self.tiles[0], words.a, m.cta.shared)
        cells = place(memory, self.d, accumulators(words.m, words.n, not self.ws), "the product's D")
        bits = TYPES[words.d].bits
        c = memory.cells[cells.columns, cells.rows]
        c = c.astype(f"u{bits // 8}") if self.keep else np.zeros(c.shape, f"u{bits // 8}")
        if self.scale:
            c = scaled_down(c, words.d, self.scale)
        d = numerics.product(
            rule, a, b, c, negate_a=words.negate_a, negate_b=words.negate_b, satfinite=words.saturate,
            numerics=m.machine.numerics,
        )  # fmt: skip
        if self.off:
            written = self.off >> np.arange(ROWS).astype(object) & 1 == 0
            keep = written.astype(bool)[cells.rows]
            d = np.where(keep, d, memory.cells[cells.columns, cells.rows])
        memory.cells[cells.columns, cells.rows] = d

    @cached_property
    def form(self) -> Form:
        words = self.words
        return Form(
            "tcgen05", words.sparse, words.m, words.n, words.k, words.d, words.a, words.b, words.d, words.kind, words.scale,
            words.saturate,
        )  # fmt: skip

    def _a_of(self, memory: TensorMemory) -> np.ndarray:
        """The codes of an A in tensor memory, (m, k)."""
        words, bits = self.words, self.storage_bits
        row = row_of(np.arange(words.m), words.m, not self.ws)[:, None]
        at = np.arange(words.values)[None, :] * bits
        cells = place(memory, self.a, Cells(*np.broadcast_arrays(row, at // 32)), "the product's A")
        codes = memory.cells[cells.columns, cells.rows] >> (at % 32).astype(np.uint32)
        return narrowed(codes & np.uint32((1 << bits) - 1), words.a, bits)


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


def scaled_down(c: np.ndarray, name: str, scale: int) -> np.ndarray:
    """D / 2**scale: exact, or rounded to nearest even where it becomes subnormal."""
    kind = np.dtype("f4" if name == "f32" else "f2")
    result: np.ndarray = (c.view(kind).astype(np.float64) * 2.0**-scale).astype(kind).view(c.dtype)
    return result


def legal(words: InstructionDescriptor | str, ctas: int, ws: bool = False) -> InstructionDescriptor:
    """The instruction descriptor of a product of `ctas` CTAs. Raises Fault `descriptor-invalid` with what is wrong with it."""
    problem = words if isinstance(words, str) else shape_problem(words, ctas, ws)
    if isinstance(words, str) or problem is not None:
        raise Fault(
            "descriptor-invalid", f"the instruction descriptor: {problem}", help="see `ptxsim desc` for its fields"
        )
    return words

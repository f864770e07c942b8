"""Structured sparsity of products: the columns of the compressed A, and the lanes that hold the metadata.

PTX ISA, "Sparse matrix storage"; measured on sm_90. A row of A is cut into groups; every group has a nibble of
metadata. 16- and 8-bit types keep 2 of 4, tf32 keeps 1 of 2, 4-bit integers and .kind::mxf4 keep 2 of 4 pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.layout.fragments import container_bits, fragment_layout
from ptxsim.layout.tables import GROUPS


@dataclass(frozen=True)
class Sparsity:
    """How one sparse shape and type is stored.

    `group` columns share a nibble and keep half of them, in blocks of `run` consecutive ones: (4, 1) for 2 of 4,
    (8, 2) for 2 pairs of 4, (2, 1) for 1 of 2. `rows` and `k` are those of the dense A. A warp supplies metadata for
    16 rows from `lanes` lanes of each quad; `selectors` is how many sets of lanes can be chosen.
    """

    rows: int
    k: int
    group: int
    run: int
    element_bits: int

    @property
    def row_bits(self) -> int:
        """Metadata bits of one row."""
        return self.k // self.group * 4

    @property
    def lanes(self) -> int:
        return self.row_bits // 16

    @property
    def selectors(self) -> int:
        return 4 // self.lanes

    def rows_of(self, words: np.ndarray, selector: int) -> np.ndarray:
        """Nibbles of every row, int (..., rows, groups), from the metadata words (..., 32 or 128) of the lanes.

        Raises PtxError (`sparse-metadata`) where the selector names lanes that do not exist.
        """
        quads = self._quads(np.asarray(words, dtype=np.uint32), selector)
        if self.element_bits >= 16:
            # Each lane: its low half is the row of the quad, its high half the row eight below; lanes go along k.
            halves = np.stack([quads & 0xFFFF, quads >> 16], axis=-3)
            return _nibbles(halves, 16)
        # Lane pairs: the first holds the row of the quad, the second the row eight below; pairs go along k.
        pairs = quads.reshape(*quads.shape[:-1], -1, 2)
        return _nibbles(np.moveaxis(pairs, -1, -3), 32)

    def _quads(self, words: np.ndarray, selector: int) -> np.ndarray:
        if not 0 <= selector < self.selectors:
            raise PtxError(
                Finding(
                    "sparse-metadata",
                    f"no sparsity selector {selector} for this shape",
                    help=f"it may be 0..{self.selectors - 1}",
                )
            )
        quads = words.reshape(*words.shape[:-1], -1, 8, 4)
        return quads[..., self.lanes * selector : self.lanes * (selector + 1)]

    def columns(self, words: np.ndarray, selector: int = 0) -> np.ndarray:
        """Dense column of every compressed element, int (..., rows, k // 2), as the hardware reads the metadata."""
        return self.columns_of(self.rows_of(words, selector))

    def columns_of(self, nibbles: np.ndarray) -> np.ndarray:
        """Dense columns (..., rows, k // 2) for nibbles (..., rows, groups)."""
        start = np.arange(nibbles.shape[-1]) * self.group
        first, second = nibbles & 3, nibbles >> 2
        if self.group == 2:
            return start + (first >> 1)
        chosen = np.stack([first, second], axis=-1) * self.run + start[:, None]
        return (chosen[..., None] + np.arange(self.run)).reshape(*nibbles.shape[:-1], -1)

    def problems(self, words: np.ndarray, selector: int = 0, ordered: bool = False) -> list[tuple[int, int, int]]:
        """Nibbles that the manual does not allow, as (row, group, nibble).

        Two equal indices are never allowed; `ordered` (mma.sp::ordered_metadata) wants the lower one first. tf32 has
        4 and 14 only.
        """
        nibbles = self.rows_of(words, selector)
        first, second = nibbles & 3, nibbles >> 2
        bad = first >= second if ordered else first == second
        if self.group == 2:
            bad = (nibbles != 4) & (nibbles != 14)
        return [(int(r), int(g), int(nibbles[r, g])) for r, g in np.argwhere(bad)]

    def compress(self, dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(compressed codes (rows, k // 2), nibbles (rows, groups)) of a dense A of element codes (rows, k).

        Raises PtxError (`sparse-metadata`) where a group has more non-zero codes than it can keep.
        """
        blocks = dense.reshape(*dense.shape[:-1], -1, self.group // self.run, self.run)
        used = (blocks != 0).any(axis=-1)
        keep = self.group // self.run // 2
        if (used.sum(axis=-1) > keep).any():
            row, group = np.argwhere(used.sum(axis=-1) > keep)[0][-2:]
            raise PtxError(
                Finding(
                    "sparse-metadata",
                    f"row {row} has more non-zeros in columns {group * self.group}..{(group + 1) * self.group - 1} "
                    f"than the {keep * self.run} a group can keep",
                )
            )
        # Used blocks first, in order; then the unused ones, the last of them first, so that all-zero groups keep 2, 3.
        order = np.argsort(np.where(used, 0, 8 - np.arange(used.shape[-1])), axis=-1, kind="stable")
        chosen = np.sort(order[..., :keep], axis=-1)
        compressed = np.take_along_axis(blocks, chosen[..., None], axis=-2).reshape(*dense.shape[:-1], -1)
        if self.group == 2:
            return compressed, np.where(chosen[..., 0] == 1, 14, 4)
        return compressed, chosen[..., 0] | chosen[..., 1] << 2

    def words(self, nibbles: np.ndarray, selector: int = 0) -> np.ndarray:
        """Metadata words, uint32 (32,) or (128,), that encode `nibbles` (rows, groups); other lanes hold 0."""
        words = np.zeros(self.rows * 2, dtype=np.uint32)
        quads = self._quads(words, selector)
        width = 16 if self.element_bits >= 16 else 32
        parts = nibbles.reshape(-1, 2, 8, nibbles.shape[-1] * 4 // width, width // 4).astype(np.uint64)
        values = (parts << (np.arange(width // 4, dtype=np.uint64) * np.uint64(4))).sum(axis=-1).astype(np.uint32)
        if width == 16:
            quads[...] = values[:, 0] | values[:, 1] << np.uint32(16)
        else:
            quads[...] = np.moveaxis(values, 1, -1).reshape(quads.shape)
        return words


def _nibbles(parts: np.ndarray, width: int) -> np.ndarray:
    """(..., warps, 2, 8, parts) pieces of `width` bits as (..., rows, groups)."""
    split = (parts[..., None] >> np.arange(0, width, 4, dtype=np.uint32) & np.uint32(15)).astype(np.int64)
    return split.reshape(*parts.shape[:-4], -1, parts.shape[-1] * width // 4)


@cache
def sparsity(family: str, shape: str, type: str) -> Sparsity:
    """The storage of A for a sparse family ("mma.sp"). Raises PtxError for shapes and types without a sparse form."""
    rows, half = fragment_layout(family, shape, "A", type).shape
    bits = container_bits(family, shape, type)
    return Sparsity(rows, 2 * half, *GROUPS[bits], bits)

"""Tensor memory against Triton's linear layouts: what one bit of a row, column, register, lane or warp adds to the place in the matrix.

The facts are those that Triton 3.9's layout algebra gives for f32 accumulators of M x N (TensorMemoryLayout, compute_tmem_reg_layout for
four warps) and for block scales (TensorMemoryScalesLayout, whose columns are bytes).
"""

import numpy as np
import pytest

from ptxsim.layout.tensor_memory import ROWS, accumulators, moved, scale_place

MEMORY = [  # M, N, rows of tensor memory, columns
    (128, 64, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]),
    (64, 64, [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [16, 0], [32, 0]], [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]),
    (64, 128, [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [16, 0], [32, 0]], [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]]),
    (128, 256, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]]),
]  # fmt: skip
REGISTERS = [  # M, N, shape of the loads, registers, lanes, warps
    (128, 64, "32x32b", [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [[32, 0], [64, 0]]),
    (128, 64, "16x64b", [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [16, 0]], [[8, 0], [0, 1], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    (128, 64, "16x128b", [[8, 0], [0, 4], [0, 8], [0, 16], [0, 32], [16, 0]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    (128, 64, "16x256b", [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    (64, 64, "32x32b", [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], [[1, 0], [2, 0], [4, 0], [8, 0], [0, 32]], [[16, 0], [32, 0]]),
    (64, 64, "16x64b", [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], [[8, 0], [0, 1], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (64, 64, "16x128b", [[8, 0], [0, 4], [0, 8], [0, 16], [0, 32]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (64, 64, "16x256b", [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (64, 128, "32x32b", [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], [[1, 0], [2, 0], [4, 0], [8, 0], [0, 64]], [[16, 0], [32, 0]]),
    (64, 128, "16x64b", [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], [[8, 0], [0, 1], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (64, 128, "16x128b", [[8, 0], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (64, 128, "16x256b", [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0]]),
    (128, 256, "32x32b", [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [[32, 0], [64, 0]]),
    (128, 256, "16x64b", [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [16, 0]], [[8, 0], [0, 1], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    (128, 256, "16x128b", [[8, 0], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [16, 0]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    (128, 256, "16x256b", [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [16, 0]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
]  # fmt: skip
SCALES = [  # rows, scales of each, rows of tensor memory, columns in bytes
    (128, 4, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], [[0, 1], [0, 2], [32, 0], [64, 0]]),
    (128, 8, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], [[0, 1], [0, 2], [32, 0], [64, 0], [0, 4]]),
    (256, 4, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], [[0, 1], [0, 2], [32, 0], [64, 0], [128, 0]]),
    (64, 4, [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 0], [0, 0]], [[0, 1], [0, 2], [32, 0]]),
]  # fmt: skip
WORDS = {"32x32b": 1, "16x32bx2": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}  # registers of .x1


def places(bases):
    """What every number adds, (numbers, 2), given what each of its bits does."""
    found = np.zeros((1, 2), int)
    for base in bases:
        found = np.concatenate([found, found + base])
    return found


def matrix_of(m, n):
    """The place in the matrix of every cell, (rows, columns, 2)."""
    rows, columns = accumulators(m, n, spread=True)
    found = np.full((ROWS, n, 2), -1)
    found[rows, columns] = np.moveaxis(np.indices((m, n)), 0, -1)
    return found


@pytest.mark.parametrize(("m", "n", "rows", "columns"), MEMORY)
def test_accumulators(m, n, rows, columns):
    expected = places(rows)[:, None] + places(columns)
    found = matrix_of(m, n)
    there = found[..., 0] >= 0
    assert (found[there] == expected[there]).all()
    assert there.sum() == m * n


@pytest.mark.parametrize(("m", "n", "shape", "registers", "lanes", "warps"), REGISTERS)
def test_loads(m, n, shape, registers, lanes, warps):
    """Shapes of 16 lanes take two loads where a warp has 32; of 64 rows the halves of a warp have a half of the columns each."""
    expected = places(registers)[:, None, None] + places(lanes)[:, None] + places(warps)
    shape = "16x32bx2" if (m, shape) == (64, "32x32b") else shape
    loads = 2 if m == 128 and shape != "32x32b" else 1
    each = len(expected) // loads
    rows, columns = moved(shape, each // WORDS[shape], split=n // 2)
    matrix = matrix_of(m, n)
    for warp in range(4):
        for load in range(loads):
            found = matrix[rows + 32 * warp + 16 * load, columns]
            assert (found == expected[load * each :][:each, :, warp]).all()


@pytest.mark.parametrize(("count", "blocks", "rows", "columns"), SCALES)
def test_scales(count, blocks, rows, columns):
    known = places(rows)[:, None] + places(columns)
    lane, column = scale_place(np.arange(count))
    for block in range(blocks):
        # Four scales are a word; the next four come after those of all rows.
        at = 4 * column + block % 4 + block // 4 * 4 * (count // 32)
        for quarter in range(4):
            assert (known[lane + 32 * quarter, at] == np.stack([np.arange(count), np.full(count, block)], axis=1)).all()

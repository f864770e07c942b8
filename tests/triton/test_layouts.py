"""Tensor memory and what `tcgen05.ld` and `tcgen05.st` move, against Triton's linear layouts, which it computes without a GPU."""

import inspect
from functools import reduce

import numpy as np
import pytest

from ptxsim.layout.tensor_memory import accumulators, moved

pytest.importorskip("triton", minversion="3.8")

from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell

COLUMNS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8}  # of .x1
WIDTHS = (8, 16, 32, 64, 128)
NOT_SPANNED = [0, 0]  # the basis of a bit that changes nothing


def spanned(bases: list[list[int]]) -> np.ndarray:
    """(2 ** bases, 2): the coordinates of every number, by the bases of its bits."""
    numbers = range(1 << len(bases))
    return np.array(
        [reduce(np.bitwise_xor, (base for bit, base in enumerate(bases) if n >> bit & 1), [0, 0]) for n in numbers]
    )


def of_memory(m: int, n: int):
    return blackwell.TensorMemoryLayout(block=[m, n], col_stride=1)


def of_registers(m: int, n: int, shape: str):
    compute = blackwell._compute_tmem_reg_layout
    given = {
        "element_ty": gl.float32, "shape": [m, n], "alloc_shape": [m, n], "layout": of_memory(m, n), "num_warps": 4, "instr_variant": shape,
    }  # fmt: skip
    return compute(**{name: given[name] for name in inspect.signature(compute).parameters if name in given})


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("m", [64, 128])
def test_accumulators(m, n):
    """Triton gives the element of each lane and column; we the lane and the column of each element."""
    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    theirs = builder.to_linear_layout(of_memory(m, n)._to_ir(builder), [m, n])
    spanning = [bit for bit, base in enumerate(theirs.rows) if base != NOT_SPANNED]
    assert len(spanning) == m.bit_length() - 1 and len(theirs.cols) == n.bit_length() - 1
    elements = spanned(theirs.rows)[:, None] ^ spanned(theirs.cols)[None, :]
    ours = accumulators(m, n, spread=True)
    assert ours.rows.shape == (m, n)
    assert (elements[ours.rows, ours.columns] == np.stack(np.indices((m, n)), axis=-1)).all()
    assert all((ours.rows >> bit & 1 == 0).all() for bit in set(range(7)) - set(spanning))


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize("shape", COLUMNS)
def test_registers(shape, m, n):
    """The element in each register of each lane of each warp, by Triton, and in the cell that we say it comes from."""
    if n < 2 * COLUMNS[shape]:
        pytest.skip("Triton has no such small tile")
    theirs = of_registers(m, n, shape)
    rows_of_memory = np.full(128, -1)
    rows_of_memory[accumulators(m, n, spread=True).rows[:, 0]] = np.arange(m)
    halves = [base for base in theirs.reg_bases if base == [16, 0]]  # of a second instruction, 16 lanes below
    registers = spanned([base for base in theirs.reg_bases if base not in halves])
    second = (
        m == 64 and shape == "32x32b"
    )  # Triton takes 16x32bx2: the second 16 lanes have the second half of the columns
    number = (n // 2 if second else n) // COLUMNS[shape]
    cells = moved("16x32bx2", number, n // 2) if second else moved(shape, number)
    assert cells.rows.shape == (len(registers), 32)
    lanes, warps = spanned(theirs.lane_bases), spanned(theirs.warp_bases)
    for below in (0, 16) if halves else (0,):
        expected = registers[:, None, None] ^ lanes[None, :, None] ^ warps[None, None, :] ^ np.array([below, 0])
        row = cells.rows[:, :, None] + 32 * np.arange(4) + below
        assert (rows_of_memory[row] == expected[..., 0]).all()
        assert (np.broadcast_to(cells.columns[:, :, None], row.shape) == expected[..., 1]).all()
    assert not halves or (m == 128 and shape != "32x32b")

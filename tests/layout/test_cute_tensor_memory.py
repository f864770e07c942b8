"""Tensor memory is laid out as CuTe DSL says: accumulators, fragments of loads and stores. What it said is recorded; where it is installed, it is
asked again."""

import ast
import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from ptxsim.layout.tensor_memory import ROWS, accumulators, moved
from tests.helpers import ROOT

RECORDED = (ROOT / "tests/data/cute_tensor_memory.tsv").read_text()
LINES = [line.split("\t") for line in RECORDED.splitlines()]


def table(text: str) -> np.ndarray:
    """The numbers of a layout `shape:stride` of two modes, by (first, second); within a mode the first part runs fastest."""
    shape, stride = map(ast.literal_eval, text.split(":"))
    first, second = (numbers(s, d) for s, d in zip(shape, stride))
    return first[:, None] + second[None, :]


def numbers(shape, stride) -> np.ndarray:
    if isinstance(shape, int):
        return np.arange(shape) * stride
    found = np.zeros(1, np.int64)
    for part, step in zip(shape, stride):
        found = (numbers(part, step)[:, None] + found[None, :]).ravel()
    return found


@pytest.mark.parametrize("line", LINES, ids="-".join)
def test_layouts(line):
    what, *key, text = line
    if what == "accumulator":
        m, n, ctas = map(int, key)
        shape, stride = map(ast.literal_eval, text.split(":"))
        assert shape[1:] == (1, 1)
        rows, columns = accumulators(m // ctas, n, ctas == 1)
        assert ((rows << 16) + columns == table(f"{shape[0]}:{stride[0]}")).all()
        return
    shape, number, _ = key
    rows, columns = moved(shape, int(number))
    width = rows.size // (rows.max() + 1)  # words of a row
    assert (rows * width + columns == table(text).T).all()
    assert rows.max() < ROWS


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("nvidia_cutlass_dsl") is None, reason="nvidia-cutlass-dsl is not installed"
)
def test_what_is_recorded_is_what_it_says():
    program = ROOT / "tests/layout/cute_tensor_memory.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300)
    assert done.stdout == RECORDED, done.stderr

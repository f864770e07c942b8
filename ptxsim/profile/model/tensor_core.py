"""How long the SM's tensor core works: cycles of products and copies that it does by itself, one after the other."""

from __future__ import annotations

import numpy as np

from ptxsim.machine.tensor_memory.core import Load
from ptxsim.profile.figures import Figures

ROW = 32  # bytes of A's rows that a product has once in most shapes
HALF = 64  # rows


def work_of(figures: Figures, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of pieces of work, (n, fields of a Load): cycles until the tensor core takes the next one, and how many more until the result is
    there, for who then waits on an mbarrier.

    A product takes as long as its columns do, or as its operands in shared memory.
    """
    load = Load(*loads.astype(np.float64).T)
    pair = load.ctas > 1
    halves = pair & (load.rows <= HALF)
    columns = np.where(halves, figures.tensor_columns_pair, figures.tensor_columns)
    multiplying = load.columns / columns * load.row_bytes / ROW
    reading = load.bytes / figures.tensor_shared + figures.tensor_shared_pair * (pair & (load.rows > 0))
    cycles = np.maximum(multiplying, reading)
    base = np.where(
        pair, np.where(halves, figures.tensor_latency_pair_64, figures.tensor_latency_pair), figures.tensor_latency
    )
    first = load.a_is_shared * load.rows * load.row_bytes / figures.tensor_shared
    return cycles, np.maximum(0.0, base + first + multiplying - cycles - figures.mbarrier_latency)

"""What the benchmarks of tensor instructions share: loops of suitable length, numpy's products beside them, rates as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes

import numpy as np
from common import interleaved, ratio, timed, wall

AIM = 0.3  # seconds that a measurement should take


class Loop:
    """A kernel whose last argument is the number of turns; `macs` are the multiply-adds of one turn."""

    def __init__(self, name: str, launch: Callable[[int], object], macs: int):
        self.name, self.launch, self.macs = name, launch, macs
        launch(1)  # compiles
        self.turns, took = 8, 0.0
        while took < AIM / 4 and self.turns < 1 << 22:
            self.turns *= 4
            took, _ = timed(self.run)
        self.turns = max(8, int(self.turns * AIM / took))

    def run(self) -> None:
        self.launch(self.turns)


def product_of_floats(m: int, n: int, k: int) -> tuple[Callable[[], None], int]:
    """numpy's f32 product of a shape, repeated for AIM seconds, and the multiply-adds of all repetitions."""
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    out = np.zeros((m, n), np.float32)

    def times(count: int) -> None:
        for _ in range(count):
            np.matmul(a, b, out=out)

    times(2)
    count = max(1, int(AIM / 2 / (timed(lambda: times(3))[0] / 3)))
    return lambda: times(count), count * m * n * k


def compare(loops: list[Loop], shapes: dict[str, tuple[int, int, int]], rounds: int) -> list[dict[str, Any]]:
    """Rates of every loop and of numpy's products of `shapes`, and how many times faster the latter are.

    All take turns; ratios are medians over the turns.
    """
    floats = {name: product_of_floats(*shape) for name, shape in shapes.items()}
    actions = {loop.name: loop.run for loop in loops} | {name: action for name, (action, _) in floats.items()}
    times = interleaved(actions, rounds)
    rows = []
    for loop in loops:
        macs = loop.turns * loop.macs
        row: dict[str, Any] = {
            "form": loop.name,
            "turns": loop.turns,
            "gmac_a_second": round(macs / wall(times[loop.name]) / 1e9, 3),
        }
        for name, (_, all_macs) in floats.items():
            row[f"{name}_gmac_a_second"] = round(all_macs / wall(times[name]) / 1e9, 2)
            row[f"{name}_is_faster"] = round(ratio(times[loop.name], times[name]) * all_macs / macs, 2)
        rows.append(row)
    return rows

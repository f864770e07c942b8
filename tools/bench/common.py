"""What the benchmarks share: timing, the kernels for comparisons, one line of output for each figure."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))


def best(function, repetitions: int = 5) -> tuple[float, float]:
    """The shortest of some runs: seconds on the clock, and seconds of CPU time."""
    wall = cpu = float("inf")
    for _ in range(repetitions):
        began, busy = time.perf_counter(), time.process_time()
        function()
        wall, cpu = min(wall, time.perf_counter() - began), min(cpu, time.process_time() - busy)
    return wall, cpu


def kernel_folder() -> Path:
    """Where matmul_tiled.ptx and its like lie: the last argument, or the folder shared beside the repository."""
    folder = Path(sys.argv[-1]) if len(sys.argv) > 1 and Path(sys.argv[-1]).is_dir() else None
    return folder or Path(__file__).parents[3] / "shared" / "peer-kernels"


def compare(name: str, launch, repetitions: int = 5, interpreted=None) -> None:
    """Time a launch on the compiled engine, and the interpreter on it (or on a smaller one) for the ratio."""
    launch("compiled")  # compiles
    run = None

    def once():
        nonlocal run
        run = launch("compiled")

    wall, cpu = best(once, repetitions)
    rate = run.warp_instructions / wall / 1e6
    print(
        f"{name}: {run.warp_instructions} warp instructions, {wall * 1e3:.1f} ms ({cpu * 1e3:.1f} CPU), {rate:.2f} M/s"
    )
    began, busy = time.perf_counter(), time.process_time()
    slow = (interpreted or launch)("interpreter")
    wall_slow, cpu_slow = time.perf_counter() - began, time.process_time() - busy
    slower = slow.warp_instructions / wall_slow / 1e6
    ratio = (run.warp_instructions / cpu) / (slow.warp_instructions / cpu_slow)
    print(
        f"{name}: interpreter {slower:.4f} M/s, compiled is {rate / slower:.0f} x as fast ({ratio:.0f} x by CPU time)"
    )

"""What the benchmarks share: interleaved timing with medians, the kernels for comparisons, JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

Times = list[tuple[float, float]]  # seconds on the clock, and of processor time


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of processor time, of one call."""
    began, busy = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - began, time.process_time() - busy


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Times of every action; each round runs all of them once, one after the other."""
    times: dict[str, Times] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(timed(action))
    return times


def wall(times: Times) -> float:
    """The median of the seconds on the clock."""
    return median(t[0] for t in times)


def ratio(slow: Times, fast: Times) -> float:
    """The median over the rounds of how much longer `slow` takes, by processor time: other work disturbs that least."""
    return median(s[1] / f[1] for s, f in zip(slow, fast))


def kernel_folder() -> Path:
    """Where matmul_tiled.ptx and its like lie: the last argument, or the folder shared beside the repository."""
    folder = Path(sys.argv[-1]) if len(sys.argv) > 1 and Path(sys.argv[-1]).is_dir() else None
    return folder or Path(__file__).parents[3] / "shared" / "peer-kernels"


def compare(
    name: str, launch: Callable[[str], Any], rounds: int = 5, interpreted: Callable[[str], Any] | None = None
) -> dict[str, Any]:
    """Time a launch on the compiled engine on one core, and the interpreter on it (or on a smaller one).

    Warp instructions a second, in millions, and how many times the interpreter's that are.
    """
    runs = {}

    def once(engine: str, function: Callable[[str], Any]) -> None:
        runs[engine] = function(engine)

    once("compiled", launch)  # compiles
    actions = {
        "compiled": lambda: once("compiled", launch),
        "interpreter": lambda: once("interpreter", interpreted or launch),
    }
    times = interleaved(actions, rounds)
    done = {engine: run.warp_instructions for engine, run in runs.items()}
    result = {"name": name, "warp_instructions": done["compiled"]}
    for engine, found in times.items():
        result[engine] = {
            "warp_instructions": done[engine],
            "milliseconds": round(wall(found) * 1e3, 2),
            "processor_milliseconds": round(median(t[1] for t in found) * 1e3, 2),
            "million_a_second": round(done[engine] / wall(found) / 1e6, 4),
        }
    scale = done["compiled"] / done["interpreter"]
    result["times_interpreter"] = round(scale * ratio(times["interpreter"], times["compiled"]), 1)
    return result


def show(result: Any) -> None:
    """Print a result as JSON."""
    print(json.dumps(result, indent=1))

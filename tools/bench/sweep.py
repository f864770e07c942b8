#!/usr/bin/env python3
"""A sweep of 1,000 launches: this process, two processes, two workers of Dask with one of them killed. Seconds on the clock, and whether the runs are equal.

Where others use the machine, the clock says little: of two processes it is said, too, how many seconds of the processor each had,
and by how much they would be faster if each had a core to itself.

tools/bench/sweep.py [--count 1000]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import ptxsim
from ptxsim.session.workers import Workers

SAMPLE = Path(__file__).parents[2] / "samples" / "mma_gemm_swizzled.ptx"


def configurations(count: int) -> list[dict[str, Any]]:
    args = ["ints(64,64,seed={0}):f16", "ints(64,64,seed=2):f16", "zeros(64,64):f32"]
    return [
        {"grid": 1, "block": 128, "args": [text.format(n) for text in args], "seed": n % 7, "checks": "all"}
        for n in range(count)
    ]


def shown(runs: list[ptxsim.Run]) -> list[Any]:
    return [(run.to_dict() | {"outputs": [a.tobytes() for a in run.outputs.values()]}) for run in runs]


def busy(process: int) -> float:
    """Seconds of the processor that a process has had."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measured(
    name: str, sweep: Callable[[], list[ptxsim.Run]], alone: float, expected: list[Any]
) -> tuple[float, list[Any]]:
    began = time.perf_counter()
    found = shown(sweep())
    took = time.perf_counter() - began
    faster = (
        f"{alone / took:5.2f} times one process; {'equal' if found == expected else 'DIFFERENT'}" if expected else ""
    )
    print(f"{name:36}{took:8.1f} s  {faster}", flush=True)
    return took, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    kernel, given = ptxsim.Module.from_file(SAMPLE).kernel(), configurations(count)
    ptxsim.sweep(kernel, given[:2])
    before = time.process_time()
    alone, expected = measured("this process", lambda: ptxsim.sweep(kernel, given), 0.0, [])
    cpu = time.process_time() - before
    with Workers(2) as two:
        ptxsim.sweep(kernel, given[:64], two.executor, batch=16)  # processes have begun
        assert isinstance(two.executor, ProcessPoolExecutor)
        processes = [os.getpid(), *two.executor._processes]
        had = [busy(process) for process in processes]
        _, found = measured("two processes", lambda: ptxsim.sweep(kernel, given, two.executor), alone, expected)
        had = [busy(process) - old for process, old in zip(processes, had)]
    shown_had = ", ".join(f"{seconds:.1f}" for seconds in had)
    print(
        f"  of the processor: {cpu:.1f} s alone; {shown_had} s in this one and the two: {cpu / max(had):.2f} times on free cores"
    )
    equal = found == expected
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("Dask is not installed: pip install 'ptxsim[dask]'")
        return 0 if equal else 1
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        ptxsim.sweep(kernel, given[:64], client.get_executor(), batch=16)
        _, found = measured(
            "two workers of Dask", lambda: ptxsim.sweep(kernel, given, client.get_executor()), alone, expected
        )
        equal &= found == expected
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(alone / 6, lambda: os.kill(victim, signal.SIGKILL)).start()
        _, found = measured(
            "the same, one killed in the middle",
            lambda: ptxsim.sweep(kernel, given, client.get_executor()),
            alone,
            expected,
        )
        equal &= found == expected
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What bodies cost: their first use without a cache, their first use with one, a call, and the work of a step: tools/bench/one_body.py.

Processor time; each first use is of a process of its own. A step is a record of a scan or of the tally, an access of `costs`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

NAMES = ("order", "proxy", "tally", "costs", "global_costs")
STEPS, FEW, CALLS = 2000, 100, 2000


def records(count: int) -> np.ndarray:
    """Loads and stores of shared and global memory at 20 sites, of 8 warps, half of them without a pattern."""
    from ptxsim.machine.event import RECORD

    random = np.random.default_rng(0)
    found, at = np.zeros(count, RECORD), np.arange(count)
    found["site"], found["warp"], found["event"], found["space"] = (
        at % 20,
        at // 20 % 8,
        at % 20 % 4 == 3,
        at % 20 % 3 != 0,
    )
    found["width"], found["mask"] = 4, 0xFFFFFFFF
    regular = random.integers(0, 50, (count, 1)) * 128 + np.arange(32) * 4
    found["addresses"] = np.where(at[:, None] % 2, regular, random.integers(0, 1000, (count, 32)) * 4)
    return found


def work(name: str, count: int) -> tuple[Any, ...]:
    """A body and its arguments."""
    from ptxsim.checks.banks.tally import Tallies, tally
    from ptxsim.checks.cluster_shared import Homes
    from ptxsim.checks.order.checker import OrderChecker
    from ptxsim.checks.order.scan import FIELDS, scan
    from ptxsim.checks.order.state import COUNT
    from ptxsim.checks.proxies import scan as proxy_scan
    from ptxsim.checks.proxies.running import Running
    from ptxsim.checks.proxies.state import ProxyShadow
    from ptxsim.jit.kinds import Alike
    from ptxsim.layout.wavefronts import AccessKind, costs, global_costs

    given = records(count)
    address, masks, room = given["addresses"].astype(np.int64), given["mask"].copy(), np.zeros((count, 4), np.int64)
    wide, found = np.zeros(20, bool), np.zeros((32 * count, proxy_scan.FIELDS), np.int64)
    ready = OrderChecker((0,) * 20, 256, 8192, Homes((1, 1, 1), (1, 1, 1)))
    ready.consume(given)  # makes room
    ready.order.n[COUNT] = 0
    running, shadows = Running.of(256, np.zeros(1, np.uint8), 1, 1), Alike([ProxyShadow.of(8, 8192)])
    return {
        "order": (scan, given, 0, ready.order, np.zeros((32 * count + 1, FIELDS), np.int64)),
        "proxy": (proxy_scan.scan, given, 0, running, shadows, wide, wide, np.zeros(20, np.int8), found),
        "tally": (tally, given, 0, Tallies.of(20, {})),
        "costs": (costs, int(AccessKind.LD), address, masks, 4, room),
        "global_costs": (global_costs, address, masks, 4, False, room),
    }[name]


def seconds(run: Callable[[], object], best_of: int = 1) -> float:
    times = []
    for _ in range(best_of):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def measure(name: str) -> dict[str, float]:
    """Of this process: the first use, a call without a step, a step compiled and in Python."""
    from ptxsim.jit.compiler import shared

    shared()
    body, *none = work(name, 0)
    first = seconds(lambda: body.compiled(*none))
    call = seconds(lambda: [body.compiled(*none) for _ in range(CALLS)], 3) / CALLS
    _, *many = work(name, STEPS)
    _, *few = work(name, FEW)
    compiled, plain = seconds(lambda: body.compiled(*many), 5) / STEPS, seconds(lambda: body(*few), 3) / FEW
    return {"first": first, "call": call, "compiled": compiled, "plain": plain}


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    print(f"{'body':14}{'first use':>11}{'from store':>12}{'a call':>10}{'step compiled':>15}{'step in Python':>16}")
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PTXSIM_CACHE_DIR": folder}
            once, again = (
                json.loads(subprocess.run([sys.executable, __file__, name], env=environment, capture_output=True, check=True).stdout)
                for _ in range(2)
            )  # fmt: skip
        print(
            f"{name:14}{once['first'] * 1e3:8.0f} ms{again['first'] * 1e3:9.1f} ms{again['call'] * 1e6:7.1f} us"
            f"{again['compiled'] * 1e9:12.0f} ns{again['plain'] * 1e6:13.0f} us"
        )


if __name__ == "__main__":
    main()

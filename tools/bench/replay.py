#!/usr/bin/env python3
"""How fast the cycle model replays, and how long a matrix product takes to profile: tools/bench/replay.py [GEMM.ptx].

The replay alone: warp instructions per second of processor time and of wall time on one core, for a loop of arithmetic, of
shared and of global memory, as medians. Whole profiles: a product of 64 x 64 tiles with cp.async and mma over 256 CTAs, the first in this process and the
second, each with the run, the trace and the replay. Exits 1 below --rate million per second of processor time, or where a
product takes longer than --seconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from suites.timing import read

from ptxsim import Module

PRODUCTS = Path(__file__).parents[1] / "data" / "held_out" / "kernels" / "hgemm.ptx"
HEAD = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 place, .param .u32 trips)
{ .reg .u32 %n, %t, %r<8>; .reg .u64 %at, %own; .reg .f32 %f<8>; .reg .pred %more;
.shared .align 16 .b8 cells[8192];
ld.param.u64 %at, [place]; ld.param.u32 %n, [trips]; mov.u32 %t, %tid.x; mad.wide.u32 %own, %t, 4, %at;
mov.u32 %r0, cells; mad.lo.u32 %r0, %t, 4, %r0; cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, %f0; st.shared.f32 [%r0], %f0;
again: .pragma "nounroll";
"""
TAIL = """
add.u32 %n, %n, -1; setp.ne.u32 %more, %n, 0; @%more bra again;
add.f32 %f0, %f0, %f1; st.global.f32 [%own], %f0; ret; }
"""
LOOPS = {
    "arithmetic": "fma.rn.f32 %f0, %f0, %f0, %f1; fma.rn.f32 %f1, %f1, %f1, %f0; mul.f32 %f0, %f0, %f1;\n" * 16,
    "shared memory": "ld.volatile.shared.f32 %f2, [%r0]; add.f32 %f0, %f0, %f2; fma.rn.f32 %f1, %f0, %f0, %f1;\n" * 16,
    "global memory": "ld.global.f32 %f2, [%own]; add.f32 %f0, %f0, %f2; ld.global.cg.f32 %f3, [%own+4096]; add.f32 %f1, %f1, %f3;\n" * 12,
}  # fmt: skip


def rate(body: str, repetitions: int = 9) -> tuple[int, float, float]:
    """Warp instructions of a replay, and how many a second of processor and of wall time it gets done, sorting included."""
    kernel = Module.from_text(HEAD + body + TAIL).kernel()
    place = np.zeros(1 << 14, np.float32)
    cycles = kernel.launch(2, 512, [place, 64], profile=True, checks="none").cycles
    assert cycles is not None
    model = cycles.machine_code
    model.cycles()  # compiled, or read from disk, before anything is measured
    processor, wall = [], []
    for _ in range(repetitions):
        began, clock = time.process_time(), time.perf_counter()
        issued = model.cycles().issued
        processor.append(time.process_time() - began)
        wall.append(time.perf_counter() - clock)
    return issued, issued / statistics.median(processor), issued / statistics.median(wall)


def product(path: Path, entry: str, n: int) -> tuple[int, float]:
    """CTAs of a product of n x n matrices, and seconds to profile it."""
    generator = np.random.default_rng(1)
    a, b = (generator.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    kernel = read(path).kernel(entry)
    began = time.perf_counter()
    run = kernel.launch((n // 64, n // 64), 128, [a, b, np.zeros((n, n), np.float32), n], profile=True, checks="none")
    assert run.cycles
    return (n // 64) ** 2, time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("product", type=Path, nargs="?", default=PRODUCTS)
    parser.add_argument("--entry", default="hgemm_three")
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    rates = []
    for name, body in LOOPS.items():
        count, speed, walls = rate(body)
        rates.append(speed)
        print(
            f"replay of {name:14} {count:8} warp instructions, {speed / 1e6:6.2f} M/s ({walls / 1e6:.2f} by wall time)"
        )
    slowest = 0.0
    for attempt in ("first", "second"):
        ctas, seconds = product(options.product, options.entry, 1024)
        slowest = max(slowest, seconds)
        print(f"product over {ctas} CTAs profiled in {seconds:.1f} s ({attempt} time)")
    return int(min(rates) < options.rate * 1e6 or slowest > options.seconds)


if __name__ == "__main__":
    sys.exit(main())

"""Whole grids and first launches, each in a process of its own: seconds on the clock and of processor time.

    python tools/bench/grids.py [ROW...] [--shared DIR]

gemm: 2048-cubed bf16 with wgmma and TMA on all cores and on one, unchecked and checked, with digests of results and findings;
spins: grids whose CTAs wait for each other; first: first launches with an empty cache, and again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
SHARED = Path(__file__).parents[3] / "shared"

GRID_BARRIER = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 counter, .param .u64 out)
{
    .reg .b64 %c, %o, %i; .reg .b32 %t, %v, %g, %turn, %goal, %n; .reg .pred %p, %q;
    ld.param.u64 %c, [counter]; ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %turn, 0; mov.u32 %goal, 0;
again:
    add.u32 %goal, %goal, %n;
    bar.sync 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra passed;
    fence.acq_rel.gpu;
    red.relaxed.gpu.global.add.u32 [%c], 1;
spin:
    ld.relaxed.gpu.global.u32 %v, [%c];
    setp.lt.u32 %q, %v, %goal;
    @%q bra spin;
    fence.acq_rel.gpu;
passed:
    bar.sync 0;
    add.u32 %turn, %turn, 1;
    setp.lt.u32 %q, %turn, 10;
    @%q bra again;
    mad.lo.u32 %g, %g, 128, %t; mul.wide.u32 %i, %g, 4; add.u64 %o, %o, %i; st.global.u32 [%o], %turn;
    ret;
}
"""


def timed(name: str, action: Callable[[], Any]) -> None:
    began, busy = time.perf_counter(), time.process_time()
    run = action()
    clock, processor = time.perf_counter() - began, time.process_time() - busy
    said = hashlib.sha256(repr(run.findings).encode()).hexdigest()[:8]
    print(f"{name:48}{clock:8.2f}{processor:8.2f}{run.warp_instructions:12}  {said}", flush=True)


def gemm(shared: Path) -> None:
    """The kernel wgmma_tma_gemm at 2048 x 2048 x 2048: 512 CTAs of one warpgroup, 64 x 128 each."""
    import numpy as np
    from suites.timing import argument, buffer, read

    folder = shared / "timing"
    launches = json.loads((folder / "kernels.json").read_text())
    launch = next(launch for launch in launches if launch["id"] == "wgmma_tma_gemm_full")
    size = 2048
    for name in "AB":
        launch["buffers"][name]["n"] = size * size
    for which in (0, 1):
        launch["args"][which]["tensormap"].update(dims=[size, size], strides=[2 * size])
    launch["args"][4]["i32"] = size
    memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
    kernel = read(folder / "kernels" / "wgmma_tma_gemm.ptx").kernel()

    def once(checks: str, jobs: int | None) -> Any:
        arguments = [argument(value, memory) for value in launch["args"]]
        return kernel.launch(
            launch["grid"], launch["block"], arguments, launch["dsmem"], checks=checks, jobs=jobs, on_error="report"
        )

    results: set[str] = set()
    once("none", None)
    for checks in ("none", "all"):
        for jobs in (None, 2, 1):
            memory["C"][:] = 0
            timed(f"gemm {size}, checks {checks}, jobs {jobs}", partial(once, checks, jobs))
            results.add(hashlib.sha256(np.ascontiguousarray(memory["C"]).tobytes()).hexdigest()[:8])
    print("results:", *results)


def spins(shared: Path) -> None:
    import numpy as np
    from suites.timing import argument, buffer, read

    from ptxsim import Module

    launch = json.loads((shared / "timing2" / "spin" / "kernels.json").read_text())[0]
    streamk = read(shared / "timing2" / "spin" / "kernels" / "streamk.ptx").kernel(launch["entry"])
    barrier = Module.from_text(GRID_BARRIER).kernel()
    single = Module.from_text(GRID_BARRIER.replace("%turn, 10", "%turn, 1")).kernel()
    clean = Module.from_file(shared / "found" / "clean_grid_barrier.ptx").kernel()
    for checks in ("none", "all"):
        for seed in (0, 1):

            def once(checks: str = checks, seed: int = seed) -> Any:
                memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
                arguments = [argument(value, memory) for value in launch["args"]]
                return streamk.launch(
                    launch["grid"],
                    launch["block"],
                    arguments,
                    launch["dsmem"],
                    checks=checks,
                    seed=seed,
                    on_error="report",
                )

            timed(f"streamk_66, checks {checks}, seed {seed}", once)
            timed(
                f"clean_grid_barrier, checks {checks}, seed {seed}",
                lambda: clean.launch(
                    3, 64, [np.zeros(1, "u4"), np.zeros(192, "u4"), np.zeros(192, "u4")], checks=checks, seed=seed,  # noqa: B023
                    on_error="report",
                ),
            )  # fmt: skip
            timed(
                f"132 CTAs at ten grid barriers, {checks}, seed {seed}",
                lambda: barrier.launch(
                    132, 128, [np.zeros(1, "u4"), np.zeros(132 * 128, "u4")], checks=checks, seed=seed, on_error="report"  # noqa: B023
                ),
            )  # fmt: skip
        everywhere = partial(single.launch, 4224, 64, [np.zeros(1, "u4"), np.zeros(4224 * 128, "u4")], checks=checks)
        timed(f"all 4,224 CTAs of an H200 at a grid barrier, {checks}", partial(everywhere, on_error="report"))


CHILD = """
import sys, time, numpy as np
from ptxsim import Module
began, busy = time.perf_counter(), time.process_time()
module = Module.from_file(sys.argv[1])
kernel = module.kernel(sys.argv[2]) if sys.argv[2] else module.kernel()
count = len(kernel.parameters)
grid, block, buffers = map(int, sys.argv[3:])
run = kernel.launch(grid, block, [np.ones(4096, np.uint8)] * buffers + [1] * (count - buffers), on_error="report")
print(time.perf_counter() - began, time.process_time() - busy, run.warp_instructions, [f.name for f in run.findings][:2])
"""


def first(shared: Path) -> None:
    from compile import kernel

    nvcc = shared / "corpus" / "nvcc"
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "big.ptx"
        big.write_text(kernel(6000, 1))
        rows = ((big, "", 1, 32, 1), (big, "", 16, 128, 1), (nvcc / "doubles.sm_90a.ptx", "dp_math", 1, 32, 3))
        for path, entry, grid, block, buffers in rows:
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty cache", "again"):
                    environment = {
                        **os.environ,
                        "PTXSIM_CACHE_DIR": cache,
                        "PYTHONPATH": str(Path(__file__).parents[2]),
                    }
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    words = [sys.executable, "-c", CHILD, str(path), entry, *map(str, (grid, block, buffers))]
                    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                    print(
                        f"{path.name}, {grid} CTAs, {state:14} process {whole:6.2f}  launch {done.stdout.strip()}",
                        flush=True,
                    )


ROWS = {"gemm": gemm, "spins": spins, "first": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--shared", type=Path, default=SHARED)
    options = parser.parse_args()
    print(f"{'':48}{'clock':>8}{'proc.':>8}{'warp instr.':>12}")
    for row in options.rows or ROWS:
        ROWS[row](options.shared)


if __name__ == "__main__":
    main()

"""Launches of sm_90 kernels with TMA, mbarriers, clusters and wgmma against plain ones: warp instructions a second.

    python tools/bench/hopper.py [LAUNCH...] [--folders DIR...] [--rounds N] [--seed N]

Processor time on one core, warm, medians; checks="none" and, with --checked, checks="all". The folders hold kernels.json and kernels
as the suite `timing` reads them. The last column is the rate relative to the first plain launch, of the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from suites.timing import argument, buffer, read

from ptxsim import Run

SHARED = Path(__file__).parents[3] / "shared"
PLAIN = ("sgemm_reg_512", "mma_swz_512")
CHOSEN = (
    *PLAIN, "wgmma_cpasync_gemm_512", "wgmma_tma_gemm_512", "bulk_copy_scale_full", "e8_plain", "wgsp_512", "dh_c2", "dsexch_64",
    "named_132",
)  # fmt: skip


def measure(
    folder: Path, launch: dict[str, Any], checks: str, rounds: int, banks: bool | None = None, seed: int = 0
) -> tuple[Run, float]:
    """A run, and the median of its processor time; of none after the first, 0."""
    kernel = read(folder / "kernels" / f"{launch['kernel']}.ptx").kernel(launch["entry"])
    times = []
    for _ in range(rounds + 1):
        memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
        arguments = [argument(value, memory) for value in launch["args"]]
        began = time.process_time()
        run = kernel.launch(
            launch["grid"], launch["block"], arguments, launch["dsmem"], checks=checks, banks=banks, jobs=1,
            seed=seed, on_error="report",
        )  # fmt: skip
        times.append(time.process_time() - began)
    return run, statistics.median(times[1:] or [0.0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launches", nargs="*", default=CHOSEN)
    parser.add_argument("--folders", type=Path, nargs="+", default=[SHARED / "timing", SHARED / "timing2"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checked", action="store_true", help='measure with checks="all" too, which takes long')
    parser.add_argument("--seed", type=int, default=0, help="another order of CTAs and warps")
    options = parser.parse_args()
    found = {
        launch["id"]: (folder, launch)
        for folder in options.folders
        for launch in json.loads((folder / "kernels.json").read_text())
    }
    print(f"{'':26}{'warp instr.':>12}{'seconds':>10}{'M/s':>9}{'relative':>10}")
    first = None
    for name in options.launches:
        for checks in ("none", "all") if options.checked else ("none",):
            run, seconds = measure(*found[name], checks, options.rounds, seed=options.seed)
            rate = run.warp_instructions / seconds / 1e6
            first = first or rate
            label = name if checks == "none" else f"{name}, checked"
            print(f"{label:26}{run.warp_instructions:12}{seconds:10.3f}{rate:9.3f}{rate / first:10.4f}")


if __name__ == "__main__":
    main()

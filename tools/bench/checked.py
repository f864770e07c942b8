"""What checks cost: every launch of the timing suites with checks="all" over checks="none".

    python tools/bench/checked.py [LAUNCH...] [--folders DIR...] [--rounds N]

Processor time on one core, warm, medians; ratios are of the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from hopper import SHARED, measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launches", nargs="*")
    parser.add_argument("--folders", type=Path, nargs="+", default=[SHARED / "timing", SHARED / "timing2"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ratios = []
    print(f"{'':26}{'warp instr.':>12}{'none, s':>10}{'all, s':>10}{'ratio':>8}{'all, M/s':>10}")
    for folder in options.folders:
        for launch in json.loads((folder / "kernels.json").read_text()):
            if options.launches and launch["id"] not in options.launches:
                continue
            run, plain = measure(folder, launch, "none", options.rounds)
            _, checked = measure(folder, launch, "all", options.rounds)
            ratios.append(checked / plain)
            rate = run.warp_instructions / checked / 1e6
            print(
                f"{launch['id']:26}{run.warp_instructions:12}{plain:10.3f}{checked:10.3f}{ratios[-1]:8.1f}{rate:10.3f}",
                flush=True,
            )
    if ratios:
        print(f"median {statistics.median(ratios):.1f}, worst {max(ratios):.1f}, of {len(ratios)} launches")


if __name__ == "__main__":
    main()

"""What looking costs: every launch of the timing suites with checks="all", or with banks=True, over neither.

    python tools/bench/checked.py [LAUNCH...] [--banks] [--folders DIR...] [--rounds N]

Processor time on one core, warm, medians; ratios are of the same run.
After a change to ptxsim the first process has code for the checks that was made quickly, and takes half as long again: run it twice.
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
    parser.add_argument("--banks", action="store_true", help="count banks instead of checking")
    parser.add_argument("--folders", type=Path, nargs="+", default=[SHARED / "timing", SHARED / "timing2"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    name, checks = ("banks", "none") if options.banks else ("all", "all")
    ratios = []
    print(f"{'':26}{'warp instr.':>12}{'none, s':>10}{name + ', s':>10}{'ratio':>8}{name + ', M/s':>12}")
    is_warm = False
    for folder in options.folders:
        for launch in json.loads((folder / "kernels.json").read_text()):
            if options.launches and launch["id"] not in options.launches:
                continue
            if not is_warm:  # what a process does in Python at first, until machine code is worth loading
                measure(folder, launch, checks, 2 * options.rounds, banks=options.banks or None)
                is_warm = True
            run, plain = measure(folder, launch, "none", options.rounds)
            _, looked = measure(folder, launch, checks, options.rounds, banks=options.banks or None)
            ratios.append(looked / plain)
            rate = run.warp_instructions / looked / 1e6
            print(
                f"{launch['id']:26}{run.warp_instructions:12}{plain:10.3f}{looked:10.3f}{ratios[-1]:8.1f}{rate:12.3f}",
                flush=True,
            )
    if ratios:
        print(f"median {statistics.median(ratios):.1f}, worst {max(ratios):.1f}, of {len(ratios)} launches")


if __name__ == "__main__":
    main()

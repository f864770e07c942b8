"""What native code leaves to the interpreter: every launch of the timing suites, unchecked and with checks="all".

    python tools/bench/slow_path.py [--folders DIR...]

Prints a row for each instruction that took the slow path, and the share of all warp instructions; exits with 1 above 0.1 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hopper import SHARED, measure

MOST = 0.001


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=Path, nargs="+", default=[SHARED / "timing", SHARED / "timing2"])
    options = parser.parse_args()
    slow, instructions = 0, 0
    for folder in options.folders:
        for launch in json.loads((folder / "kernels.json").read_text()):
            for checks in ("none", "all"):
                run, _ = measure(folder, launch, checks, 0)
                instructions += run.warp_instructions
                for row in run.slow_path:
                    slow += row.count
                    print(f"{launch['id']:26}{checks:6}{row.count:8}  {row.instruction}, line {row.line}: {row.why}")
    print(f"{slow} of {instructions} warp instructions, {slow / instructions:.6%}")
    return slow > MOST * instructions


if __name__ == "__main__":
    sys.exit(main())

"""What memory that is used again costs against memory that the system gives anew: 64 MiB of it touched, of 256 reserved. JSON, medians.

    python tools/bench/pages.py [--rounds N]

Processor time. What the checks remember of a launch is memory of this kind (ptxsim.machine.pages.Spare).
"""

from __future__ import annotations

import argparse
import mmap
from statistics import median

from common import interleaved, show

from ptxsim.machine.pages import Spare, reserve

RESERVED, TOUCHED = 256 << 20, 64 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    spare = Spare()

    def anew() -> None:
        reserve(RESERVED)[: TOUCHED : mmap.PAGESIZE] = 1

    def again() -> None:
        memory = spare.take(RESERVED)
        memory[: TOUCHED : mmap.PAGESIZE] = 1
        spare.put([(memory, TOUCHED)])

    again()
    times = interleaved({"anew": anew, "again": again}, options.rounds)
    pages = TOUCHED // mmap.PAGESIZE
    show(
        {
            f"{name}, microseconds a page": round(median(busy for _, busy in times[name]) / pages * 1e6, 2)
            for name in times
        }
    )


if __name__ == "__main__":
    main()

"""Seconds to go 1,000 instructions back in the debugger, from the last instruction of a kernel: tools/bench/stepping.py [FILE].

Going back is running again from the start, so it takes longer the more instructions there are before.
"""

import sys
import time
from pathlib import Path

from ptxsim.debugger.session import Session
from ptxsim.source import Source

BACK = 1000


def main(file: str) -> None:
    session = Session(Source.from_file(file))
    start = time.perf_counter()
    session.go()
    last = session.execution.position
    forwards = time.perf_counter() - start
    start = time.perf_counter()
    session.go_to(last - BACK)
    back = time.perf_counter() - start
    print(f"{last} instructions, {last / forwards:.0f}/s forwards; {BACK} back in {back:.2f} s")
    session.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[2] / "samples" / "mma_gemm_conflicts.ptx"))

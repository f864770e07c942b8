"""A launch of a warm vector add through Triton: processor time of each, and what the same launch takes without Triton.

python tools/bench/triton_launch.py [--launches N]     (needs the extra `triton`)
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import triton
import triton.language as tl

import ptxsim
import ptxsim.triton


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # Triton reads annotations
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at, mask=at < n), tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


def milliseconds(call: Callable[[], object], count: int) -> list[float]:
    """Processor time of each of `count` calls."""
    found = []
    for _ in range(count):
        began = time.process_time()
        call()
        found.append((time.process_time() - began) * 1000)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=100)
    options = parser.parse_args()
    x, out = torch.rand(4096), torch.empty(4096)
    for checks in ("all", "none"):
        with ptxsim.triton.active(checks=checks):

            def launch() -> None:
                x[0] += 1  # what is launched again on the same input is not run
                add_kernel[(4,)](x, x, out, 4096, BLOCK=1024)

            milliseconds(launch, 20)
            times = milliseconds(launch, options.launches)
        assert (out == 2 * x).all()
        print(
            f"checks={checks}: median {statistics.median(times):.2f} ms, worst {max(times):.2f} ms of {len(times)} launches"
        )


if __name__ == "__main__":
    main()

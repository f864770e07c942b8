#!/usr/bin/env python3
"""What counting accesses costs: one launch plain and with banks, JSON on standard output.

    tools/bench/banks.py FOLDER [LAUNCH]      FOLDER holds kernels.json and kernels/*.ptx; sgemm_reg_512 unless named

`plain_s` and `banks_s` are medians of runs on the compiled engine in turn, the first of each left out (it compiles); `noise`
is the quartiles' distance over the median of the plain ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.common import Record

    from ptxsim import Kernel

import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from suites.timing import argument, buffer

ROUNDS = 9


def seconds(kernel: Kernel, launch: Record, banks: bool) -> float:
    """The time of a launch."""
    memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
    arguments = [argument(value, memory) for value in launch["args"]]
    start = time.perf_counter()
    kernel.launch(
        launch["grid"], launch["block"], arguments, launch["dsmem"], engine="compiled", checks="none", banks=banks
    )
    return time.perf_counter() - start


def main() -> None:
    from ptxsim import Module

    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else "sgemm_reg_512"
    launch = next(one for one in json.loads((folder / "kernels.json").read_text()) if one["id"] == wanted)
    kernel = Module.from_file(folder / "kernels" / f"{launch['kernel']}.ptx").kernel(launch["entry"])
    times = np.array([[seconds(kernel, launch, banks) for banks in (False, True)] for _ in range(ROUNDS + 1)])[1:]
    plain, banks = np.median(times, axis=0)
    low, high = np.quantile(times[:, 0], (0.25, 0.75))
    found = {"plain_s": plain, "banks_s": banks, "ratio": banks / plain, "noise": (high - low) / plain}
    print(json.dumps({"launch": wanted, **{name: round(float(value), 4) for name, value in found.items()}}))


if __name__ == "__main__":
    main()

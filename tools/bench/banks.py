#!/usr/bin/env python3
"""What counting accesses costs: one launch plain and with banks, JSON on standard output.

    tools/bench/banks.py FOLDER [LAUNCH]      FOLDER holds kernels.json and kernels/*.ptx; sgemm_reg_512 unless named

`plain_s` and `banks_s` are the least of several runs on the compiled engine, the first of each left out (it compiles).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from suites.timing import argument, buffer

ROUNDS = 3


def seconds(kernel, launch: dict, banks: bool) -> float:
    """The least time of a launch."""
    times = []
    for _ in range(ROUNDS + 1):
        memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
        arguments = [argument(value, memory) for value in launch["args"]]
        start = time.perf_counter()
        kernel.launch(
            launch["grid"], launch["block"], arguments, launch["dsmem"], engine="compiled", checks="none", banks=banks
        )
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    from ptxsim import Module

    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else "sgemm_reg_512"
    launch = next(one for one in json.loads((folder / "kernels.json").read_text()) if one["id"] == wanted)
    kernel = Module.from_file(folder / "kernels" / f"{launch['kernel']}.ptx").kernel(launch["entry"])
    plain, banks = (seconds(kernel, launch, wanted) for wanted in (False, True))
    print(json.dumps({"launch": wanted, "plain_s": plain, "banks_s": banks, "ratio": banks / plain}))


if __name__ == "__main__":
    main()

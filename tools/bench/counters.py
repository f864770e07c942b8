"""Shared and global memory counters of recorded launches: the profiler's against ours.

tools/bench/counters.py FOLDER [LAUNCH...]      FOLDER holds kernels.json and kernels/*.ptx
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from suites.timing import argument, buffer

SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
GLOBAL = "l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"


def run(folder: Path, launch: dict):
    """The Run of a recorded launch, with counts."""
    from ptxsim import Module

    kernel = Module.from_file(folder / "kernels" / f"{launch['kernel']}.ptx").kernel(launch["entry"])
    memory = {name: buffer(spec) for name, spec in launch["buffers"].items()}
    arguments = [argument(value, memory) for value in launch["args"]]
    return kernel.launch(
        launch["grid"], launch["block"], arguments, launch["dsmem"], on_error="report", banks=True, checks="none"
    )


def counts(result) -> dict[str, int]:
    """Our counts under short names."""
    rows, outer = result.banks.rows, result.banks.global_rows
    found = {"wavefronts": result.banks.wavefronts, "conflicts": sum(row.conflicts for row in rows)}
    for op in ("ld", "st"):
        found[f"{op} requests"] = sum(row.requests for row in outer if row.kind == op)
        found[f"{op} sectors"] = sum(row.sectors for row in outer if row.kind == op)
    return found


def recorded(launch: dict) -> dict[str, int]:
    """The profiler's counts under the same names."""
    given = launch["counters"]
    found = {"wavefronts": given[SHARED], "conflicts": given[CONFLICTS]}
    for op in ("ld", "st"):
        for what in ("requests", "sectors"):
            found[f"{op} {what}"] = given[GLOBAL.format(what=f"{what}", op=op)]
    return {name: round(value) for name, value in found.items()}


def main() -> None:
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    for launch in json.loads((folder / "kernels.json").read_text()):
        if wanted and launch["id"] not in wanted:
            continue
        start = time.perf_counter()
        ours, theirs = counts(run(folder, launch)), recorded(launch)
        warps = (
            launch["grid"][0]
            * launch["grid"][1]
            * launch["grid"][2]
            * -(-launch["block"][0] * launch["block"][1] // 32)
        )
        print(f"{launch['id']}: {warps} warps, {time.perf_counter() - start:.1f} s")
        for name, count in ours.items():
            print(f"    {name:<12} {count:>9} ours {theirs[name]:>9} recorded  {theirs[name] - count:+d}")


if __name__ == "__main__":
    main()

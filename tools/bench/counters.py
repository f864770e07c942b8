#!/usr/bin/env python3
"""Requests and sectors of a sparse product whose inner loop the assembler unrolls: where lanes meet decides them.

    tools/bench/counters.py FOLDER      FOLDER holds kernels.json

The PTX of spmv_scalar has a loop for the remainder by 4 and one of 4 elements. The machine code has, in this order: the
remainder one by one; 16 elements while more than 12 are left; 8 if more than 4 are left; 4 if any are. The lanes of a warp
meet behind each. A request is what the lanes load together that are in the same loop. `tools/conformance counters`
compares whole launches; this prints what its table says of this one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from suites.timing import buffer


def steps(lengths: np.ndarray):
    """(lanes that are in the loop, the element each loads) of every step of a warp."""
    at, rest = np.zeros(32, int), lengths % 4
    while rest.any():
        yield rest > 0, at.copy()
        at, rest = at + (rest > 0), np.maximum(rest - 1, 0)
    for size, more in ((16, 12), (8, 4), (4, 0)):
        while (inside := lengths - at > more).any():
            for element in range(size):
                yield inside, at + element
            at = at + size * inside


def main() -> None:
    from ptxsim.layout.banks import global_access

    launches = json.loads((Path(sys.argv[1]) / "kernels.json").read_text())
    spec = next(launch for launch in launches if launch["kernel"] == "spmv_scalar")["buffers"]
    starts, columns = (buffer(spec[name]).astype(np.int64) for name in ("rp", "ci"))
    addresses, masks = [], []
    for row in range(0, len(starts) - 1, 32):
        lanes = np.arange(row, row + 32)
        addresses += [4 * lanes, 4 * lanes + 4]
        masks += [np.full(32, True)] * 2
        for inside, element in steps(np.diff(starts)[lanes]):
            place = np.where(inside, starts[lanes] + element, 0)
            addresses += [4 * place, 4 * place, 4 * columns[place]]  # column, value, vector
            masks += [inside] * 3
    bits = (np.array(masks).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1).astype(np.uint32)
    found = global_access(np.array(addresses), 4, bits, False)
    print(f"{len(masks)} requests, {int(found.sectors.sum())} sectors")


if __name__ == "__main__":
    main()

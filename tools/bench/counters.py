#!/usr/bin/env python3
"""Counts of two launches that the order of things decides, computed from their data alone.

    tools/bench/counters.py FOLDER      FOLDER holds kernels.json

spmv_scalar: the assembler unrolls the inner loop. The PTX has a loop for the remainder by 4 and one of 4 elements. The
machine code has, in this order: the remainder one by one; 16 elements while more than 12 are left; 8 if more than 4 are
left; 4 if any are. The lanes of a warp meet after each. A request is what the lanes load together that are in the same loop.

bfs_frontier: all warps run at once. Each lane walks the edges of its node; of the lanes that reach a new node one wins it
and stores it. ptxsim runs CTA after CTA, so the first ones win most nodes, few at a time. Here all lanes look at their
first edge, then all at their second, and so on; who wins is left to a random number.

The rows of both in data/counters.tsv are differences between what this prints and what ptxsim counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from suites.timing import buffer


def steps(lengths: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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


def sparse_product(starts: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """Requests and sectors of loads."""
    from ptxsim.layout.banks import global_access

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
    return len(masks), int(np.sum(found.sectors))


def frontier(starts: np.ndarray, edges: np.ndarray, distance: np.ndarray, nodes: np.ndarray) -> tuple[int, int]:
    """Requests and sectors of stores."""
    random = np.random.default_rng(0)
    seen, lengths = distance != -1, np.diff(starts)[nodes]
    requests = sectors = stored = 0
    for step in range(int(lengths.max())):
        lanes = random.permutation(np.flatnonzero(lengths > step))
        target = edges[starts[nodes[lanes]] + step]
        lanes, target = lanes[~seen[target]], target[~seen[target]]
        _, first = np.unique(target, return_index=True)
        seen[target] = True
        _, winners = np.unique(lanes[first] // 32, return_counts=True)
        for count in random.permutation(winners).tolist():
            requests += 1
            sectors += (stored + count - 1) // 8 - stored // 8 + 1
            stored += count
    return requests, sectors


def main() -> None:
    launches = json.loads((Path(sys.argv[1]) / "kernels.json").read_text())
    for kernel, names, count in (
        ("spmv_scalar", ("rp", "ci"), sparse_product),
        ("bfs_frontier", ("rp", "ci", "dist", "fr"), frontier),
    ):
        spec = next(launch for launch in launches if launch["kernel"] == kernel)["buffers"]
        requests, sectors = count(*(buffer(spec[name]).astype(np.int64) for name in names))
        print(f"{kernel}: {requests} requests, {sectors} sectors")


if __name__ == "__main__":
    main()

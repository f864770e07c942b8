"""Shared-memory wavefronts and bank conflicts of single launches, as a profiler counted them (wavefronts.json.gz).

Every launch is one warp (wgmma: a warpgroup; clusters: two CTAs) that executes one instruction on addresses out of a table, on
each engine. Copies of scattered elements (`scattered`) go through the function instead: the tag bank that a line falls into
depends on where the source lies, which was at a multiple of 2 MiB. Atomics of which lanes change nothing (`unchanging`) are
counted here as if they did; they are listed and not judged.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from suites.common import Options, Record, Tally, spread

ENGINES = ("interpreter", "compiled")
WORDS = 16_384  # of the buffer that a launch gets


def run(options: Options, tally: Tally) -> bool:
    recorded = operations(options.folder / "wavefronts.json.gz")
    engines = (options.engine,) if options.engine else ENGINES
    work = [
        (name, operation, engine)
        for name, operation in recorded.items()
        if options.selects("wavefronts.json.gz", name)
        for engine in (engines if not operation.get("scattered") else engines[:1])
    ]
    unchanging = 0
    for (name, operation, engine), wrong in zip(work, spread(one, work, options.jobs)):
        if operation.get("unchanging"):
            unchanging += len(wrong)
            continue
        tally.passed += len(operation["launches"]) - len(wrong)
        tally.failures += [f"{name} ({engine}): {line}" for line in wrong]
    tally.notes.append(f"{unchanging} launches whose lanes change nothing differ: not modeled")
    return not tally.failures and tally.passed > 0


def operations(path: Path) -> dict[str, Record]:
    """Recorded operations by name."""
    found: dict[str, Record] = json.loads(gzip.decompress(path.read_bytes()))["operations"]
    return found


def one(work: tuple[str, Record, str]) -> list[str]:
    """A line for each launch of an operation that is counted otherwise than the profiler did."""
    name, operation, engine = work
    count = copied if operation.get("scattered") else launched(name, operation, engine)
    wrong = []
    for at, (table, n, wavefronts, conflicts) in enumerate(operation["launches"]):
        found = count(name, table, n)
        if found != (wavefronts, conflicts):
            wrong.append(f"launch {at}: {found} wavefronts and conflicts, recorded {wavefronts} and {conflicts}")
    return wrong


def launched(name: str, operation: Record, engine: str) -> Callable[[str, list[int], int], tuple[int, int]]:
    """A function that counts a launch by running it."""
    from ptxsim import Module

    kernel = Module.from_text(operation["ptx"], name).kernel()

    def count(name: str, table: list[int], n: int) -> tuple[int, int]:
        words = np.zeros(WORDS, np.uint32)
        words[: len(table)] = table
        run = kernel.launch(operation["grid"], operation["block"], [words, n], engine=engine, banks=True, checks="none")
        return run.banks.wavefronts, sum(row.conflicts for row in run.banks.rows)

    return count


def copied(name: str, table: list[int], n: int) -> tuple[int, int]:
    """A launch of copies, by the function: addresses, active lanes and sources are columns of the table."""
    from ptxsim.layout.cp_async_wavefronts import copy_wavefronts

    to, active, source = table[:32], table[32:64], [1024 + place for place in table[64:96]]
    mask = sum(1 << lane for lane in range(32) if active[lane])
    width = int(name.split("_")[2].partition(".")[0])
    if "cg" in name:
        return 0, 0
    wavefronts, ideal = copy_wavefronts(to, source, mask, mask, width)
    return wavefronts, wavefronts - ideal

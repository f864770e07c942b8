"""Random programs of arithmetic: every kernel leaves the bits that a GPU left (tools/differential.py).

DIR holds SEED.ptx.gz, programs.json and bits.npz. `contradictions` of programs.json says of which programs the bits are known to
differ, and why. --engine both runs every program on the compiled engine and on the interpreter.
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suites.common import Options, Tally, spread

if TYPE_CHECKING:
    from ptxsim import Module

ENGINES = ("both",)


def run(options: Options, tally: Tally) -> bool:
    engines = ("compiled", "interpreter") if options.engine == "both" else (options.engine,)
    about = json.loads((options.folder / "programs.json").read_text())
    work = [
        (str(options.folder), seed, number, kind, engine)
        for seed, kinds in about["kinds"].items()
        for number, kind in enumerate(kinds)
        if options.selects(f"{seed}.ptx", f"k{number}")
        for engine in engines
    ]
    known = about.get("contradictions", {})
    differing = set()
    for (_, seed, number, _, engine), wrong in zip(work, spread(one, work, options.jobs, chunk=20)):
        name = f"{seed}:k{number}"
        if wrong:
            differing.add(name)
        if not wrong or name in known:
            tally.passed += 1
        else:
            tally.failures.append(f"{name} ({engine or 'default'} engine): {wrong}")
    tried = {f"{seed}:k{number}" for _, seed, number, _, _ in work}
    tally.failures += [f"{name}: has the GPU's bits, and is said not to" for name in known if name in tried - differing]
    tally.notes += [f"{name} differs: {why}" for name, why in known.items() if name in differing]
    return not tally.failures and tally.passed > 0


@lru_cache(maxsize=2)
def _recorded(folder: str) -> dict[str, np.ndarray]:
    with np.load(Path(folder) / "bits.npz") as file:
        return dict(file)


@lru_cache(maxsize=2)
def _module(folder: str, seed: str) -> Module:
    from ptxsim import Module

    return Module.from_text(gzip.decompress((Path(folder) / f"{seed}.ptx.gz").read_bytes()).decode())


def one(item: tuple[str, str, int, str, str | None]) -> str:
    """What is wrong with one program; empty if nothing is."""
    folder, seed, number, kind, engine = item
    given, expected = _recorded(folder)[f"input {kind}"], _recorded(folder)[seed][number]
    found = np.zeros_like(expected)
    kernel = _module(folder, seed).kernel(f"k{number}")
    kernel.launch(1, len(given), [given.copy(), found], checks="none", engine=engine)
    wrong = np.argwhere(found != expected)
    if not len(wrong):
        return ""
    thread, word = wrong[0]
    return (
        f"{len({thread for thread, _ in wrong})} threads differ, first thread {thread} at byte {4 * word}: "
        f"{found[thread, word]:#010x}, the GPU has {expected[thread, word]:#010x}"
    )

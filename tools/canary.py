#!/usr/bin/env python3
"""Every form of access with addresses that no program should form: does any byte of the host change beside what kernels may write?

    tools/canary.py [--thin N] [--engine NAME] [--checks LEVEL] [--jobs 1]

Each form of tools/canaries/forms.py meets each of 30 addresses - around 0, the ends of allocations, of shared and local memory, of
their windows, 2^32, 2^48, 2^63 - on both engines at every level of checks. Around every array that ptxsim makes meanwhile, and in
the gaps between allocations of device memory, lie bytes that must not change; nothing may end but with findings. --thin N takes
every Nth launch. Exit status 1 if a byte changed, or a launch ended otherwise.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from canaries.forms import GROUPS  # noqa: E402
from canaries.guard import canaries  # noqa: E402
from suites.common import spread  # noqa: E402

import ptxsim  # noqa: E402
from ptxsim.machine.memory import ARENA, FIRST, LOCAL_WINDOW, PARAMETERS, SHARED_RESERVED, SHARED_WINDOW  # noqa: E402

ENGINES, LEVELS = ("interpreter", "compiled"), ("none", "memory", "all")
STEPS = 3000  # warp instructions of a launch
DATA = FIRST + 0x2000 - FIRST % 0x1000  # somewhere among the allocations
# Above shared memory of 0x400: a tile of 1024 bytes, an mbarrier, 64 bytes.
SHARED_END = SHARED_RESERVED + 1024 + 16 + 64
# fmt: off
ADDRESSES = (
    0, 1, -1, -16, SHARED_RESERVED - 16, SHARED_RESERVED + 8, SHARED_RESERVED + 1024, SHARED_END - 2, SHARED_END, 48, 62, 64, 1 << 24, (1 << 24) + SHARED_END - 4,
    (1 << 31) - 4, (1 << 32) - 16, 1 << 32, 1 << 48, (1 << 63) - 16, (1 << 63) - 1, 1 << 63, (1 << 63) + 64, ARENA - 4, PARAMETERS + 30, FIRST - 8, FIRST + 62, DATA,
    SHARED_WINDOW - 8, SHARED_WINDOW + SHARED_END - 4, LOCAL_WINDOW + 62,
)
# fmt: on


@dataclass(frozen=True)
class Launch:
    """A form with an address."""

    group: int
    form: int
    address: int
    engine: str
    checks: str


@dataclass(frozen=True)
class Outcome:
    """What changed, or what a launch ended with; how many bytes were watched, and whether there were findings."""

    launch: Launch
    wrong: str
    watched: int
    refused: bool


def launches(engines: tuple[str, ...] = ENGINES, levels: tuple[str, ...] = LEVELS, thin: int = 1) -> Iterator[Launch]:
    """Every form with every address, or each `thin`-th."""
    everything = (
        Launch(number, form, address, engine, checks)
        for engine, checks in itertools.product(engines, levels)
        for number, group in enumerate(GROUPS)
        for form in range(len(group.forms))
        for address in ADDRESSES
    )
    return itertools.islice(everything, 0, None, thin)


def judge(launch: Launch) -> Outcome:
    """Launch a form among canaries."""
    group = GROUPS[launch.group]
    tensor = ptxsim.ints((16, 16), "f16", seed=1)
    args = [
        np.uint64(launch.address % 2**64), launch.form, np.zeros(64, np.uint32), ptxsim.TensorMap(tensor, box=(16, 16)),
    ]  # fmt: skip
    wrong, refused = "", False
    with canaries() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = group.kernel.launch(
                group.grid, group.block, args, cluster=group.grid, engine=launch.engine, checks=launch.checks, banks=False,
                on_error="report", max_steps=STEPS,
            )  # fmt: skip
            refused = run.has_errors
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if changed := watch.changed():
            wrong += f" changed bytes around {changed}"
        return Outcome(launch, wrong, watch.watched, refused)


def main() -> int:
    """0 if nothing changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thin", type=int, default=1, help="take every Nth launch")
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--checks", choices=LEVELS)
    parser.add_argument("--jobs", default="1", help="processes, or dask://HOST:PORT")
    options = parser.parse_args()
    engines = (options.engine,) if options.engine else ENGINES
    levels = (options.checks,) if options.checks else LEVELS
    wrong = count = watched = refused = 0
    for outcome in spread(judge, list(launches(engines, levels, options.thin)), options.jobs):
        count, watched, refused = count + 1, watched + outcome.watched, refused + outcome.refused
        if outcome.wrong:
            wrong += 1
            one = outcome.launch
            print(
                f"{GROUPS[one.group].forms[one.form]} at {one.address:#x}, {one.engine}, {one.checks}: {outcome.wrong}"
            )
    forms = sum(len(group.forms) for group in GROUPS)
    print(
        f"{forms} forms, {len(ADDRESSES)} addresses; {refused} of {count} launches refused; {watched >> 10} KiB watched"
    )
    print(f"canary: {count - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

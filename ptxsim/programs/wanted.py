"""What is asked of every launch of a program, and how its processes are told."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

from ptxsim.session.options import LaunchOptions

VARIABLE = "PTXSIM_EXEC"  # a Wanted as JSON
Telling = Literal["full", "concise", "nothing"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of every launch, which launches are looked at, and where it is told.

    `only` is a regular expression for names of kernels; of those that fit, the first `skip` are passed over and `count` are looked
    at. All others run as well, unwatched: what comes after needs their results. `results`: a folder where each process leaves
    its records for `ptxsim exec`. `page`: with the part of the page about each. `told`: how findings are written to standard error.
    `why`: elements that are asked about, as `programs.why` reads them. `launches`: the program is ended after so many. `quick`: results
    of benchmarks are not made. `untuned`: of an autotuner's configurations the first one that runs is taken, without trials of the others.
    """

    target: str | None = None
    checks: str = "all"
    engine: str | None = None
    numerics: str | None = None
    seed: int | None = None
    jobs: int | None = None
    max_steps: int | None = None
    banks: bool = False
    profile: bool = False
    only: str | None = None
    skip: int = 0
    count: int | None = None
    results: str | None = None
    page: bool = False
    told: Telling = "full"
    why: tuple[str, ...] = ()
    launches: int | None = None
    quick: bool = False
    untuned: bool = False

    @classmethod
    def from_environment(cls) -> Self:
        """What `ptxsim exec` has said; without it all checks, and the target of PTXSIM_TARGET."""
        if VARIABLE in os.environ:
            said = json.loads(os.environ[VARIABLE])
            return cls(**said | {"why": tuple(said["why"])})
        return cls(target=os.environ.get("PTXSIM_TARGET") or None)

    def environment(self) -> Mapping[str, str]:
        """The variable that tells a process."""
        return {VARIABLE: json.dumps(asdict(self))}

    @property
    def options(self) -> LaunchOptions:
        """For a launch that is looked at."""
        return LaunchOptions(
            checks=self.checks, engine=self.engine, numerics=self.numerics, seed=self.seed, jobs=self.jobs,
            max_steps=self.max_steps, banks=self.banks, profile=1 if self.profile else None,
        )  # fmt: skip

    @property
    def unwatched(self) -> LaunchOptions:
        """For any other."""
        return replace(self.options, checks="none", banks=False, profile=None)

    def names(self, kernel: str) -> bool:
        """Whether kernels of that name (demangled) are looked at at all."""
        return self.only is None or re.search(self.only, kernel) is not None

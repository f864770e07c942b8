"""How a kernel is launched, in one value that goes from every front door to the launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Self

from ptxsim.checks.in_flight import Prior
from ptxsim.engine.held import Held

Extent = int | Sequence[int]  # of a grid, block or cluster: one to three numbers
Progress = Callable[[int, int], None]  # gets how many CTAs are done, and how many there are


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """Everything about a launch but the kernel and its arguments, as the caller gave it; None takes the default.

    grid, block, cluster: one to three numbers. shared_mem: bytes of dynamic shared memory. target: the machine that runs
    it (the file's). numerics: "target" or "exact". jobs: threads for CTAs (all cores where that pays). checks: "all",
    "memory" or "none". banks: True counts conflicts during the run, None when `run.banks` is first read, False never.
    profile: SMs to replay in the cycle model (none). gpu: whose figures it takes, "H100" (the target's own machine). registers: of a thread, as the assembler says them (the model's estimate). cubin: file with machine code of the
    same PTX, which the cycle model takes in place of what the assembler at hand makes of it. max_steps: warp
    instructions before the launch stops, max_memory: bytes of device memory that it may take, max_seconds: on the clock (no limits).
    every: of `profile`, only each Nth SM is listened to. sample: no CTAs but those SMs' run, of each a few waves, where no other can
    notice: for a prediction, as the results are incomplete.
    part: (i, n) runs the ith of n parts of the grid's clusters, where their order cannot show (`split_grid`).
    cooperative: the launch has what grid-wide barriers need, as cudaLaunchCooperativeKernel gives it. prior: the grids of its stream that
    may still run; where it is there, `run.left` says what the launch means for those after it. held: a warp that stands still for a while.
    """

    grid: Extent | None = None
    block: Extent | None = None
    cluster: Extent | None = None
    shared_mem: int | None = None
    target: str | None = None
    engine: str | None = None
    numerics: str | None = None
    seed: int | None = None
    jobs: int | None = None
    checks: str | None = None
    banks: bool | None = None
    profile: bool | int | None = None
    every: int | None = None
    sample: bool | None = None
    part: tuple[int, int] | None = None
    gpu: str | None = None
    registers: int | None = None
    cubin: str | PathLike[str] | None = None
    max_steps: int | None = None
    max_memory: int | None = None
    max_seconds: float | None = None
    cooperative: bool | None = None
    prior: Prior | None = None
    held: Held | None = None
    progress: Progress | None = None

    def or_else(self, other: LaunchOptions) -> Self:
        """These options, and those of `other` where these are None."""
        missing = [f.name for f in fields(LaunchOptions) if getattr(self, f.name) is None]
        return replace(self, **{name: getattr(other, name) for name in missing})

    def for_inspection(self) -> Self:
        """The same launch in the interpreter, which can be watched, without checks, counts and progress."""
        return replace(self, engine="interpreter", jobs=1, checks="none", banks=False, profile=0, progress=None)

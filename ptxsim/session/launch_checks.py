"""What a launch may ask for: shapes, counts and shared memory against the kernel's directives and the target's limits."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.decoding.frames import MOST_LOCAL
from ptxsim.machine.state import Shape, max_shared_bytes, shared_start
from ptxsim.source import Source
from ptxsim.spelling import did_you_mean
from ptxsim.syntax import ast
from ptxsim.types import Target

LIMITS = {"block": (1024, 1024, 64), "grid": (2**31 - 1, 65535, 65535), "cluster": (16, 16, 16)}
MOST_CTAS = 1 << 24  # that checks tell apart: some 30 bytes each
MOST_MEMORY = 256 << 30  # bytes of device memory: more than any GPU has
CHOICES = {
    "engine": ("compiled", "interpreter"),
    "checks": ("all", "memory", "none"),
    "numerics": ("target", "exact"),
    "on_error": ("raise", "report"),
}


def shape(value: int | Sequence[int]) -> Shape:
    """An int or up to three ints as (x, y, z). Raises ValueError."""
    try:
        numbers = tuple(map(operator.index, value if isinstance(value, Iterable) else (value,)))
    except TypeError:
        numbers = ()
    if not 1 <= len(numbers) <= 3 or any(n < 1 for n in numbers):
        raise ValueError(f"{value} is no shape: give one to three positive whole numbers")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


class LaunchChecks:
    """Reads launch options for one kernel. Every method raises PtxError, placed at the kernel."""

    def __init__(self, function: ast.Function, source: Source):
        self.function, self.source = function, source

    def problem(self, message: str, help: str | None = None, name: str = "bad-directive") -> PtxError:
        """The error of a launch that cannot start."""
        function = self.function
        return PtxError(Finding(name, message, function.line, function.column, help=help).of(self.source))

    def count(self, name: str, value: Any, least: int = 0, help: str | None = None) -> int:
        """A whole number of `least` or more."""
        try:
            count = operator.index(value)
        except TypeError:
            count = least - 1
        if count < least:
            raise self.problem(f"{name}={value!r} is no whole number of {least} or more", help)
        return count

    def seconds(self, name: str, value: Any) -> float | None:
        """A time, or None for no limit."""
        if value is None or (isinstance(value, int | float) and value > 0):
            return value
        raise self.problem(f"{name}={value!r} is no time above 0", "None is no limit")

    def gpu(self, value: Any, target: Target) -> str:
        """The name of a machine of the target that the cycle model has figures of."""
        from ptxsim.profile.figures import machines, machines_of

        own, every = machines_of(target.number), machines()
        name = value.upper() if isinstance(value, str) else None
        if name in own:
            return str(name)
        if name in every:
            raise self.problem(
                f"gpu={value!r} runs sm_{every[name]}, and the launch is for {target.name}",
                f"of {target.name} there are figures of {', '.join(own) or 'no machine'}",
            )
        raise self.problem(
            f"gpu={value!r}: there are no figures of such a machine", did_you_mean(str(value).upper(), list(every))
        )

    def progress(self, value: Any) -> Any:
        """Something to call, or None; what cannot be called would be noticed only by launches that take a while."""
        if value is None or callable(value):
            return value
        raise self.problem(
            f"progress={value!r} cannot be called", "give a function of how many CTAs are done, and of how many"
        )

    def choice(self, name: str, value: str | None, default: str) -> str:
        """One of the words that an option takes."""
        if value is not None and not (isinstance(value, str) and value in CHOICES[name]):
            raise self.problem(f"{name}={value!r} is none of {', '.join(CHOICES[name])}")
        return value or default

    def shape(self, name: str, value: int | Sequence[int] | None) -> Shape:
        """A grid, block or cluster as (x, y, z); None is one."""
        try:
            return (1, 1, 1) if value is None else shape(value)
        except (TypeError, ValueError):
            help = "give one to three numbers of 1 or more: x, (x, y) or (x, y, z)"
            raise self.problem(f"{name}={value!r} is no shape", help) from None

    def cluster(self, asked: int | Sequence[int] | None) -> Shape:
        """The cluster shape: the kernel's .reqnctapercluster, or the launch's."""
        for directive in self.function.directives:
            if directive.name == "reqnctapercluster" and directive.arguments:
                return shape([int(a) for a in directive.arguments])
        return self.shape("cluster", asked)

    def fit(self, grid: Shape, block: Shape, cluster: Shape) -> None:
        """The shapes together, and with .reqntid and .maxntid."""
        for name, value in (("grid", grid), ("block", block), ("cluster", cluster)):
            for axis, number, limit in zip("xyz", value, LIMITS[name]):
                if number > limit:
                    raise self.problem(f"{name}.{axis} is {number}, the most is {limit}")
        threads = block[0] * block[1] * block[2]
        if threads > 1024:
            raise self.problem(f"a CTA of {threads} threads; the most is 1024")
        if any(g % c for g, c in zip(grid, cluster)):
            raise self.problem(f"grid {grid} is no multiple of the cluster {cluster}")
        for directive in self.function.directives:
            numbers = [int(a) for a in directive.arguments if a.isdigit()]
            if directive.name == "reqntid" and numbers and shape(numbers) != block:
                raise self.problem(f"the kernel says .reqntid {numbers}, the launch's block is {block}")
            if directive.name == "maxntid" and numbers and threads > int(np.prod(numbers)):
                raise self.problem(f"the kernel says .maxntid {numbers}, the launch's block has {threads} threads")

    def ctas(self, grid: Shape, checks: str, seed: int) -> None:
        """Not more CTAs than can be remembered one by one: for the order of accesses, and of CTAs."""
        count = math.prod(grid)
        if count > MOST_CTAS and (checks == "all" or seed):
            help = "launch fewer, or without the checks of races and in the usual order: --checks memory, --seed 0"
            raise self.problem(f"a grid of {count} CTAs is more than the {MOST_CTAS} that can be told apart", help)

    def local_memory(self, used: int) -> None:
        """That a thread has so much local memory."""
        if used > MOST_LOCAL:
            raise self.problem(f"a thread needs {used} bytes of local memory, it has {MOST_LOCAL}")

    def memory(self, used: int, most: int | None) -> None:
        """That the launch may take so many bytes of device memory."""
        if used > min(most or MOST_MEMORY, MOST_MEMORY):
            limit = MOST_MEMORY if most is None else min(most, MOST_MEMORY)
            help = "raise the limit: --max-memory BYTES" if limit == most else None
            raise self.problem(f"the launch needs {used} bytes of device memory, the limit is {limit}", help)

    def shared_memory(self, end: int, target: Target) -> None:
        """That shared memory up to address `end` exists."""
        used, most = end - shared_start(target), max_shared_bytes(target)
        if used > most:
            raise self.problem(f"the CTA needs {used} bytes of shared memory, {target} has {most}")

"""How a program is started so that its launches come to ptxsim."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ptxsim.diagnostic import problem
from ptxsim.programs.wanted import Wanted

_problem = partial(problem, "bad-directive")

TRITON = {"PTXSIM_TRITON": "1", "TRITON_DEFAULT_BACKEND": "ptxsim"}


@dataclass(frozen=True, slots=True)
class Command:
    """What to execute, and the variables that are added to the environment."""

    arguments: list[str]
    variables: Mapping[str, str]


def command(program: str, arguments: Sequence[str], wanted: Wanted, *, cuda_is_cpu: bool = True) -> Command:
    """A Python file or an executable, and how it is started. Raises PtxError for what is neither, or cannot run here."""
    variables = {**TRITON, **wanted.environment()}
    if program.endswith(".py") or program == "-m":
        if program != "-m" and not os.path.exists(program):
            raise _problem(f"there is no file {program}")
        variables |= _for_python(cuda_is_cpu)
        # Runs what follows as Python would.
        through = ["-m", "ptxsim.triton"] if cuda_is_cpu else []
        return Command([sys.executable, *through, program, *arguments], variables)
    if program.startswith("-"):
        raise _problem(
            f"exec has no option {program}", "ptxsim exec --help lists them; ptxsim run, of one launch, has more"
        )
    path = shutil.which(program)
    if path is None:
        what = "cannot be executed" if os.path.exists(program) else "is no file or command"
        help = "give a Python file (.py), -m and a module, or an executable"
        if program.endswith((".ptx", ".cu")):
            help = f"one launch of a kernel is run by: ptxsim run {program}"
        raise _problem(f"{program} {what}", help)
    variables |= _for_python(cuda_is_cpu) if _is_python(path) else _libraries(path)
    return Command([path, *arguments], variables)


def _for_python(cuda_is_cpu: bool) -> dict[str, str]:
    """What Python programs need, and the processes that they start."""
    folder = str(Path(__file__).parents[1] / "triton" / "startup")
    paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**_for_libraries(), **({"PYTHONPATH": paths} if cuda_is_cpu else {})}


def _for_libraries() -> Mapping[str, str]:
    """What lets the libraries of CUDA code that a Python program loads have our CUDA runtime, if it can be built here: most
    programs load none."""
    from ptxsim.cuda.runtime import NoLibrary, environment

    try:
        return environment()
    except NoLibrary:
        return {}


def _libraries(path: str) -> Mapping[str, str]:
    """What lets an executable, or what a script starts, load our CUDA runtime. Raises PtxError."""
    from ptxsim.cuda.runtime import NoLibrary, environment, inspect

    problem = inspect(path).problem
    if problem is not None:
        raise _problem(f"{path}: {problem[0]}", problem[1])
    try:
        return environment(path)
    except NoLibrary as reason:
        raise _problem(str(reason)) from None


def _is_python(path: str) -> bool:
    """Whether a command is Python or a script for it: its own libraries are not to be taken from it."""
    if Path(path).resolve().name.startswith("python"):
        return True
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first

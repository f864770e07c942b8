"""With nothing installed but ptxsim and what it depends on: every command works, or says in one sentence what is missing."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ptxsim.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "tests/cases/races/one_value_twice.ptx"
# Of what is installed, programs find what ptxsim's own requirements bring, and no more.
START = """\
import sys

class Few:
    allowed = frozenset({allowed!r}) | sys.stdlib_module_names

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in self.allowed and not top.startswith("_sysconfigdata"):
            return None
        return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Few, sys.meta_path)
"""
TRITON = "import triton\n"
CUDA = "__global__ void k(int* x) { *x = 1; }\n"


def distributions(name):
    """The normalised names of a distribution and of what comes with it, without extras."""
    found = {re.sub(r"[-_.]+", "-", name).lower()}
    for line in metadata.requires(name) or []:
        if ";" not in line:
            found |= distributions(re.match(r"[\w.-]+", line)[0])
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Runs a command with a line of input; gives its exit code and all it has written. There are no compilers on the PATH."""
    folder, wanted = tmp_path_factory.mktemp("plain"), distributions("ptxsim")
    allowed = {
        module
        for module, names in metadata.packages_distributions().items()
        if any(re.sub(r"[-_.]+", "-", name).lower() in wanted for name in names)
    }
    assert {"numpy", "numba", "llvmlite", "ptxsim"} <= allowed and not {"torch", "pytest", "zstandard"} & allowed
    (folder / "sitecustomize.py").write_text(START.format(allowed=sorted(allowed)))
    (folder / "program.py").write_text(TRITON)
    (folder / "plain.py").write_text("print('no kernels')\n")
    (folder / "k.cu").write_text(CUDA)

    def run(*arguments, said=""):
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA", "PTXSIM"))}
        variables |= {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "PATH": str(folder)}
        done = subprocess.run(
            [sys.executable, "-m", "ptxsim", *map(str, arguments)],
            env=variables, cwd=folder, input=said, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


WORK = {
    "run": (KERNEL,),
    "check": (KERNEL,),
    "banks": (KERNEL,),
    "profile": (KERNEL,),
    "exec": ("plain.py",),
    "sweep": ("--workers", "1", "--seeds", "2", KERNEL),
    "layout": ("mma.m16n8k16.f16",),
    "desc": ("0x40",),
    "explain": ("trap",),
    "debug": (KERNEL,),
    "dap": (),
    "isa": ("mma",),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", WORK)
def test_commands_work(command, plain):
    code, written = plain(command, *WORK[command], said="step\nquit\n" if command == "debug" else "")
    assert code == 0 and "Traceback" not in written, written


def test_all_commands_are_tried():
    assert {*WORK, "lsp"} == {*COMMANDS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (["run", "k.cu", "--arg", "zeros(1):s32"], "cuda"),
        (["exec", "program.py"], "triton"),
        (["run", ROOT / "tests/cuda/data/fill.fatbin", "--arg", "zeros(1):s32"], "cuda"),
        (["sweep", KERNEL, "--workers", "dask://localhost:1"], "dask"),
        (["debug", KERNEL, "--screen"], "screen"),
        (["lsp"], "editor"),
    ],
)
def test_what_is_missing_is_one_sentence(arguments, package, plain):
    code, written = plain(*arguments)
    assert code == 2 or arguments[0] in ("exec", "lsp"), written
    (line,) = [line for line in written.splitlines() if "pip install" in line]
    assert re.search(rf"pip install ['\"]ptxsim\[{package}\]['\"](; or |$)", line), written
    assert "Traceback" not in written or arguments[0] == "exec"  # of the program's own

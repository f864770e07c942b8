"""Where device memory begins differs between processes (PTXSIM_ARENA), which share machine code: none of it may know the place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
FAMILIES = ("cp_async", "tensor_copy", "bulk", "atomics", "wgmma")
FILES = [str(path) for family in FAMILIES for path in sorted((CASES / family).glob("*.ptx"))[:3]]


@pytest.mark.slow
def test_code_of_another_process_is_right_here(tmp_path):
    program = f"from ptxsim.session.ptxfile.file import run_file\nprint([f for f in {FILES} if not run_file(f).passed])"
    for place in ({}, {"PTXSIM_ARENA": "0x200040000000"}):
        variables = os.environ | {"PTXSIM_CACHE_DIR": str(tmp_path)} | place
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stdout) == (0, "[]\n"), done.stdout + done.stderr

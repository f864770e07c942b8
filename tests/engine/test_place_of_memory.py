"""Where device memory begins differs between processes (PTXSIM_ARENA), which share machine code: none of it may know the place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
FILES = [sorted((CASES / family).glob("*.ptx")) for family in ("cp_async", "tensor_copy", "bulk", "atomics", "wgmma")]


@pytest.mark.slow
@pytest.mark.parametrize("files", FILES, ids=lambda files: files[0].parent.name)
def test_code_of_another_process_is_right_here(files, tmp_path):
    program = f"from ptxsim.session.ptxfile.file import run_file\nassert all(run_file(f).passed for f in {[*map(str, files[:6])]})"
    for place in ({}, {"PTXSIM_ARENA": "0x200040000000"}):
        variables = os.environ | {"PTXSIM_CACHE_DIR": str(tmp_path)} | place
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr

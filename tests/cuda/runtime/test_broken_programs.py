"""Whole CUDA programs with a bug each: the finding's first line is the line of CUDA that has it, and the program sees CUDA's error."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "broken").glob("*.cu"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="CUDA executables run on Linux only"),
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc builds the program"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler builds the library"),
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_line_of_the_bug_is_found(path, tmp_path):
    pytest.importorskip("zstandard")
    name, line = re.search(r"finding: ([\w-]+) at (\d+)", path.read_text()).groups()
    program = tmp_path / path.stem
    command = ["nvcc", "-cudart", "shared", "-lineinfo", "-arch=sm_90", "-o", program, path]
    subprocess.run(command, check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    first = next(finding for launch in json.loads(done.stdout) for finding in launch["findings"])
    assert done.returncode == 1
    assert (first["name"], Path(first["source_file"]).name, first["source_line"]) == (name, path.name, int(line))

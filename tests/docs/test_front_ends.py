"""The programs on the pages about front ends run as they stand, where their packages are installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "front-ends"
NEEDS = {"numba-cuda": "numba_cuda", "cute-dsl": "cutlass", "warp": "warp", "nvrtc": "cuda.bindings"}


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def test_every_page_is_run():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("page", NEEDS)
def test_the_program_runs(page, tmp_path):
    if not is_there(NEEDS[page]):
        pytest.skip(f"{NEEDS[page]} is not installed")
    (text,) = re.findall(r"```python\n(.*?)```", (FOLDER / f"{page}.md").read_text(), re.DOTALL)
    path = tmp_path / "program.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out-of-bounds" in done.stdout

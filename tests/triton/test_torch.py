"""Programs that use more of torch.cuda than devices, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("name", ["captured", "asks_torch"])
def test_torch_does_as_with_a_gpu(name):
    command = [sys.executable, "-m", "ptxsim", "exec", str(PROGRAMS / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr

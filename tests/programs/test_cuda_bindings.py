"""Programs of cuda.bindings run under `ptxsim exec` as they are: what NVRTC compiles for them to machine code is the PTX of it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def has_nvrtc():
    code = "from cuda.bindings import nvrtc; nvrtc.nvrtcVersion()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["cuda_bindings", "torch_with_cuda_bindings"])
def test_nvrtc_the_driver_and_its_graphs(name):
    if name.startswith("torch"):
        pytest.importorskip("torch")
    if not has_nvrtc():
        pytest.skip("cuda.bindings, or NVRTC, is not installed")
    program = Path(__file__).with_name(f"{name}.py")
    done = subprocess.run([sys.executable, "-m", "ptxsim", "exec", str(program)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr

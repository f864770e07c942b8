"""Programs that use more of torch.cuda than devices, in processes of their own."""

import json
import os
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


def test_threads_and_processes_of_a_program_have_the_same_gpu(tmp_path):
    own = tmp_path / "sitecustomize.py"
    own.write_text("import builtins\nbuiltins.of_the_user = True\n")
    program = PROGRAMS / "in_children.py"
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stderr.endswith("right\n")
    findings = [finding["name"] for launch in json.loads(done.stdout) for finding in launch["findings"]]
    assert findings == ["out-of-bounds"]
    asks = tmp_path / "asks.py"
    asks.write_text("assert of_the_user\nimport torch\nassert torch.cuda.is_available()\n")
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*command[:4], str(asks)], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr

"""A new shape or type is a row, not code."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_made_up_type_and_a_made_up_shape_run_on_both_engines():
    script = Path(__file__).with_name("new_rows.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert result.stdout.splitlines() == ["m16n8k32 e3m4 0 0", "m16n8k32 f16 0 0", "b5x16_p48 0 0"], result.stderr

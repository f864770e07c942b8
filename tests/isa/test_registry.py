"""The order of forms does not depend on which family was read first."""

from __future__ import annotations

import subprocess
import sys

from ptxsim.instructions import load_families
from ptxsim.isa import registry

MATRICES = """
from ptxsim.instructions import offer_families
from ptxsim.isa import registry
offer_families()
registry.forms("mma")  # reads a family that also declares forms of the others
for name in ("ldmatrix", "movmatrix"):
    assert registry.forms(name)[0].definition.effect is not None, name
"""


def test_what_is_executed_comes_first():
    load_families()
    for name in registry.names():
        executed = [form.definition.effect is not None for form in registry.forms(name)]
        assert executed == sorted(executed, reverse=True), name


def test_families_read_in_another_order():
    done = subprocess.run([sys.executable, "-c", MATRICES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

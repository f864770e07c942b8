"""What an instruction is, its operation says; nothing that runs, checks or times it reads the text of its opcode."""

from __future__ import annotations

import re

import pytest

from tests.helpers import ROOT

READS_TEXT = re.compile(
    r"opcode\.(split|startswith|endswith|partition)|\bin \w+\.opcode\b|form\.name\b|effect\.__(module|name)__"
)
PLACES = ["checks", "engine", "profile", "session/inspect", "session/bank_table.py"]
NAMED = {"operation.py": 1}  # Op.name, for messages


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_known_by_its_opcode(place):
    root = ROOT / "ptxsim" / place
    for file in [root] if root.is_file() else sorted(root.rglob("*.py")):
        found = READS_TEXT.findall(file.read_text())
        assert len(found) <= NAMED.get(file.name, 0), f"{file}: {found}"

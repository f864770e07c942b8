"""Families are declared when a name of theirs is asked for; the table of names agrees with what they declare."""

import subprocess
import sys

from ptxsim.instructions import FAMILIES

# Run in a process of its own, where nothing is declared yet.
WHO_DECLARES = """
import sys
from ptxsim.isa import registry
found, plain = {}, registry.instruction
def instruction(notation, **options):
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>":  # the family that is being read, whoever helps it
        frame = frame.f_back
    name = options.get("name") or notation.partition(" ")[0].partition("{")[0]
    found.setdefault(frame.f_globals["__name__"].rpartition(".")[2], set()).add(name.partition(".")[0])
    return plain(notation, **options)
registry.instruction = instruction
from ptxsim.instructions import load_families
load_families()
for family, words in found.items():
    print(family, *sorted(words))
"""
LOADED = """
import sys
from ptxsim.isa import registry
from ptxsim.instructions import offer_families
offer_families()
assert registry.split_opcode("add.rn.f32") == ("add", ["rn", "f32"])
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("ptxsim.instructions.")))
assert "tcgen05.mma" in registry.names()
"""


def output(program: str) -> list[list[str]]:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [line.split() for line in run.stdout.splitlines()]


def test_the_table_of_names():
    declared = {family: set(words) for family, *words in output(WHO_DECLARES)}
    assert declared == {family: set(words.split()) for family, words in FAMILIES.items()}


def test_only_what_is_asked_for_is_loaded():
    (loaded,) = output(LOADED)
    assert {"integer", "floating", "carry"} <= set(loaded)
    assert not {"mma", "wgmma", "load", "tcgen05"} & set(loaded)

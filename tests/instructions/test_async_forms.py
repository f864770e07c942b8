"""Statements of asynchronous copies and mbarriers are taken and refused as the assembler does (tests/data/async_forms.tsv)."""

from ptxsim.instructions import load_families
from ptxsim.isa.bind import Binder
from ptxsim.types import parse_target, parse_version
from tests.helpers import DATA
from tests.instructions.test_memory_forms import takes

JUDGED = DATA / "async_forms.tsv"


def test_as_the_assembler():
    load_families()
    binders, wrong = {}, []
    rows = [line.split("\t") for line in JUDGED.read_text().splitlines()[1:]]
    for target, version, answer, text in rows:
        if (target, version) not in binders:
            binders[target, version] = Binder(parse_target(target), parse_version(version))
        if takes(binders[target, version], text) != (answer == "y"):
            wrong.append((target, version, answer, text))
    assert len(rows) > 200
    assert not wrong

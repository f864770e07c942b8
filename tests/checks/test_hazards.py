"""Mutants of right kernels, each with one synchronisation deleted or weakened, are found: a thin slice of what tools/hazards.py does."""

from __future__ import annotations

from pathlib import Path

import hazards
import pytest
from mutants.edits import mutants
from mutants.programs import programs

CASES = Path(__file__).parents[1] / "cases"
PROGRAMS = (
    "bulk/round_trip", "clusters/remote_store", "cp_async/groups", "dependents/the_one_between_waits", "mbarrier/ring", "order/causality", "tensor_copy/read_by_wgmma",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_mutant_is_missed_that_is_not_known(name):
    (program,) = programs(CASES / f"{name}.ptx")
    found = mutants(program.source)
    assert len(found) >= 3
    known = hazards.known_misses()
    missed = {
        (program.name, mutant.kind, str(mutant.line))
        for mutant in found
        if hazards.judge((program, None, mutant)).what == "missed"
    }
    assert missed <= known.keys()


def test_edits_keep_lines_and_guards():
    (program,) = programs(CASES / "mbarrier" / "ring.ptx")
    for mutant in mutants(program.source):
        text = mutant.text(program.source.text)
        assert len(text.split("\n")) == len(program.source.lines)
        assert text != program.source.text

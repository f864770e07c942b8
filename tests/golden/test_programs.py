"""Every twentieth of the random programs whose bits an H200 gave (tools/differential.py); all of them run through tools/conformance."""

import json
from pathlib import Path

import numpy as np
import pytest
from random_programs import modules as made
from suites import programs

import ptxsim
from tests.helpers import ENGINES

FOLDER = Path(__file__).parents[2] / "tools/data/programs"
ABOUT = json.loads((FOLDER / "programs.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("seed", ABOUT["kinds"])
def test_bits_of_a_gpu(seed, engine):
    kinds = ABOUT["kinds"][seed]
    chosen = [
        number for number in range(int(seed) % 20, len(kinds), 20) if f"{seed}:k{number}" not in ABOUT["contradictions"]
    ]
    found = {number: programs.one((str(FOLDER), seed, number, kinds[number], engine)) for number in chosen}
    assert found
    assert not {number: wrong for number, wrong in found.items() if wrong}


@pytest.mark.slow
def test_new_programs_are_legal_and_alike_on_both_engines():
    seed, count = 1, 8
    module = ptxsim.Module.from_text(made.module(seed, count))
    for number, kind in enumerate(made.kinds(seed, count)):
        given, found = made.inputs(number, kind), []
        for engine in ENGINES:
            found.append(np.zeros_like(given))
            run = module.kernel(f"k{number}").launch(1, made.THREADS, [given.copy(), found[-1]], engine=engine)
            assert not run.findings
        assert found[0].any() and np.array_equal(*found)

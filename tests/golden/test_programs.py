"""Every twentieth of the random programs whose bits an H200 gave (tools/differential.py); all of them run through tools/conformance."""

import json
from pathlib import Path

import pytest
from suites import programs

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

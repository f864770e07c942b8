"""A few inputs of every kind that tools/fuzz.py makes, and the least of those that something was found with."""

import random

import pytest
from fuzzing.judge import KINDS, judge, judge_text
from fuzzing.texts import ROOT

FOUND = sorted((ROOT / "tests" / "robustness" / "found").glob("*.ptx"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_few_of_every_kind(kind):
    problems = [(seed, problem) for seed in range(15) if (problem := judge(kind, seed))]
    assert not problems


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_found_stays_mended(file):
    assert judge_text(file.read_text(), random.Random(0)) is None

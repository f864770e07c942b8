"""One recorded trial of every form (tests/data/golden, thinned by tools/thin_golden.py), end to end, on both engines."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from suites import golden  # noqa: E402

FOLDER = str(ROOT / "tests" / "data" / "golden")
FAMILIES = sorted(path.name.partition(".")[0] for path in Path(FOLDER).glob("*.ptx.gz"))
QUICK = ("warp", "ldst")


def groups():
    """Forms of a family in portions, so that a failure is near its kind and workers share the load."""
    for family in FAMILIES:
        names = sorted({form["group"].rpartition(".")[0] or form["group"] for form in golden.forms_of(FOLDER, family)})
        for name in names:
            marks = [] if family in QUICK else [pytest.mark.slow]
            yield pytest.param(family, name, id=f"{family}-{name}", marks=marks)


@pytest.mark.parametrize(("family", "group"), list(groups()))
def test_recorded_bits(family, group, engine):
    problems = {}
    for form in golden.forms_of(FOLDER, family):
        if (form["group"].rpartition(".")[0] or form["group"]) == group:
            problem = golden.compare(FOLDER, family, form, engine)
            if problem:
                problems[form["id"]] = problem
    assert not problems

"""One recorded trial of forms (tests/data/golden, thinned by tools/thin_golden.py), end to end, on both engines: of every one, but where a
group has many, of as many spread over it. `tools/conformance golden tests/data/golden` runs all of them."""

from itertools import product
from pathlib import Path

import pytest
from suites import golden

from tests.helpers import DATA, ENGINES

FOLDER = str(DATA / "golden")
FAMILIES = sorted(path.name.partition(".")[0] for path in Path(FOLDER).glob("*.ptx.gz"))
QUICK = ("warp",)
MOST = 12  # of a group


def groups():
    """Forms of a family in portions, so that a failure is near its kind and workers share the load."""
    for family in FAMILIES:
        names = sorted({form["group"].rpartition(".")[0] or form["group"] for form in golden.forms_of(FOLDER, family)})
        for name in names:
            marks = [] if family in QUICK else [pytest.mark.slow]
            yield pytest.param(family, name, id=f"{family}-{name}", marks=marks)


@pytest.mark.parametrize(("family", "group"), list(groups()))
def test_recorded_bits(family, group):
    forms = [f for f in golden.forms_of(FOLDER, family) if (f["group"].rpartition(".")[0] or f["group"]) == group]
    forms = forms[:: -(-len(forms) // MOST)]
    # One engine right after the other: a form is parsed and decoded once.
    found = {
        (form["id"], engine): golden.compare(FOLDER, family, form, engine) for form, engine in product(forms, ENGINES)
    }
    assert not {name: problem for name, problem in found.items() if problem}

"""Files with expectations, here, in samples/ and beside other tests, do what they say. tests/engine/test_alike.py runs each of them in all ways; this
has some for the quick tests."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import FILES, ROOT


@pytest.mark.parametrize("path", FILES[::5], ids=lambda path: str(path.relative_to(ROOT)))
def test_file_does_what_it_says(path):
    result = run_file(path, options=Options(checks="all"))
    assert result.passed, [f"{f.line}: {f.name}: {f.message}" for f in result.findings]
    assert result.checked > 0, "a case file needs at least one expectation"

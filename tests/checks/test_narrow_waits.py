"""A wait that says .acquire.cta where copies of another CTA arrive is a note; one without a scope says nothing of it."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import ROOT

CASE = ROOT / "tests/cases/clusters/copy_waited_for_by_the_cta.ptx"


@pytest.mark.parametrize("scope, levels", [(".acquire.cta", ["note"]), (".acquire.cluster", []), ("", [])])
def test_only_what_is_written_is_told(scope, levels, engine):
    text = CASE.read_text().replace("try_wait.parity.acquire.cta", f"try_wait.parity{scope}")
    run = run_file(Source(text, str(CASE)), options=Options(engine=engine))
    assert [each.level for each in (*run.findings, *run.expected) if each.name == "missing-wait"] == levels

"""Every finding has a page; its bad example has exactly that finding, its good one none."""

import pytest

from ptxsim.diagnostic import KINDS, PtxError
from ptxsim.report.pages import OPTIONAL, SECTIONS, describe, page
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

# A page about a limit is run with one.
STEPS = {"limit-reached": 5000}
# One about schedules on several.
SCHEDULES = {"schedule-dependent": 8}


@pytest.mark.parametrize("name", KINDS)
def test_a_page_has_all_its_sections(name):
    found = page(name)
    assert list(found.sections) == [
        *SECTIONS[:2],
        *(title for title in OPTIONAL if title in found.sections),
        *SECTIONS[2:],
    ]
    assert all(found.sections.values())
    assert found.text.startswith(f"# {name}\n")
    assert ".entry" in found.example and ".entry" in found.instead
    assert describe(name).startswith(f"{KINDS[name].level}[{KINDS[name].code}] {name}: ")


def findings_of(text, name):
    # As --select NAME does.
    options = Options(max_steps=STEPS.get(name), schedules=SCHEDULES.get(name, 1), notes=(name,))
    try:
        return [finding.name for finding in run_file(Source(text, f"{name}.ptx"), options=options).findings]
    except PtxError as error:
        return [finding.name for finding in error.findings]


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", KINDS)
def test_the_bad_example_has_the_finding(name):
    found = findings_of(page(name).example, name)
    assert found and set(found) == {name}


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", KINDS)
def test_the_good_example_has_none(name):
    assert findings_of(page(name).instead, name) == []

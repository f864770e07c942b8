"""Declarations, calls, newest forms: taken and refused as ptxas 13.5 does (tests/data/judgements.tsv)."""

from __future__ import annotations

import pytest
from suites import forms

from ptxsim.session import check
from ptxsim.types import parse_version
from tests.helpers import DATA

_, HEADER, *LINES = (DATA / "judgements.tsv").read_text().splitlines()
COLUMNS = [tuple(column.split("@")) for column in HEADER.split("\t")]
ROWS = [line.split("\t", 2) for line in LINES]
MODULE = """\
.version {}
.target {}
.address_size 64
.global .align 8 .b8 gv[64];
.func fdef (.param .b32 parg) {{ ret; }}
{}
.visible .entry main() {{ ret; }}
"""


def wrong(kind: str, column: int, refused) -> list[str]:
    """The rows that are judged otherwise than recorded; `refused` are the numbers of those that ptxsim refuses."""
    rows = [(answers, text) for answers, where, text in ROWS if where == kind]
    return [text for i, (answers, text) in enumerate(rows) if (i in refused) != (answers[column] == "n")]


@pytest.mark.thin(5)
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=HEADER.split("\t"))
def test_items_of_a_module(column):
    target, version = COLUMNS[column]
    texts = [text for _, where, text in ROWS if where == "module"]
    refused = {
        i for i, text in enumerate(texts) if any(f.level == "error" for f in check(MODULE.format(version, target, text)))
    }  # fmt: skip
    assert not wrong("module", column, refused)


@pytest.mark.thin(3)
@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=HEADER.split("\t"))
def test_statements(column):
    target, version = COLUMNS[column]
    texts = list(enumerate(text for _, where, text in ROWS if where == "body"))
    parsed = tuple((i, text) for i, text in texts if forms.parses(text))
    refused = {i for i, _ in texts} - {i for i, _ in parsed}
    refused |= forms.refused(forms.Question(target, parse_version(version), parsed))
    assert not wrong("body", column, refused)

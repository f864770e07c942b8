"""Whole modules, taken and refused as ptxas 13.0 does (tests/data/module_judgements.tsv)."""

from __future__ import annotations

import pytest

from ptxsim.session import check
from tests.helpers import DATA

_, ITEMS, REGISTERS, *ROWS = (DATA / "module_judgements.tsv").read_text().splitlines()
MODULE = """\
.version {}
.target sm_90
.address_size 64
{}
.visible .entry main() {{
{}
ret;
}}
"""
PARTS = 20


@pytest.mark.thin(5)
@pytest.mark.parametrize("part", range(PARTS))
def test_modules_are_judged_as_the_assembler_does(part):
    wrong = []
    for row in ROWS[part::PARTS]:
        verdict, version, items, body = row.split("\t")
        if verdict.isupper():
            items, body = ITEMS, REGISTERS + body
        refused = any(finding.level == "error" for finding in check(MODULE.format(version, items, body)))
        if refused == (verdict in "yY"):
            wrong.append(row)
    assert not wrong

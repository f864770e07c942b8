"""A target exists from some .version on."""

import pytest

from ptxsim.session.module import check
from ptxsim.types import TARGETS

MODULE = ".version {0[0]}.{0[1]}\n.target {1}\n.address_size 64\n.entry k() {{ ret; }}"


@pytest.mark.parametrize("target", TARGETS)
def test_first_version_of_a_target(target):
    first = TARGETS[target]
    assert check(MODULE.format(first, target)) == []
    before = (first[0], first[1] - 1) if first[1] else (first[0] - 1, 9)
    found = check(MODULE.format(before, target))
    assert [(finding.name, finding.line) for finding in found] == [("wrong-version", 2)]

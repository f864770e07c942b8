"""When and where a form exists."""

import pytest

from ptxsim.isa.availability import parse_availability
from ptxsim.isa.special_registers import SPECIAL_REGISTERS, availability
from ptxsim.types import parse_target, parse_version


def problem(text, target, version):
    found = parse_availability(text).problem(parse_version(version), parse_target(target))
    return found and found[0]


@pytest.mark.parametrize(
    ("text", "target", "version", "expected"),
    [
        ("", "sm_70", "6.0", None),
        ("7.0 sm_80", "sm_80", "7.0", None),
        ("7.0 sm_80", "sm_75", "8.0", "wrong-target"),
        ("7.0 sm_80", "sm_90a", "6.5", "wrong-version"),
        ("8.0 sm_90a | 8.6 sm_100f", "sm_103a", "8.8", None),
        ("8.0 sm_90a | 8.6 sm_100f", "sm_90", "8.8", "wrong-target"),
        ("1.0-6.3", "sm_70", "6.3", None),
        ("1.0-6.3", "sm_70", "6.4", "wrong-version"),
        ("8.6 sm_90 | 6.0 sm_70-sm_72", "sm_72", "6.1", None),
        ("8.6 sm_90 | 6.0 sm_70-sm_72", "sm_75", "9.0", "wrong-target"),
        ("8.6 sm_90 | 6.0 sm_70-sm_72", "sm_90", "8.5", "wrong-version"),
    ],
)
def test_problems(text, target, version, expected):
    assert problem(text, target, version) == expected


def test_every_special_register_says_when_it_exists():
    for name in SPECIAL_REGISTERS:
        assert availability(name).problem((9, 0), parse_target("sm_90a")) is None
    assert availability("%cluster_ctarank").problem((9, 0), parse_target("sm_80"))[0] == "wrong-target"
    assert availability("%aggr_smem_size").problem((8, 0), parse_target("sm_90"))[0] == "wrong-version"

"""A version is one of those there are, a target exists from some version on."""

import pytest

from ptxsim.session.module import check
from ptxsim.types import TARGETS, VERSIONS

MODULE = ".version {0[0]}.{0[1]}\n.target {1}\n.address_size 64\n.entry k() {{ ret; }}"


def found(version, target):
    return [(finding.name, finding.line) for finding in check(MODULE.format(version, target))]


@pytest.mark.parametrize("target", TARGETS)
def test_first_version_of_a_target(target):
    first = TARGETS[target]
    assert found(first, target) == []
    assert found(VERSIONS[VERSIONS.index(first) - 1], target) == [("wrong-version", 2)]


@pytest.mark.parametrize("version", [(0, 9), (5, 9), (6, 6), (7, 9), (8, 9), (9, 6), (10, 0), (99, 9)])
def test_a_version_that_does_not_exist(version):
    assert found(version, "sm_70") == [("wrong-version", 1)]


@pytest.mark.parametrize("words", ["sm_999", "sm_75a", "sm_90f", "sm_80, foo", "sm_80, map_f64_to_f32", "debug, sm_8"])
def test_a_target_that_does_not_exist(words):
    assert found((9, 0), words) == [("wrong-target", 2)]


@pytest.mark.parametrize(
    "words", ["compute_80", "sm_90a, texmode_independent", "sm_80, texmode_unified", "sm_80, debug"]
)
def test_a_target_and_its_options(words):
    assert found((9, 0), words) == []


def test_a_note_on_characters_that_the_assembler_refuses():
    text = ".version 8.0\n.target sm_90\n// two \u00b5s\n.entry k { ret; }\n"
    (note,) = check(text)
    assert (note.name, note.level, note.line, note.column) == ("syntax-error", "note", 3, 8)
    assert not check(text.replace("\u00b5", "u"))

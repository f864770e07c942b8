"""What a failed expectation says of an element that no thread of the launch stores to."""

import pytest

from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import text_of

TEXT = text_of("session/row_of_each_warp.ptx")
HALF = TEXT.replace("%t, 5;", "%t, 6;")  # two warps have each row


def failed(text, engine=None):
    (finding,) = run_file(Source(text, "k.ptx"), options=Options(engine=engine, seed=0)).findings
    assert finding.name == "expectation-failed"
    return finding


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_what_is_stored_is_told_and_by_whom_twice(engine):
    finding = failed(HALF, engine)
    assert "y[2] is 0, expected 3: never stored" in finding.message
    said = " | ".join(finding.notes)
    assert "depend" not in said
    stored = "y[0:2], y[4:6], y[8:10], y[12:14]"
    assert f"y[2]: no thread of this launch stores to it; stored is {stored}, at line 27" in said
    assert "y[0] is stored by several threads: CTA 0 warp 0 lane 0, then CTA 0 warp 1 lane 0" in said
    (label,) = finding.labels
    assert (label.line, label.text) == (27, f"stores {stored}")


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_lanes_of_one_store_are_several_threads(engine):
    text = HALF.replace("@%p st", "st").replace("grid=4", "grid=1")
    said = " | ".join(failed(text, engine).notes)
    assert "y[0] is stored by several threads: CTA 0 warp 0 lane 31, then CTA 0 warp 0 lane 30" in said


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_each_element_once_and_some_never(engine):
    said = " | ".join(failed(TEXT.replace("grid=4", "grid=3"), engine).notes)
    assert "y[12]: no thread of this launch stores to it; stored is y[0:12], at line 27" in said
    assert "several threads" not in said


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_nothing_is_stored_at_all(engine):
    said = " | ".join(failed(TEXT.replace("@%p st", "@!%p bra DONE;\n    DONE: //"), engine).notes)
    assert "no thread of this launch stores to y" in said and "depend" not in said


def test_where_the_element_is_stored_nothing_is_said_of_it():
    said = " | ".join(failed(TEXT.replace("0f3F800000", "0f40000000")).notes)
    assert "stores to" not in said


def test_an_array_is_told_by_its_shape():
    text = HALF.replace("(16)", "(4,4)")
    said = " | ".join(failed(text).notes)
    assert "y[0,2]: no thread of this launch stores to it; stored is y[:,0:2], at line 27" in said


def test_the_authors_own_line_is_told():
    lines = HALF.replace("// ptxsim: expect y == a + 1\n", "").splitlines()
    text = "\n".join(lines[3:])
    own = Source("\n".join([*lines[:3], "// ptxsim: expect y == a + 1", "", "y[row] = v;"]), "k.cu")
    text = text.replace(".visible", '.file 1 "k.cu"\n.visible').replace("    @%p st", "    .loc 1 6 1\n    @%p st")
    (finding,) = run_file(Source(text, "k.ptx", made_from=own)).findings
    assert any("y[12:14], at line 6 (PTX: " in note for note in finding.notes)
    (label,) = finding.labels
    assert label.line == 6


def test_of_a_long_array_the_part_that_is_known_is_named(monkeypatch):
    monkeypatch.setattr("ptxsim.session.inspect.writers.WINDOW", 8)
    said = " | ".join(failed(HALF).notes)
    assert "stored is y[4:6], y[8:10] (of y.flat[2:10]), at line 27" in said
    monkeypatch.setattr("ptxsim.session.inspect.writers.WINDOW", 1)
    assert "no thread of this launch stores to y (of y.flat[2:3])" in " | ".join(failed(HALF).notes)


def test_many_elements_in_no_slices_are_counted(monkeypatch):
    monkeypatch.setattr("ptxsim.session.inspect.writers._MOST_WRITTEN", 4)
    assert "stored is 8 elements of y, at line 27" in " | ".join(failed(HALF).notes)

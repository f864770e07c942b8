"""Findings as text: what is underlined, how long lines are cut, what surrounds the excerpt."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.diagnostic import Finding, Label
from ptxsim.report.style import coloured, plain
from ptxsim.report.text import ranges, render, render_all, render_concise
from ptxsim.source import Source

TEXT = (
    "\n" * 95
    + "    st.shared.v4.b32 [%r12], {%r20, %r21, %r22, %r23};\n"
    + "\n" * 21
    + ("\twgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f0}, %rd4, %rd5, p, 1, 1, 0, 0;\n")
)
FINDING = Finding(
    "missing-proxy-fence",
    "wgmma reads shared memory that no proxy fence has published",
    line=118,
    column=2,
    labels=(Label(96, "written here through the generic proxy", 5, 16),),
    help="add fence.proxy.async.shared::cta; after line 96",
    notes=("bar.sync (line 104) orders threads, not proxies",),
    cta=(0, 0, 0),
    warp=0,
    lane=3,
    count=128,
).of(Source(TEXT, "gemm.ptx"))


def test_a_finding_in_full():
    assert (
        render(FINDING)
        == """\
error[PTX430] missing-proxy-fence: wgmma reads shared memory that no proxy fence has published
   --> gemm.ptx:118:2
    |
 96 |     st.shared.v4.b32 [%r12], {%r20, %r21, %r22, %r23};
    |     ---------------- written here through the generic proxy
118 |     wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f0}, %rd4, %rd5, p, 1, 1, 0, 0;
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    = note: bar.sync (line 104) orders threads, not proxies
    = help: add fence.proxy.async.shared::cta; after line 96
    = seen: 128 times, first in CTA (0,0,0) warp 0 lane 3
    = more: ptxsim explain missing-proxy-fence"""
    )


def test_lines_may_end_with_cr_lf():
    assert render(replace(FINDING, source=Source(TEXT.replace("\n", "\r\n"), "gemm.ptx"))) == render(FINDING)


def test_a_line_alone_is_underlined_where_its_text_begins():
    source = Source("\n    ld.shared.f32 %f0, [%r0];", "k.ptx")
    finding = Finding("trap", "x", 1, labels=(Label(2, "here", length=13),)).of(source)
    assert "  |     ------------- here" in render(finding)


def test_without_a_text_there_is_no_excerpt():
    assert "|" not in render(replace(FINDING, source=None))
    assert "-->" not in render(replace(FINDING, line=0))


def test_one_line_each():
    assert render_concise([FINDING, FINDING]).count("\n") == 1
    assert render_concise([FINDING]).startswith("gemm.ptx:118:2: error[PTX430] missing-proxy-fence: wgmma reads")


def test_colours_only_add_codes():
    import re

    assert re.sub(r"\x1b\[[\d;]*m", "", render(FINDING, coloured)) == render(FINDING, plain)


def test_a_long_line_is_cut_around_what_is_meant():
    text = "mov.b32 %r1, " + "%r2 + " * 100 + "BAD;"
    lines = render(Finding("syntax-error", "x", 1, len(text) - 3, 3).of(Source(text))).split("\n")
    assert all(len(line) <= 100 for line in lines)
    marked, carets = lines[3], lines[4]
    assert marked[carets.index("^") : carets.rindex("^") + 1] == "BAD"


def test_control_characters_of_a_file_never_reach_the_terminal():
    assert "\x1b" not in render(Finding("syntax-error", "what is \x1b[31m", 1).of(Source("\x1b[2J mov")))


@given(st.text(max_size=60), st.integers(0, 5), st.integers(0, 80), st.integers(0, 200))
def test_any_place_in_any_text_can_be_shown(text, line, column, length):
    finding = Finding("syntax-error", text, line, column, length, labels=(Label(line, text, column, length),))
    assert "PTX001" in render(finding.of(Source(text)))


@pytest.mark.parametrize("width", [60, 100])
def test_remarks_are_wrapped(width):
    finding = Finding("trap", "x", help="word " * 60)
    assert all(len(line) <= width for line in render(finding, width=width).split("\n"))


def test_what_differs_by_its_line_alone_is_shown_once():
    source = Source("a\nb\nc\nd\ne", "k.ptx")
    findings = [Finding("register-in-flight", "touched", line).of(source) for line in (1, 2, 3, 5)]
    text = render_all([*findings, Finding("trap", "x", 4).of(source)])
    assert text.count("register-in-flight: touched") == 1 and "= also: the same at lines 2-3, 5" in text
    assert ranges([7]) == "7"

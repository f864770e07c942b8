"""The // ptxsim: comments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.directives import parse_dim3, parse_directives
from ptxsim.source import Source

EVERYTHING = """\
// ptxsim: launch grid=2,3 block=128 cluster=2 shared_mem=0x400 entry=gemm
// ptxsim: target sm_90a
// ptxsim: seed 7
// ptxsim: arg A = normal(64,16,seed=1):f16   B = ints(64, 16):f16 n = 64
  //ptxsim: arg x = a.npy:bf16
// ptxsim: expect D == A @ B.T rtol=1e-3 atol=0
// ptxsim: expect banks.worst == 1
// ptxsim: expect misaligned-address at 14
// ptxsim: expect PTX201
// an ordinary comment about ptxsim: launch
"""


def test_everything_that_may_be_said():
    said = parse_directives(Source(EVERYTHING))
    assert said.launch == LaunchOptions(
        grid=(2, 3, 1), block=(128, 1, 1), cluster=(2, 1, 1), shared_mem=1024, target="sm_90a", seed=7
    )
    assert (said.entry, said.has_launch) == ("gemm", True)
    assert [(a.name, a.initialiser.text) for a in said.arguments] == [
        ("A", "normal(64,16,seed=1):f16"),
        ("B", "ints(64, 16):f16"),
        ("n", "64"),
        ("x", "a.npy:bf16"),
    ]
    assert [(e.name, e.line) for e in said.findings] == [("misaligned-address", 14), ("out-of-bounds", None)]
    assert [e.comparison.text for e in said.values] == ["D == A @ B.T", "banks.worst == 1"]
    assert said.values[0].comparison.rtol == 1e-3


def test_a_line_may_be_called_one():
    assert parse_directives(Source("// ptxsim: expect trap at line 4")).findings[0].line == 4


def test_the_place_of_an_argument_is_its_name():
    said = parse_directives(Source("\n// ptxsim: arg A = 1 B = 2"))
    assert (said.arguments[1].span.line, said.arguments[1].span.column) == (2, 22)


@pytest.mark.parametrize(
    ("line", "column", "help"),
    [
        ("// ptxsim: lunch grid=1", 12, "launch"),
        ("// ptxsim: launch grd=1", 19, "grid"),
        ("// ptxsim: launch grid=0", 24, None),
        ("// ptxsim: launch grid=1,2,3,4", 24, None),
        ("// ptxsim: launch block", 19, "block=1"),
        ("// ptxsim: launch block=64 grid=2 block=32", 35, "leave one of the two out"),
        ("// ptxsim: target sm_91", 19, "sm_9"),
        ("// ptxsim: seed x", 17, None),
        ("// ptxsim: arg A = intz(4):f16", 20, "ints"),
        ("// ptxsim: arg A ints(4):f16", 16, "arg A ="),
        ("// ptxsim: arg A = uniform(0,1,64):f32", 20, "write uniform(64):f32"),
        ("// ptxsim: arg A = 1 A = 2", 22, None),
        ("// ptxsim: expect misalined-address at 4", 19, "misaligned-address"),
        ("// ptxsim: expect trap at four", 27, None),
        ("// ptxsim: expect trap on 4", 24, None),
        ("// ptxsim: expect D", 19, "write expect D == ..."),
        ("// ptxsim: expect", 18, "expect D == A @ B.T"),
        ("// ptxsim: expect D = A", 21, "=="),
        ("// ptxsim: expect D == frob(A)", 24, "known"),
        ("// ptxsim:", 11, "known"),
        ("// ptxsim expect D == A", 4, "write // ptxsim:"),
        ("// ptxsim : expect D == A", 4, "write // ptxsim:"),
        ("// PTXSIM: launch grid=1", 4, "write // ptxsim:"),
        ("// ptxsm: arg A = 1", 4, "write // ptxsim:"),
        ("/* ptxsim: expect D == A */", 4, "write // ptxsim:"),
        ("ret; // ptxsim: expect trap", 9, "line of its own"),
    ],
)
def test_a_bad_directive_is_a_finding_with_place_and_help(line, column, help):
    with pytest.raises(PtxError) as caught:
        parse_directives(Source("\n" + line, "k.ptx"))
    (finding,) = caught.value.findings
    assert (finding.name, finding.file, finding.line) == ("bad-directive", "k.ptx", 2)
    assert finding.column == column
    assert help is None or help in finding.help


@pytest.mark.parametrize(
    "line",
    [
        "// // ptxsim: expect D == A",
        "// ptxsim expects D to be A",
        "// see ptxsim: expect D == A",
        "// target sm_90a",
        "// sim: expect D",
        "// ptxsim launches grid=1",
    ],
)
def test_other_comments_are_no_directives(line):
    assert parse_directives(Source(line)).values == []


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [("launch block=64", "launch grid=1 block=32", 26), ("seed 1", "seed 2", 17), ("target sm_90", "target sm_80", 19)],
)
def test_of_two_values_none_is_passed_over(first, second, column):
    with pytest.raises(PtxError, match="already") as caught:
        parse_directives(Source(f"// ptxsim: {first}\n// ptxsim: {second}"))
    assert [(finding.line, finding.column) for finding in caught.value.findings] == [(2, column)]
    parse_directives(Source(f"// ptxsim: {first}\n// ptxsim: {first}"))


def test_all_bad_directives_are_reported_at_once():
    with pytest.raises(PtxError) as caught:
        parse_directives(Source("// ptxsim: lunch\n// ptxsim: seed x\n// ptxsim: seed 1"))
    assert [finding.line for finding in caught.value.findings] == [1, 2]


@given(st.sampled_from(["launch", "target", "seed", "arg", "expect"]), st.text(max_size=40))
def test_any_words_are_a_directive_or_a_finding(word, rest):
    try:
        parse_directives(Source(f"// ptxsim: {word} {rest}"))
    except PtxError as error:
        assert all(finding.name == "bad-directive" for finding in error.findings)


@pytest.mark.parametrize(("text", "value"), [("4", (4, 1, 1)), ("4,2", (4, 2, 1)), ("(4,2,1)", (4, 2, 1))])
def test_sizes_have_one_to_three_numbers(text, value):
    assert parse_dim3(text) == value

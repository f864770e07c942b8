"""Fixes that findings propose: where they go in a text, and that a run with them says whether they help."""

from dataclasses import replace

import pytest

from ptxsim.diagnostic import Finding
from ptxsim.edits import Edit, Fix, changed, changes
from ptxsim.report.pages import page
from ptxsim.session.inspect import fix_trials
from ptxsim.session.inspect.fix_trials import with_tried_fixes
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source
from tests.helpers import ROOT

# Kinds whose cause one change of the text can take away: the bad example of the page of each is put right by its own fix.
CURABLE = [
    "undeclared-name", "unknown-instruction", "illegal-form", "wrong-target", "wrong-version", "syntax-error", "mbarrier-visibility",
    "race-warp", "race-shared", "missing-proxy-fence", "needless-fence", "missing-wgmma-fence", "missing-commit", "register-in-flight",
    "tile-overwritten", "cp-async-not-waited",
]  # fmt: skip


@pytest.mark.parametrize("name", CURABLE)
def test_a_fix_of_the_finding_puts_its_example_right(name):
    options = Options(engine="interpreter")
    result = run_file(Source(page(name).example, "e.ptx"), None, options)
    result = with_tried_fixes(result, None, options)
    fixes = [fix for finding in [*result.findings, *result.expected] if finding.name == name for fix in finding.fixes]
    assert fixes and all(fix.tried == "tried: no finding is left" for fix in fixes)


def test_a_fix_that_does_not_help_is_left_out():
    text = page("race-shared").example
    result = run_file(Source(text, "e.ptx"), None, Options(engine="interpreter"))
    (finding,) = [one for one in [*result.findings, *result.expected] if one.name == "race-shared"]
    fixes = Fix("a comment", (Edit("// nothing", "before", finding.line),)), Fix("nonsense", (Edit("bar.synk 0;", "before", finding.line),))  # fmt: skip
    result.findings, result.expected = [replace(finding, fixes=fixes)], []
    (kept,) = with_tried_fixes(result, None, Options(engine="interpreter")).findings
    assert kept.fixes == ()
    assert kept.notes[-2:] == ("tried: a comment: it does not help", "tried: nonsense: it does not help")


def test_of_two_lines_that_say_the_same_each_has_its_fix(monkeypatch):
    options = Options(engine="interpreter")

    def fixes():
        found = with_tried_fixes(run_file(ROOT / "tests/session/two_races.ptx", None, options), None, options).findings
        return [{fix.tried for fix in finding.fixes} for finding in found if finding.name == "race-shared"]

    assert fixes() == [{"tried: this is gone, 1 other is left"}] * 2
    monkeypatch.setattr(fix_trials, "SECONDS", -1.0)
    assert fixes() == [{""}] * 2


TEXT = "{\n\t.reg .b32 %r<4>; // four\n\t{\n\t.reg .b32 a;\n\t}\n\t@%p add.u32 x, x, 1; // why\n\tmma {a, b},\n\t\t{c; };\nl: sub.u32 x, x, 1; ret;\n}\n"


@pytest.mark.parametrize(
    ("edit", "old", "new"),
    [
        (Edit("bar;", "before", 6, 6), "\t@%p", "\tbar;\n\t@%p"),
        (Edit("bar;", "after", 6, 6), "// why\n", "// why\n\tbar;\n"),
        (Edit("", "statement", 6, 6), "\t@%p add.u32 x, x, 1; // why\n", ""),
        (Edit("nop;", "statement", 6, 6), "@%p add.u32 x, x, 1;", "nop;"),
        (Edit("bar;", "after", 7, 2), "{c; };\n", "{c; };\n\tbar;\n"),
        (Edit("bar;", "before", 9, 4), "l: sub", "l: bar;\n\tsub"),
        (Edit("bar;", "after", 9, 4), "1; ret", "1;\n\tbar; ret"),
        (Edit("", "statement", 9, 4), "sub.u32 x, x, 1;", ""),
        (Edit(".reg .b32 y;", "declaration", 6, 6), "<4>;", "<4>;\n\t.reg .b32 y;"),
        (Edit("sub", "here", 6, 6, 3), "add", "sub"),
    ],
)
def test_where_an_edit_goes(edit, old, new):
    assert changed(TEXT, changes(TEXT, (edit,), (0, 1))) == TEXT.replace(old, new, 1)


def test_a_target_that_a_text_does_not_say_cannot_be_changed():
    finding = Finding("wrong-target", "", 1, fixes=(Fix("", (Edit("sm_90", "target"),)),))
    assert finding.fixed(TEXT, finding.fixes[0]) == TEXT
    assert finding.fixed(".target sm_80, debug\n", finding.fixes[0]) == ".target sm_90, debug\n"

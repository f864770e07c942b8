"""Every mistake is explained: where, what was expected, and how to correct it."""

from __future__ import annotations

import pytest

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.source import Source
from ptxsim.syntax.parser import parse, parse_body
from tests.syntax.samples import HEADER, kernel

# (statements in a kernel; the first is line 6), line, column, part of the message, part of the help
IN_A_KERNEL = [
    ("add.s32 a, b, c\nadd.s32 d, e, f;", 6, 16, "missing `;` after `c`", "ends with `;`"),
    ("add.s32 a, b, c add.s32 d, e, f;", 6, 16, "missing `;` after `c`", "ends with `;`"),
    ("ld.b64 %rd1, [p] ld.b64 %rd2, [q];", 6, 17, "missing `;` after `]`", "ends with `;`"),
    ("bar.sync 0\n// note\nret;", 6, 11, "missing `;` after `0`", "ends with `;`"),
    ("ret", 6, 4, "missing `;` after `ret`", "ends with `;`"),
    (".reg .b32 a", 6, 12, "missing `;` after `a`", "ends with `;`"),
    (".regs .b32 a;", 6, 1, "unknown directive `.regs`", "`.reg`"),
    (".reg .b31 a;", 6, 6, "`.b31` is no type", "did you mean"),
    (".reg .bf16 a;", 6, 6, "`.bf16` is a type of instructions", ".b16"),
    ("ret\n.reg .b32 a;", 6, 4, "missing `;` after `ret`", "ends with `;`"),
    (".reg b32 a;", 6, 6, "a type such as .b32 after `.reg`, found `b32`", None),
    (".version 8.0", 6, 1, "`.version` cannot stand here", None),
    ("mov.b32 a, 0f3f80;", 6, 12, "`0f3f80` is no number", "exactly 8 hex digits, here are 4"),
    ("mov.f64 a, 0d3f80;", 6, 12, "`0d3f80` is no number", "exactly 16 hex digits"),
    ("mov.b32 a, 0x;", 6, 12, "`0x` is no number", "0-9 and a-f"),
    ("mov.b32 a, 1z;", 6, 12, "`1z` is no number", "0b11"),
    ("mov.b32 a, 08;", 6, 12, "octal", None),
    ("mov.b32 a, 99999999999999999999;", 6, 12, "does not fit in 64 bits", None),
    ("mov.b32 a, " + "9" * 5000 + ";", 6, 12, "a literal of 5000 digits does not fit in 64 bits", None),
    ("mov.b32 a, 4/0;", 6, 12, "divides by zero", None),
    ("mov.b32 a, 1.5+1;", 6, 12, "between an integer and a floating number", None),
    ("mov.b32 a, b; /* foo\n", 6, 15, "this comment never ends", "`*/`"),
    ('.pragma "foo;\n', 6, 9, "this string never ends", '`"`'),
    ('mov.b32 a, "b";', 6, 12, "a string cannot stand here", None),
    ("mov.b32 a, é;", 6, 12, "stray character `é` U+00E9", "ASCII"),
    ("add.s32 a b, c;", 6, 11, "expected `,` or `;` after `a`, found `b`", "a `,` stands between"),
    ("mov.b32 a,, b;", 6, 11, "after `,`, found `,`", None),
    ("ld.u32 a, [b;", 6, 13, "missing `]`", "`]`"),
    ("mov.b32 a, (1+2;", 6, 16, "missing `)`", "`)`"),
    ("ld.v2.u32 {a, b, [c];", 6, 18, "found `[`", "`{` at column 11 is still open"),
    ("call (r), f, (a;", 6, 16, "missing `)`", "`)`"),
    ("{ mov.b32 a, b;", 8, 1, "missing `}` at the end", "`}`"),
    ("}", 7, 1, "this `}` closes nothing", "take it out"),
    ("mov.b32 a, b;;", 6, 14, "a `;` with nothing before it", "take it out"),
    ("@p", 7, 1, "an opcode after `p`, found `}`", None),
    ("@%p1 @%p2 ret;", 6, 6, "an opcode after `%p1`", None),
    (".reg .b32 %r<x>;", 6, 14, "expected a number after `<`", None),
    (".shared .b32 s[4;", 6, 17, "missing `]`", "`]`"),
    (".shared .b32 s[-1];", 6, 16, "found `-`", None),
    ("T: .branchtargets ;", 6, 19, "expected a name after `.branchtargets`", None),
    ("{" * 400 + "}" * 400, 6, 100, "nested too deeply", "fewer"),
    ("mov.b32 a, " + "(" * 400 + "1" + ")" * 400 + ";", 6, 111, "nested too deeply", "fewer"),
]  # fmt: skip
AS_A_FILE = [
    ("", 1, 1, "no .version", ".version 8.0"),
    ("add.s32 a,b,c;", 1, 1, "no .version", ".version 8.0"),
    (".target sm_90\n.version 8.0", 1, 1, "no .version", ".version 8.0"),
    (".version 8.0\n.entry k { ret; }", 2, 1, "no .target", ".target sm_90a"),
    (".version 8\n.target sm_90", 1, 10, "`8` is no number that fits", "8.0"),
    (HEADER + "add.s32 a, b, c;", 4, 1, "`add.s32` stands outside every function", ".entry or .func"),
    (HEADER + ".entry k { ret; }}", 4, 18, "this `}` closes nothing", "take it out"),
    (HEADER + ".entry { ret; }", 4, 8, "expected a name after `.entry`", None),
    (HEADER + ".entry k(.param .u64 p { ret; }", 4, 24, "expected `)` or `,` after `p`", None),
    (HEADER + ".entry k {", 4, 11, "missing `}` at the end", "`}`"),
    (HEADER + ".global .b32 x = {1,2;", 4, 22, "missing `}`", "`}`"),
    (HEADER + ".global .b32 x = foo(y);", 4, 18, "`foo(...)` is no initialiser", "generic(name)"),
    (HEADER + ".func f {ret;}\n.func f {ret;}", 5, 7, "declared twice in the module", "rename"),
    (HEADER + ".kernel k {ret;}", 4, 1, "unknown directive `.kernel`", None),
    ("<html>", 1, 1, "no .version", None),
]  # fmt: skip


def findings(text: str) -> list[Finding]:
    with pytest.raises(PtxError) as caught:
        parse(Source(text, "bad.ptx"))
    return caught.value.findings


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "help"),
    [(kernel(text), *rest) for text, *rest in IN_A_KERNEL] + AS_A_FILE,
    ids=[text[:30] for text, *_ in IN_A_KERNEL + AS_A_FILE],
)
def test_mistake(text, line, column, message, help):
    (finding,) = findings(text)
    assert (finding.name, finding.file, finding.line, finding.column) == ("syntax-error", "bad.ptx", line, column)
    assert message in finding.message
    assert help is None or help in (finding.help or "")


def test_several_mistakes_show_at_once():
    found = findings(kernel("add.s32 a b, c;\n.regs .b32 x;\nmov.b32 a, 1z;\nret;\n.reg b32 y;\nadd x y;"))
    assert [finding.line for finding in found] == [6, 7, 8, 10, 11]


def test_a_brace_that_is_not_closed_is_one_mistake():
    (finding,) = findings(kernel("mma.sync.x {a, b}, {c, d}, {e, f, {a, b};\nret;"))
    assert finding.line == 6 and "still open" in finding.help


def test_not_too_many_show():
    found = findings(kernel("add.s32 a b, c;\n" * 500 + ".regs x;"))
    assert [finding.line for finding in found] == [*range(6, 26), 506]


def test_an_unclosed_bracket_is_shown():
    (finding,) = findings(kernel("ld.u32 a, [b;"))
    (label,) = finding.labels
    assert (label.line, label.column) == (6, 11) and "never closed" in label.text


def test_snippets_name_their_source():
    with pytest.raises(PtxError) as caught:
        parse_body('"add.s32 %0, %1 %2;"', Source("whatever", "mine.cu"))
    (finding,) = caught.value.findings
    assert (finding.file, finding.line, finding.column) == ("mine.cu", 1, 17)

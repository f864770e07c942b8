"""Inline assembly of CUDA C++ is read as it stands, at its own places."""

from __future__ import annotations

import pytest

from ptxsim.syntax.inline_assembly import unquote
from ptxsim.syntax.parser import parse_body
from tests.syntax.samples import print_statement

ASM = r"""asm volatile("{\n\t.reg .pred p;\n\t"   // c "d"
    "setp.eq.s32 p, %1, 0; // note }\n\t" /* "x" */
    "@%%p1 mov.b32 %0, %[in];\n\t"
    "L_%=: bra L_%=; }" : "=r"(a) : "r"(b), [in] "r"(c));"""


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (ASM, ["{", "    .reg .pred p;", "    setp.eq.s32 p, %1, 0;", "    @%p1 mov.b32 %0, %in;", "    L___:",
               "    bra L___;", "}"]),
        ('"add.s32 %0, %1, %2;\\n\\t"\n"ret;"', ["add.s32 %0, %1, %2;", "ret;"]),
        ("add.s32 %%r1, %%r2, 1;\\n\\t ret;", ["add.s32 %r1, %r2, 1;", "ret;"]),
        ('R"(ret;\nexit;)"', ["ret;", "exit;"]),
        ('__asm__ __volatile__ ("ret;" ::: "memory");', ["ret;"]),
        (' .pragma "nounroll"; ret;', ['.pragma "nounroll";', "ret;"]),
        ("", []),
        ('"" ""', []),
    ],
)  # fmt: skip
def test_pasted_text(text, printed):
    assert "\n".join(map(print_statement, parse_body(text))) == "\n".join(printed)


def test_places_stay():
    text = unquote(ASM)
    assert len(text) == len(ASM) and text.count("\n") == ASM.count("\n")
    (block,) = parse_body(ASM)
    setp = block.statements[1]
    assert ASM.split("\n")[setp.line - 1][setp.column - 1 :].startswith("setp.eq")

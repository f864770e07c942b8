"""What may be declared, where and since when."""

from __future__ import annotations

import pytest

from ptxsim.session import check

MODULE = ".version {}\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n{{ {} }}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("text", "version", "found"),
    [
        (".reg .b128 q;", "8.3", None),
        (".reg .b128 q;", "8.2", "wrong-version"),
        (".reg .v4 .f32 q;", "8.0", None),
        (".reg .v4 .f64 q;", "8.0", "illegal-form"),
        (".reg .b32 q = 4;", "8.0", "illegal-form"),
        (".shared .b32 q = 4;", "8.0", "illegal-form"),
        (".const .b32 q = 4;", "8.0", None),
        (".shared .align 3 .b8 q[64];", "8.0", "illegal-form"),
        (".shared .align 256 .b8 q[64];", "8.0", None),
        (".shared .align 0 .b8 q[64];", "8.0", "illegal-form"),
        (".shared .v4 .f64 q;", "8.0", "illegal-form"),
        (".local .b32 q = 4;", "8.0", "illegal-form"),
        (".shared .pred q;", "8.0", "illegal-form"),
        (".reg .v2 .pred q;", "8.0", "illegal-form"),
        (".reg .pred q;", "8.0", None),
        (".reg .b32 q[4];", "8.0", "illegal-form"),
        (".shared .b32 q[WARP_SZ];", "8.0", None),
        (".shared .b32 q[4*4];", "8.0", "syntax-error"),
        (".shared .b32 q[(4)];", "8.0", "syntax-error"),
        (".shared .b32 q[-4];", "8.0", "syntax-error"),
        (".align 8 .shared .b32 q[4];", "8.0", None),
        ('.pragma "used_bytes_mask 0xf";', "8.2", "wrong-version"),
        ('.pragma "used_bytes_mask 0xf";', "8.3", None),
        ('.pragma "nounroll";', "7.0", None),
    ],
)
def test_declarations_of_a_scope(text, version, found):
    findings = check(MODULE.format(version, text))
    assert [(finding.name, finding.line) for finding in findings] == ([(found, 5)] if found else [])


ORDER = """\
.version 8.0
.target sm_80
.address_size 64
{}
.visible .entry k() {{ .reg .b64 d; T: .calltargets f; {} ret; }}
{}
"""


@pytest.mark.parametrize(
    ("before", "use", "behind", "found"),
    [
        (".func f;", "call f;", ".func f() { ret; }", []),
        (".func f;", "mov.b64 d, f; mov.b64 d, k;", ".func f() { ret; } .global .b32 f2;", []),
        (".func f() { call f; ret; }", "call f;", "", []),
        (".func f;", "call g;", ".func f() { ret; } .func g() { ret; }", ["undeclared-name"]),
        (".func f() { ret; }", "mov.b64 d, v;", ".global .b32 v;", ["undeclared-name"]),
        (".func f() { ret; }", "ld.global.b64 d, [v];", ".global .b64 v;", ["undeclared-name"]),
        (".func f() { ret; } .global .b64 v = w; .global .b32 w;", "", "", ["undeclared-name"]),
        (".func f() { ret; } .global .b64 v = v;", "", "", ["undeclared-name"]),
        (".func f() { ret; } .global .b32 w; .global .b64 v = w;", "", "", []),
        (".func f() { ret; } .global .b64 v[1] = {f};", "", "", []),
        (".func f() { ret; } .tex .b32 t;", "", "", ["illegal-form"]),
        (".func f() { ret; } .entry e(.param .b8 a[]) { ret; }", "", "", ["illegal-form"]),
        (".func f(.param .b8 a[]) { ret; }", "", "", []),
    ],
)
def test_names_are_declared_before_their_use(before, use, behind, found):
    assert [finding.name for finding in check(ORDER.format(before, use, behind))] == found

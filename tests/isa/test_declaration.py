"""What may be declared, where and since when."""

from __future__ import annotations

import re

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
    ("before", "use", "after", "found"),
    [
        (".func f;", "call f;", ".func f() { ret; }", []),
        (".func f;", "mov.b64 d, f; mov.b64 d, k;", ".func f() { ret; } .global .b32 f2;", []),
        (".func f() { call f; ret; }", "call f;", "", []),
        (".func f;", "call g;", ".func f() { ret; } .func g() { ret; }", ["undeclared-name"]),
        (".func f() { ret; }", "mov.b64 d, v;", ".global .b32 v;", ["undeclared-name"]),
        (".func f() { ret; }", "ld.global.b64 d, [v];", ".global .b64 v;", ["undeclared-name"]),
        (".func f() { ret; } .global .u64 v = w; .global .b32 w;", "", "", ["undeclared-name"]),
        (".func f() { ret; } .global .u64 v = v;", "", "", ["undeclared-name"]),
        (".func f() { ret; } .global .b32 w; .global .u64 v = w;", "", "", []),
        (".func f() { ret; } .global .u64 v[1] = {f};", "", "", []),
        (".func f() { ret; } .tex .b32 t;", "", "", ["illegal-form"]),
        (".func f() { ret; } .entry e(.param .b8 a[]) { ret; }", "", "", ["illegal-form"]),
        (".func f(.param .b8 a[]) { ret; }", "", "", []),
    ],
)
def test_names_are_declared_before_their_use(before, use, after, found):
    assert [finding.name for finding in check(ORDER.format(before, use, after))] == found


# ---- initial values ----

VALUES = """\
.version 8.0
.target sm_80
.address_size 64
.global .b32 g[9]; .shared .b32 s; .const .b32 c; .func f {{ ret; }}
{}
"""
FITTING = """\
.u64 p = g;|.u32 p = g;|.u64 p = g+4;|.u64 p = g+-4;|.u64 p = g+4*2;|.u64 p = g+1<<3;|.u64 p = g+4|1;|.u64 p = c;
.u64 p = generic(g);|.u64 p = generic(g)+4;|.u64 p = f;|.u32 p = f;|.u64 p = 0xff(g);
.u8 p[3] = {0xff(g+4), 0xff00(generic(g)), 0xff0000(generic(g)+4)};|.u8 p = 0xff(f);|.u8 p = 255(g);
.b32 p[2] = {1.0, 2};|.b64 p = 0f3f800000;|.f64 p = 0f3f800000;|.u32 p = -1;|.u8 p = 300;|.u32 p[2][2] = {{1}, {3}};
.v2 .f32 p[2] = {{1.0, 2.0}, {1.0, 2.0}};|.v2 .u32 p[2] = {{1, 2}};|.u32 p[] = {1, 2};|.u32 p[2] = {};"""
REFUSED = """\
.b64 p = g;|.s64 p = g;|.b8 p = g;|.f64 p = g;|.u8 p = g;|.u64 p = g-4;|.u64 p = generic(g+4);|.u64 p = generic(g)-4;
.u64 p = s;|.u64 p = generic(s);|.u64 p = f+4;|.u64 p = generic(f);|.u8 p = 0xff(f+4);|.u8 p = 0xff(s);|.u64 p = h;|.u64 p = p;
.b8 p = 0xff(g);|.u16 p = 0xff(g);|.s32 p = 0xff(g);|.u8 p = 0xf(g);|.u8 p = 0xffff(g);|.u8 p = 0(g);|.u8 p = 0xff(g-4);
.u32 p = 1.0;|.s8 p = 0f3f800000;|.f32 p = 1;|.f32 p = 1e400;|.f32 p = 1?1.5:2.5;|.u32 p = 1.5?1:2;|.u32 p[] = {};
.v4 .f32 p = {1.0, 2.0};|.v2 .u32 p[2] = {{1, 2}, {3}};|.v2 .u32 p[2] = {1, 2};|.u32 p[1][0];|.u32 _;|.u32 WARP_SZ;"""


def each_of(declarations: str) -> list[str]:
    return re.split(r"(?<=;)[|\n]", declarations)


@pytest.mark.parametrize("text", each_of(FITTING))
def test_initial_values(text):
    assert not check(VALUES.format(f".global {text}"))


@pytest.mark.parametrize("text", each_of(REFUSED))
def test_what_is_no_initial_value(text):
    assert [finding.line for finding in check(VALUES.format(f".global {text}"))] == [5]

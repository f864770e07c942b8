"""Several declarations of a name, and names without a definition: taken and refused as ptxas 13.0 does."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.session import check
from ptxsim.session.module import Module
from tests.helpers import launch

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
LINKAGES = ("", ".extern ", ".visible ", ".weak ")


def refused(text: str) -> list[str]:
    return [finding.name for finding in check(HEADER + text) if finding.level == "error"]


# Which definitions may follow a declaration, by its linkage.
FOLLOWING = {"": [""], ".extern ": [], ".visible ": ["", ".visible "], ".weak ": ["", ".weak "]}


@pytest.mark.parametrize("what", [".func f(.param .b32 a)", ".entry f(.param .b32 a)"])
@pytest.mark.parametrize("first", LINKAGES)
def test_a_definition_after_a_declaration(what, first):
    for second in ("", ".visible ", ".weak "):
        found = refused(f"{first}{what};\n{second}{what} {{ ret; }}")
        assert found == ([] if second in FOLLOWING[first] else ["illegal-form"]), second


@pytest.mark.parametrize("second", LINKAGES)
def test_no_declaration_after_a_definition(second):
    assert refused(f"{second.replace('.extern ', '')}.func f {{ ret; }}\n{second}.func f;") == ["illegal-form"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".func f;", ["undeclared-name"]),
        (".visible .func f(.param .b32 a);", ["undeclared-name"]),
        (".entry f;", ["undeclared-name"]),
        (".func f; .func g { call f; ret; }", ["undeclared-name"]),
        (".extern .func f; .func g { call f; ret; }", []),
        (".extern .func f; .extern .func f;", []),
        (".func f; .func f { ret; }", []),
        (".func f { ret; } .func g; .alias g, f;", []),
        (".func f(.param .b32 a) { ret; } .visible .func g; .alias g, f;", ["illegal-form"]),
        (".func f { ret; } .visible .func g; .alias g, f; .alias g, f;", ["illegal-form"]),
        (".func f; .entry f { ret; }", ["illegal-form"]),
        (".extern .func f; .global .b32 f;", ["illegal-form"]),
        (".extern .func f; .extern .func f(.param .b32 a);", ["illegal-form"]),
        (".func f() .noreturn; .func f() { ret; }", ["illegal-form"]),
        (".func f() .noreturn; .func f() .noreturn { exit; }", []),
        (".func (.param .b32 r) f; .func f { ret; }", ["illegal-form"]),
        (".func f(.param .b32 a); .func f(.param .u32 a) { ret; }", ["illegal-form"]),
        (".func f(.param .b32 a); .func f(.param .align 4 .b32 b) { ret; }", []),
        (".func f(.param .b32 a); .func f(.param .align 8 .b32 b) { ret; }", ["illegal-form"]),
        (".func f(.param .b8 a[]); .func f(.param .b8 a[4]) { ret; }", ["illegal-form"]),
        (".func f(.reg .v2 .b32 a); .func f(.reg .v2 .b32 b) { ret; }", []),
        (".extern .global .b32 g; .visible .global .b32 g;", []),
        (".extern .global .b32 g; .global .b32 g;", ["illegal-form"]),
        (".global .b32 g; .extern .global .b32 g;", []),
        (".extern .global .b32 g; .visible .global .u32 g;", ["illegal-form"]),
        (".extern .global .b32 g; .visible .global .align 8 .b32 g;", []),
        (".extern .global .b32 g[]; .visible .global .b32 g[4];", []),
        (".visible .global .b32 g[4]; .extern .global .b32 g[];", []),
        (".visible .global .b32 g[4]; .extern .global .b32 g[5];", ["illegal-form"]),
        (".extern .shared .b32 s[]; .extern .shared .align 16 .b32 s[];", []),
        (".extern .shared .b32 s[]; .extern .shared .b64 s[];", ["illegal-form"]),
        (".extern .global .b32 x; .global .u64 y = x;", []),
    ],
)
def test_names_declared_more_than_once_or_never_defined(text, found):
    assert refused(text) == found


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (".const .b8 a[65536];", True),
        (".const .b8 a[65537];", False),
        (".const .b8 a[40000]; .weak .const .b8 b[40000];", False),
        (".const .b8 a[3]; .const .b64 b; .const .b8 c[65520];", True),
        (".const .b8 a[3]; .const .b64 b; .const .b8 c[65525];", False),
        (".const .b8 a[65536]; .entry k { .const .b8 b; ret; }", False),
        (".const .b8 a[65536]; .extern .const .b8 b[9];", True),
    ],
)
def test_constant_memory_holds_64_kib(text, fits):
    assert refused(text) == ([] if fits else ["illegal-form"])


# ---- runs ----

CALLS = """\
.extern .func f;
.entry k {{ .reg .pred p; setp.eq.b32 p, 1, {}; @p call f; ret; }}
"""


def test_calling_what_another_file_defines_says_so():
    kernel = Module.from_text(HEADER + CALLS.format(1)).kernel()
    (finding,) = kernel.launch(1, 1, on_error="report").findings
    assert (finding.name, finding.line) == ("not-modeled", 5)
    assert "f" in finding.message and "one file" in finding.help


def test_what_is_never_called_need_not_be_there():
    assert not launch(HEADER + CALLS.format(2), block=1).findings


ADDRESS = """\
.extern .func f;
.entry k { .reg .b64 d;
mov.b64 d, f;
ret; }
"""


def test_no_address_of_a_function_in_another_file():
    with pytest.raises(PtxError) as error:
        launch(HEADER + ADDRESS, block=1)
    assert [(finding.name, finding.line) for finding in error.value.findings] == [("not-modeled", 6)]


def test_an_extern_variable_that_nothing_defines_is_one_of_the_file(engine):
    text = """\
.extern .global .b32 g[4];
.global .u64 where = g;
.entry k(.param .u64 out) { .reg .b64 d<4>; .reg .b32 r;
ld.global.u64 d0, [where]; st.global.b32 [d0+4], 7;
ld.global.b32 r, g[1];
ld.param.u64 d1, [out]; st.global.b32 [d1], r;
ret; }
"""
    out = np.zeros(1, np.uint32)
    launch(HEADER + text, [out], block=1, engine=engine)
    assert out[0] == 7


def test_an_extern_array_without_a_size_needs_a_definition():
    text = ".extern .global .b32 g[];\n.entry k { .reg .b32 r; ld.global.b32 r, [g]; ret; }\n"
    assert not refused(text)
    with pytest.raises(PtxError) as error:
        launch(HEADER + text, block=1)
    assert [(finding.name, finding.line) for finding in error.value.findings] == [("not-modeled", 5)]

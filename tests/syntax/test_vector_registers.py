"""Vector registers: `.reg .v4 .f32 v;` is v.x, v.y, v.z and v.w. PTX ISA, "Vectors as Operands"."""

import pytest

from ptxsim.session import check
from ptxsim.syntax import ast
from ptxsim.syntax.flatten import flatten
from ptxsim.syntax.parser import parse
from tests.helpers import text_of

BEFORE = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"


def test_a_shadowed_vector_has_registers_of_its_own():
    module = parse(text_of("cases/scalar/elements_of_vectors.ptx"))
    body = flatten(module.functions()[0], module)
    assert {"v.x", "v.w", "w2.y"} <= set(body.registers)
    assert sum(name.endswith(".x") for name in body.registers) == 5
    loads = [s for s in body.statements if isinstance(s, ast.Instruction) and s.opcode == "ld.global.v4.f32"]
    assert [element.name for element in loads[0].operands[0].elements] == ["v.x", "v.y", "v.z", "v.w"]


@pytest.mark.parametrize(
    "statement", ["mov.b32 w.z, 1;", "mov.b32 w.q, 1;", "mov.b32 w, 1;", "ld.global.b32 w.x, [w];"]
)
def test_what_a_vector_has_not(statement):
    text = f"{BEFORE}.reg .v2 .b32 w;\n{statement}\nret; }}\n"
    assert [finding.line for finding in check(text)] == [6]


def test_a_register_may_hide_a_special_one():
    assert not check(f"{BEFORE}.reg .b32 %tid; mov.u32 %tid, %ntid.x; add.u32 %tid, %tid, 1;\nret; }}\n")


# ---- vectors as parameters ----

PASSING = """\
.version 9.0
.target sm_90
.address_size 64
.func f(.reg .v2 .f32 a) {{ ret; }}
.func g(.reg .f32 a, .param .b8 b[8]) {{ ret; }}
.visible .entry k() {{ .reg .v2 .f32 a; .reg .v4 .f32 q; .reg .v2 .b32 w; .reg .f32 s; {{ .param .b8 b[8];
{}
}} ret; }}
"""


@pytest.mark.parametrize("call", ["call f, (a);", "call f, (w);", "call g, (s, b);"])
def test_vectors_that_fit_a_parameter(call):
    assert not check(PASSING.format(call))


@pytest.mark.parametrize(
    "call",
    ["call f, (q);", "call f, (s);", "call f, ({s, s});", "call g, (a, b);", "call g, (s, a);", "call g, (a.x, b);"]
    + ["mov.v2.f32 a, q;", "mov.v2.f32 _, a;", "mov.v2.f32 a.x, a;", "mov.v2.f32 a, {1, 2};", "mov.v2.u32 w, a;"],
)
def test_vectors_that_do_not(call):
    assert [finding.line for finding in check(PASSING.format(call))] == [7]


@pytest.mark.parametrize(
    "declared", [".param .v2 .f32 a", ".reg .v4 .f64 a", ".reg .f32 a<2>", ".param .b8 a[2][2]", ".param .b32 _"]
)
def test_what_no_parameter_is(declared):
    text = f".version 9.0\n.target sm_90\n.func f({declared}) {{ ret; }}\n"
    assert [finding.line for finding in check(text)] == [3]

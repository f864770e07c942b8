"""Vector registers: `.reg .v4 .f32 v;` is v.x, v.y, v.z and v.w. PTX ISA, "Vectors as Operands"."""

import numpy as np
import pytest

from ptxsim.session import check
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse
from ptxsim.syntax.scope import flatten
from tests.helpers import launch

BEFORE = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
KERNEL = (
    BEFORE
    + """\
.reg .v4 .f32 v; .reg .v2 .b32 w<3>; .reg .b64 rd;
ld.param.u64 rd, [p];
ld.global.v4.f32 v, [rd];
add.f32 v.y, v.x, v.a;
{ .reg .v2 .b32 v; mov.b32 v.x, 7; mov.b32 v.g, 9; mov.b32 w2.x, v.x; mov.b32 w2.y, v.y; }
st.global.v4.f32 [rd], v;
st.global.v2.b32 [rd+16], w2;
ret; }
"""
)


def test_elements_and_whole_vectors(engine):
    data = np.array([1, 2, 3, 4, 0, 0], np.float32)
    launch(KERNEL, [data], block=1, engine=engine)
    assert data[:4].tolist() == [1, 5, 3, 4]
    assert data.view(np.uint32)[4:].tolist() == [7, 9]


def test_a_shadowed_vector_has_registers_of_its_own():
    module = parse(KERNEL)
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


# ---- moves of vectors, vectors as parameters, elements of arrays ----

MOVES = """\
.version 9.0
.target sm_90
.address_size 64
.global .b32 table[4] = {10, 20, 30, 40};
.func (.reg .v2 .b32 r) swap(.reg .v2 .b32 a, .reg .b32 more) { mov.v2.b32 r, {a.y, a.x}; add.u32 r.x, r.x, more; ret; }
.visible .entry k(.param .u64 p) {
.reg .v4 .b32 v, w; .reg .v2 .b32 t; .reg .b32 r<4>; .reg .b64 rd, rt;
ld.param.u64 rd, [p];
mov.v4.u32 v, {1, 2, 3, 4};
mov.v4.b32 w, v;
st.global.v4.b32 [rd], w;
mov.v4.b32 {r0, _, r1, r2}, v;
mov.v2.b32 t, {r0, r2};
call (t), swap, (t, 100);
st.global.v2.b32 [rd+16], t;
mov.v2.b32 t, 7;
st.global.v2.b32 [rd+24], t;
mov.v4.u32 v, %ntid;
st.global.v4.b32 [rd+32], v;
ld.global.b32 r0, table[2];
mov.u64 rt, table[3];
ld.global.b32 r1, [rt];
st.global.b32 table[0], r1;
ld.global.b32 r2, table[0];
st.global.b32 [rd+48], r0;
st.global.b32 [rd+52], r1;
st.global.b32 [rd+56], r2;
ret; }
"""


def test_vectors_are_moved_passed_and_indexed(engine):
    data = np.zeros(15, np.uint32)
    launch(MOVES, [data], block=(1, 2, 3), engine=engine)
    assert data.tolist() == [1, 2, 3, 4, 104, 1, 7, 7, 1, 2, 3, 0, 30, 40, 40]


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

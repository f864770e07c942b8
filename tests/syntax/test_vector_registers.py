"""Vector registers: `.reg .v4 .f32 v;` is v.x, v.y, v.z and v.w. PTX ISA, "Vectors as Operands"."""

import numpy as np
import pytest

from ptxsim.session import check
from ptxsim.session.module import Module
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse
from ptxsim.syntax.scope import flatten

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


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_elements_and_whole_vectors(engine):
    data = np.array([1, 2, 3, 4, 0, 0], np.float32)
    Module.from_text(KERNEL).kernel().launch(1, 1, [data], engine=engine)
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

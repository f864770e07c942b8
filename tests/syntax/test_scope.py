"""Names of a body are resolved, scopes flattened, strangers and twins reported."""

from __future__ import annotations

import time

import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.isa.special_registers import SPECIAL_REGISTERS
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.syntax.flatten import flatten
from ptxsim.syntax.parser import parse
from ptxsim.syntax.registers import Registers
from ptxsim.syntax.scope import FlatBody
from ptxsim.syntax.special_names import is_special_register
from tests.syntax.samples import EVERYTHING, FILES, HEADER, kernel, print_statement


def flat(body: str, head: str = "", **options) -> FlatBody:
    module = parse(HEADER + head + kernel(body)[len(HEADER) :])
    return flatten(module.entries()[0], module, **options)


def lines(body: FlatBody) -> list[str]:
    return [print_statement(statement) for statement in body.statements]


def complaints(body: str, head: str = "") -> list[tuple[str, int, str]]:
    with pytest.raises(PtxError) as caught:
        flat(body, head)
    return [(finding.name, finding.column, finding.message) for finding in caught.value.findings]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_compiler_output_declares_everything(path):
    module = parse(Source.from_file(path))
    for function in module.functions():
        body = flatten(function, module)
        assert not body.undeclared
        labels = [statement.name for statement in body.statements if isinstance(statement, ast.Label)]
        assert len(labels) == len(set(labels))


def test_flat_bodies_need_no_new_objects():
    body = flat(".reg .b32 %r<4>; mov.b32 %r1, %r2; L: bra L;")
    module = parse(kernel(".reg .b32 %r<4>; mov.b32 %r1, %r2; L: bra L;"))
    assert body.statements == module.entries()[0].body[1:]
    assert body.registers["%r3"].type == "b32"


def test_shadowed_names_are_distinguished():
    body = flat(
        ".reg .b32 t; mov.b32 t, 1;"
        "{ .reg .b64 t; mov.b64 t, 2; { mov.b64 t, 3; } }"
        "{ mov.b32 t, 4; .reg .f32 t; mov.f32 t, [t]; }"
        "mov.b32 t, 5;"
    )
    assert lines(body) == [
        "mov.b32 t, 1;", "mov.b64 t$2, 2;", "mov.b64 t$2, 3;", "mov.b32 t, 4;", "mov.f32 t$3, [t$3];", "mov.b32 t, 5;",
    ]  # fmt: skip
    assert [body.registers[name].type for name in ("t", "t$2", "t$3")] == ["b32", "b64", "f32"]


def test_families_of_inner_scopes():
    body = flat(
        ".reg .b32 t<4>; mov.b32 t3, t03;"
        "{ .reg .b64 t<9>; mov.b64 t3, t8; }"
        "{ .reg .f32 t3; mov.f32 t3, t2; }"
        "{ .reg .f64 t<2>, t1x; mov.f64 t1, t3; }"
    )
    assert lines(body) == [
        "mov.b32 t3, t3;", "mov.b64 t$2_3, t$2_8;", "mov.f32 t3$2, t2;", "mov.f64 t$3_1, t3;",
    ]  # fmt: skip
    kinds = {name: body.registers[name].type for name in ("t3", "t$2_3", "t3$2", "t$3_1", "t1x")}
    assert kinds == {"t3": "b32", "t$2_3": "b64", "t3$2": "f32", "t$3_1": "f64", "t1x": "f64"}


def test_all_digits_at_the_end_are_the_number():
    body = flat(".reg .b32 r<20>; .reg .b64 r1<5>, r2$<5>; mov.b32 r12, r12; mov.b64 r2$4, r2$04;")
    assert [body.registers[statement.operands[0].name].type for statement in body.statements] == ["b32", "b64"]
    with pytest.raises(PtxError) as error:
        flat(".reg .b64 r1<5>; mov.b64 r12, r12;")
    assert "ends in a digit" in error.value.findings[0].help


@pytest.mark.parametrize(
    ("declarations", "clash"),
    [
        (".reg .b32 r1; .reg .b32 r<4>;", True),
        (".reg .b32 r<4>; .reg .b32 r1;", True),
        (".reg .b32 r<4>; .reg .b32 r01;", True),
        (".reg .b32 r01; .reg .b32 r<4>; mov.b32 r1, 3;", False),
        (".reg .b32 r7; .reg .b32 r<4>;", False),
        (".reg .b32 r41; .reg .b32 r4<3>;", False),
        (".reg .b32 r<4>; .reg .b32 r;", False),
    ],
)
def test_registers_and_families_that_clash(declarations, clash):
    if clash:
        with pytest.raises(PtxError):
            flat(declarations)
    else:
        flat(declarations)


@pytest.mark.parametrize(
    "text",
    ["brx.idx %r, T; A: T: .branchtargets A;", "call %d, P; P: .callprototype _;", "call %d, P; P: .calltargets f;"],
)
def test_tables_and_prototypes_come_before_their_use(text):
    with pytest.raises(PtxError) as error:
        flat(f".reg .b32 %r; .reg .b64 %d; {text}")
    assert "after its use" in error.value.findings[0].message


def test_labels_of_repeated_scopes():
    loop = "{ L: @%p bra L; bra DONE; bra OUT; DONE: }"
    body = flat(f".reg .pred %p; {loop} {loop} OUT: ret;")
    assert lines(body) == [
        "L:", "@%p bra L;", "bra DONE;", "bra OUT;", "DONE:",
        "L$2:", "@%p bra L$2;", "bra DONE$2;", "bra OUT;", "DONE$2:", "OUT:", "ret;",
    ]  # fmt: skip


def test_tables_and_prototypes_follow_their_labels():
    one = "{ T: .branchtargets A, OUT; A: brx.idx %r, T; P: .callprototype _ (.param .b32 _); call %f, (%r), P; }"
    body = flat(f".reg .b32 %r; .reg .b64 %f; {one} {one} OUT: ret;")
    assert body.targets["T"].names == ("A", "OUT")
    assert body.targets["T$2"].names == ("A$2", "OUT")
    assert set(body.prototypes) == {"P", "P$2"}
    assert "call %f, (%r), P$2;" in lines(body) and "brx.idx %r, T$2;" in lines(body)


def test_memory_of_inner_scopes_is_hoisted():
    call = "{ .param .b32 a; st.param.b32 [a], 1; } "
    body = flat(call * 2 + ".shared .b8 g[4]; mov.u64 g, h;", head=".global .b32 g, h; .global .b32 a;\n")
    assert [variable.name for variable in body.variables] == ["a$2", "a$3", "g$2"]
    assert lines(body)[-1] == "mov.u64 g$2, h;"
    assert lines(body)[1] == "st.param.b32 [a$3], 1;"


def test_parameters_keep_their_names():
    body = flat("ld.param.u64 %rd, [p]; g: bra g;", head=".global .b64 p, g; .reg .b64 %rd;\n")
    assert lines(body) == ["ld.param.u64 %rd, [p];", "g$2:", "bra g$2;"]


def test_everything_flattens():
    module = parse(EVERYTHING)
    body = flatten(module.entries()[0], module, strict=False)
    assert {name.name for name in body.undeclared} <= {"info"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ret; mov.b32 x, y;", [("undeclared-name", 14, "nothing declares `x`"), ("undeclared-name", 17, "nothing declares `y`")]),
        ("bra L;", [("undeclared-name", 5, "nothing declares `L`")]),
        ("@q ret;", [("undeclared-name", 2, "nothing declares `q`")]),
        ("ld.b32 {_}, [m, {c}];", [("undeclared-name", 14, "nothing declares `m`"), ("undeclared-name", 18, "nothing declares `c`")]),
        (".reg .b32 %r<5>; mov.b32 %r5, %r4;", [("undeclared-name", 26, "nothing declares `%r5`")]),
        ("mov.b32 z, 1; .reg .b32 z;", [("undeclared-name", 9, "nothing declares `z`")]),
        ("{ .reg .b32 z; } mov.b32 z, 1;", [("undeclared-name", 26, "nothing declares `z`")]),
        ("{ L: } bra L;", [("undeclared-name", 12, "nothing declares `L`")]),
        ("T: .branchtargets X;", [("undeclared-name", 1, "nothing declares `X`")]),
        ("mov.b32 %tid.x, %nonsense;", [("undeclared-name", 17, "nothing declares `%nonsense`")]),
        (".reg .b32 a, a;", [("syntax-error", 14, "`a` is declared twice in one scope")]),
        (".reg .b32 r<5>, r4;", [("syntax-error", 17, "`r4` is declared twice in one scope")]),
        (".reg .b32 r4, r<5>;", [("syntax-error", 15, "`r` is declared twice in one scope")]),
        ("L: L: ret;", [("syntax-error", 4, "`L` is declared twice in one scope")]),
        (".reg .b32 L; L: ret;", [("syntax-error", 11, "`L` is declared twice in one scope")]),
        (".reg .b32 p;", [("syntax-error", 11, "`p` is declared twice in one scope")]),
        ("p: ret;", [("syntax-error", 1, "`p` is declared twice in one scope")]),
    ],
)  # fmt: skip
def test_strangers_and_twins(body, expected):
    assert complaints(body) == expected


def test_what_is_no_twin():
    body = flat(".reg .b32 r<5>, r5, k, g; ret; { .reg .b32 r<5>, p; }", head=".global .b32 g;\n")
    assert len(body.registers) == 14


def test_help_names_what_is_near():
    with pytest.raises(PtxError) as caught:
        flat(".reg .b32 %r<5>, count; mov.b32 %r9, coumt;")
    helps = [finding.help for finding in caught.value.findings]
    assert "`%r<5>` declares %r0 to %r4" in helps[0] and "did you mean `count`?" in helps[1]


@pytest.mark.parametrize(("name", "meant"), [("%tidx", "%tid.x"), ("%lanid", "%laneid"), ("Count", "count")])
def test_help_names_special_registers_and_other_capitals(name, meant):
    with pytest.raises(PtxError) as caught:
        flat(f".reg .b32 count; mov.b32 count, {name};")
    assert f"did you mean `{meant}`?" in caught.value.findings[0].help


def test_undeclared_names_can_be_asked_for():
    body = flat("add.s32 %0, %1, x; { add.s32 %0, %1, y; }", strict=False)
    assert [name.name for name in body.undeclared] == ["%0", "%1", "x", "y"]


def test_huge_families_cost_nothing():
    start = time.process_time()
    registers = flat(".reg .b32 %r<1000000000>; mov.b32 %r999999999, %r5;").registers
    assert time.process_time() - start < 0.5
    assert registers["%r999999999"].type == "b32" and "%r1000000000" not in registers and "%r" not in registers
    assert len(registers.declarations) == 1


def test_registers_are_a_mapping():
    registers = Registers((ast.Variable("%r", "reg", "b32", count=3), ast.Variable("x", "reg", "f64")))
    assert list(registers) == ["%r0", "%r1", "%r2", "x"] and len(registers) == 4
    assert registers.get("y") is None and "%r3" not in registers
    with pytest.raises(KeyError):
        registers["%r3"]


def test_special_registers_are_those_of_the_isa():
    assert all(is_special_register(name) for name in SPECIAL_REGISTERS if name != "WARP_SZ")
    assert not any(map(is_special_register, ["%r1", "tid.x", "%tid.q", "%envreg32", "%pm8", "%clock32"]))

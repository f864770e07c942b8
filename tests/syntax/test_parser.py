"""The grammar takes what PTX allows and builds the nodes that ast.py describes."""

from __future__ import annotations

import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.syntax.ast import Address, Element, Float, Integer, Name, Offset
from ptxsim.syntax.parser import parse, parse_body
from tests.syntax.samples import EVERYTHING, FILES, HEADER, kernel


def one(text: str) -> ast.Instruction:
    (statement,) = parse_body(text)
    return statement


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_compiler_output_parses(path):
    module = parse(Source.from_file(path))
    text = path.read_text()
    assert module.functions()
    assert sum(item.is_entry for item in module.functions()) == text.count(".entry")


def test_every_directive_of_the_manual():
    module = parse(EVERYTHING)
    assert module.version == (9, 0)
    assert module.targets == ("sm_90a", "debug")
    items = {getattr(item, "name", None): item for item in module.items}
    assert items["table"].shape == (2, 2)
    assert items["table"].linkage == ("visible",)
    assert items["table"].initializer[1] == (Float(0x3F800000, 32), Float(0x3FE0000000000000, 64))
    assert items["pointers"].initializer == (
        Name("table"),
        Offset(Name("table"), 4),
        ast.MaskedAddress(Name("table")),
        ast.MaskedAddress(Offset(Name("table"), 8)),
    )
    assert items["bytes"].initializer[2] == ast.MaskedAddress(ast.MaskedAddress(Name("table")), 0xFF)
    assert items["unified"].attributes == ("unified(19, 0x5f)",)
    assert items["octal"].initializer == Integer(15, True)
    assert items["choice"].initializer == Integer(-1)
    assert items["smem"].shape == (None,)
    entry = module.entries()[0]
    assert entry.parameters[0].pointer == ("global", 16)
    assert entry.parameters[1].align == 64 and entry.parameters[1].shape == (128,)
    assert entry.parameters[2].pointer == ("", None)
    assert [d.name for d in entry.directives] == [
        "maxntid", "minnctapersm", "maxnreg", "explicitcluster", "reqnctapercluster", "maxclusterrank", "pragma",
    ]  # fmt: skip
    assert entry.directives[0].arguments == ("128", "1", "1")
    kinds = [type(statement).__name__ for statement in entry.body]
    assert kinds.count("Prototype") == 2 and kinds.count("Targets") == 2 and kinds.count("Block") == 1
    assert module.items[-1] == ast.Section("@@DWARF", ".byte 0x2b, 0x00")


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("x 5;", (Integer(5),)),
        ("x -5;", (Integer(-5),)),
        ("x 0x10U;", (Integer(16, True),)),
        ("x 0xffffffffffffffff;", (Integer(2**64 - 1, True),)),
        ("x -9223372036854775807-1;", (Integer(-(2**63)),)),
        ("x 7/-2, 7%-2, -7/2, -7 % 2;", (Integer(-3), Integer(1), Integer(-3), Integer(-1))),
        ("x 1U-2;", (Integer(2**64 - 1, True),)),
        ("x -1>>1, (.u64)-1>>1;", (Integer(-1), Integer(2**63 - 1, True))),
        ("x !0, ~0, +3, !7;", (Integer(1), Integer(-1), Integer(3), Integer(0))),
        ("x 1+2*3<<1==14&&1;", (Integer(1),)),
        ("x 6&3|8^1;", (Integer(6 & 3 | 8 ^ 1),)),
        ("x 1?2:0?3:4;", (Integer(2),)),
        ("x WARP_SZ*2;", (Integer(64),)),
        ("x 1.5, -1.5, 1e3, .5;", tuple(Float(b << 32, 64) for b in (0x3FF80000, 0xBFF80000, 0x408F4000, 0x3FE00000))),
        ("x 1.0+0.5;", (Float(0x3FF8 << 48, 64),)),
        ("x 0f3F800000, 0d3FF0000000000000;", (Float(0x3F800000, 32), Float(0x3FF << 52, 64))),
        ("x _, __, _a;", (ast.Sink(), Name("__"), Name("_a"))),
        ("x %tid.x, %v.x, %laneid;", (Name("%tid.x"), Element(Name("%v"), "x"), Name("%laneid"))),
        ("x a[3], a+4, a+4-8;", (Element(Name("a"), "3"), Offset(Name("a"), 4), Offset(Name("a"), -4))),
        ("x [a], [a+4], [a+-4], [a+4-8];", tuple(Address(Name("a"), n) for n in (0, 4, -4, -4))),
        ("x [a+4*2+1], [64], [a+0xffffffffffffffff];", (Address(Name("a"), 9), Address(None, 64), Address(Name("a"), -1))),
        ("x a|b, _|b, !c, -d;", (
            ast.Pair(Name("a"), Name("b")), ast.Pair(ast.Sink(), Name("b")), ast.Not(Name("c")), ast.Negative(Name("d")),
        )),
        ("x {a, _, 4}, {};", (ast.Vector((Name("a"), ast.Sink(), Integer(4))), ast.Vector(()))),
        ("x [m, {a, b}, c];", (Address(Name("m"), 0, (ast.Vector((Name("a"), Name("b"))), Name("c"))),)),
        ("call (r), f, (a, 4);", (ast.Group((Name("r"),)), Name("f"), ast.Group((Name("a"), Integer(4))))),
        ("call f;", (Name("f"),)),
        ("call f, (), proto;", (Name("f"), ast.Group(()), Name("proto"))),
    ],
)  # fmt: skip
def test_operands(text, operands):
    assert one(text).operands == operands


@pytest.mark.parametrize("text", ["ret;", "  @ !%p1\n ret ;", "@!%p1 ret;// x", "/**/@! %p1 ret;"])
def test_guards(text):
    instruction = one(text)
    assert instruction.opcode == "ret"
    assert instruction.guard in (None, ast.Guard("%p1", True))
    assert (instruction.guard is None) == ("@" not in text)


def test_places_are_those_of_the_text():
    body = parse_body("ret; @%p1 add.s32  %r1,\n   [%r2 + 4], {a , -4};\nL: bra L;")
    add = body[1]
    assert (add.line, add.column, add.length) == (1, 11, 7)
    assert (add.guard.line, add.guard.column) == (1, 7)
    assert [(o.line, o.column) for o in add.operands] == [(1, 20), (2, 4), (2, 15)]
    assert (add.operands[2].elements[1].line, add.operands[2].elements[1].column) == (2, 20)
    assert [(s.line, s.column) for s in body[2:]] == [(3, 1), (3, 4)]


def test_blanks_before_a_modifier():
    assert one("ld.global.v2 .f32\t.x {a, b}, [c];").opcode == "ld.global.v2.f32.x"
    assert one("mov.f64 .5;").operands == (Float(0x3FE << 52, 64),)


def test_names_may_look_like_opcodes_and_numbers():
    assert one("add.s32 add, mov, ret;").operands == (Name("add"), Name("mov"), Name("ret"))
    assert one("add.s32 %0, %1, %2;").operands == (Name("%0"), Name("%1"), Name("%2"))
    label, jump = parse_body("bra: bra bra;")
    assert (label.name, jump.opcode, jump.operands) == ("bra", "bra", (Name("bra"),))


@pytest.mark.parametrize(
    "bad",
    [
        ";", ".global .b32 x;;", ".func f { ret; };", ".global .b32 x[2] = {1,2,};", ".global .b64 y = 4+x;",
        ".func .noreturn f;", ".visible .extern .func g;", ".visible .visible .global .b32 x;",
        ".global .b32 .align 4 x;", ".global .v2 .align 8 .b32 x;", ".global .b32 .v2 x;", ".global .v3 .b32 x;",
        ".global .b32 x = 08;", ".global .f32 x = -0f3F800000;", ".target sm_90", ".version 8.0",
        ".func f {ret;} .func f {ret;}", ".global .b32 x; .global .b32 x;", "#nonsense",
    ],
)  # fmt: skip
def test_modules_the_assembler_refuses(bad):
    with pytest.raises(PtxError):
        parse(HEADER + bad)


@pytest.mark.parametrize(
    "bad",
    [
        ".extern .shared .b32 x[];", ".visible .shared .b32 x;", ".maxnreg 3", ".file 1 \"a\"", "mov . b32 x, 1;",
        "L:; ret;", "@p L: ret;", "mov.b32 x, r1;;", "mov.b32 x, 0f3f80;", "mov.b32 x, 4/0;", "mov.b32 x, 1.5+1;",
        "ld.b32 x, [4+rd];", "ld.b32 x, [s+x];", "mov.b32 x, (r1);", ".pragma \"nounroll\"", ".loc 1 2", "mov.b32 x, 0xFu;",
        ".reg .b32 %r<-1>;", ".reg .b32 %r<2+2>;", ".reg .b32 a.b;", ".reg .v3 .b32 z;", "mov.b32 x, 1_0;",
    ],
)  # fmt: skip
def test_statements_the_assembler_refuses(bad):
    with pytest.raises(PtxError) as caught:
        parse(kernel(bad))
    assert {finding.name for finding in caught.value.findings} == {"syntax-error"}
    assert caught.value.findings[0].line in (6, 7)


def test_several_statements_on_a_line_and_one_on_several():
    module = parse(kernel("mov.b32 a,b;mov.b32\n\n a\n,\nb\n;{ret;}"))
    first, second, block = module.entries()[0].body
    assert first == second and (second.line, second.column) == (6, 13)
    assert block.statements[0].opcode == "ret" and block.line == 11

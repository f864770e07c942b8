"""What is printed parses to equal nodes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse, parse_body
from ptxsim.syntax.printer import print_module, print_operand
from tests.syntax.samples import EVERYTHING, FILES, kernel, print_statement


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_survive(path):
    module = parse(Source.from_file(path))
    assert parse(print_module(module)) == module


def test_every_directive_survives():
    module = parse(EVERYTHING)
    text = print_module(module)
    assert parse(text) == module
    assert print_module(parse(text)) == text


def test_the_text_is_what_one_would_write():
    text = "@!%p1 ld.global.v2.b32 {%r1, _}, [%rd1+-16];"
    assert print_statement(parse_body(text)[0]) == text
    (block,) = parse_body("{ .reg .b32 %r<4>; { L: bra L; } }")
    assert print_statement(block) == "{\n    .reg .b32 %r<4>;\n    {\n        L:\n        bra L;\n    }\n}"


def test_deep_scopes_survive():
    module = parse(kernel("{" * 90 + "ret;" + "}" * 90))
    assert parse(print_module(module)) == module


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        (ast.Integer(-5), "-5"),
        (ast.Integer(2**64 - 1, True), "18446744073709551615U"),
        (ast.Float(0x3F800000, 32), "0f3F800000"),
        (ast.Address(ast.Name("a"), 4, (ast.Vector((ast.Name("b"),)),)), "[a+4, {b}]"),
        (ast.Element(ast.Name("a"), "3"), "a[3]"),
        (ast.Element(ast.Name("%v"), "x"), "%v.x"),
    ],
)
def test_operands_print(operand, text):
    assert print_operand(operand) == text


# ---- any nodes at all -----------------------------------------------------------------------------------------------

words = st.from_regex(r"[a-zA-Z$][a-zA-Z0-9_$]{0,5}|_[a-z0-9]{1,4}|%[a-zA-Z0-9_$]{1,4}", fullmatch=True).filter(
    lambda word: word not in ("WARP_SZ", "generic") and not word.startswith("%tid")
)
names = st.builds(ast.Name, words)
integers = st.one_of(
    st.builds(ast.Integer, st.integers(-(2**63), 2**63 - 1)),
    st.builds(ast.Integer, st.integers(0, 2**64 - 1), st.just(True)),
)
floats = st.one_of(
    st.builds(ast.Float, st.integers(0, 2**32 - 1), st.just(32)),
    st.builds(ast.Float, st.integers(0, 2**64 - 1), st.just(64)),
)
signed = st.integers(-(2**63), 2**63 - 1)
bases = names.filter(lambda name: "." not in name.name)
dotted = st.builds(ast.Element, bases, st.from_regex(r"[xyzw]|[bh][0-3]|[0-9]", fullmatch=True))
single = st.one_of(names, st.just(ast.Sink()), dotted)
parts = st.one_of(single, integers, floats, st.builds(ast.Not, names), st.builds(ast.Negative, names))
vectors = st.builds(ast.Vector, st.lists(parts, max_size=8).map(tuple))
offsets = st.builds(ast.Offset, bases, signed)
addresses = st.one_of(
    st.builds(ast.Address, names, signed, st.lists(st.one_of(parts, vectors), max_size=3).map(tuple)),
    st.builds(ast.Address, st.none(), signed),
)
operands = st.one_of(parts, vectors, addresses, offsets, st.builds(ast.Pair, single, single))
opcodes = st.from_regex(r"(?!call)[a-z]{1,4}(\.[a-z0-9_]{1,4}|::[a-z0-9]{1,3}){0,4}", fullmatch=True)
guards = st.one_of(st.none(), st.builds(ast.Guard, words, st.booleans()))
calls = st.builds(
    lambda opcode, results, callee, arguments, guard: ast.Instruction(opcode, (*results, callee, *arguments), guard),
    st.sampled_from(["call", "call.uni"]),
    st.lists(st.builds(ast.Group, st.lists(names, max_size=2).map(tuple)), max_size=1),
    names,
    st.lists(st.builds(ast.Group, st.lists(st.one_of(names, integers), max_size=3).map(tuple)), max_size=1),
    guards,
)
instructions = st.one_of(st.builds(ast.Instruction, opcodes, st.lists(operands, max_size=5).map(tuple), guards), calls)
initializers = st.recursive(
    st.one_of(
        integers, floats, bases, offsets, st.builds(ast.MaskedAddress, st.one_of(bases, offsets)),
        st.builds(ast.MaskedAddress, st.one_of(bases, offsets), st.integers(1, 2**64 - 1)),
    ),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)  # fmt: skip
variables = st.builds(
    ast.Variable, words, st.sampled_from(["reg", "shared", "local", "param", "const", "global"]),
    st.sampled_from(["b8", "b32", "f16x2", "pred", "f64"]), count=st.one_of(st.none(), st.integers(0, 10**6)),
    vector=st.sampled_from([1, 2, 4]), align=st.sampled_from([None, 4, 128]),
    shape=st.lists(st.one_of(st.none(), st.integers(0, 9999)), max_size=2).map(tuple),
    initializer=st.one_of(st.none(), initializers), attributes=st.sampled_from([(), ("managed",), ("unified(1, 2)",)]),
)  # fmt: skip
statements = st.recursive(
    st.one_of(instructions, variables, st.builds(ast.Label, words)),
    lambda inner: st.builds(ast.Block, st.lists(inner, max_size=4).map(tuple)),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(operands)
def test_any_operand_survives(operand):
    (statement,) = parse_body(f"x {print_operand(operand)};")
    assert statement.operands == (operand,)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(statements, max_size=4).map(tuple))
def test_any_body_survives(body):
    assert parse_body("\n".join(map(print_statement, body))) == body

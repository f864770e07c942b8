"""An instruction read by its shape is the one that the grammar reads, places and all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.syntax import ast
from ptxsim.syntax.build_instruction import Mistake
from ptxsim.syntax.instruction_templates import ShapeReader
from ptxsim.syntax.lark_parser import UnexpectedInput
from ptxsim.syntax.parser import Parser
from tests.syntax.samples import EVERYTHING, FILES, instructions

by_grammar = Parser().read_instruction


def everything(node: object) -> object:
    """A node with its places, which equality leaves out."""
    if isinstance(node, tuple):
        return tuple(map(everything, node))
    if isinstance(node, ast.Node):
        fields = [everything(getattr(node, name)) for name in type(node).__match_args__]
        return (type(node).__name__, node.line, node.column, *fields)
    return node


def outcome(read, text: str):
    try:
        return everything(read(text, 7, 3))
    except (UnexpectedInput, Mistake) as problem:
        return type(problem), str(problem)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_compiler_output(path):
    reader = ShapeReader(by_grammar)
    for text in instructions(path.read_text()):
        reader.read(text, 1, 1)
        assert outcome(reader.read, text) == outcome(by_grammar, text)
    assert reader.templates and None not in reader.templates.values()


PAIRS = [
    ("x _, _;", "x _a, _;"), ("x _a;", "x _;"), ("x Wa;", "x WARP_SZ;"), ("x [a+4];", "x [a+4.5];"), ("x 1;", "x 1.5;"),
    ("x -1;", "x -0f3F800000;"), ("x 1;", "x 08;"), ("x %v.x;", "x %tid.x;"), ("x a, 1, b;", "x a, , b;"),
    ("x 1+2;", "x 3+4;"), ("x a+1;", "x a+0xffffffffffffffff;"), ("x [a+-1];", "x [a+-9223372036854775808];"),
    ("x [a+1+2];", "x [a+3+4];"), ("x 5;", "x 99999999999999999999;"), ("x a;", "x a /* 1 */;"), ("x a[1];", "x b[2];"),
    ("x {1, -2};", "x {1.0, -2};"), ("x 1e;", "x 1;"), ("x [16];", "x [-16];"), ("x a.b0;", "x %1.b0;"),
    ("x (1);", "x (2);"), ("x a|b;", "x _|b;"), ("@p x;", "@_ x;"), ("x 0x1e+4;", "x 0x1e+5;"), ("x é;", "x é1;"), ("x %v.x;", "x %.x;"), ("x %v.x;", "x %v.x$;"), ("x [%v.x];", "x [%v.y];"), ("x [%v.x+1];", "x [%v.x+2];"),
    ("x [%tid.x];", "x [%v.x];"), ("x [_a];", "x [_];"), ("x _a+1;", "x _+1;"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_shape_does_not_mislead(first, second):
    reader = ShapeReader(by_grammar)
    for text in (first, second, first):
        assert outcome(reader.read, text) == outcome(by_grammar, text)


texts = [*instructions(EVERYTHING), *(text for pair in PAIRS for text in pair)]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_changed_texts(data):
    """Any character for any other: both ways agree, whatever was read before."""
    reader = ShapeReader(by_grammar)
    text = data.draw(st.sampled_from(texts))
    for _ in range(3):
        assert outcome(reader.read, text) == outcome(by_grammar, text)
        at = data.draw(st.integers(0, len(text) - 1))
        text = text[:at] + data.draw(st.text("%_a1.+-,[]{}| ;xU0", max_size=2)) + text[at + 1 :]
        text = text or ";"

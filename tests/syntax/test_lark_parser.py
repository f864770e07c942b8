"""The generated parser is that of the grammar."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lark import Lark

from ptxsim.syntax.lark_parser import Lark_StandAlone
from tests.syntax.samples import EVERYTHING, FILES, instructions

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from generate_parser import GRAMMAR, PARSER, STARTS, generated


@pytest.mark.slow
def test_the_parser_is_current():
    """Byte by byte. After a change of the grammar, or of Lark's version: tools/generate_parser.py."""
    assert PARSER.read_text() == generated(), "run tools/generate_parser.py"


@pytest.fixture(scope="module")
def parsers():
    return Lark(GRAMMAR.read_text(), parser="lalr", start=list(STARTS)), Lark_StandAlone()


def plain(node: object) -> object:
    """A tree or a token of either parser."""
    if isinstance(node, str):
        return (node.type, str(node), node.line, node.column)
    return (str(node.data), [plain(child) for child in node.children])


@pytest.mark.parametrize("text", [EVERYTHING, *(path.read_text() for path in FILES[:5])])
def test_the_parser_agrees_with_lark(text, parsers):
    """Lark, which reads the grammar, is the reference for files and for instructions."""
    for start, part in [("module", text), *(("instruction", one) for one in instructions(text)[:200])]:
        expected, found = (plain(parser.parse(part, start=start)) for parser in parsers)
        assert found == expected

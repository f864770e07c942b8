"""The stored tables are those of the grammars, and the machine runs them as Lark does."""

from __future__ import annotations

import json

import pytest
from lark import Lark, Tree

from ptxsim.syntax import tables
from ptxsim.syntax.machine import Machine
from tests.syntax.samples import EVERYTHING, FILES, instructions


def test_tables_fit_the_grammars():
    """After a change of a grammar: tools/grammar_tables.py."""
    stored = json.loads((tables._folder() / "tables.json").read_text())
    assert stored["checksum"] == tables.checksum()
    assert stored["grammars"] == {name: tables.make_tables(name) for name in tables.STARTS}


def test_stale_tables_are_not_used(monkeypatch, tmp_path):
    for name in ("module", "instruction", "constant"):
        text = (tables._folder() / f"{name}.lark").read_text()
        (tmp_path / f"{name}.lark").write_text(text.replace('"function_name"', '"function"'))
    (tmp_path / "tables.json").write_text((tables._folder() / "tables.json").read_text())
    monkeypatch.setattr(tables, "_folder", lambda: tmp_path)
    made = tables.load_tables.__wrapped__()
    assert made["module"]["terminals"]["FUNCTION_NAME"] == "function"


class Trees:
    """Callbacks that keep everything: (rule, children)."""

    def __getattr__(self, rule: str):
        return lambda children: (rule, [plain(child) for child in children])


def plain(node: object) -> object:
    if isinstance(node, Tree):
        return (str(node.data), [plain(child) for child in node.children])
    return (node.type, str(node), node.line, node.column) if isinstance(node, str) else node


@pytest.mark.parametrize("text", [EVERYTHING, *(path.read_text() for path in FILES[:5])])
def test_machine_agrees_with_lark(text):
    """Lark's own parser is the reference, for files and for instructions."""

    def check(grammar: str, text: str) -> None:
        assert plain(machines[grammar].parse(text, grammar)) == plain(parsers[grammar].parse(text, start=grammar))

    parsers = {
        name: Lark(tables.grammar_text(name), parser="lalr", start=starts, maybe_placeholders=False)
        for name, starts in tables.STARTS.items()
    }
    machines = {name: Machine(one, Trees()) for name, one in tables.load_tables().items()}
    check("module", text)
    for instruction in instructions(text)[:200]:
        check("instruction", instruction)

"""The Lark parsers, made from the grammar files."""

from __future__ import annotations

from pathlib import Path

from lark import Lark, Transformer

STARTS = {"module": ["module", "body"], "instruction": ["instruction"]}
PACKAGE = Path(__file__).parents[1]


def _grammar_text(name: str) -> str:
    """A grammar with the constants it shares. An installed package holds `grammar`; in the repository it lies beside it."""
    folder = next(folder for folder in (PACKAGE / "grammar", PACKAGE.parent / "grammar") if folder.is_dir())
    return "".join((folder / f"{part}.lark").read_text("utf-8") for part in (name, "constant"))


def load_parser(name: str, builder: Transformer) -> Lark:
    """The parser of `grammar/NAME.lark`: LALR, contextual lexer, `builder` called as rules complete."""
    return Lark(_grammar_text(name), parser="lalr", start=STARTS[name], maybe_placeholders=False, transformer=builder)

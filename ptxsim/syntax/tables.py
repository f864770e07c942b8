"""The grammars as tables: Lark works them out once, `grammar/tables.json` keeps them, machine.py runs them.

Nothing imports Lark while the file fits the grammars. After a change of a grammar it does not, and the tables are
worked out at every start until `tools/grammar_tables.py` has written them anew (a test reminds).
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
# Start symbols of each grammar; a grammar's text is its own file and the constants it shares.
STARTS = {"module": ["module", "body"], "instruction": ["instruction"]}
FORMAT = 1


@cache
def _folder() -> Path:
    """An installed package holds `grammar`; in the repository it lies beside the package."""
    return next(folder for folder in (PACKAGE / "grammar", PACKAGE.parent / "grammar") if folder.is_dir())


def grammar_text(name: str) -> str:
    return "".join((_folder() / f"{part}.lark").read_text("utf-8") for part in (name, "constant"))


def checksum() -> int:
    """Changes with the grammars and with the form of the tables."""
    return zlib.crc32("".join([str(FORMAT), *map(grammar_text, STARTS)]).encode())


@cache
def load_tables() -> dict[str, Any]:
    """Tables of every grammar by name: from the file if it fits, else worked out now."""
    try:
        stored = json.loads((_folder() / "tables.json").read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    if stored.get("checksum") == checksum():
        return stored["grammars"]
    return {name: make_tables(name) for name in STARTS}


def make_tables(name: str) -> dict[str, Any]:
    """Let Lark work out one grammar.

    `terminals`: name to regular expression, in the order in which they are tried; `ignore`: names of those between
    tokens; `states`: for each state, symbol to n >= 0 (go to state n) or -1 - n (reduce rule n); `starts`: start
    symbol to [first, accepting state]; `rules`: [symbol, callback, length, kept], where the callback is "" for
    children that join those of the parent and "?" before a name means that a single child stands for itself, and
    `kept` lists [index, whether its children join].
    """
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(grammar_text(name), parser="lalr", start=STARTS[name], maybe_placeholders=False)
    table = lark.parser.parser._parse_table
    described = {rule: _describe(rule) for rule in lark.rules}
    rules = sorted(described.values())
    states = _number_states(table)

    def order(terminal: Any) -> tuple:
        return (-terminal.priority, -terminal.pattern.max_width, -len(terminal.pattern.value), terminal.name)

    return {
        "terminals": {one.name: one.pattern.to_regexp() for one in sorted(lark.terminals, key=order)},
        "ignore": list(lark.ignore_tokens),
        "states": [
            {
                symbol: states[target] if action is Shift else -1 - rules.index(described[target])
                for symbol, (action, target) in sorted(table.states[state].items(), key=lambda entry: entry[0])
            }
            for state in states
        ],
        "starts": {
            start: [states[table.start_states[start]], states[table.end_states[start]]] for start in STARTS[name]
        },
        "rules": rules,
    }


def _number_states(table: Any) -> dict[int, int]:
    """States in the order in which a walk from the start finds them: Lark's own numbers differ from run to run."""
    from lark.parsers.lalr_analysis import Shift

    found = [table.start_states[start] for start in sorted(table.start_states)]
    for state in found:
        for _, (action, target) in sorted(table.states[state].items(), key=lambda entry: entry[0]):
            if action is Shift and target not in found:
                found.append(target)
    return {state: number for number, state in enumerate(found)}


def _describe(rule: Any) -> list:
    symbol = str(rule.origin.name)
    kept = [
        [index, not part.is_term and part.name.startswith("_")]
        for index, part in enumerate(rule.expansion)
        if not (part.is_term and part.filter_out)
    ]
    callback = rule.alias or symbol
    if not rule.alias and symbol.startswith("_"):
        callback = ""
    elif not rule.alias and rule.options.expand1:
        callback = "?" + callback
    return [symbol, callback, len(rule.expansion), kept]


def write_tables() -> Path:
    path = _folder() / "tables.json"
    content = {"checksum": checksum(), "grammars": {name: make_tables(name) for name in STARTS}}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", "utf-8")
    return path

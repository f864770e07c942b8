"""Runs the tables of a grammar over a text: an LALR automaton that looks only for the terminals its state can take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# Brackets and scopes nested deeper than about this are refused, so that nobody's recursion overflows.
MAXIMUM_DEPTH = 100
_ANY = re.compile(r"[A-Za-z0-9_$%.]+(?:::[A-Za-z0-9_.]+)*|\S", re.ASCII)


class Token(str):
    """A word of the text with the terminal it matched and its 1-based place."""

    __slots__ = ("column", "line", "type")

    def __new__(cls, text: str, type: str, line: int, column: int) -> Token:
        token = str.__new__(cls, text)
        token.type = type
        token.line = line
        token.column = column
        return token

    def end(self) -> tuple[int, int]:
        """Line and column just behind the token."""
        breaks = self.count("\n")
        return self.line + breaks, len(self) - self.rfind("\n") if breaks else self.column + len(self)


class Unexpected(Exception):
    """The text cannot go on like this.

    At `position` (and `line`, `column`) stands `found`, empty at the end of the text, and only `expected` terminals
    could; `previous` is the token before it and `opener` the innermost bracket that is still open. `too_deep` says
    that the text could go on but is nested too deeply.
    """

    def __init__(self, position: int, line: int, column: int, found: str, expected: frozenset[str], values: list):
        super().__init__(f"unexpected {found!r} at {line}:{column}")
        self.position = position
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.previous: Token | None = None
        self.opener: Token | None = None
        self.too_deep = False
        for value in values:
            if isinstance(value, Token) and value in ("(", "[", "{"):
                self.opener = value


Rule = tuple[str, Callable[[list], Any] | None, bool, int, list[tuple[int, bool]]]


class Machine:
    """One grammar with its callbacks: `builder` has a method for every rule that makes something."""

    def __init__(self, tables: dict[str, Any], builder: object):
        self.states: list[dict[str, int]] = tables["states"]
        self.starts: dict[str, list[int]] = tables["starts"]
        self.rules = [self._rule(builder, *rule) for rule in tables["rules"]]
        self.terminals: dict[str, str] = tables["terminals"]
        self.skip = re.compile("(?:" + "|".join(self.terminals[name] for name in tables["ignore"]) + ")*+")
        self.lexers: dict[int, re.Pattern[str]] = {}
        self.shared: dict[tuple[str, ...], re.Pattern[str]] = {}

    @staticmethod
    def _rule(builder: object, symbol: str, callback: str, length: int, kept: list) -> Rule:
        function = getattr(builder, callback) if callback and callback[0] != "?" else None
        return symbol, function, callback[:1] == "?", length, kept

    def _lexer(self, state: int) -> re.Pattern[str]:
        """The terminals that `state` can take, as one expression; states that take the same ones share it."""
        accepted = self.states[state]
        names = tuple([name for name in self.terminals if name in accepted])
        if names not in self.shared:
            self.shared[names] = re.compile(
                "|".join(f"(?P<{name}>{self.terminals[name]})" for name in names) or r"(?!)"
            )
        self.lexers[state] = self.shared[names]
        return self.shared[names]

    def parse(self, text: str, start: str, line: int = 1, column: int = 1) -> Any:
        """What the callbacks make of `text`, whose first character stands at `line`, `column`. Raises Unexpected."""
        first, accepting = self.starts[start]
        states, lexers, skip = self.states, self.lexers, self.skip.match
        stack, values = [first], []
        position, seen, line_start = 0, 0, 1 - column
        previous = None
        state = first
        while True:
            position = skip(text, position).end()
            line_breaks = text.count("\n", seen, position)
            if line_breaks:
                line += line_breaks
                line_start = text.rfind("\n", 0, position) + 1
            seen = position
            match = (lexers.get(state) or self._lexer(state)).match(text, position)
            if match is not None and match.end() > position:
                kind = match.lastgroup
                token = Token(match[0], kind, line, position - line_start + 1)
            elif position == len(text) and "$END" in states[state]:
                kind, token = "$END", ""
            else:
                raise self._unexpected(text, position, line, position - line_start + 1, stack, values, previous)
            while True:
                action = states[state].get(kind)
                if action is None:
                    raise self._unexpected(text, position, line, position - line_start + 1, stack, values, previous)
                if action >= 0:
                    break
                state = self._reduce(self.rules[-1 - action], stack, values)
                if kind == "$END" and state == accepting:
                    return values[-1]
            if len(stack) > MAXIMUM_DEPTH:
                raise self._unexpected(text, position, line, position - line_start + 1, stack, values, previous)
            stack.append(action)
            values.append(token)
            state = action
            previous = token
            position = match.end()

    def _reduce(self, rule: Rule, stack: list[int], values: list) -> int:
        symbol, function, single, length, kept = rule
        if length:
            parts = values[-length:]
            del values[-length:], stack[-length:]
        else:
            parts = ()
        children: list = []
        for index, joins in kept:
            if joins:
                # The list of a left-recursive helper grows in place: it belongs to nobody else.
                if children:
                    children.extend(parts[index])
                else:
                    children = parts[index]
            else:
                children.append(parts[index])
        if single and len(children) == 1:
            value = children[0]
        else:
            value = function(children) if function is not None else children
        state = self.states[stack[-1]][symbol]
        stack.append(state)
        values.append(value)
        return state

    def _unexpected(
        self, text: str, position: int, line: int, column: int, stack: list[int], values: list, previous: Token | None
    ) -> Unexpected:
        match = _ANY.match(text, position)
        expected = frozenset(name for name in self.states[stack[-1]] if self._leads_on(name, stack))
        problem = Unexpected(position, line, column, match[0] if match else "", expected, values)
        problem.previous = previous
        problem.too_deep = len(stack) > MAXIMUM_DEPTH
        return problem

    def _leads_on(self, terminal: str, stack: list[int]) -> bool:
        """Whether `terminal` could really come next: a state may know it from another context."""
        if terminal not in self.terminals and terminal != "$END":
            return False
        stack = list(stack)
        while True:
            action = self.states[stack[-1]].get(terminal)
            if action is None:
                return False
            if action >= 0:
                return True
            symbol, _, _, length, _ = self.rules[-1 - action]
            if length:
                del stack[-length:]
            following = self.states[stack[-1]].get(symbol)
            if following is None:
                return False
            stack.append(following)
            if terminal == "$END" and following in [accepting for _, accepting in self.starts.values()]:
                return True

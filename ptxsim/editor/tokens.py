"""Names of a PTX text and what they mean, found by its tokens alone: a text that is being typed parses only now and then."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import NamedTuple

from ptxsim.editor.symbols import Occurrence, Scope, Statement, Symbol

_TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "[^"\n]*"?    # comments and strings
    | (?P<name>[A-Za-z_$%][\w$]*) | (?P<dotted>\.[\w:]+) | (?P<number>\d[\w.]*) | (?P<mark>[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
# An instruction that stands on one line, and the names in its operands.
_LINE = re.compile(
    r"\s*(?:@!?([%$\w]+)[ \t]+)?([a-z]\w*(?:\.[\w:]+)*)[ \t][^;:{}\"/\n]*(?:\{[^;:{}\"/\n]*\}[^;:{}\"/\n]*)*;"
)
_PASSED = re.compile(r"\s*(?:\.(?:version|target|address_size|file|loc)\b|//)[^\n]*")  # lines that name nothing
_OPERAND = re.compile(r"(?<![\w.$%])[A-Za-z_$%][\w$]*")
NAME = re.compile(r"[A-Za-z][\w$]*|[_$%][\w$]+")
SPACES = frozenset(["reg", "global", "shared", "const", "local", "param", "tex", "sreg"])
LINKAGE = frozenset(["extern", "visible", "weak", "common"])
TO_END_OF_LINE = frozenset(["version", "target", "address_size", "file", "loc"])  # directives without a semicolon
TABLES = frozenset(["branchtargets", "calltargets"])


class Tokens:
    """The symbols and instructions of a text, in its order; the names in an instruction of one line are read when asked for."""

    def __init__(self, text: str):
        self.text = text
        self.module = Scope()
        self.scopes = [self.module]
        self.statements: list[Statement] = []
        self.functions: list[Symbol] = []
        self.lines: list[tuple[re.Match[str], Scope]] = []  # instructions that stand on one line
        self.others: list[Occurrence] = []  # names outside these
        _Reader(self).read()
        self._statement_starts = [one.start for one in self.statements]
        self._line_starts = [line.start() for line, _ in self.lines]
        self._other_starts = [one.start for one in self.others]
        for one in self.others:
            one.symbol = one.symbol or one.scope.find(one.name)

    def _line_at(self, offset: int) -> int | None:
        """The number of the instruction on one line that an offset lies in."""
        number = bisect.bisect_right(self._line_starts, offset) - 1
        return number if number >= 0 and offset <= self.lines[number][0].end() else None

    def _names(self, number: int) -> Iterator[Occurrence]:
        """The names in an instruction that stands on one line."""
        line, scope = self.lines[number]
        if line[1]:
            yield Occurrence(line[1], line.start(1), scope, scope.find(line[1]))
        for name in _OPERAND.finditer(self.text, line.end(2), line.end()):
            yield Occurrence(name[0], name.start(), scope, scope.find(name[0]))

    def between(self, start: int, end: int) -> list[Occurrence]:
        """The names that begin in a piece of the text within one instruction."""
        found = self.others[bisect.bisect_left(self._other_starts, start) : bisect.bisect_left(self._other_starts, end)]
        number = self._line_at(start)
        return found + [one for one in self._names(number) if start <= one.start < end] if number is not None else found

    def at(self, offset: int) -> Occurrence | None:
        """The name that covers or ends at an offset."""
        number = self._line_at(offset)
        found = list(self._names(number)) if number is not None else []
        before = bisect.bisect_right(self._other_starts, offset)
        found += self.others[max(before - 2, 0) : before]
        fitting = (one for one in found if one.start <= offset <= one.end)
        return min(fitting, key=lambda one: one.start, default=None)

    def statement_at(self, offset: int) -> Statement | None:
        """The instruction that an offset lies in."""
        before = bisect.bisect_right(self._statement_starts, offset)
        return next((one for one in self.statements[max(before - 2, 0) : before] if offset <= one.end), None)

    def scope_at(self, offset: int) -> Scope:
        """The innermost braces around an offset."""
        around = (scope for scope in self.scopes if scope.start <= offset <= scope.end)
        return max(around, key=lambda scope: scope.start, default=self.module)

    def of(self, symbol: Symbol, member: str | None = None) -> list[Occurrence]:
        """Where a symbol is named, its declaration included; `member`: of a family, this register alone."""
        digits = "" if symbol.count is None else "[0-9]+" if member is None else f"0*{int(member[len(symbol.name) :])}"
        spelt = re.compile(re.escape(symbol.name) + digits)
        lines = {self._line_at(match.start()): None for match in spelt.finditer(self.text)}
        found = [*self.others, *(one for number in lines if number is not None for one in self._names(number))]
        own = (one for one in found if one.symbol is symbol and (member is None or spelt.fullmatch(one.name)))
        return sorted(own, key=lambda one: one.start)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Reader:
    """One pass over the text; a function of each kind of statement reads to the end of that statement."""

    def __init__(self, found: Tokens):
        self.found, self.text = found, found.text
        self.scope = found.module
        self.ahead: list[_Token] = []  # tokens that have been looked at and not passed
        self.place = 0  # in the text, after these
        self.end = 0  # of the last token that was passed

    def peek(self, ahead: int = 0) -> _Token | None:
        """A token that comes, without passing it."""
        while len(self.ahead) <= ahead:
            found = _TOKEN.search(self.text, self.place)
            if found is None:
                return None
            self.place = found.end()
            if found.lastgroup:
                self.ahead.append(_Token(found.lastgroup, found[0], found.start(), found.end()))
        return self.ahead[ahead]

    def step(self) -> None:
        """Pass a token that has been looked at."""
        self.end = self.ahead.pop(0).end

    def read(self) -> None:
        while True:
            if not self.ahead and (line := _LINE.match(self.text, self.place)) is not None:
                self._line(line)
                continue
            if not self.ahead and (line := _PASSED.match(self.text, self.place)) is not None:
                self.place = line.end()
                continue
            token = self.peek()
            if token is None:
                return
            if token.text == "{":
                self._open(Scope(self.scope, token.start))
            elif token.text == "}":
                self._close(token)
            elif token.kind == "dotted":
                self._directive(token)
            elif token.text == "@":
                self._guard()
            elif token.kind == "name" and (after := self.peek(1)) is not None and after.text == ":":
                self.step()
                self.step()
                self._declare(token, "label", f"{token.text}:", after.end)
            elif token.kind == "name":
                self._instruction(token)
            else:
                self.step()

    def _line(self, line: re.Match[str]) -> None:
        """An instruction on a line of its own, which most lines are: read without its tokens."""
        self.place = self.end = line.end()
        self.found.lines.append((line, self.scope))
        self.found.statements.append(Statement(line[2], line.start(2), line.end(), self.scope))

    # ---- scopes and names ----

    def _open(self, scope: Scope) -> None:
        self.found.scopes.append(scope)
        self.scope = scope
        self.step()

    def _close(self, token: _Token) -> None:
        if self.scope.parent is not None:
            self.scope.end = token.end
            self.scope = self.scope.parent
        self.step()

    def _declare(
        self, token: _Token, kind: str, text: str, end: int, scope: Scope | None = None, type: str = "",
        count: int | None = None,
    ) -> Symbol:  # fmt: skip
        scope = scope or self.scope
        symbol = Symbol(token.text, kind, token.start, text, type, count, scope, end)
        known = scope.symbols.setdefault(token.text, symbol)  # of two, the first is meant
        self.found.others.append(Occurrence(token.text, token.start, scope, known))
        return known

    def _use(self, token: _Token) -> None:
        self.found.others.append(Occurrence(token.text, token.start, self.scope))

    # ---- statements ----

    def _guard(self) -> None:
        self.step()
        while (token := self.peek()) is not None and token.text == "!":
            self.step()
        if token is not None and token.kind == "name":
            self._use(token)
            self.step()

    def _directive(self, first: _Token) -> None:
        word = first.text[1:]
        if word in TO_END_OF_LINE:
            end = self.text.find("\n", first.start)
            while (token := self.peek()) is not None and (end < 0 or token.start < end):
                self.step()
        elif word in TABLES:
            self.step()
            for token in self._rest():
                if token.kind == "name":
                    self._use(token)
        elif word == "section":
            self._skip_braces()
        elif word in ("entry", "func"):
            self._function(first)
        elif word in SPACES or word in LINKAGE:
            ahead = 0
            while (token := self.peek(ahead)) is not None and token.text[1:] in LINKAGE:
                ahead += 1
            if token is not None and token.text in (".entry", ".func"):
                self._function(first)
            else:
                self._variables(first)
        else:
            self.step()
            for _ in self._rest():
                pass

    def _rest(self) -> Iterator[_Token]:
        """The tokens up to the end of the statement, which is passed; what opens or closes a scope ends it too."""
        depth = 0
        while (token := self.peek()) is not None:
            if token.text == ";":
                self.step()
                return
            if token.text == "{":
                depth += 1
            elif token.text == "}":
                depth -= 1
                if depth < 0:
                    return
            self.step()
            yield token

    def _skip_braces(self) -> None:
        depth = 0
        while (token := self.peek()) is not None:
            self.step()
            depth += (token.text == "{") - (token.text == "}")
            if token.text == "}" and depth <= 0:
                return

    def _words(self, start: int, end: int) -> str:
        """A piece of the text in one line."""
        return " ".join(self.text[start:end].split())

    def _function(self, first: _Token) -> None:
        """`.entry name (parameters)` up to its body, whose scope holds the parameters."""
        inner = Scope(self.scope, first.start)
        depth, name, begin, type = 0, None, first.start, ""
        while (token := self.peek()) is not None and token.text not in ("{", ";", "}"):
            self.step()
            if token.text in ("(", ")", ","):
                depth += (token.text == "(") - (token.text == ")")
                begin, type = token.end, ""
            elif token.kind == "dotted":
                type = token.text[1:] if token.text[-1].isdigit() and depth else type
            elif token.kind == "name" and depth:
                self._declare(token, "parameter", self._words(begin, token.end), token.end, inner, type)
            elif token.kind == "name" and name is None:
                name = token
                self.found.functions.append(
                    self._declare(token, "function", self._words(first.start, token.end), token.end)
                )
        if token is not None and token.text == "{":
            self._open(inner)
        elif token is not None and token.text == ";":
            self.step()
            inner.end = token.end

    def _variables(self, first: _Token) -> None:
        """`.reg .b32 a, b<4>;` and the like: names, then initial values after `=`."""
        statement = list(self._rest())
        end = self.end
        space, type, head = "", "", ""
        depth, value, named = 0, False, False
        for index, token in enumerate(statement):
            depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "mark" else 0
            if token.text == "=":
                value = True
            elif token.text == "," and depth == 0:
                value, named = False, False
            elif token.kind == "dotted" and not value:
                space = token.text[1:] if token.text[1:] in SPACES else space
                type = token.text[1:] if token.text[1:] not in SPACES | LINKAGE else type
            elif token.kind == "name" and value:
                self._use(token)
            elif token.kind == "name" and depth == 0 and not named:
                named = True
                head = head or self._words(first.start, token.start)
                count, more = None, ""
                if index + 2 < len(statement) and statement[index + 1].text == "<":
                    number = statement[index + 2].text
                    count = int(number) if number.isdigit() else 0
                    more = f"<{count}>"
                elif size := re.match(r"(?:\s*\[[^\]]*\])+", self.text[token.end : end]):
                    more = size[0]
                kind = "register" if space == "reg" else "variable"
                self._declare(token, kind, f"{head} {token.text}{more}", end, type=type, count=count)

    def _instruction(self, first: _Token) -> None:
        end = first.end
        self.step()
        while (token := self.peek()) is not None and token.kind == "dotted" and token.start == end:
            end = token.end
            self.step()
        statement = Statement(self.text[first.start : end], first.start, end, self.scope)
        self.found.statements.append(statement)
        if "." not in statement.opcode and self.text[end : end + 1] == ".":  # `add.` is being typed
            statement.opcode += "."
        depth, last = 0, first
        while (token := self.peek()) is not None and token.text != ";":
            depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "mark" else 0
            if depth < 0 or (depth == 0 and last is not first and last.text != "," and self._begins(last, token)):
                break  # a semicolon is missing
            if token.kind == "name":
                self._use(token)
            last = token
            self.step()
        if token is not None and token.text == ";":
            self.step()
            statement.end = token.end
        else:
            statement.end = max(end, last.end)

    def _begins(self, last: _Token, token: _Token) -> bool:
        """Whether a token after `last` begins a line and a statement."""
        return token.kind in ("name", "dotted") and "\n" in self.text[last.end : token.start]

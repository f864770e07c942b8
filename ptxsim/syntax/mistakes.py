"""Explains syntax errors: what was found, what was expected, how to correct it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from ptxsim.diagnostic import Finding, Label
from ptxsim.edits import Edit, Fix, instead
from ptxsim.spelling import nearest
from ptxsim.syntax.build_instruction import Mistake
from ptxsim.syntax.lark_parser import Lark, Lark_StandAlone, TextSlice, Token, UnexpectedInput, UnexpectedToken

# Terminals in plain words; fixed texts are shown as they are.
WORDS = {
    "NAME": "a name", "REGISTER": "a register or a name", "OPCODE": "an opcode", "CALL": "`call`", "INTEGER": "a number",
    "FLOAT": "a number", "BITS": "a number", "WARP_SZ": "a number", "CAST": "a number", "STRING": 'a "string"',
    "INSTRUCTION": "an instruction", "LABEL": "a label", "SPACE": "a state space such as .reg", "TYPE": "a type such as .b32",
    "VECTOR": "`.v2`, `.v4`", "VERSION_NUMBER": "a number such as 8.0", "WORD": "an attribute such as .managed",
    "LINKAGE": "`.visible` or `.extern`", "TABLE": "`.branchtargets`", "HEADER": "a directive such as .maxntid",
    "SECTION": "`.section name { ... }`", "LOCATION": "`.loc`", "$END": "the end of the text", "RELATION": "an operator",
    "EQUALITY": "an operator", "FACTOR": "an operator", "SHIFT": "an operator", "OR_OR": "an operator",
    "AND_AND": "an operator", "BAR": "an operator", "CARET": "an operator", "AMPERSAND": "an operator",
    "PLUS": "an operator", "MINUS": "an operator", "LESS": "an operator", "GREATER": "an operator",
    "QMARK": "an operator", "TILDE": "a number", "BANG": "`!`",
}  # fmt: skip
CLOSERS = {"RBRACE": "}", "RSQB": "]", "RPAR": ")"}
_WORD = re.compile(r"[A-Za-z0-9_$%.]+(?:::[A-Za-z0-9_.]+)*|\S", re.ASCII)
_OPCODE = re.compile(r"[a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)+\Z|(?:ret|exit|trap|brkpt)\Z")


@cache
def _lark() -> Lark:
    """The parser without callbacks."""
    return Lark_StandAlone()


@dataclass(frozen=True, slots=True)
class Unexpected:
    """Where the grammar rejects a text.

    At `position` of `text` (`line`, `column`) stands `found`, empty at the end, and only `expected` terminals could;
    `previous` is the token before it and `opener` the innermost bracket that is still open.
    """

    text: str
    position: int
    line: int
    column: int
    found: str
    expected: frozenset[str]
    previous: Token | None
    opener: Token | None
    in_instruction: bool


def locate(problem: UnexpectedInput, text: TextSlice, start: str) -> Unexpected:
    """The details of an error Lark raised on `text`: the tokens are read again, without callbacks."""
    parser = _lark().parse_interactive(text, start)
    tokens: list[Token] = []
    with suppress(UnexpectedInput):
        for token in parser.iter_parse():
            tokens.append(token)
        parser.feed_eof(tokens[-1] if tokens else None)
    at_end = isinstance(problem, UnexpectedToken) and problem.token.type == "$END"
    position = text.end if at_end else problem.pos_in_stream
    if tokens and tokens[-1].start_pos == position:
        tokens.pop()
    openers: list[Token] = []
    for token in tokens:
        if token in ("(", "[", "{"):
            openers.append(token)
        elif token in (")", "]", "}"):
            openers.pop()
    found = _WORD.match(text.text, position)
    return Unexpected(
        text.text, position, line=text.text.count("\n", 0, position) + 1,
        column=position - text.text.rfind("\n", 0, position), found=found[0] if found else "",
        expected=frozenset(parser.accepts()), previous=tokens[-1] if tokens else None,
        opener=openers[-1] if openers else None, in_instruction=start == "instruction",
    )  # fmt: skip


def explain(problem: Unexpected | Mistake) -> Finding:
    if isinstance(problem, Mistake):
        place = problem.place
        length = len(place) if isinstance(place, Token) else 1
        fixes = (instead(str(place), problem.meant),) if problem.meant else ()
        return Finding(
            "syntax-error", problem.message, place.line, place.column, length, help=problem.help, fixes=fixes
        )
    if "INSTRUCTION" in problem.expected and re.match(r"[@A-Za-z_]", problem.found):
        # No instruction as a whole: parsed by the rules of one, the error gets its exact place.
        rest = TextSlice(problem.text, problem.position, len(problem.text))
        try:
            _lark().parse(rest, "instruction")
        except UnexpectedInput as inner:
            problem = locate(inner, rest, "instruction")
    previous, opener = problem.previous, problem.opener
    if previous is not None and "SEMICOLON" in problem.expected and _starts_anew(problem, previous):
        message, rule = f"missing `;` after `{_short(previous)}`", "every instruction and declaration ends with `;`"
        place = previous.end_line or 1, previous.end_column or 1
        fix = Fix("Add `;`", (Edit(";", "here", *place, 0),))
        return Finding("syntax-error", message, *place, help=rule, fixes=(fix,))
    message, help = _describe(problem)
    close = _meant(problem.found) if message.startswith("unknown directive") else None
    finding = Finding(
        "syntax-error", message, problem.line, problem.column, max(1, len(problem.found)), help=help,
        fixes=(instead(problem.found, close),) if close else (),
    )  # fmt: skip
    if opener is not None and message.startswith("missing"):
        return replace(finding, labels=(Label(opener.line, f"this `{opener}` is never closed", opener.column),))
    return finding


def _starts_anew(problem: Unexpected, previous: Token) -> bool:
    """Whether what was found looks like the next statement, so that the `;` of the last one is missing."""
    found = problem.found
    if found in ("", "}") or re.match(r"@|\.[a-z]", found) or _OPCODE.match(found):
        return True
    return problem.line > previous.line and re.match(r"[A-Za-z_$%][\w$%]*", found) is not None


def _describe(problem: Unexpected) -> tuple[str, str | None]:
    """Message and help."""
    found, expected, previous = problem.found, problem.expected, problem.previous
    line = problem.text[problem.position : problem.position + 200].partition("\n")[0]
    at_statement = "INSTRUCTION" in expected or "ENTRY" in expected
    if line.startswith("/*"):
        return "this comment never ends", "close it with `*/`"
    if found == '"':
        if line.count('"') > 1:
            return f"a string cannot stand here: expected {_alternatives(expected)}", None
        return "this string never ends", 'close it with `"` on the same line'
    for name, example in (("VERSION", ".version 8.0"), ("TARGET", ".target sm_90a")):
        if name in expected:
            return f"the file has no .{name.lower()} where it must stand", f"start the file with `{example}`"
    closers = [sign for name, sign in CLOSERS.items() if name in expected and not (found == ";" and at_statement)]
    if closers and found in ("", ";"):
        return f"missing `{closers[0]}`" + (" at the end of the text" if not found else ""), f"add `{closers[0]}`"
    if not found:
        return f"the text ends too early: expected {_alternatives(expected)}", None
    if found[0] in "0123456789":
        help = "write it with a dot: 8.0" if "VERSION_NUMBER" in expected else _number_help(found)
        return f"`{found}` is no number that fits here", help
    if re.match(r"\.[A-Za-z_]", found):
        return _describe_directive(problem)
    if not (found.isascii() and found.isprintable()):
        shown = f" `{found}`" if found.isprintable() else ""
        return f"stray character{shown} U+{ord(found[0]):04X}", "PTX is plain ASCII outside comments"
    if found == "}" and at_statement:
        return "this `}` closes nothing", "take it out, or look for a `{` that is missing above"
    if found == ";" and at_statement:
        return "a `;` with nothing before it", "take it out"
    if "ENTRY" in expected and "INSTRUCTION" not in expected and re.match(r"[@%A-Za-z_$]", found):
        help = "instructions belong in the `{ }` of an .entry or .func"
        return f"`{found}` stands outside every function", help
    after = f" after `{_short(previous)}`" if previous is not None else ""
    message = f"expected {_alternatives(expected)}{after}, found `{found}`"
    if "COMMA" in expected and re.match(r"[%A-Za-z_$0-9\[{]", found):
        return message, "a `,` stands between two of them"
    if problem.opener is not None and problem.in_instruction:
        return message, f"the `{problem.opener}` at column {problem.opener.column} is still open"
    return message, None


@cache
def _directives() -> list[str]:
    """Every directive that the terminals of the module's grammar spell out."""
    ignored = ("TYPE", "VECTOR", "WORD", "CAST", "FLOAT")
    spelled = [terminal.pattern.value for terminal in _lark().terminals if terminal.name not in ignored]
    groups = re.findall(r"(?:^|\\)\.(?:\(\?:)?([a-z_|]+)", "\n".join(spelled), re.MULTILINE)
    return sorted({f".{word}" for group in groups for word in group.split("|") if word})


def _meant(found: str) -> str | None:
    """The directive that is spelled most like a word."""
    return nearest(found, _directives())


def _describe_directive(problem: Unexpected) -> tuple[str, str | None]:
    found, directives = problem.found, _directives()
    if found in directives or re.match(r"\.v[248]\Z", found):
        return f"`{found}` cannot stand here: expected {_alternatives(problem.expected)}", None
    if "TYPE" in problem.expected:
        return f"`{found}` is no type", "types are .b8 .b16 .b32 .b64 .u32 .s32 .f16 .f32 .f64 .pred ..."
    close = _meant(found)
    return f"unknown directive `{found}`", f"did you mean `{close}`?" if close else None


def _number_help(found: str) -> str:
    prefix = found[:2].lower()
    if prefix in ("0f", "0d"):
        digits = 8 if prefix == "0f" else 16
        return f"{found[:2]} needs exactly {digits} hex digits, here are {len(found) - 2}"
    if prefix == "0x":
        return "hex digits are 0-9 and a-f; a U may follow"
    return "numbers are written 12, 0x1F, 0b11, 017, 1.5, 1e-3, 0f3F800000 (f32 bits) or 0d3FF0000000000000 (f64 bits)"


def _alternatives(expected: frozenset[str]) -> str:
    """`a, b or c` in plain words; operators only if nothing else is left."""
    # An index or an operator could nearly always follow: they say nothing where a comma could.
    telling = expected - {"LSQB", "BRACKET"} if "COMMA" in expected else expected
    words = {WORDS.get(name) or f"`{_lark().get_terminal(name).pattern.value}`" for name in telling}
    if len(words) > 1:
        words.discard("an operator")
    ordered = sorted(words, key=lambda word: (word[0] != "`", word))
    if len(ordered) > 6:
        ordered = [*ordered[:5], "..."]
    return ", ".join(ordered[:-1]) + f" or {ordered[-1]}" if len(ordered) > 1 else "".join(ordered)


def _short(token: str) -> str:
    """The token in one short line, its end kept: that is where something is missing."""
    text = " ".join(token.split())
    return text if len(text) <= 40 else f"...{text[-37:]}"

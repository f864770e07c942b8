"""What to say about a text that is not PTX: what was found, what could stand there, how to mend it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache

from ptxsim.diagnostic import Finding, Label
from ptxsim.syntax.build_instruction import Mistake
from ptxsim.syntax.machine import Machine, Token, Unexpected
from ptxsim.syntax.tables import load_tables

# Terminals in plain words; those that are fixed texts speak for themselves.
WORDS = {
    "NAME": "a name", "REGISTER": "a register or a name", "OPCODE": "an opcode", "CALL": "`call`", "INTEGER": "a number",
    "FLOAT": "a number", "BITS": "a number", "WARP_SZ": "a number", "CAST": "a number", "STRING": 'a "string"',
    "INSTRUCTION": "an instruction", "LABEL": "a label", "SPACE": "a state space such as .reg", "TYPE": "a type such as .b32",
    "VECTOR": "`.v2`, `.v4`", "VERSION_NUMBER": "a number such as 8.0", "WORD": "an attribute such as .managed",
    "LINKAGE": "`.visible` or `.extern`", "TABLE": "`.branchtargets`", "HEADER": "a directive such as .maxntid",
    "SECTION": "`.section name { ... }`", "$END": "the end of the text", "RELATION": "an operator",
    "EQUALITY": "an operator", "FACTOR": "an operator", "SHIFT": "an operator", "OR_OR": "an operator",
    "AND_AND": "an operator", "BAR": "an operator", "CARET": "an operator", "AMPERSAND": "an operator",
    "PLUS": "an operator", "MINUS": "an operator", "LESS": "an operator", "GREATER": "an operator",
    "QMARK": "an operator", "TILDE": "a number", "BANG": "`!`",
}  # fmt: skip
CLOSERS = {"RBRACE": "}", "RSQB": "]", "RPAR": ")"}
_OPCODE = re.compile(r"[a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)+\Z|(?:ret|exit|trap|brkpt)\Z")


def explain(
    problem: Unexpected | Mistake, text: str, machine: Machine, instructions: Machine, line: int = 1, column: int = 1
) -> Finding:
    """The finding for a problem in `text`, whose first character stands at `line`, `column`."""
    if isinstance(problem, Mistake):
        place = problem.place
        length = len(place) if isinstance(place, Token) else 1
        return Finding("syntax-error", problem.message, place.line, place.column, length, help=problem.help)
    if "INSTRUCTION" in problem.expected and re.match(r"[@A-Za-z_]", problem.found):
        # The whole does not fit an instruction; the grammar of instructions knows where it goes wrong.
        try:
            instructions.parse(text[problem.position :], "instruction", problem.line, problem.column)
        except Unexpected as inner:
            inner.position += problem.position
            problem, machine = inner, instructions
        except Mistake as mistake:
            return explain(mistake, text, machine, instructions)
    message, help, place = _describe(problem, text, machine)
    labels = ()
    if place is problem and problem.opener is not None and message.startswith("missing"):
        opener = problem.opener
        labels = (Label(opener.line, f"this `{opener}` is never closed", opener.column),)
    length = max(1, len(problem.found)) if place is problem else 1
    where = (place.line, place.column) if place is problem else place.end()
    return Finding("syntax-error", message, *where, length, help=help, labels=labels)


def _describe(problem: Unexpected, text: str, machine: Machine) -> tuple[str, str | None, Unexpected | Token]:
    """Message, help, and the place: the problem itself or the token behind which something is missing."""
    found, expected, previous = problem.found, problem.expected, problem.previous
    line = text[problem.position : problem.position + 200].partition("\n")[0]
    at_statement = "INSTRUCTION" in expected or "ENTRY" in expected
    if problem.too_deep:
        return "the text is nested too deeply", "use fewer `{` or `(` inside each other", problem
    if line.startswith("/*"):
        return "this comment never ends", "close it with `*/`", problem
    if found == '"':
        if line.count('"') > 1:
            return f"a string cannot stand here: expected {_alternatives(expected, machine)}", None, problem
        return "this string never ends", 'close it with `"` on the same line', problem
    for name, example in (("VERSION", ".version 8.0"), ("TARGET", ".target sm_90a")):
        if name in expected:
            return f"the file has no .{name.lower()} where it must stand", f"start the file with `{example}`", problem
    closers = [sign for name, sign in CLOSERS.items() if name in expected and not (found == ";" and at_statement)]
    if previous is not None and "SEMICOLON" in expected and _starts_anew(problem, text):
        return f"missing `;` after `{_short(previous)}`", "every instruction and declaration ends with `;`", previous
    if closers and found in ("", ";"):
        return (
            f"missing `{closers[0]}`" + (" at the end of the text" if not found else ""),
            f"add `{closers[0]}`",
            problem,
        )
    if not found:
        return f"the text ends too early: expected {_alternatives(expected, machine)}", None, problem
    if found[0] in "0123456789":
        help = "write it with a dot: 8.0" if "VERSION_NUMBER" in expected else _number_help(found)
        return f"`{found}` is no number that fits here", help, problem
    if re.match(r"\.[A-Za-z_]", found):
        return _describe_directive(problem, machine)
    if not (found.isascii() and found.isprintable()):
        shown = f" `{found}`" if found.isprintable() else ""
        return f"stray character{shown} U+{ord(found[0]):04X}", "PTX is plain ASCII outside comments", problem
    if found == "}" and at_statement:
        return "this `}` closes nothing", "take it out, or look for a `{` that is missing above", problem
    if found == ";" and at_statement:
        return "a `;` with nothing before it", "take it out", problem
    if "ENTRY" in expected and "INSTRUCTION" not in expected and re.match(r"[@%A-Za-z_$]", found):
        help = "instructions belong in the `{ }` of an .entry or .func"
        return f"`{found}` stands outside every function", help, problem
    after = f" after `{_short(previous)}`" if previous is not None else ""
    help = "a `,` stands between two of them" if "COMMA" in expected and re.match(r"[%A-Za-z_$0-9\[{]", found) else None
    if help is None and problem.opener is not None and "INSTRUCTION" not in machine.terminals:
        help = f"the `{problem.opener}` at column {problem.opener.column} is still open"
    return f"expected {_alternatives(expected, machine)}{after}, found `{found}`", help, problem


def _starts_anew(problem: Unexpected, text: str) -> bool:
    """Whether what was found looks like the next statement, so that the `;` of the last one is missing."""
    found, previous = problem.found, problem.previous
    if found in ("", "}") or re.match(r"@|\.[a-z]", found) or _OPCODE.match(found):
        return True
    return problem.line > previous.line and re.match(r"[A-Za-z_$%][\w$%]*", found) is not None


@cache
def _directives() -> list[str]:
    """Every directive that the terminals of the module's grammar spell out."""
    terminals = load_tables()["module"]["terminals"]
    spelled = [terminals[name] for name in terminals if name not in ("TYPE", "VECTOR", "WORD", "CAST", "FLOAT")]
    groups = re.findall(r"\\\.(?:\(\?:)?([a-z_|]+)", "\n".join(spelled))
    return sorted({f".{word}" for group in groups for word in group.split("|") if word})


def _describe_directive(problem: Unexpected, machine: Machine) -> tuple[str, str | None, Unexpected]:
    found, directives = problem.found, _directives()
    if found in directives or re.match(r"\.v[248]\Z", found):
        return f"`{found}` cannot stand here: expected {_alternatives(problem.expected, machine)}", None, problem
    if "TYPE" in problem.expected:
        return f"`{found}` is no type", "types are .b8 .b16 .b32 .b64 .u32 .s32 .f16 .f32 .f64 .pred ...", problem
    close = get_close_matches(found, directives, n=1)
    return f"unknown directive `{found}`", f"did you mean `{close[0]}`?" if close else None, problem


def _number_help(found: str) -> str:
    prefix = found[:2].lower()
    if prefix in ("0f", "0d"):
        digits = 8 if prefix == "0f" else 16
        return f"{found[:2]} needs exactly {digits} hex digits, here are {len(found) - 2}"
    if prefix == "0x":
        return "hex digits are 0-9 and a-f; a U may follow"
    return "numbers are written 12, 0x1F, 0b11, 017, 1.5, 1e-3, 0f3F800000 (f32 bits) or 0d3FF0000000000000 (f64 bits)"


def _alternatives(expected: frozenset[str], machine: Machine) -> str:
    """`a, b or c` in plain words; operators only if nothing else is left."""
    # An index or an operator could nearly always follow: they say nothing where a comma could.
    telling = expected - {"LSQB", "BRACKET"} if "COMMA" in expected else expected
    words = {WORDS.get(name) or f"`{_literal(machine.terminals[name])}`" for name in telling}
    if len(words) > 1:
        words.discard("an operator")
    ordered = sorted(words, key=lambda word: (word[0] != "`", word))
    if len(ordered) > 6:
        ordered = [*ordered[:5], "..."]
    return ", ".join(ordered[:-1]) + f" or {ordered[-1]}" if len(ordered) > 1 else "".join(ordered)


def _literal(pattern: str) -> str:
    return re.sub(r"\\(.)", r"\1", pattern)


def _short(token: str) -> str:
    """The token in one short line, its end kept: that is where something is missing."""
    text = " ".join(token.split())
    return text if len(text) <= 40 else f"...{text[-37:]}"

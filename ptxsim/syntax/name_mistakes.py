"""Names declared twice, and what may have been meant by names that nothing declares. PTX ISA, "Identifiers"."""

from __future__ import annotations

import re

from ptxsim.diagnostic import Finding, Label
from ptxsim.edits import Edit, Fix, instead
from ptxsim.spelling import nearest
from ptxsim.syntax import ast
from ptxsim.syntax.ast import Node, Variable
from ptxsim.syntax.registers import DIGITS, Registers
from ptxsim.syntax.special_names import SUGGESTED

MOST_KNOWN = 6  # names that a help lists
_FAMILY_MEMBER = re.compile(r"(.*?)(0|[1-9][0-9]*)\Z", re.DOTALL)


def declared_twice(name: str, second: Node, first: Node, where: str) -> Finding:
    """The finding at a second declaration of a name; `where` says in what it is the second."""
    return Finding(
        "syntax-error", f"`{name}` is declared twice {where}", second.line, second.column, len(name),
        help="leave one of the two out, or rename one",
        labels=(Label(first.line, "first declared here", first.column, len(name)),),
    )  # fmt: skip


def find_redefinitions(module: ast.Module) -> list[Finding]:
    """Names that a module defines twice. Declarations without a body and .extern ones may be repeated."""
    findings = []
    defined: dict[str, Node] = {}
    for item in module.items:
        is_definition = (isinstance(item, ast.Function) and item.body is not None) or (
            isinstance(item, Variable) and "extern" not in item.linkage
        )
        if not is_definition:
            continue
        if item.name in defined:
            findings.append(declared_twice(item.name, item, defined[item.name], "in the module"))
        defined.setdefault(item.name, item)
    return findings


def suggest(name: str, known: list[str], registers: Registers, is_label: bool = False) -> tuple[str, tuple[Fix, ...]]:
    """How an undeclared name may have been meant (`known`: the function's parameters first): a member of a longer family, a similar name, a new register or label."""
    member = _FAMILY_MEMBER.match(name)
    for declaration in registers.declarations:
        if declaration.count is not None and declaration.name[-1] in DIGITS and name.startswith(declaration.name):
            help = (
                f"`{declaration.name}<{declaration.count}>` ends in a digit, so that no name means one of its registers"
            )
            return help, ()
        if member and declaration.count is not None and declaration.name == member[1]:
            count = declaration.count
            old, new = f"{member[1]}<{count}>", f"{member[1]}<{int(member[2]) + 1}>"
            edit = Edit(new, "here", declaration.line, declaration.column, len(old))
            help = f"`{old}` declares {member[1]}0 to {member[1]}{count - 1}; `{new}` would declare it too"
            return help, (Fix(f"Declare {new}", (edit,)),)
    close = nearest(name, [*known, *SUGGESTED] if name.startswith("%") else known) or _other_case(name, known)
    if close:
        return f"did you mean `{close}`?", (instead(name, close),)
    if is_label:
        return f"write `{name}:` where it should go", ()
    alike = [] if name.startswith("%") else [other for other in known if not other.startswith("%")]
    listed = ", ".join(alike[:MOST_KNOWN]) + ", ..." * (len(alike) > MOST_KNOWN)
    known_first = f"known: {listed}; else " if alike else ""
    return f"{known_first}declare it before its first use, for example `.reg .b32 {name};`", (declared(name),)


def _other_case(name: str, known: list[str]) -> str | None:
    """The name that differs in capitals alone."""
    return next((other for other in known if other.lower() == name.lower()), None)


def declared(name: str) -> Fix:
    """A register of a name that nothing declares."""
    return Fix(f"Declare it: .reg .b32 {name};", (Edit(f".reg .b32 {name};", "declaration"),))

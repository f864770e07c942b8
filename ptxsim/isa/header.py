"""Static rules of a file's first lines. PTX ISA, "PTX Module Directives": .version, .target."""

from __future__ import annotations

from collections.abc import Iterator

from ptxsim.diagnostic import Finding
from ptxsim.edits import Edit, Fix
from ptxsim.isa.availability import remedies
from ptxsim.spelling import nearest
from ptxsim.syntax import ast
from ptxsim.types import NEWEST, TARGETS, VERSIONS, parse_target

# What may stand beside the architecture, and options that no architecture ptxsim knows has any more.
OPTIONS = ("texmode_unified", "texmode_independent", "debug")
OLD_OPTIONS = {"map_f64_to_f32": "is for targets without .f64 arithmetic, before sm_13"}


def problems(module: ast.Module) -> Iterator[Finding]:
    """What is wrong with the version and the targets of a file: wrong-version or wrong-target."""
    version = module.version
    if version not in VERSIONS:
        if version > NEWEST:
            why, other = "is newer than ptxsim knows", NEWEST
        else:
            why, other = "does not exist", max(known for known in VERSIONS if known < version or known == VERSIONS[0])
        yield Finding(
            "wrong-version",
            f".version {_text(version)} {why}",
            module.line,
            help=f"did you mean {_text(other)}?",
            fixes=(Fix(f"Change .version to {_text(other)}", (Edit(_text(other), "version"),)),),
        )
        return
    for word in module.targets:
        if word in OPTIONS:
            continue
        if word in OLD_OPTIONS:
            yield Finding("wrong-target", f"{word} {OLD_OPTIONS[word]}", module.target_line)
        elif problem := target_problem(word):
            close = nearest(word, TARGETS)
            fixes = (Fix(f"Change .target to {close}", (Edit(close, "target"),)),) if close else ()
            yield Finding("wrong-target", problem[0], module.target_line, help=problem[1], fixes=fixes)
        elif version < (first := TARGETS[parse_target(word).name]):
            why = f"{word} needs .version {_text(first)}, the module says {_text(version)}"
            help = f"write .version {_text(first)} or later"
            yield Finding("wrong-version", why, module.target_line, help=help, fixes=tuple(remedies(why)))


def notes(text: str) -> Iterator[Finding]:
    """What ptxsim reads and the assembler does not: characters that are no ASCII, in comments too."""
    if text.isascii():
        return
    place = next(i for i, character in enumerate(text) if not character.isascii())
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    yield Finding(
        "syntax-error", f"`{text[place]}` is no ASCII: ptxas refuses the file, even where it stands in a comment", line,
        column, level="note",
    )  # fmt: skip


def target_problem(name: str) -> tuple[str, str] | None:
    """Why a name is none of a target, and help; None if it is one."""
    try:
        if parse_target(name).name in TARGETS:
            return None
    except ValueError:
        pass
    close = nearest(name, [*TARGETS, *OPTIONS])
    return f"no target is called {name}", f"did you mean {close}?" if close else f"known are {', '.join(TARGETS)}"


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

"""Texts that the syntax tests share."""

from __future__ import annotations

import re

from ptxsim.syntax import ast
from ptxsim.syntax.printer import statement_lines
from tests.helpers import DATA, text_of

FILES = sorted((DATA / "ptx").glob("*.ptx"))
HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def kernel(body: str) -> str:
    """A module with one kernel; line 1 of `body` is line 6."""
    return f"{HEADER}.entry k(.param .u64 p)\n{{\n{body}\n}}\n"


def print_statement(statement: ast.Statement) -> str:
    return "\n".join(statement_lines(statement))


def instructions(text: str) -> list[str]:
    """The instructions of a text that stand on one line."""
    return re.findall(r"^[ \t]*((?:@\S+ )?[a-z]\w*(?:(?:\.|::)\w+)*[ \t][^:;\n]*;)", text, re.MULTILINE)


# One module with everything of the directive chapters.
EVERYTHING = text_of("syntax/everything.ptx")

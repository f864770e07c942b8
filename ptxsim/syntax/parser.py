"""PTX text to nodes. `parse` reads a module, `parse_body` the statements of a snippet."""

from __future__ import annotations

from functools import cache

from lark import Lark
from lark.exceptions import UnexpectedInput

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.syntax.build import InstructionBuilder, Mistake, ModuleBuilder
from ptxsim.syntax.shape import ShapeReader
from ptxsim.syntax.tables import load_parser


@cache
def _module_parser() -> Lark:
    instruction_parser = load_parser("instruction", InstructionBuilder())
    return load_parser("module", ModuleBuilder(ShapeReader(instruction_parser.parse).read))


def parse(source: Source | str) -> ast.Module:
    """Read a whole PTX file. Raises PtxError with findings named syntax-error."""
    source = source if isinstance(source, Source) else Source(source)
    items = _run(source, "module")
    header = {item[0]: item[1] for item in items if isinstance(item, tuple)}
    for word in ("version", "target"):
        if word not in header:
            raise PtxError(Finding("syntax-error", f"the file has no .{word}", 1).of(source))
    rest: list = []
    for item in items:
        if isinstance(item, list):
            rest.extend(item)
        elif not isinstance(item, tuple):
            rest.append(item)
    return ast.Module(
        header["version"], header["target"], header.get("address_size", 64), tuple(rest), line=1, column=1
    )


def parse_body(text: str, source: Source | None = None) -> tuple[ast.Statement, ...]:
    """Read statements without a module around them. Raises PtxError."""
    return _run(source or Source(text), "body")


def _run(source: Source, start: str):
    try:
        return _module_parser().parse(source.text, start=start)
    except UnexpectedInput as error:
        raise PtxError(Finding("syntax-error", str(error), error.line, error.column).of(source)) from None
    except Mistake as error:
        raise PtxError(
            Finding("syntax-error", error.message, error.token.line, error.token.column, help=error.help).of(source)
        ) from None

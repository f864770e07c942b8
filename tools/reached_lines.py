#!/usr/bin/env python3
"""Lines of the functions that some work reaches, for two versions of ptxsim that do the same work.

    git worktree add ../old COMMIT
    tools/reached_lines.py ../old --inputs ../old/samples ../old/tests/cases > old.json
    tools/reached_lines.py . --inputs ../old/samples ../old/tests/cases > new.json
    tools/reached_lines.py --compare old.json new.json

The work is what an old version's commands do with its own programs: check, run on both engines, banks, profile. Exit codes are kept, since
versions that do not agree on those do not do the same. A function counts with all its lines, decorators and comments included, once it
is called; of a module that is imported everything outside functions counts, and so do functions that are compiled (by Numba or as
bodies), since nobody sees them called. Caches are empty, so that what makes native code is seen, too.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COMPILED = re.compile(r"\b(n?jit|cfunc|body)\b")
COMMANDS = (
    ["check"], ["run", "--engine", "compiled"], ["run", "--engine", "interpreter"], ["banks"], ["profile"],
)  # fmt: skip


def observe(tree: Path, inputs: list[Path]) -> dict[str, Any]:
    """Codes of all commands, and lines by file: all, outside functions, in functions that are reached; zero where not imported."""
    os.environ |= {
        "PTXSIM_BODIES": "python",
        "XDG_CACHE_HOME": tempfile.mkdtemp(),
        "PTXSIM_CACHE_DIR": tempfile.mkdtemp(),
    }
    sys.path.insert(0, str(tree))
    seen: set[CodeType] = set()

    def called(frame: FrameType, _event: str, _argument: object) -> None:
        seen.add(frame.f_code)

    threading.settrace(called)
    sys.settrace(called)
    from ptxsim.cli import main

    codes = {}
    files = sorted(file for folder in inputs for file in ([folder] if folder.is_file() else folder.rglob("*.ptx")))
    for file in files:
        for command in COMMANDS:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                try:
                    code: object = main([*command, str(file)])
                except SystemExit as exit:
                    code = exit.code
            codes[f"{' '.join(command)} {file.name}"] = code
    sys.settrace(None)
    reached = collections.defaultdict(set)
    for each in seen:
        reached[each.co_filename].add(each.co_firstlineno)
    lines = {}
    for path in sorted((tree / "ptxsim").rglob("*.py")):
        lines[str(path.relative_to(tree))] = count(path.read_text(), reached[str(path)])
    return {"codes": codes, "lines": lines}


def count(text: str, reached: set[int]) -> tuple[int, int, int]:
    """Lines of a file, those outside functions, and those in functions that begin at a reached line."""
    total = text.count("\n")
    if 1 not in reached and 0 not in reached:
        return total, 0, 0
    functions = list(outermost(ast.parse(text)))
    inside = sum(last - first + 1 for first, last, _ in functions)
    used = sum(
        last - first + 1
        for first, last, is_compiled in functions
        if is_compiled or any(first <= line <= last for line in reached)
    )
    return total, total - inside, used


def outermost(node: ast.AST) -> Iterator[tuple[int, int, bool]]:
    """First and last lines of functions that are in no other, methods included; whether a decorator compiles them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            decorators = " ".join(ast.unparse(each) for each in child.decorator_list)
            yield first, child.end_lineno or first, bool(COMPILED.search(decorators))
        else:
            yield from outermost(child)


def compare(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Totals by room, the old beside the new."""
    differ = sorted(name for name, code in old["codes"].items() if new["codes"].get(name) != code)
    yield f"{len(old['codes'])} commands, {len(differ)} end with another code"
    yield from differ[:20]
    rooms: dict[str, list[list[int]]] = collections.defaultdict(lambda: [[0, 0, 0], [0, 0, 0]])
    for side, version in enumerate((old, new)):
        for name, found in version["lines"].items():
            parts = name.split("/")
            for room in (parts[1] if len(parts) > 2 else "-", "total"):
                rooms[room][side] = [a + b for a, b in zip(rooms[room][side], found, strict=True)]
    yield f"{'':14} {'lines':>15} {'outside':>15} {'reached':>15} {'both':>15}"
    for room, (before, after) in sorted(rooms.items(), key=lambda item: item[0] == "total"):
        columns = [*zip(before, after, strict=True), (sum(before[1:]), sum(after[1:]))]
        yield f"{room:14} " + " ".join(f"{a:>7}{b:>8}" for a, b in columns)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools/reached_lines.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", nargs="?", type=Path, help="where the version lies")
    parser.add_argument("--inputs", nargs="+", type=Path, default=[], help="programs, or folders of programs")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    options = parser.parse_args(arguments)
    if options.compare:
        print("\n".join(compare(*(json.loads(path.read_text()) for path in options.compare))))
    elif options.tree and options.inputs:
        print(json.dumps(observe(options.tree.resolve(), options.inputs)))
    else:
        parser.error("name a tree and inputs, or two files to compare")
    return 0


if __name__ == "__main__":
    sys.exit(main())

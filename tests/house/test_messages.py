"""What is wrong, a finding's name, case and places say: its words are for people, and nothing is decided by them."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.test_house import MODULES, parsed

WORDS = {"message", "notes", "help"}
SEARCHES = {"sub", "search", "match", "fullmatch", "finditer", "findall", "split"}
WRITTEN = {"ptxsim.report": "puts the words of findings on the screen, with names of lines in them"}


def is_word(node: ast.AST, known: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is the words of a finding, or a variable that has been given some."""
    if isinstance(node, ast.Tuple | ast.List):
        return any(is_word(each, known) for each in node.elts)
    if isinstance(node, ast.Starred):
        return is_word(node.value, known)
    return (isinstance(node, ast.Attribute) and node.attr in WORDS) or (isinstance(node, ast.Name) and node.id in known)


def variables(tree: ast.AST) -> Iterator[str]:
    """Names that are given words of findings."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_word(value):
                yield name
            case ast.comprehension(target=ast.Name(id=name), iter=several) if is_word(several):
                yield name


def decisions(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions that compare the words of a finding, search or take them apart."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[words]) if is_word(words):
                yield node
            case ast.Compare(ops=[ast.Eq() | ast.NotEq()], left=left, comparators=[right]):
                if any(isinstance(side, ast.Attribute) and side.attr in ("message", "help") for side in (left, right)):
                    yield node
            case ast.Call(func=ast.Attribute(value=words, attr=method)) if is_word(words) and method != "format":
                yield node


def searches(function: ast.AST) -> Iterator[ast.AST]:
    """Patterns that a function looks for in the words of a finding."""
    known = frozenset(variables(function))
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=args) if method in SEARCHES:
                if any(is_word(argument, known) for argument in args):
                    yield node


def found_in(tree: ast.Module) -> list[ast.AST]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [*decisions(tree), *(node for function in functions for node in searches(function))]


@pytest.mark.parametrize(
    "code",
    ['"begun" in finding.message', 'finding.message.startswith("no")', 'finding.help == "wait"', "WORD in finding.notes",
     "def name(finding): return NAME.sub(named, finding.message)",
     "def name(f): return [NAME.sub(named, text) for text in (f.message, *f.notes)]"],
)  # fmt: skip
def test_what_decides_by_words_is_found(code):
    assert found_in(ast.parse(code))


@pytest.mark.parametrize(
    "code", ["finding.help is None", 'print(f"{finding.message}!")', "key = finding.message, 3", "copies.notes != 0"]
)
def test_what_shows_them_is_not(code):
    assert not found_in(ast.parse(code))


def test_nothing_decides_by_the_words_of_a_finding():
    found = [
        f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        for module, path in MODULES.items()
        if not any(module == room or module.startswith(f"{room}.") for room in WRITTEN)
        for node in found_in(parsed(path, r"\b(message|notes|help)\b"))
    ]
    assert not found, "ask the finding for its name, case or places:\n" + "\n".join(found)

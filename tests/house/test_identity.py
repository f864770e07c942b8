"""What an instruction is, its operation says (isa.facts): outside a few rooms nothing tells instructions apart by their text.

The text is `.opcode`, `.name` of an operation or a form, and what these are assigned to. It may be handed on, printed and
measured; it must not be compared, taken apart, searched or looked up. Nor may anything ask what a function is called.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.test_house import MODULES, PACKAGE, parsed

# Where the text of an opcode is what a file is about.
TEXT_ROOMS = {
    "ptxsim.syntax": "parses and prints it",
    "ptxsim.isa": "finds the form of an opcode",
    "ptxsim.report": "shows it",
    "ptxsim.cli": "takes it from the command line",
    "ptxsim.editor": "completes and explains what is typed",
    "ptxsim.session.form_names": "finds forms by names that are typed",
    "ptxsim.session.listing": "lists forms whose names match a pattern",
    "ptxsim.numerics.forms": "reads the arithmetic of an opcode, for the library of numerics alone",
    "ptxsim.numerics.mufu": "has a function for every opcode of the unit, for the library of numerics alone",
}
# Where Python functions that are no effects have names.
NAMED = {
    "jit": "bodies",
    "lanes.py": "operations on lanes that emitted code has by the same name",
    "arrays.py": "makers of arrays, as the command line names them",
    "numerics/fused_numba.py": "names what it makes",
    "engine/program/operation.py": "facts of programs, which are kept on disk under the names of what finds them",
}
# Tables of what functions are registered for families; and rows of tables about matrix products, which have families of their own.
REGISTERED = {"LOWERINGS"}
PRODUCTS = {("numerics/parameters.py", "form.family in row.families.split()")}
OPERATIONS = {"op", "operation", "form", "instruction"}
NAMES = {"__module__", "__name__", "__qualname__"}


def is_operation(node: ast.expr, known: set[str]) -> bool:
    """Whether an expression is an operation or a form, by its name or its annotation."""
    match node:
        case ast.Name(id=name):
            return name in OPERATIONS or name in known
        case ast.Attribute(attr=name):
            return name in OPERATIONS
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in ("ops", "operations", "forms")
    return False


def annotated(tree: ast.AST) -> set[str]:
    """Parameters and variables that are annotated as operations or forms."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, node.annotation
        else:
            continue
        if {"Op", "Form"} & set(ast.unparse(annotation).replace("|", " ").split()):
            found.add(name)
    return found


class Texts:
    """The texts of instructions in one function or module, and what is done with them."""

    def __init__(self, tree: ast.AST):
        self.tree = tree
        self.operations = annotated(tree)
        self.aliases: set[str] = {"opcode"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and self.has_text(node.value):
                self.aliases |= {target.id for target in node.targets if isinstance(target, ast.Name)}

    def is_text(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.aliases
            case ast.Attribute(attr="opcode"):
                return True
            case ast.Attribute(attr="name", value=value):
                return is_operation(value, self.operations)
            case ast.NamedExpr(value=value):
                return self.is_text(value)
        return False

    def has_text(self, node: ast.AST | None) -> bool:
        """Whether a node is a text or a display with one, as `in` and keys of look-up tables have them."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(self.has_text(each) for each in node.elts)
        return node is not None and self.is_text(node)

    def found(self) -> Iterator[ast.expr]:
        """Expressions that tell an instruction by its text."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Compare(left=left, comparators=others) if any(map(self.has_text, [left, *others])):
                    yield node
                case ast.Subscript(value=value, slice=key) if self.has_text(value) or self.has_text(key):
                    yield node
                case ast.Attribute(value=value) if self.is_text(value):
                    yield node
                case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args) if any(map(self.has_text, args)):
                    pattern = ast.unparse(owner) in ("re", "fnmatch") or ast.unparse(owner).isupper()
                    if pattern or method in ("get", "index", "count", "fullmatch"):
                        yield node
                case ast.Match(subject=subject) if self.has_text(subject):
                    yield subject


def by_text(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions of a module that tell an instruction by its text; what a name stands for is known by function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    outside = ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], [])
    found = {node for scope in [outside, *functions] for node in Texts(scope).found()}
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def by_function(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions of a module that ask what a function is called or where it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, value=value) if name in NAMES:
                if "type(" not in ast.unparse(value) and "__class__" not in ast.unparse(value):
                    yield node
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), *_]) if name in NAMES:
                yield node


def uses(path: Path) -> list[tuple[str, str, int]]:
    """File, code and line of what a file does with the text of instructions or the names of functions."""
    file, tree = path.relative_to(PACKAGE), parsed(path, r"opcode|\.name\b|__(module|name|qualname)__")
    named = file.parts[0] in NAMED or str(file) in NAMED
    nodes = [*by_text(tree), *(() if named else by_function(tree))]
    return [(str(file), ast.unparse(node), node.lineno) for node in nodes]


@pytest.mark.parametrize(
    "code",
    [
        'op.opcode == "mma"',
        'op.name == "mma"',
        'op.bound.form.name in ("mma", "wmma")',
        '"mma" in op.opcode',
        'op.opcode.startswith("mma")',
        'op.name.partition(".")[0]',
        "op.opcode[:3]",
        "COSTS[op.opcode]",
        "COSTS[op.name, 32]",
        "COSTS.get(op.name)",
        're.match("mma", op.opcode)',
        "PATTERN.search(op.opcode)",
        "ops[0].name != first",
        "def find(each: Op): return each.name in known",
        "def find(op):\n    word = op.name\n    return word in known",
    ],
)
def test_what_tells_an_instruction_by_its_text_is_found(code):
    assert list(by_text(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["effect.__name__", "effect.__module__ in ROOMS", "getattr(effect, '__qualname__', '')"]
)
def test_what_asks_for_the_name_of_a_function_is_found(code):
    assert list(by_function(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ['f"{op.opcode} waits"', "len(op.opcode)", "Line(op.line, op.opcode)", 'family == "mma"']
)
def test_messages_are_not(code):
    assert not list(by_text(ast.parse(code)))


def test_nothing_tells_an_instruction_by_its_text():
    found = [
        use
        for module, path in MODULES.items()
        if not any(module == room or module.startswith(f"{room}.") for room in TEXT_ROOMS)
        for use in uses(path)
    ]
    wrong = [f"{file}:{line}: {code}" for file, code, line in found]
    assert not wrong, "ask the operation for its facts (isa.facts):\n" + "\n".join(wrong)


def test_nothing_that_judges_tells_an_instruction_by_its_text():
    """The suites, but for those that read names of forms, of which vectors are made or other programs asked."""
    suites = [path for path in PACKAGE.parent.glob("tools/suites/*.py") if path.stem not in ("vectors", "mmasim")]
    assert suites
    found = [(path.name, ast.unparse(node)) for path in suites for node in by_text(parsed(path))]
    assert not found


def is_families(node: ast.AST) -> bool:
    """Whether an expression is the families of a program."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "families"


def families_listed(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that look for the family of an operation among several (in a list, a table, a `match`, one `or` after another), for
    where it sends its lanes in a list, or for several families in a program."""

    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] or [tree]:
        aliases: set[str] = set()
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign):
                (target, value) = node.targets[0], node.value
                pairs = (
                    zip(target.elts, value.elts)
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    else [(target, value)]
                )
                aliases |= {
                    ast.unparse(name)
                    for name, value in pairs
                    if isinstance(value, ast.Attribute) and value.attr == "family"
                }

        def is_family(node: ast.AST, aliases: frozenset[str] = frozenset(aliases)) -> bool:
            return (isinstance(node, ast.Attribute) and node.attr == "family") or ast.unparse(node) in aliases

        for node in ast.walk(scope):
            match node:
                case ast.Compare(left=ast.Attribute(attr="control"), ops=[ast.In() | ast.NotIn()]):
                    yield node
                case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[known]) if is_family(left):
                    if ast.unparse(known) not in REGISTERED:
                        yield node
                case ast.Subscript(value=table, slice=key) if is_family(key) and ast.unparse(table) not in REGISTERED:
                    yield node
                case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key, *_]) if is_family(key):
                    if ast.unparse(owner) not in REGISTERED:
                        yield node
                case ast.Call(func=ast.Attribute(value=owner)) if is_family(owner):
                    yield node
                case ast.Match(subject=subject) if is_family(subject):
                    yield subject
                case ast.Compare(left=left, ops=ops, comparators=others):
                    sets = not all(isinstance(each, ast.In | ast.NotIn) for each in ops)
                    if sets and any(map(is_families, [left, *others])):
                        yield node
                case ast.BinOp(left=left, right=right) if is_families(left) or is_families(right):
                    yield node
                case ast.Call(func=ast.Attribute(value=owner), args=args) if any(map(is_families, [owner, *args])):
                    yield node
                case ast.BoolOp(values=values):
                    compared = [each for each in values if isinstance(each, ast.Compare)]
                    if sum(any(map(is_family, [each.left, *each.comparators])) for each in compared) > 1:
                        yield node


@pytest.mark.parametrize(
    "code",
    [
        'KINDS = frozenset({"load", "store"})\ndef f(op):\n    return op.family in KINDS',
        'def f(op):\n    return op.family not in ("load", "store")',
        'KINDS = ["load", "store"]\ndef f(op):\n    name, kind = op.family, op.type\n    return name in KINDS',
        "def f(op, *names):\n    return op.family in names",
        'COSTS = {"load": 1, "store": 2}\ndef f(op):\n    return COSTS[op.family]',
        "def f(op):\n    return COSTS.get(op.family, 0)",
        'def f(op):\n    match op.family:\n        case "load":\n            return 1',
        'def f(op):\n    name = op.family\n    return name == "load" or name == "store"',
        'def f(op):\n    return op.family.startswith("bulk")',
        'def f(op):\n    return op.control in ("ret", "exit")',
        "def f(op):\n    return op.control not in ENDS",
        'def f(program):\n    return {"bulk_copy", "tensor_copy"} <= families(program)',
        "def f(self):\n    return not COPIES.isdisjoint(families(self.program))",
        "def f(program):\n    return COPIES & families(program)",
    ],
)
def test_a_list_of_families_is_found(code):
    assert list(families_listed(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        'def f(op):\n    return op.family == "load"',
        'def f(program):\n    return "cp_async" in families(program)',
        "def f(op):\n    return LOWERINGS[op.family](op)",
    ],
)
def test_one_family_may_be_asked_for_and_its_function_called(code):
    assert not list(families_listed(ast.parse(code)))


def test_no_list_of_families_says_what_instructions_are():
    """What several families have in common is a fact of their definitions."""
    found = {
        (str(path.relative_to(PACKAGE)), ast.unparse(node)): node.lineno
        for module, path in MODULES.items()
        if not any(module == room or module.startswith(f"{room}.") for room in TEXT_ROOMS)
        for node in families_listed(parsed(path, "famil|control"))
    }
    wrong = [f"{file}:{line}: {code}" for (file, code), line in found.items() if (file, code) not in PRODUCTS]
    assert not wrong, "declare a fact (isa.facts):\n" + "\n".join(wrong)
    assert not PRODUCTS - found.keys(), "these are gone: take them off the list"

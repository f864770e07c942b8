"""Rules of the source itself: imports without circles, and no identity of an instruction by text outside its rooms."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ptxsim"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
# Where the text of an opcode is what a file is about.
TEXT_ROOMS = (
    "ptxsim.syntax",
    "ptxsim.isa",
    "ptxsim.report",
    "ptxsim.cli",
    "ptxsim.session.form_names",
    "ptxsim.session.listing",
)
IDENTITY = re.compile(
    r"opcode\.(?:split|startswith|endswith|partition|rpartition)"  # the opcode taken apart
    r"|\bin \w*\.?opcode\b|re\.\w+\([^)]*opcode"  # or searched
    r"|form\.name (?:in|==|!=)|form\.name\.|== \w*\.?form\.name"  # the same by the name of its form
    r"|effect\.__(?:name|module)__|__module__\.rpartition"  # the name of a function or of its file
)


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports, also where only types need them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:  # the generated parser names modules of Lark so
            base = node.module or ""
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found & MODULES.keys() - {"ptxsim"}


def test_no_two_modules_import_each_other():
    graph = {name: imported(path) - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"modules import each other: {' -> '.join(error.args[1])}") from None


def test_nobody_tells_an_instruction_by_its_text():
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for name, path in MODULES.items()
        if not name.startswith(TEXT_ROOMS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if IDENTITY.search(line)
    ]
    assert not found, "ask the operation for its facts (isa.facts):\n" + "\n".join(found)

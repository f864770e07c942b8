"""Rules of the source itself: imports without circles."""

import ast
import re
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ptxsim"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def parsed(path: Path, words: str = "") -> ast.Module:
    """The syntax tree of a file; an empty one where nothing in it matches `words`, without which a rule finds nothing."""
    text = path.read_text()
    return ast.parse(text if re.search(words, text) else "")


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports, also where only types need them."""
    found = set()
    for node in ast.walk(parsed(path, r"import ptxsim|from ptxsim")):
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


def test_every_folder_of_modules_is_installed():
    """pyproject.toml lets setuptools find the packages."""
    assert {path.parent for path in MODULES.values()} == {path.parent for path in PACKAGE.rglob("__init__.py")}


def test_the_page_on_architecture_names_what_is_there():
    """Its table has a row for every room and every file at the top, and no other; a row names the rooms inside."""
    text = (PACKAGE.parent / "docs/architecture.md").read_text()
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    named = {name: inside for names, inside in rows for name in re.findall(r"`(\w+)`", names)}
    modules = {name.split(".")[1] for name in MODULES if "." in name} - {"__main__"}
    assert named.keys() == modules
    inner = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")}
    missing = [str(room) for room in inner if len(room.parts) > 1 and f"`{room.name}`" not in named[room.parts[0]]]
    assert not missing, f"rooms that their row does not name: {', '.join(missing)}"


def test_the_top_of_the_repository_has_what_belongs_there():
    """Files that git knows; in a copy without git there is nothing to ask."""
    try:
        found = subprocess.run(
            ["git", "ls-files"], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git repository")
    top = {name.partition("/")[0] for name in found.splitlines() if not name.startswith(".")}
    folders = {"docs", "grammar", "ptxsim", "samples", "tests", "tools"}
    assert top == {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "mkdocs.yml", "pyproject.toml", *folders}


# A family's own words stand in its instructions, in the machine, its layouts and numbers, and in what draws it: everybody else asks facts.
ROOMS = {"instructions", "machine", "numerics", "layout", "report", "cli"}


def test_few_files_know_the_word_tcgen05():
    files = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "tcgen05" in path.read_text()]
    assert len(files) <= 12, sorted(map(str, files))
    assert {path.parts[0] for path in files} <= ROOMS


def test_kernels_that_a_person_could_run_are_files():
    """A kernel in a string is short, or has holes that its test fills: fields of `format`, or words that it replaces."""
    whole = []
    for path in (PACKAGE.parent / "tests").rglob("*.py"):
        words = re.findall(r'\.replace\("(\w+)"', path.read_text())
        for node in ast.walk(parsed(path, r"\.entry")):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            template = "{{" in text or text.count("{") != text.count("}") or any(word in text for word in words)
            if ".entry" in text and text.count(";") > 10 and not template:
                whole.append(f"{path.name}:{node.lineno}")
    assert not whole, f"kernels that should be .ptx files with directives: {', '.join(whole)}"

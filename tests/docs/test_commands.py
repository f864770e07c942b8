"""Every command that the README and docs show runs: what a page shows of its output is there.

A block ```console has commands after `$ ` and, below them, pieces of what they print, in that order. In a block ```sh every line is a
command. Commands of ptxsim run in this process; of others it is checked that what they name is there.
"""

import re
import shlex
import tomllib

import pytest

from ptxsim.cli import main
from tests.helpers import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# What a test of its own runs, or what needs a package that is not everywhere.
ELSEWHERE = {
    "exec": "tests/cli/test_exec.py, tests/triton",
    "debug": "tests/debugger",
    "lsp": "tests/editor",
    "dap": "tests/debugger",
}
OF_THE_READER = {
    "train.py",
    "kernel.cu",
    "tests/cases/scalar/mixed_halves.ptx",
}  # files that pages speak of as the reader's
_BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page):
    """(command, pieces of its output) of a page."""
    for kind, body in _BLOCK.findall(page.read_text()):
        found = []
        for line in body.replace("\\\n", " ").splitlines():
            if kind == "sh" or line.startswith("$ "):
                if line.strip() and not line.startswith("#"):
                    found.append((line.removeprefix("$ ").partition("  #")[0].strip(), []))
            elif line.strip() and line.strip() != "...":
                found[-1][1].append(line.strip())
        yield from found


EVERY = [(page, command, pieces) for page in PAGES for command, pieces in commands(page)]
OURS = [one for one in EVERY if re.match(r"(?:\S*/)?ptxsim ", one[1])]
OTHERS = [one for one in EVERY if one not in OURS]


def test_there_are_commands():
    assert len(OURS) > 25 and len({page for page, *_ in OURS}) > 10


@pytest.mark.parametrize(
    ("page", "command", "pieces"), [pytest.param(*one, id=f"{one[0].stem}: {one[1]}") for one in OURS]
)
def test_a_command_of_a_page_runs(page, command, pieces, monkeypatch, capsys, tmp_path):
    words = shlex.split(command)[1:]
    target = None
    if ">" in words:
        target = words[words.index(">") + 1]
        words = words[: words.index(">")]
    files = [word for word in words if re.search(r"\.(ptx|cu|py|launch)$", word) and not word.startswith("-")]
    if OF_THE_READER & set(files):
        assert main([words[0], "--help"]) == 0
        known = capsys.readouterr().out
        assert all(word in known for word in words if word.startswith("--")), command
        return
    assert all((ROOT / file).exists() for file in files), f"{page.name}: {command}"
    if words[0] in ELSEWHERE and words[0] != "debug":
        return
    if any(file.endswith(".cu") for file in files):
        pytest.importorskip("cuda.bindings.nvrtc")
    monkeypatch.chdir(ROOT)
    old = tmp_path / "old.json"
    if "--against" in words:
        place = words.index("--against") + 1
        words[place] = str(old)
        main([words[0], "samples/mma_gemm_conflicts.ptx", "--format", "json"])
        old.write_text(capsys.readouterr().out)
    if "--report" in words:
        words[words.index("--report") + 1] = str(tmp_path / "page.html")
    if "--watch" in words:
        return  # does not end by itself
    code = main(words)
    said = capsys.readouterr()
    assert code in (0, 1), f"{code}: {said.err}"
    assert target is None or said.out
    shown = " ".join(said.out.split())
    for piece in pieces:
        found = shown.find(" ".join(piece.split()))
        assert found >= 0, f"{page.name}: {command} does not print {piece!r}:\n{said.out}"
        shown = shown[found:]


@pytest.mark.parametrize(("page", "command"), [pytest.param(*one[:2], id=f"{one[0].stem}: {one[1]}") for one in OTHERS])
def test_what_other_commands_name_is_there(page, command):
    for extra in re.findall(r"\[([\w,-]+)\]", command) if "pip install" in command else ():
        assert set(extra.split(",")) <= set(EXTRAS), command
    for word in shlex.split(command, comments=True):
        if re.match(r"(samples|tests|tools|docs|grammar)/", word) and word not in OF_THE_READER:
            assert (ROOT / word.partition("::")[0]).exists(), command


def test_links_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if not link.startswith(("http://", "https://")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_python_of_the_starts_runs(ptx, monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("ptx", "pytest"):
        (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "start" / f"{name}.md").read_text(), re.DOTALL)
        defined = {}
        exec(compile(code, name, "exec"), defined)
        for function in [value for key, value in defined.items() if key.startswith("test_")]:
            function(ptx)

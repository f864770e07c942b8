"""Every command that the README and docs show runs: what a page shows of its output is there.

A block ```console has commands after `$ ` and, below them, pieces of what they print, in that order. In a block ```sh every line is a
command. Commands of ptxsim run in this process, those of nvcc and pytest in one of their own, those that need a package where it is
installed (CI installs each). Commands that set a machine up are what CI itself begins with.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ptxsim.cli import main
from tests.helpers import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# What CI begins with.
SETTING_UP = re.compile(
    r"(\.venv/bin/)?pip install |python3 -m venv |PYTHON=\S+ tools/check|\.venv/bin/python -m pytest$"
)
_BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END\n", re.MULTILINE | re.DOTALL)


def commands(page):
    """(command, pieces of its output) of a page."""
    for kind, body in _BLOCK.findall(page.read_text()):
        found = []
        for line in _HEREDOC.sub("", body).replace("\\\n", " ").splitlines():
            if kind == "sh" or line.startswith("$ "):
                if line.strip() and not line.startswith("#"):
                    said, _, comment = line.removeprefix("$ ").partition("  #")
                    found.append((said.strip(), ["exit code 3"] if "exit code 3" in comment else []))
            elif line.strip() and line.strip() != "...":
                found[-1][1].append(line.strip())
        yield from found


EVERY = [(page, command, pieces) for page in PAGES for command, pieces in commands(page)]
# Those of ptxsim once each, without the folder that it is in.
OURS = {
    (re.sub(r"^\S*/", "", command), tuple(pieces)): page
    for page, command, pieces in EVERY
    if re.match(r"(?:\S*/)?ptxsim ", command)
}
OTHERS = [one for one in dict.fromkeys(command for _, command, _ in EVERY) if not re.match(r"(?:\S*/)?ptxsim ", one)]


def test_there_are_commands():
    assert len(OURS) > 25 and len(set(OURS.values())) > 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where commands leave their files: it has the repository's folders, and what pages write with `cat`."""
    made = tmp_path_factory.mktemp("reader")
    for name in ("samples", "docs", "tools"):
        (made / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "tests" / "cuda", made / "tests" / "cuda")
    for page in PAGES:
        for name, text in _HEREDOC.findall(page.read_text()):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text)
    return made


def interrupt():
    raise KeyboardInterrupt


def build(command):
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc, which builds the program, is not installed")
    subprocess.run(shlex.split(command), check=True, timeout=120)


def program(words):
    """Runs of programs need what made them."""
    if words[-1].endswith(".py"):
        pytest.importorskip("triton")
    elif not Path(words[-1]).exists():
        build(next(one for one in OTHERS if f"-o {Path(words[-1]).name} " in one))
    done = subprocess.run([sys.executable, "-m", "ptxsim", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "no findings" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("command", OTHERS)
def test_what_is_no_command_of_ptxsim_runs_too(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = shlex.split(command, comments=True)
    if words[0] == "nvcc":
        build(command)
    elif words[0] == "pytest":
        subprocess.run([sys.executable, "-m", "pytest", *words[1:], "--collect-only"], check=True, timeout=120)
    elif words[0] == "python":
        done = subprocess.run([sys.executable, *words[1:2], "--help"], check=True, timeout=120, capture_output=True)
        assert all(word in done.stdout.decode() for word in words[2:] if word.startswith("--"))
    else:
        assert SETTING_UP.match(command), f"no test runs {command}"
        for extra in re.findall(r"\[([\w,-]+)\]", command):
            assert set(extra.split(",")) <= set(EXTRAS), command


@pytest.mark.parametrize(
    ("page", "command", "pieces"),
    [
        pytest.param(
            page, *one, id=f"{page.stem}: {one[0]}", marks=[pytest.mark.slow] * one[0].startswith("ptxsim exec")
        )
        for one, page in OURS.items()
    ],
)
def test_a_command_of_a_page_runs(page, command, pieces, monkeypatch, capsys, folder):
    words = shlex.split(command)[1:]
    monkeypatch.chdir(folder)
    if words[0] == "exec":
        return program(words)
    target = None
    if ">" in words:
        target = Path(words[words.index(">") + 1])
        words = words[: words.index(">")]
    if any(word.endswith(".cu") for word in words):
        pytest.importorskip("cuda.bindings.nvrtc")
    if "--against" in words and not Path("old.json").exists():
        main([words[0], "samples/mma_gemm_conflicts.ptx", "--format", "json"])
        Path("old.json").write_text(capsys.readouterr().out)
    if "--watch" in words:  # until Ctrl-C
        looks = iter([[None]])
        monkeypatch.setattr("ptxsim.cli.watch._states", lambda files: next(looks, None) or interrupt())
    code = main(words)
    said = capsys.readouterr()
    if "exit code 3" in pieces:
        assert code == 3
        return
    # Only what a page shows may be wrong.
    assert code == 0 or (code == 1 and (pieces or "--against" in words)), f"{code}: {said.err}"
    if target is not None:
        assert said.out
        target.write_text(said.out)
    shown = " ".join(said.out.split())
    for piece in pieces:
        found = shown.find(" ".join(piece.split()))
        assert found >= 0, f"{page.name}: {command} does not print {piece!r}:\n{said.out}"
        shown = shown[found:]


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

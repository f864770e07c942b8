"""Every command that the README and docs show runs: what a page shows of its output is there.

A block ```console has commands after `$ ` and, below them, pieces of what they print, in that order. In a block ```sh every line is a
command. Commands of ptxsim, pytest and our own tools run in this process, nvcc in one of its own, those that need a package where it is
installed (CI installs each). Commands that set a machine up are what CI itself begins with. Blocks of text are directives, which
are read, or the list of commands, whose options there are.
"""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import ptxsim
from ptxsim.cli import main, settings
from ptxsim.cli import ptxsim as ptxsim_command
from ptxsim.session.ptxfile.directives import parse_directives
from ptxsim.source import Source
from tests.helpers import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTENSION = ROOT / "tools" / "editor" / "vscode"
# Loaded by its entry point where ptxsim is installed, else by hand.
PLUGIN = (
    []
    if any(p.value == "ptxsim.pytest_plugin" for p in entry_points(group="pytest11"))
    else ["-p", "ptxsim.pytest_plugin"]
)
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
    for name in ("samples", "tools"):
        (made / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "docs", made / "docs")
    for name in ("cuda", "cases"):
        shutil.copytree(ROOT / "tests" / name, made / "tests" / name)
    for page in PAGES:
        for name, text in _HEREDOC.findall(page.read_text()):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text)
    return made


SIZES = {"CTA": 4, "warp instruction": 400, "byte": 300_000, "line": 1000}


def grow(words, monkeypatch):
    """tools/bench/growth.py as a page shows it, but in this process and with the smallest sizes that mean anything."""
    growth = runpy.run_path(words[0])
    rows = [replace(row, sizes=tuple(range(SIZES[row.unit], SIZES[row.unit] + 3))) for row in growth["ROWS"]]
    done = []

    def measured(row, size):
        if size == row.sizes[0]:
            row.action(size // 10 if "one kernel" in row.name else size)
            done.append(row.name)
        return 1.0, 2.0

    monkeypatch.setitem(growth["main"].__globals__, "ROWS", rows)
    monkeypatch.setitem(growth["main"].__globals__, "measured", measured)
    monkeypatch.setattr(sys, "argv", words)
    assert growth["main"]() == 0 and len(done) == len(rows)
    assert "| 1.0 s, 2 MB | 1.0 s, 2 MB | 1.0 s, 2 MB |" in Path(words[-1]).read_text()


def interrupt():
    raise KeyboardInterrupt


def build(command):
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc, which builds the program, is not installed")
    subprocess.run(shlex.split(command), check=True, timeout=120)


def program(words, pieces):
    """Runs of programs need what made them."""
    if words[-1].endswith(".py"):
        pytest.importorskip("triton")
    elif not Path(words[-1]).exists():
        build(next(one for one in OTHERS if f"-o {Path(words[-1]).name} " in one))
    done = subprocess.run([sys.executable, "-m", "ptxsim", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "no findings" in done.stderr, done.stdout + done.stderr
    shows(" ".join(words), pieces, done.stderr)


def shows(command, pieces, output):
    """What a page shows of a command's output is there, in that order."""
    shown = " ".join(output.split())
    for piece in pieces:
        found = shown.find(" ".join(piece.split()))
        assert found >= 0, f"{command} does not print {piece!r}:\n{output}"
        shown = shown[found:]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(one, marks=[pytest.mark.slow] * one.startswith(("nvcc", "pytest", "python ")), id=one)
        for one in OTHERS
    ],
)
def test_what_is_no_command_of_ptxsim_runs_too(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = shlex.split(command, comments=True)
    if words[0] == "nvcc":
        build(command)
    elif words[0] == "pytest":
        assert pytest.main([*PLUGIN, "-p", "no:cacheprovider", "-q", *words[1:]]) == 0
    elif words[0] == "python":
        grow(words[1:], monkeypatch)
    elif words[0] in ("cd", "npm", "code"):  # CI packs the extension
        package = json.loads((EXTENSION / "package.json").read_text())
        assert {"cd": (ROOT / words[1]) == EXTENSION, "npm": words[-1] in {"install", *package["scripts"]}}.get(
            words[0], package["scripts"]["package"].endswith(words[-1])
        )
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
        return program(words, pieces)
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
    shows(f"{page.name}: {command}", pieces, said.out)


def test_links_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if not link.startswith(("http://", "https://")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


BLOCKS = [
    (page, kind, body)
    for page in PAGES
    for kind, body in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
]


def blocks(name, kind):
    return [body for page, its_kind, body in BLOCKS if (page.relative_to(ROOT).as_posix(), its_kind) == (name, kind)]


def test_every_block_is_looked_at_somewhere():
    """By kind and page: what no test looks at has no business on a page."""
    looked_at = {
        "python": r"README.md|docs/(start|front-ends)/.*|docs/(cuda|triton|adding-an-instruction).md",
        "text": r"README.md|docs/(directives|architecture|comparisons).md|docs/triton.md", "cuda": r"docs/(start/)?cuda.md", "toml": r"docs/settings.md",
        "json": r"docs/debugging.md", "lua": r"docs/(editors|debugging).md", "lisp": r"docs/(editors|debugging).md", "sh": ".*", "console": ".*",
    }  # fmt: skip
    for page, kind, body in BLOCKS:
        assert re.fullmatch(looked_at[kind], page.relative_to(ROOT).as_posix()), f"{page}: {body}"


def test_directives_of_the_pages_are_understood():
    for body in (
        *blocks("README.md", "text"),
        *blocks("docs/directives.md", "text"),
        *blocks("docs/cuda.md", "cuda"),
        *blocks("docs/start/cuda.md", "cuda"),
    ):
        if "// ptxsim:" in body:
            assert parse_directives(Source(body)).has_launch


def test_the_list_of_commands_is_that_of_the_program(capsys):
    (body,) = (body for body in blocks("README.md", "text") if "ptxsim run" in body)
    shown = set(re.findall(r"\bptxsim ([a-z]+)", body))
    assert shown == set(ptxsim_command.list_commands(None))
    for line in body.splitlines():
        command = ptxsim_command.get_command(None, line.split()[1])
        known = {text for parameter in command.params for text in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= known, line
        for piece in re.findall(r": (ptxsim [a-z]+ .*--.*)", line):
            assert main(shlex.split(piece)[1:]) == 0 and capsys.readouterr().out


def test_settings_of_the_page_are_taken():
    (body,) = blocks("docs/settings.md", "toml")
    commands = {name: ptxsim_command.get_command(None, name) for name in ptxsim_command.list_commands(None)}
    table = tomllib.loads(body)["tool"]["ptxsim"]
    taken = settings.defaults(commands["run"], "run", table, commands, Path("pyproject.toml"))
    assert taken == {"ignore": "uncoalesced", "schedules": "4", "fail_on": "banks.worst > 1"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_the_page_is_there(shell, monkeypatch, capsys):
    assert f"_PTXSIM_COMPLETE={shell}_source ptxsim" in (ROOT / "docs" / "settings.md").read_text()
    monkeypatch.setenv("_PTXSIM_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert "_PTXSIM_COMPLETE" in capsys.readouterr().out


def test_configurations_name_what_the_adapter_and_its_extension_know():
    (body,) = blocks("docs/debugging.md", "json")
    (debugger,) = json.loads((EXTENSION / "package.json").read_text())["contributes"]["debuggers"]
    given = json.loads(body)
    known = debugger["configurationAttributes"]["launch"]["properties"]
    assert given["type"] == debugger["type"] and given.keys() - {"type", "request", "name"} <= known.keys()


def test_code_that_a_page_explains_is_that_of_the_program():
    code = " ".join(" ".join(path.read_text().split()) for path in sorted((ROOT / "ptxsim").rglob("*.py")))
    for body in blocks("docs/adding-an-instruction.md", "python"):
        for piece in re.sub(r"  #.*", "", body).split("..."):
            for statement in re.split(r"\n\n+", piece.strip()):
                assert " ".join(statement.split()) in code, statement


def test_python_of_the_page_on_cuda_runs(tmp_path, monkeypatch):
    pytest.importorskip("cuda.bindings.nvrtc")
    monkeypatch.chdir(tmp_path)
    (kernel,) = blocks("docs/cuda.md", "cuda")
    (code,) = blocks("docs/cuda.md", "python")
    Path("kernel.cu").write_text(kernel.replace("...", "int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] *= 2;"))
    x = np.ones(100, np.float32)
    exec(compile(code, "cuda.md", "exec"), {"ptxsim": ptxsim, "x": x})
    assert (x == 2).all()


def test_python_of_the_page_on_triton_runs(tmp_path):
    pytest.importorskip("triton")
    (code,) = blocks("docs/triton.md", "python")
    kernel = (ROOT / "samples" / "triton_add.py").read_text().partition("\nx, y =")[0].replace(
        "triton.runtime.driver.active.get_active_torch_device()", "'cpu'"
    )  # fmt: skip
    add = """
def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(len(x), 1024),)](x, y, out, len(x), BLOCK=1024)
    return out
"""
    (tmp_path / "program.py").write_text(f"{kernel}{add}{code}\ntest_add()\n")
    subprocess.run([sys.executable, tmp_path / "program.py"], check=True, timeout=300)


def test_what_the_start_prints_in_a_kernel_of_triton_is_printed(tmp_path):
    pytest.importorskip("triton")
    (code,) = blocks("docs/start/triton.md", "python")
    before, load, after = (ROOT / "samples" / "triton_add.py").read_text().partition("    y = tl.load(")
    printed = "".join(f"    {line}\n" for line in code.replace(", v)", ", x)").splitlines())
    (tmp_path / "program.py").write_text(before + printed + load + after)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "v: " in done.stdout + done.stderr


def test_python_of_the_starts_runs(ptx, monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("ptx", "pytest"):
        codes = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "start" / f"{name}.md").read_text(), re.DOTALL)
        defined = {}
        exec(compile("\n".join(codes), name, "exec"), defined)
        for function in [value for key, value in defined.items() if key.startswith("test_")]:
            function(ptx)

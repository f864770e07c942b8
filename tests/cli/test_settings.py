"""`[tool.ptxsim]`, `--watch`, and `ptxsim` alone."""

import pytest

from ptxsim.cli import main
from ptxsim.cli.watch import repeat
from tests.helpers import SAMPLES

FILE = str(SAMPLES / "conflicts" / "03_ldmatrix_rows.ptx")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Write pyproject.toml, and stand in a folder below it."""
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")

    def write(text):
        (tmp_path / "pyproject.toml").write_text(text)

    return write


def test_options_have_defaults_in_pyproject(settings, capsys):
    settings('[tool.ptxsim]\nformat = "concise"\n[tool.ptxsim.run]\nfail-on = "banks.worst > 1"\n')
    assert main(["run", FILE]) == 1
    assert "banks.worst" in capsys.readouterr().err
    assert main(["check", FILE]) == 0 and capsys.readouterr().out == ""
    assert main(["run", FILE, "--fail-on", "banks.worst > 99"]) == 0
    settings('[tool.ptxsim.run]\nblock = [64]\nignore = ["race-shared", "PTX2"]\nschedules = 2\n')
    capsys.readouterr()
    assert main(["run", FILE]) == 0
    assert "2 schedules tried" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.ptxsim]\nfromat = 'json'\n", "did you mean format?"),
        ("[tool.ptxsim.run]\nmissing = true\n", "has no option 'missing'"),
        ("[tool.ptxsim]\nformat = 'jsn'\n", "json"),
        ("[tool.ptxsim]\nrun = 5\n", "not a table"),
        ("[tool.ptxsim\n", "pyproject.toml"),
        ("[tool]\nptxsim = 7 # tool.ptxsim\n", "not a table"),
    ],
)
def test_settings_that_are_wrong_are_said(settings, capsys, text, words):
    settings(text)
    assert main(["run", FILE]) == 2
    assert words in capsys.readouterr().err


def test_watch_runs_again_when_the_file_changes(tmp_path, capsys):
    file, runs = tmp_path / "k.ptx", []
    file.write_text("one")

    def run(arguments):
        runs.append(file.read_text())
        return len(runs)

    def sleep(seconds):
        if len(runs) == 3:
            raise KeyboardInterrupt
        file.write_text("changed" * len(runs))

    assert repeat(["check", str(file)], run, sleep) == 3
    assert runs == ["one", "changed", "changedchanged"]
    assert "waiting for changes" in capsys.readouterr().err
    assert main(["check", "--watch", str(tmp_path / "none.ptx")]) == 2


def test_alone_it_says_what_to_try(capsys):
    assert main([]) == 2  # as for any command that lacks something
    said = capsys.readouterr().out
    assert "ptxsim run FILE.ptx" in said and "ptxsim --help" in said
    assert main(["check", "--help"]) == 0 and "--watch" in capsys.readouterr().out

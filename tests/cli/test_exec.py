"""`ptxsim exec`: what it starts, what it refuses, what it gives back. Programs with kernels: tests/triton, tests/cuda/runtime."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ptxsim
import ptxsim.triton
from ptxsim.cli import main
from ptxsim.diagnostic import PtxError
from ptxsim.programs.collector import Collector
from ptxsim.programs.page import page
from ptxsim.programs.records import read, remarks, summary
from ptxsim.programs.wanted import Wanted
from ptxsim.session.options import LaunchOptions

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry NAME(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


def launch(collector, name="k", size=32, block=32):
    """One launch as a front end makes it."""
    kernel = ptxsim.Module.from_text(KERNEL.replace("NAME", name)).kernel()
    return collector.launch(kernel, [np.zeros(size, np.uint32)], LaunchOptions(grid=1, block=block))


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "ptxsim", "exec", *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_a_program_without_kernels(tmp_path):
    (tmp_path / "p.py").write_text("import sys; print(sys.argv[1:]); sys.exit(5)")
    done = run(str(tmp_path / "p.py"), "--m=128", "-x")
    assert (done.returncode, done.stdout) == (5, "['--m=128', '-x']\n")
    assert done.stderr == "no launch came to ptxsim\n"
    done = run("--format", "json", str(tmp_path / "p.py"))
    assert json.loads(done.stdout) == [] and done.stderr == "[]\n"
    assert run("true").returncode == 0
    done = run("--only", "gemm(", "true")
    assert done.returncode == 2 and "'gemm(' is no regular expression" in done.stderr
    (tmp_path / "k.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = run(str(tmp_path / "k.py"))
    assert done.returncode == 137 and "the program was ended by SIGKILL" in done.stderr


@pytest.mark.slow
def test_what_ends_a_program_is_shown_from_its_own_line_on(tmp_path):
    (tmp_path / "p.py").write_text("import sys\nsys.modules['torch'] = None\ndef f():\n    import torch\nf()\n")
    done = run(str(tmp_path / "p.py"))
    assert done.returncode == 1 and "runpy" not in done.stderr and 'p.py", line 5, in <module>' in done.stderr
    assert 'ptxsim: the program needs torch: pip install "ptxsim[triton]"\n' in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere.py"], "there is no file nowhere.py"),
        (["nowhere"], "nowhere is no file or command"),
        (["kernel.ptx"], "ptxsim run kernel.ptx"),
        (["--try-fixes", "./scan"], "exec has no option --try-fixes"),
        (["--target", "sm_91", "true"], "'sm_91' is no target"),
    ],
)
def test_what_cannot_be_started_is_said(arguments, said, capsys):
    assert main(["exec", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_findings_are_told_once_and_counted(tmp_path, capsys):
    collector = Collector(Wanted(results=str(tmp_path), told="concise"), keep=True)
    for _ in range(3):
        launch(collector, block=64)
    launch(collector, "other")
    told = capsys.readouterr().err
    assert told.count("out-of-bounds") == 1 and told.startswith("ptxsim: k, launch 0\n")
    records = read(tmp_path)
    assert [record["entry"] for record in records] == ["k", "k", "k", "other"]
    assert summary(records).splitlines() == [
        "k: 3 launches, out-of-bounds 3",
        "other: 1 launch",
        f"4 launches, 3 errors; {sum(run.warp_instructions for run in collector.runs)} warp instructions",
    ]
    shown = page("train.py --steps=3", records)
    assert shown.count("PTX201") == 1 and "<h2>other</h2>" in shown and "train.py --steps=3" in shown


def test_what_may_keep_launches_away_is_said_where_nothing_was_found(capsys):
    for size, told in ((32, "ptxsim: a static runtime\n"), (64, "")):
        collector = Collector(Wanted(told="concise"))
        launch(collector, block=size)
        capsys.readouterr()
        collector.finish(["a static runtime"])
        assert capsys.readouterr().err == told


def test_only_what_is_wanted_is_looked_at():
    collector = Collector(Wanted(only="^k", skip=1, count=2, told="nothing"), keep=True)
    for name in ("k", "other", "k1", "k2", "k3"):
        launch(collector, name)
    assert [run.entry for run in collector.runs] == ["k1", "k2"]
    assert collector.launches == 5


@pytest.mark.slow
def test_a_program_ends_after_the_launches_that_are_asked_for(tmp_path):
    (tmp_path / "p.py").write_text(
        "from tests.cli.test_exec import Collector, launch\n"
        "collector = Collector.from_environment()\n"
        "for number in range(5):\n"
        "    print('before', number)\n"
        "    launch(collector)\n"
    )
    done = run("--launches", "3", str(tmp_path / "p.py"))
    assert done.returncode == 0 and done.stdout == "before 0\nbefore 1\nbefore 2\nbefore 3\n", done.stderr
    assert "ptxsim: the program is ended after 3 launches (--launches)\n" in done.stderr
    assert "3 launches, no findings" in done.stderr


def test_a_process_is_told_what_is_wanted(monkeypatch):
    wanted = Wanted(target="sm_80", checks="memory", only="gemm", count=3, banks=True)
    for name, value in wanted.environment().items():
        monkeypatch.setenv(name, value)
    assert Wanted.from_environment() == wanted


def test_without_triton_it_says_what_to_install(monkeypatch):
    for name in ("triton", "ptxsim.triton.driver"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "ptxsim.triton.driver")
    with pytest.raises(PtxError) as caught, ptxsim.triton.active():
        pass
    (finding,) = caught.value.findings
    assert finding.help == "pip install ptxsim[triton]"


def test_notes_and_wrong_numbers_are_spoken_of_at_the_end():
    note = {"level": "note", "name": "race-global"}
    said = remarks([{"grid": [1, 1, 1], "findings": [note]}], ())
    assert [text.split(",")[0] for text in said] == [
        "notes",
        "where numbers are wrong all the same: --why 'NAME[INDEX]'",
    ]
    assert remarks([{"grid": [1, 1, 1], "findings": [note | {"level": "error"}]}], ()) == []

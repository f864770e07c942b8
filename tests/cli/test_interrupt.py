"""Ctrl-C and max_steps end an endless kernel on both engines, with a word and an exit code."""

import os
import signal
import subprocess
import sys

import pytest

from ptxsim.cli import main
from ptxsim.programs import records
from tests.helpers import ROOT

ENDLESS = str(ROOT / "tests" / "cli" / "endless.ptx")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGINT to another process")
def test_ctrl_c():
    command = [sys.executable, "-m", "ptxsim", "run", ENDLESS]
    variants = (
        ["--engine", "interpreter"],
        ["--engine", "compiled"],
        ["--engine", "compiled", "--checks", "none", "--jobs", "2"],
    )
    running = [
        subprocess.Popen(
            command + more,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_hear_interrupts,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        for more in variants
    ]
    try:
        for process in running:
            assert process.stdout.readline() == "begun\n", process.communicate()  # however long that takes
            process.send_signal(signal.SIGINT)
        for process in running:
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 130
            assert errors.split() == ["interrupted"]
    finally:
        for process in running:
            process.kill()


def _hear_interrupts() -> None:
    """Background jobs of a shell are started with SIGINT ignored, and so would be what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_max_seconds(capsys, engine):
    assert main(["run", ENDLESS, "--engine", engine, "--max-seconds", "1"]) == 1
    assert "the limit is 1 seconds; warps are in the loop of lines" in capsys.readouterr().out


@pytest.mark.slow
def test_max_steps(capsys, engine):
    assert main(["run", ENDLESS, "--engine", engine, "--max-steps", "5000"]) == 1
    assert "limit-reached" in capsys.readouterr().out


def test_ctrl_c_while_modules_are_loaded(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "ptxsim", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGINT to another process")
def test_a_program_is_left_to_end_after_ctrl_c(tmp_path):
    file = tmp_path / "program.py"
    body = "try:\n    print('begun', flush=True)\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    time.sleep(1)\n    print('saved')\n"
    file.write_text("import time\n" + body)
    command = [sys.executable, "-m", "ptxsim", "exec", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_hear_interrupts
    ) as running:  # fmt: skip
        assert running.stdout.readline() == "begun\n"
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        out, told = running.communicate(timeout=60)
    assert (running.returncode, out, told) == (130, "saved\n", "no launch came to ptxsim\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGTERM to another process")
def test_a_program_that_is_ended_from_outside_has_a_summary(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("import time\nprint('begun', flush=True)\ntime.sleep(100)\n")
    command = [sys.executable, "-m", "ptxsim", "exec", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "begun\n"
        running.terminate()
        _, told = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert told.endswith("ptxsim: the program was ended by SIGTERM\nno launch came to ptxsim\n")


def test_a_record_that_was_being_written_is_left_out(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"launch": 0}\n{"laun')
    assert records.read(tmp_path) == [{"launch": 0}]

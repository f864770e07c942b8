"""Ctrl-C and max_steps end an endless kernel on both engines, with a word and an exit code."""

import os
import signal
import subprocess
import sys

import pytest

from ptxsim.cli import main
from ptxsim.programs import records

ENDLESS = """// ptxsim: launch grid=4 block=64
// ptxsim: arg data = zeros(64):u32
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 begun[7] = {98, 101, 103, 117, 110, 10, 0};
.visible .entry spin(.param .u64 data)
{
    .reg .b32 %r; .reg .b64 %d, %f; .reg .pred %p;
    ld.param.u64 %d, [data];
    mov.u32 %r, %tid.x;
    setp.ne.u32 %p, %r, 0;
    @%p bra L;
    mov.u64 %f, begun;
    cvta.global.u64 %f, %f;
    {
        .param .b64 one;
        .param .b64 two;
        .param .b32 answer;
        st.param.b64 [one], %f;
        st.param.b64 [two], 0;
        call (answer), vprintf, (one, two);
    }
L:  add.u32 %r, %r, 1;
    st.global.u32 [%d], %r;
    bra L;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGINT to another process")
def test_ctrl_c(tmp_path):
    file = tmp_path / "endless.ptx"
    file.write_text(ENDLESS)
    command = [sys.executable, "-m", "ptxsim", "run", str(file)]
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
def test_max_seconds(tmp_path, capsys, engine):
    file = tmp_path / "endless.ptx"
    file.write_text(ENDLESS)
    assert main(["run", str(file), "--engine", engine, "--max-seconds", "1"]) == 1
    assert "the limit is 1 seconds; warps are in the loop of lines" in capsys.readouterr().out


@pytest.mark.slow
def test_max_steps(tmp_path, capsys, engine):
    file = tmp_path / "endless.ptx"
    file.write_text(ENDLESS)
    assert main(["run", str(file), "--engine", engine, "--max-steps", "5000"]) == 1
    assert "limit-reached" in capsys.readouterr().out


def test_ctrl_c_while_modules_are_loaded(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "ptxsim", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


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

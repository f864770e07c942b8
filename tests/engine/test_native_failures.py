"""Native code that LLVM refuses, that crashes, or whose cache is in a bad state: results are right, or the process says so."""

import os
import signal
import subprocess
import sys
import warnings

import pytest

from ptxsim.engine.compiled.codegen.kernel import KernelWriter
from ptxsim.engine.compiled.run import selftest
from ptxsim.jit.store import ObjectStore
from tests.engine.programs import Writer, body, outcome, run
from tests.helpers import facts, plain

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def spoil(monkeypatch, full: bool) -> None:
    """Let the text of code for whole warps, or for parts, be nothing that LLVM takes."""
    write = KernelWriter.text

    def text(self, *what):
        return write(self, *what) + ("\nthis is no IR" if self.options.full is full else "")

    monkeypatch.setattr(KernelWriter, "text", text)


def test_refused_code_leaves_the_launch_to_the_interpreter(native, monkeypatch):
    text = Writer(5).text()
    expected = outcome(text, "interpreter")
    spoil(monkeypatch, full=True)
    with pytest.warns(RuntimeWarning, match="interpreter runs this.*LLVM"):
        found, also = run(text, "compiled")
    assert also.engine == "interpreter"
    assert plain((found, facts(also))) == plain(expected)


def test_long_programs_are_left_to_the_interpreter(native, monkeypatch):
    text = Writer(5).text()
    expected = outcome(text, "interpreter")
    monkeypatch.setattr("ptxsim.engine.compiled.run.context.MOST_OPERATIONS", 10)
    with pytest.warns(RuntimeWarning, match="interpreter runs this.*operations"):
        found, also = run(text, "compiled")
    assert plain((found, facts(also))) == plain(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
@pytest.mark.parametrize("banks", [False, True])
def test_refused_code_for_parts_of_warps(native, monkeypatch, seed, banks):
    text = Writer(seed).text()
    expected = outcome(text, "interpreter", banks=banks)
    spoil(monkeypatch, full=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = outcome(text, "compiled", banks=banks)
    assert plain(found) == plain(expected)
    assert all("parts of this" in str(warning.message) for warning in caught)


@pytest.mark.slow
def test_refused_code_for_parts_is_reported_once(native, monkeypatch):
    text = body("setp.lt.u32 %p2, %r0, 5; @%p2 bra L; add.u32 %r4, %r4, 1; L: add.u32 %r5, %r5, 2; bar.sync 0;")
    expected = outcome(text, "interpreter")
    spoil(monkeypatch, full=False)
    with pytest.warns(RuntimeWarning, match="parts of this") as reported:
        found = outcome(text, "compiled")
    assert len(reported) == 1
    assert plain(found) == plain(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_the_interpreter_begins_where_code_would_take_long(native, monkeypatch, seed):
    """Programs are this long from LONG operations on; it goes over to native code in the middle of a launch, or never."""
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)
    text = Writer(seed).text()
    expected = outcome(text, "interpreter", banks=True)
    began = outcome(text, None, banks=True)
    waits = native._waits.values()
    assert waits and plain(began) == plain(expected)
    assert plain(outcome(text, None, banks=True)) == plain(expected)


@pytest.mark.slow
def test_an_engine_that_is_asked_for_begins_at_once(native, monkeypatch):
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)
    outcome(Writer(3).text(), "compiled")
    assert not native._waits and native._kernels


def in_process(program: str, cache, expected: int = 0) -> str:
    """What a new process writes to standard error."""
    environment = {**os.environ, "PTXSIM_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == expected, done.stderr
    return done.stderr


LAUNCH = """
import numpy as np
from ptxsim import Module
text = '''
.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 data)
{
    .reg .b32 %r<3>; .reg .b64 %d<2>;
    ld.param.u64 %d0, [data]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
    ld.global.u32 %r1, [%d0]; mad.lo.u32 %r1, %r1, 3, %r0; st.global.u32 [%d0], %r1;
    ret;
}
'''
data = np.arange(64, dtype=np.uint32)
run = Module.from_text(text).kernel().launch(1, 64, [data])
assert (data == np.arange(64) * 4).all()
assert run.engine == ENGINE, run.engine
"""
CRASH = """
from ptxsim.engine.compiled.codegen.kernel import KernelWriter
write = KernelWriter.text
def text(self, *what):
    return write(self, *what).replace("entry:", "entry:\\n  store volatile i32 1, ptr inttoptr (i64 8 to ptr)", 1)
from ptxsim.engine.compiled.run.selftest import refusal
refusal()
KernelWriter.text = text
"""


def test_the_self_test_wants_native_code(native, monkeypatch):
    spoil(monkeypatch, full=True)
    assert "interpreter" in selftest._compare()


def test_a_tester_that_passes_and_ends_meanwhile_has_not_died(native, monkeypatch):
    monkeypatch.setattr("ptxsim.engine.compiled.library.library", lambda: native)
    mark = native.jit.store.folder / f"{native.jit.key('self-test', selftest.KERNEL)}.test"

    def ends(process: int) -> bool:
        assert process == 77
        mark.write_text("passed")
        return False

    mark.write_text("77")
    monkeypatch.setattr(selftest, "_alive", ends)
    assert selftest.refusal.__wrapped__() is None
    mark.write_text("77")
    monkeypatch.setattr(selftest, "_alive", lambda process: False)
    assert "died" in selftest.refusal.__wrapped__()


@pytest.mark.slow
@posix
def test_a_crash_is_reported_and_remembered(tmp_path):
    launch = LAUNCH.replace("ENGINE", repr("compiled"))
    reported = in_process(CRASH + launch, tmp_path, -signal.SIGSEGV)
    assert "native code of kernel sum crashed" in reported
    assert "--engine interpreter" in reported
    reported = in_process(LAUNCH.replace("ENGINE", repr("interpreter")), tmp_path)
    assert "has crashed; delete" in reported
    (mark,) = (tmp_path / "objects").glob("*.crashed")
    for path in (tmp_path / "objects").iterdir():
        path.unlink()
    in_process(launch, tmp_path)
    assert not mark.exists()


@pytest.mark.slow
@posix
def test_crashes_elsewhere_are_not_the_kernels(tmp_path):
    program = LAUNCH.replace("ENGINE", repr("compiled")) + "\nimport ctypes; ctypes.string_at(0)"
    assert "native code" not in in_process(program, tmp_path, -signal.SIGSEGV)
    assert not list((tmp_path / "objects").glob("*.crashed"))


@pytest.mark.slow
def test_damaged_objects_are_compiled_again(tmp_path):
    program = LAUNCH.replace("ENGINE", repr("compiled"))
    in_process(program, tmp_path)
    files = sorted((tmp_path / "objects").iterdir())
    assert len(files) >= 4
    for number, path in enumerate(files):
        data = path.read_bytes()
        path.write_bytes((data[: len(data) // 2], b"", data[:-8] + b"\xffgarbage", b"\0" * len(data))[number % 4])
    in_process(program, tmp_path)


def test_a_read_only_cache_is_read(tmp_path):
    store = ObjectStore(tmp_path)
    store.put("known", b"object")
    again = ObjectStore(tmp_path)
    again._writable = False  # what a failed write leaves behind
    again.put("new", b"other")
    assert again.get("known") == b"object"
    assert again.get("new") == b"other"
    assert not (tmp_path / "objects" / "new").exists()


@pytest.mark.slow
def test_two_processes_share_an_empty_cache(tmp_path):
    environment = {**os.environ, "PTXSIM_CACHE_DIR": str(tmp_path)}
    program = LAUNCH.replace("ENGINE", repr("compiled"))
    both = [subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE) for _ in "ab"]
    for process in both:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
        assert not errors
    assert not list((tmp_path / "objects").glob(".new*"))


LOOP = body(
    "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 3; setp.lt.u32 %p2, %r4, 60; @%p2 bra L; bar.sync 0; add.u32 %r5, %r4, 2;"
)


@pytest.mark.slow
def test_what_runs_once_needs_neither_scheduler_nor_test(tmp_path):
    spoiled = """
from ptxsim.engine.compiled import library
from ptxsim.engine.compiled.run import selftest
library.LONG = 1
library.Library.scheduler = property(lambda self: 1 / 0)
selftest.refusal = lambda: 1 / 0
"""
    launch = (
        LAUNCH.replace("launch(1, 64", "launch(1, 32")
        .replace("(data ==", "(data[:32] ==")
        .replace("arange(64) *", "arange(32) *")
    )
    rest = f".reg .pred %p; setp.lt.u32 %p, %r0, 99; @%p bra E; {'add.u32 %r1, %r1, 1; ' * 9} E: ret;"
    launch = launch.replace("    ret;", rest)
    in_process(spoiled + launch.replace("ENGINE", "'compiled'"), tmp_path)


@pytest.mark.slow
def test_the_interpreter_goes_on_where_native_code_fails_its_test(native, monkeypatch):
    """The test of native code comes in the middle of the launch, when a loop has shown that code pays."""
    monkeypatch.setattr("ptxsim.engine.compiled.library.LONG", 1)
    expected = outcome(LOOP, "interpreter", banks=True)
    monkeypatch.setattr(selftest, "refusal", lambda: "it is Sunday")
    with pytest.warns(RuntimeWarning, match="interpreter runs this.*Sunday") as reported:
        found = outcome(LOOP, None, banks=True)
    assert len(reported) == 1
    assert plain(found) == plain(expected)
    assert "scheduler" not in vars(native)

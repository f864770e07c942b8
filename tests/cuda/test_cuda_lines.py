"""Broken CUDA kernels, a bug in each: what is found stands at the line of CUDA that has it."""

from pathlib import Path

import numpy as np
import pytest

import ptxsim
from ptxsim.cli import main
from ptxsim.cuda import compiler
from ptxsim.cuda.files import read_file
from ptxsim.diagnostic import PtxError
from ptxsim.report.text import render
from ptxsim.session.inspect.fix_trials import everywhere, with_tried_fixes
from ptxsim.session.parameter_names import written_names
from ptxsim.session.ptxfile.file import Options, run_file
from ptxsim.source import Source

BROKEN = Path(__file__).parent / "broken"
CASES = sorted(path.stem for path in BROKEN.glob("*.cu"))
COMPILES = pytest.mark.skipif(compiler._find_nvcc() is None, reason="no nvcc is there")
EITHER = pytest.mark.parametrize(
    "by",
    [
        pytest.param("nvcc", marks=COMPILES),
        pytest.param("nvrtc", marks=pytest.mark.skipif(not compiler._has_nvrtc(), reason="no NVRTC is there")),
    ],
)
HELLO = """\
// ptxsim: launch block=32
// ptxsim: arg x = zeros(32):s32
// ptxsim: expect x == 2
#include <cstdio>
#include "two.h"
__global__ void fill(int* x) { x[threadIdx.x] = TWO; }
int main() { fill<<<1, 32>>>(nullptr); }
"""


def compiled(name):
    """A case as tools/compile_cuda.py has compiled it."""
    path = BROKEN / f"{name}.ptx"
    return Source(path.read_text(), path.name, path, Source.from_file(path.with_suffix(".cu")))


@pytest.mark.thin(5)
@pytest.mark.parametrize("engine", ["compiled", "interpreter"])
@pytest.mark.parametrize("name", CASES)
def test_the_line_of_cuda_is_found(name, engine):
    steps = {"max_steps": 200_000} if engine == "interpreter" else {}
    result = run_file(compiled(name), options=Options(checks="all", engine=engine, **steps))
    assert result.passed and result.expected, [f"{f.source_line}: {f.name}: {f.message}" for f in result.findings]
    shown = render(result.expected[0]).split("\n")
    assert shown[1].split("--> ")[1].startswith(f"{BROKEN / name}.cu:")


def test_a_barrier_that_an_unrolled_loop_lacks_is_tried_in_every_round():
    """It belongs where the branch joins again; the rounds in which only lanes of one warp race are the same cause."""
    source, options = compiled("barrier_missing_in_a_loop"), Options(checks="all")
    result = with_tried_fixes(run_file(source, options=options), None, options)
    [finding] = result.expected
    assert not result.findings and [fix.tried for fix in finding.fixes] == ["tried: no finding is left"]
    assert len(everywhere(source, finding.fixes[0]).edits) == 7
    shown = render(finding)
    assert "help: put a barrier at line 12, between lines" in shown and "(__syncthreads())" in shown
    assert "tried: Put __syncthreads() before line 12 (PTX: " in shown and "bar.sync" not in shown


def test_an_update_without_order_wants_an_atomic_and_no_barrier():
    result = run_file(compiled("counted_without_atomics"), options=Options(checks="all"))
    [finding] = result.expected
    assert "atomicAdd" in finding.help and not finding.fixes


def test_an_unrolled_loop_is_one_place():
    result = run_file(compiled("not_all_of_it_written"), options=Options(checks="all"))
    [finding] = result.expected
    assert finding.count == 32 and finding.notes == ("the same at lines 97, 99, 101, ..., 157 (31 in all)",)


@COMPILES
def test_a_file_of_templates_alone(tmp_path, capsys):
    file = tmp_path / "templates.cu"
    file.write_text("template <class T> __global__ void k(T*) {}\n")
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr()
    assert "no __global__ function that becomes a kernel" in said.out + said.err


@COMPILES
def test_a_file_with_host_code_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PTXSIM_CACHE_DIR", str(tmp_path / "cache"))
    file, header = tmp_path / "hello.cu", tmp_path / "two.h"
    file.write_text(HELLO)
    header.write_text("#define TWO 2\n")
    assert run_file(read_file(file)).passed
    ran = []
    monkeypatch.setattr(compiler, "_by_nvcc", lambda *given: ran.append(given) or ".version 8.0\n.target sm_90a\n")
    assert run_file(read_file(file)).passed and not ran
    header.write_text("#define TWO 3\n")  # what it includes counts too
    read_file(file)
    assert len(ran) == 1


@EITHER
def test_what_the_compiler_says_is_shown_at_its_line(tmp_path, by):
    file = tmp_path / "wrong.cu"
    file.write_text("__global__ void k(int* x) {\n  x[0] = y;\n}\n")
    with pytest.raises(PtxError) as caught:
        read_file(file, compiler=by)
    (finding,) = caught.value.findings
    assert (finding.line, finding.message) == (2, 'identifier "y" is undefined')
    assert "  2 |   x[0] = y;" in render(finding)


@EITHER
def test_compile_gives_a_module(by, tmp_path, monkeypatch):
    monkeypatch.setenv("PTXSIM_CACHE_DIR", str(tmp_path))
    module = ptxsim.cuda.compile(BROKEN / "one_too_far.cu", target="sm_80", compiler=by)
    assert module.target.name == "sm_80" and module.entries == ["_Z5twicePfi"]


@pytest.mark.slow
@COMPILES
@pytest.mark.parametrize("header", ["cstdint", "stdint.h", "type_traits"])
def test_headers_of_the_host_are_compiled_by_nvcc(header, tmp_path):
    """NVRTC, which takes code of the GPU alone where both are there, has no such headers, and says how to go on."""
    (path := tmp_path / "k.cu").write_text(f"#include <{header}>\n__global__ void k(int* x) {{ *x = 1; }}\n")
    assert ".entry" in compiler.compile_file(path).text
    if compiler._has_nvrtc():
        with pytest.raises(PtxError) as refused:
            compiler.compile_file(path, compiler="nvrtc")
        assert "--compiler nvcc" in refused.value.findings[0].help


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiler, "_find_nvcc", lambda: None)
    with pytest.raises(PtxError, match="no nvcc"):
        read_file(BROKEN / "one_too_far.cu", compiler="nvcc")
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    with pytest.raises(PtxError, match="NVRTC") as caught:
        read_file(BROKEN / "one_too_far.cu")
    assert 'pip install "ptxsim[cuda]"' in caught.value.findings[0].help


@COMPILES
def test_nvcc_without_a_compiler_of_the_host_is_one_sentence(monkeypatch, tmp_path):
    nvcc = compiler._find_nvcc()
    monkeypatch.setattr(compiler, "_find_nvcc", lambda: nvcc)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PtxError, match="nvcc needs a compiler of the host's") as caught:
        compiler.compile_file(BROKEN / "one_too_far.cu", compiler="nvcc", flags=["-DONCE"])
    (finding,) = caught.value.findings
    assert finding.name == "bad-directive" and 'pip install "ptxsim[cuda]"' in finding.help


def test_binaries_are_read_for_their_ptx(tmp_path):
    data = Path(__file__).parent / "data" / "plain.fatbin"
    (tmp_path / "program").write_bytes(b"\x7fELF" + bytes(60) + data.read_bytes())
    source = read_file(tmp_path / "program")
    assert "_Z4fillPi" in source.text
    (tmp_path / "two").write_bytes(
        b"\x7fELF" + bytes(60) + 2 * data.read_bytes().replace(b"fill", b"fine") + data.read_bytes()
    )
    assert "_Z4fillPi" in read_file(tmp_path / "two", "fill").text
    with pytest.raises(PtxError, match="the file has 2 kernels; say which") as caught:
        read_file(tmp_path / "two")
    assert caught.value.findings[0].help == "there are: fine(int*), fill(int*)"


def test_parameters_have_the_names_that_their_author_gave():
    text = "// k(a)\ntemplate <class T>\n__global__ void k(T* x, /* n */ const int n, int (*f)(int, int), float a = 1);"
    assert written_names("__global__ void k(float* x, const int n, float a[4], float b = 1) {", "_Z1kPfiS_f") == [
        *"xnab"
    ]
    assert written_names(text, "_Z5otherPf") == []
    assert written_names("__global__ void k(float*, int n) {", "k") == []


def test_messages_name_buffers_as_their_author_did():
    (finding,) = run_file(compiled("one_too_far"), options=Options(checks="all")).expected
    assert "right after the end of x (400 bytes)" in finding.message
    module = ptxsim.Module(compiled("one_too_far"))
    device = ptxsim.Device("sm_90a")
    pointer = device.malloc(400)
    run = device.launch(module.kernel(), 2, 64, [pointer, 100], on_error="report")
    assert "right after the end of x (400 bytes)" in run.findings[0].message
    assert "device memory" in device.memory.describe(pointer + 400)


def test_lines_of_cuda_can_be_left_out(tmp_path, capsys):
    path = tmp_path / "missing_barrier.ptx"
    path.write_text((BROKEN / "missing_barrier.ptx").read_text())
    launch = ["--block", "128", "--arg", "zeros(128):s32", "--format", "concise"]
    assert main(["run", str(path), *launch]) == 1
    assert "missing_barrier.cu:9:3: error" in capsys.readouterr().out
    assert main(["run", str(path), *launch, "--no-lineinfo"]) == 1
    assert "missing_barrier.cu" not in capsys.readouterr().out


def test_registers_decide_how_many_warps_an_sm_holds():
    kernel = ptxsim.Module(compiled("missing_barrier")).kernel()
    data = np.zeros(128, np.int32)
    run = kernel.launch(1, 128, [data], checks="none", profile=1, registers=168)
    assert (run.cycles.occupancy.registers, run.cycles.occupancy.ctas, run.cycles.occupancy.limiter) == (
        168,
        3,
        "registers",
    )


def test_a_count_of_banks_that_fails_names_the_line_of_cuda():
    written = "// ptxsim: launch block=32\n// ptxsim: expect banks.worst == 1\n__global__ void k() {\n  column[32 * threadIdx.x] = 0;\n}\n"
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.shared .align 4 .b8 column[4096];\n.reg .b32 %t;\n.loc 1 4 3\n"
        'mov.u32 %t, %tid.x;\nshl.b32 %t, %t, 7;\nst.shared.u32 [%t+1024], %t;\nret;\n}\n.file 1 "k.cu"\n'
    )
    [finding] = run_file(Source(text, "k.ptx", made_from=Source(written, "k.cu"))).findings
    assert [(label.line, label.text) for label in finding.labels] == [
        (4, "32 lanes, 128 B apart: all on the same bank")
    ]
    assert finding.notes[0].startswith("most at line 4 (PTX: 11), st.shared.u32: 32 lanes")
    assert "column[32 * threadIdx.x] = 0;" in render(finding)

"""A program built by nvcc with the shared CUDA runtime, run with ptxsim's in its place."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ptxsim.cuda.runtime import environment, inspect, stubs_folder
from ptxsim.cuda.runtime import program as programs
from tests.helpers import ROOT

SOURCE = Path(__file__).with_name("features.cu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="CUDA executables run on Linux only"),
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc builds the program"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler builds the library"),
]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The program with the shared runtime, and with the static one; built once for all processes of the test run."""
    pytest.importorskip("zstandard")
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # of all workers of the run
    target = root / "features.o"
    with open(root / "features.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            command = ["nvcc", "-arch=sm_90", "-lineinfo", "-c", "-o", str(target), str(SOURCE)]
            subprocess.run(command, check=True, timeout=120)
            for runtime in ("shared", "static"):
                subprocess.run(
                    ["nvcc", "-cudart", runtime, "-o", str(root / runtime), str(target)], check=True, timeout=120
                )
    return root


def run(program, *arguments):
    variables = os.environ | environment(program)
    done = subprocess.run([program, *arguments], env=variables, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_what_programs_ask_for(built):
    code, out, err = run(built / "shared")
    assert (code, out) == (3, "kernel 3 prints\nhost\ndone\n"), out + err
    assert "cudaIpcGetMemHandle is not provided" in err
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize" in err
    assert "the box is 128 bytes wide, swizzle 64B allows no more than 64" in err
    assert err.count("error[") == err.count("error[PTX901]") == 1


def test_graphs_are_built_changed_and_launched(tmp_path):
    pytest.importorskip("zstandard")
    command = ["nvcc", "-cudart", "shared", "-arch=sm_90", "-o", tmp_path / "graphs", SOURCE.with_name("graphs.cu")]
    subprocess.run(command, check=True, timeout=120)
    code, out, err = run(tmp_path / "graphs")
    assert (code, out) == (3, "done\n"), out + err
    assert err.count("error[") == 1 and "nodes of type 13 (conditional ones, semaphores) are not modeled" in err


def test_graphs_of_a_program_that_was_built_with_cuda_12(tmp_path):
    library = stubs_folder().parent / "libcudart.so.12"
    command = ["c++", "-o", tmp_path / "graphs", SOURCE.with_name("graphs_of_12.cpp"), library]
    subprocess.run(command, check=True, timeout=120)
    code, out, err = run(tmp_path / "graphs")
    assert (code, out) == (0, "done\n"), out + err


def test_memory_and_graphs_that_host_and_device_share(tmp_path):
    pytest.importorskip("zstandard")
    source = SOURCE.with_name("shared_memory.cu")
    command = ["nvcc", "-cudart", "shared", "-arch=sm_90", "-o", tmp_path / "shared", source]
    subprocess.run(command, check=True, timeout=120)
    code, out, err = run(tmp_path / "shared")
    assert (code, out) == (3, "done\n"), out + err
    assert "cudaFuncAttributeNonPortableClusterSizeAllowed" in err
    assert "error[" not in err


@pytest.mark.parametrize("name", ["copies", "groups"])
def test_programs_right_to_the_end(tmp_path, name):
    pytest.importorskip("zstandard")
    source = SOURCE.with_name(f"{name}.cu")
    target = ["-std=c++17", "-gencode", "arch=compute_90a,code=compute_90a"]
    subprocess.run(["nvcc", "-cudart", "shared", *target, "-o", tmp_path / name, source], check=True, timeout=120)
    code, out, err = run(tmp_path / name)
    assert (code, out) == (0, "done\n"), out + err
    assert "error[" not in err


def test_launches_that_are_repeated(tmp_path):
    """What is known not to change anything is not run again, and counts all the same."""
    pytest.importorskip("zstandard")
    command = ["nvcc", "-cudart", "shared", "-arch=sm_90", "-o", tmp_path / "repeated", SOURCE.with_name("repeated.cu")]
    subprocess.run(command, check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "repeated"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (3, "kernel\n" * 5 + "done\n"), done.stderr
    assert "swap(int*, int*): 11 launches" in done.stderr


def test_translation_units_that_were_compiled_apart(tmp_path):
    """-rdc=true: their PTX is linked; a finding names the line of the unit that has it."""
    pytest.importorskip("zstandard")
    sources = [SOURCE.parent / "separate" / name for name in ("first.cu", "second.cu")]
    command = [
        "nvcc",
        "-cudart",
        "shared",
        "-lineinfo",
        "-rdc=true",
        "-arch=sm_90",
        "-o",
        tmp_path / "linked",
        *sources,
    ]
    subprocess.run(command, check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "linked"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "first 32\nsecond 32\nan illegal memory access was encountered\n", done.stderr
    assert "second.cu:15:" in done.stderr and "out-of-bounds" in done.stderr


def test_an_illegal_access_stays_an_error(built):
    code, out, err = run(built / "shared", "illegal")
    assert (code, out) == (5, "an illegal memory access was encountered\n"), out + err
    assert "features.cu" in err and "out-of-bounds" in err


def test_the_host_cannot_follow_a_device_pointer(built):
    assert run(built / "shared", "host")[0] == -11  # SIGSEGV


def test_what_an_element_comes_from(tmp_path):
    build = ["nvcc", "-cudart", "shared", "-lineinfo", "-arch=sm_90", "-o", str(tmp_path / "vadd")]
    subprocess.run([*build, str(ROOT / "samples/vadd.cu")], check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", "--why", "out[700]", "--why", "x[0]", str(tmp_path / "vadd")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr  # one of the questions has no answer
    assert "out[700] is 2100 after vadd, launch 0; it was 0 before" in done.stderr
    assert "stored at vadd.cu:6 by block (2,0,0) thread (188,0,0)" in done.stderr
    assert "depends on x[700], 1 of the 256 elements that the block loads at vadd.cu:6" in done.stderr
    assert (
        "--why x[0]: no launch has a parameter of that name whose array has such an element and is stored to"
        in done.stderr
    )


def test_a_gemm_of_clusters_is_right_and_native(tmp_path):
    """Tensor maps of the driver's, multicast, products of warpgroups, arrivals in several CTAs, an assertion."""
    pytest.importorskip("zstandard")
    program = tmp_path / "gemm"
    command = [
        "nvcc",
        "-cudart",
        "shared",
        "-lineinfo",
        "-std=c++17",
        "-gencode",
        "arch=compute_90a,code=compute_90a",
        "-o",
        program,
    ]
    subprocess.run([*command, SOURCE.with_name("cluster_gemm.cu")], check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "passed" in done.stderr, done.stdout + done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["findings"], record["slow_path"]) == ([], [])


PYTHON = """\
import ctypes, threading
library = ctypes.CDLL("./library.so")
def run(found):
    x = (ctypes.c_float * 300)(*range(300))
    found.append((library.run(x, 300), x[299]))
found = []
threads = [threading.Thread(target=run, args=(found,)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found)
"""


def test_a_python_program_loads_a_library_of_cuda_code(tmp_path):
    pytest.importorskip("zstandard")
    command = [
        "nvcc",
        "-cudart",
        "shared",
        "-arch=sm_90",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        tmp_path / "library.so",
    ]
    subprocess.run([*command, SOURCE.with_name("library.cu")], check=True, timeout=120)
    (tmp_path / "program.py").write_text(PYTHON)
    command = [sys.executable, "-m", "ptxsim", "exec", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{[(0, 598.0)] * 3}\n"), done.stderr
    assert "3 launches, no findings" in done.stderr


@pytest.mark.parametrize(
    "stored, target, said",
    [
        ("arch=compute_90,code=sm_90", "sm_90a", "the program holds machine code for sm_90 and no PTX"),
        (
            "arch=compute_100,code=compute_100",
            "sm_90a",
            "the program's PTX is for sm_100, which does not run on sm_90a",
        ),
    ],
)
def test_a_program_without_ptx_for_the_machine_is_told(tmp_path, stored, target, said):
    pytest.importorskip("zstandard")
    program, source = tmp_path / "program", SOURCE.with_name("broken") / "size_in_elements.cu"
    subprocess.run(["nvcc", "-cudart", "shared", "-gencode", stored, "-o", program, source], check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", "--target", target, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and said in done.stderr


def test_a_program_of_the_driver_is_linked_and_run(tmp_path):
    """The linker leaves the runtime out, of which nothing is used."""
    command = [
        "nvcc",
        "-cudart",
        "shared",
        f"-L{stubs_folder()}",
        "-o",
        tmp_path / "driver",
        SOURCE.with_name("driver.cpp"),
        "-lcuda",
    ]
    subprocess.run(command, check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "driver"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0 -5 -3 134217728\n"), done.stderr  # as an H200 says


def test_the_runtime_makes_a_context_current(tmp_path):
    source = SOURCE.with_name("context_of_the_runtime.cpp")
    command = ["nvcc", "-cudart", "shared", f"-L{stubs_folder()}", "-o", tmp_path / "context", source, "-lcuda"]
    subprocess.run(command, check=True, timeout=120)
    code, out, err = run(tmp_path / "context")
    assert (code, out) == (0, "done\n"), out + err


def test_memory_that_a_program_maps(tmp_path):
    """The driver is opened by the program, which is linked with neither driver nor runtime."""
    source = SOURCE.with_name("virtual_memory.cpp")
    subprocess.run(["nvcc", "-cudart", "none", "-o", tmp_path / "maps", source], check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "maps"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    assert (
        "cuArray3DCreate_v2 is not provided (arrays, which textures and surfaces read, are not modeled)" in done.stderr
    )
    assert "cuMemMap: memory that is mapped at two places at a time is not modeled" in done.stderr
    assert "read-only-write" in done.stderr


def test_a_program_loads_what_nvrtc_has_compiled_for_it(tmp_path):
    """PTX takes the place of the machine code that it asks for."""
    folder = Path(next(iter(pytest.importorskip("nvidia.cu13").__path__)))
    if not (folder / "include" / "nvrtc.h").exists():
        pytest.skip("no NVRTC of pip's is there")
    library = folder / "lib" / "libnvrtc.so.13"
    linked = ["-Xlinker", str(library), f"-L{stubs_folder()}", "-lcuda"]
    command = ["nvcc", "-cudart", "shared", f"-I{folder / 'include'}", SOURCE.with_name("compiles.cpp"), *linked]
    subprocess.run([*command, "-o", tmp_path / "compiles"], check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", tmp_path / "compiles"]
    variables = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "198\n"), done.stderr
    assert "twice: 1 launch" in done.stderr
    assert "a CUDA runtime of its own" not in done.stderr  # NVRTC asks for tables that no runtime asks for


def test_a_kernel_that_waits_for_the_host_is_told_that_launches_end_first(tmp_path):
    source = SOURCE.with_name("waits_for_the_host.cu")
    command = ["nvcc", "-cudart", "shared", "-lineinfo", "-arch=sm_90", "-o", tmp_path / "waits", source]
    subprocess.run(command, check=True, timeout=120)
    command = [sys.executable, "-m", "ptxsim", "exec", "--format", "json", tmp_path / "waits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    [[finding]] = [record["findings"] for record in json.loads(done.stdout)]
    assert (done.returncode, finding["name"], finding["source_line"]) == (1, "deadlock", 3)
    assert "a launch ends here before the host goes on" in finding["help"]


def test_a_static_runtime_is_told(built):
    found = inspect(built / "static")
    assert found.is_cuda and "libcudart.so.13" not in found.needed
    what, help = found.problem
    assert "statically" in what and "nvcc -cudart shared" in help
    assert inspect(built / "shared").problem is None
    assert inspect("/bin/sh").problem is None and not inspect("/bin/sh").is_cuda


def test_imports_that_no_runtime_has_are_named(built, monkeypatch):
    monkeypatch.setattr(programs, "documented", list)
    what, _ = inspect(built / "shared").problem
    assert "cudaMemcpy3D" in what


def test_libraries_and_driver_functions_that_cannot_be_had_are_named():
    shared = "libcudart.so.13"
    what, _ = programs.Program([shared, "libcublas.so.13"], [], True).problem
    assert "libcublas.so.13" in what and "machine code" in what
    what, _ = programs.Program(
        [shared, "libcuda.so.1"], ["cuThingCreate", "cuTexObjectCreate", "cuTensorMapEncodeTiled", "curl_init"], True
    ).problem
    assert what.endswith("knows has: cuThingCreate")


def test_files_that_are_no_programs(tmp_path):
    for content in (b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 100, b"#!/bin/sh\n"):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert inspect(path).problem is None


def test_the_programs_python_finds_an_editable_installation(monkeypatch):
    root = Path(environment.__code__.co_filename).parents[3]
    monkeypatch.setattr(sys, "path", [p for p in sys.path if Path(p or ".").resolve() != root])
    assert str(root) in environment()["PTXSIM_PYTHONPATH"].split(os.pathsep)


def test_it_is_said_why_a_launch_cannot_start(tmp_path):
    program = tmp_path / "refused_launches"
    source = SOURCE.with_name("refused_launches.cu")
    command = ["nvcc", "-cudart", "shared", "-arch=sm_90", "-o", str(program), str(source)]
    subprocess.run(command, check=True, timeout=120)
    code, _, err = run(program)
    assert code == 0, err
    assert [line.partition("launched with ")[2] for line in err.splitlines() if "is launched with" in line] == [
        "grid.x = 0: it may be 1 to 2147483647",
        "grid.y = 70000: it may be 1 to 65535",
        "4096 threads in a block: there may be 1024",
        "256 threads in a block: its __launch_bounds__ (.maxntid) allow 128",
        "a grid of (3, 1, 1) blocks, which clusters of (2, 1, 1) do not divide",
    ]


REFUSED_CALLS = """\
cudaMemcpy fails with cudaErrorInvalidValue (invalid argument): 200 bytes at 0x, byte 0 of device memory (100 bytes)
cudaMemcpy fails with cudaErrorInvalidValue (invalid argument): by its direction 0x is memory of the device, it is the host's
cudaFree fails with cudaErrorInvalidValue (invalid argument): 0x, byte 0 of device memory (100 bytes), which has been freed
cudaFree fails with cudaErrorInvalidValue (invalid argument): 0x, memory of the host
cudaFree fails with cudaErrorInvalidValue (invalid argument): 0x, byte 0 of host memory (64 bytes)
cudaEventRecord fails with cudaErrorInvalidResourceHandle (invalid resource handle)
"""


def test_calls_that_fail_are_told_once_each(tmp_path):
    """What is not modeled makes the run one that says so, whatever the program returns."""
    program = tmp_path / "refused_calls"
    source = SOURCE.with_name("refused_calls.cu")
    subprocess.run(["nvcc", "-w", "-cudart", "shared", "-o", program, source], check=True, timeout=120)
    done = subprocess.run(
        [sys.executable, "-m", "ptxsim", "exec", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3, done.stderr
    said = [line.removeprefix("ptxsim: ") for line in done.stderr.splitlines() if line.startswith("ptxsim: ")]
    assert re.sub("0x[0-9a-f]+", "0x", "\n".join(said)) == REFUSED_CALLS.rstrip("\n")
    assert (
        "not-modeled: cudaGraphConditionalHandleCreate is not provided (conditional nodes of graphs are not modeled): "
        "the program gets cudaErrorNotSupported (801)" in done.stderr
    )

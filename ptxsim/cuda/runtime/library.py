"""The stand-in libcudart.so: built once with the C compiler of the machine, then found in the cache."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import resources
from pathlib import Path

from ptxsim.cuda.runtime.program import DRIVER, inspect
from ptxsim.cuda.runtime.stubs import documented_of_driver, functions, stubs
from ptxsim.jit.store import ObjectStore, distrust

PRELOAD = "PTXSIM_CUDART"  # the libraries, for a Python program that loads them before others
STUBS = "stubs"  # the folder of what programs are linked with
NVRTC = "libptxsim_nvrtc.so"  # what stands before NVRTC's own library
VERSIONS = (12, 13)  # of the runtime: programs ask for libcudart.so.12 or libcudart.so.13
# Where device memory begins in the program's process. It has nothing here: its heap, libraries and stacks, and the shadow of
# an address sanitizer, lie elsewhere.
PLACE = 0x2000_4000_0000


class NoLibrary(Exception):
    """There is no library, for the reason that the text gives."""


def folder() -> Path:
    """The folder with the libraries; builds them on first use. Raises NoLibrary."""
    digest = hashlib.blake2b(digest_size=10)
    for source in sorted(resources.files("ptxsim.cuda.runtime").iterdir(), key=lambda source: source.name):
        if source.name.endswith((".c", ".txt", ".py")):  # the C text is written from the prototypes in these modules
            digest.update(source.read_bytes())
    root = _root()
    found = root / digest.hexdigest()
    if not found.is_dir():
        _build(found)
    return found


def _root() -> Path:
    """Where libraries are kept: beside compiled code, unless others can write there."""
    cache = ObjectStore().folder
    if cache is not None:
        root = cache.parent / "cudart"
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, exist_ok=True)
            if not distrust(root):
                return root
    return Path(tempfile.mkdtemp(prefix="ptxsim-"))


def _build(place: Path) -> None:
    if not sys.platform.startswith("linux"):
        raise NoLibrary("CUDA executables run on Linux only")
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoLibrary("CUDA executables need a C compiler once, to build the library they load: install gcc or clang")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as work:
        new = Path(work) / "new"
        new.mkdir()
        (Path(work) / "stubs.h").write_text(stubs())
        for version in VERSIONS:
            name = f"libcudart.so.{version}"
            exported = Path(work) / "map"
            exported.write_text(
                f"{name} {{ global: cu*; _cu*; __cuda*; local: *; }};\nlibnvrtc.so.{version} {{ global: nvrtc*; }};\n"
            )
            with resources.as_file(resources.files("ptxsim.cuda.runtime")) as texts:
                _run([
                    compiler, "-shared", "-fPIC", "-O1", f"-DVERSION={version}", f"-I{work}", str(texts / "cudart.c"), "-ldl", "-pthread",
                    f"-Wl,-soname,{name}", f"-Wl,--version-script={exported}", "-o", str(new / name),
                ])  # fmt: skip
        with resources.as_file(resources.files("ptxsim.cuda.runtime").joinpath("nvrtc.c")) as text:
            _run([compiler, "-shared", "-fPIC", str(text), "-ldl", "-o", str(new / NVRTC)])
        # The driver's library has nothing of its own: its functions are found in the runtime's, which it needs.
        (new / "driver").mkdir()
        runtime, driver = new / f"libcudart.so.{VERSIONS[-1]}", new / "driver" / DRIVER
        _run([
            compiler, "-shared", "-o", str(driver), f"-Wl,-soname,{DRIVER}", "-Wl,--no-as-needed", str(runtime),
            "-Wl,-rpath,$ORIGIN/..",
        ])  # fmt: skip
        # What programs are linked with (-lcuda) where there is no driver: names alone.
        (new / STUBS).mkdir()
        own = {f.name for f in functions() if f.name.startswith("cu") and not f.name.startswith("cuda")}
        names = sorted(own | {*documented_of_driver()})
        (Path(work) / "names.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names))
        _run([
            compiler, "-shared", "-fPIC", f"-Wl,-soname,{DRIVER}", str(Path(work) / "names.c"), "-o",
            str(new / STUBS / "libcuda.so"),
        ])  # fmt: skip
        try:
            new.rename(place)
        except OSError:  # another process was quicker
            if not place.is_dir():
                raise


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NoLibrary(f"the library for CUDA executables cannot be built: {done.stderr.strip() or command[0]}")


def stubs_folder() -> Path:
    """The folder with the libcuda.so that programs are linked with where there is no driver. Raises NoLibrary."""
    return folder() / STUBS


def _libpython() -> str:
    """Python as a library. Raises NoLibrary."""
    names = {sysconfig.get_config_var(v) for v in ("INSTSONAME", "LDLIBRARY")} - {None}
    for root in {sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")} - {None}:
        for name in sorted(n for n in names if ".so" in n):
            if (path := Path(root, name)).exists():
                return str(path)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise NoLibrary(f"CUDA executables need Python {version} as a shared library: install libpython{version}")


def load_driver() -> None:
    """Load the stand-in for the driver's library into this process, under `environment`: whoever loads `libcuda.so.1` gets it."""
    runtime = os.environ.get(PRELOAD, "").split(os.pathsep)[-1]
    if runtime:
        ctypes.CDLL(str(Path(runtime).parent / "driver" / DRIVER))


def load_before_nvrtc() -> None:
    """Load what stands before NVRTC's library into this process, under `environment`: whoever looks for a function of that one finds it."""
    runtime = os.environ.get(PRELOAD, "").split(os.pathsep)[-1]
    if runtime:
        ctypes.CDLL(str(Path(runtime).parent / NVRTC), ctypes.RTLD_GLOBAL)


def environment(program: str | Path | None = None) -> dict[str, str]:
    """Variables with which a program loads ptxsim's libcudart in place of NVIDIA's. Raises NoLibrary.

    program: the executable; without it, a Python program, which loads the driver's library (`load_driver`) if it needs it.
    """
    place = folder()
    needed = inspect(program).needed if program is not None else []
    # A program may open the driver's library itself. A Python program's packages would take it for a sign that there is a GPU.
    paths = [str(place), *([str(place / "driver")] if program is not None else [])]
    # Before what the program itself says about where its libraries lie.
    runtimes = [f"libcudart.so.{v}" for v in VERSIONS]
    preloaded = [name for name in runtimes if name in needed]
    if not preloaded and any(name.startswith("libnvrtc.so.") for name in needed):
        preloaded = runtimes[-1:]  # it has a function of NVRTC's, too
    libraries = [str(place / name) for name in preloaded]
    return {
        "LD_LIBRARY_PATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
        "LD_PRELOAD": os.pathsep.join([*libraries, *filter(None, [os.environ.get("LD_PRELOAD")])]),
        PRELOAD: os.pathsep.join(str(place / f"libcudart.so.{version}") for version in VERSIONS),
        "PTXSIM_ARENA": hex(PLACE),
        "PTXSIM_LIBPYTHON": _libpython(),
        "PTXSIM_PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
        # An editable installation is found by a hook, which the program's Python does not have.
        "PTXSIM_PYTHONPATH": os.pathsep.join([*map(os.path.abspath, sys.path), str(Path(__file__).parents[3])]),
    }

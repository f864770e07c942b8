"""What a Python process under `ptxsim exec` is prepared by: from the moment it imports torch "cuda" is the CPU (`cuda_is_cpu`), and other
libraries find ptxsim's."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Any

from ptxsim.cuda.runtime.library import PRELOAD, load_before_nvrtc, load_driver
from ptxsim.programs import comparisons
from ptxsim.programs.after_import import after_import

PATHFINDER = "cuda.pathfinder"
_BEGINNING = os.path.join(os.path.dirname(__file__), "__main__.py")  # which runs the program
CUTE_DSL = "cutlass.cutlass_dsl"  # its own package: the outer one's name is that of other packages, too


def cuda_is_cpu() -> None:
    """torch has been loaded."""
    from ptxsim.triton.cuda_is_cpu import apply

    apply()


def cute_dsl() -> None:
    """CuTe DSL has been loaded."""
    from ptxsim.triton.cute_dsl import apply

    apply()


def load_runtime() -> None:
    """Load the stand-in CUDA runtime before torch's builds for CUDA load NVIDIA's: the first of a name serves all libraries."""
    for path in filter(None, os.environ.get(PRELOAD, "").split(os.pathsep)):
        with suppress(OSError):
            ctypes.CDLL(path)


def use_driver() -> None:
    """cuda.pathfinder has been loaded, which finds NVIDIA's libraries for cuda.bindings: the driver is ptxsim's, and nvJitLink is not to
    be had. It makes machine code of PTX; without it cuda.core links by the driver, which keeps the PTX. Other libraries find no driver:
    what brings a CUDA runtime of its own (Warp) would ask it for more than there is. NVRTC gives PTX for machine code."""
    with suppress(OSError):
        load_driver()
    pathfinder: Any = sys.modules[PATHFINDER]
    load = pathfinder.load_nvidia_dynamic_lib

    def load_others(name: str) -> Any:
        if name == "nvJitLink":
            raise pathfinder.DynamicLibNotFoundError("nvJitLink makes machine code, which ptxsim does not run")
        if name == "nvrtc":
            load_before_nvrtc()
        return load(name)

    pathfinder.load_nvidia_dynamic_lib = load_others


def drop_frames(error: BaseException, trace: TracebackType | None) -> None:
    """Of an error of a launch, or of Ctrl-C in it, drop the frames of Triton and ptxsim that the program's own line leads to."""
    runs, diagnostic = sys.modules.get("ptxsim.session.run"), sys.modules.get("ptxsim.diagnostic")
    if runs is None or diagnostic is None:
        return
    if not isinstance(error, KeyboardInterrupt | runs.KernelError | diagnostic.PtxError):
        return
    last = trace
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] not in ("triton", "ptxsim"):
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def drop_listeners(trace: TracebackType | None) -> None:
    """Drop the frames of those who listen to the program's comparisons, which stand between it and the library."""
    while trace is not None:
        inner = trace.tb_next
        if inner is not None and inner.tb_frame.f_code.co_filename == comparisons.__file__:
            trace.tb_next = inner.tb_next
        else:
            trace = inner


def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An exception that ends the program: from its own first line on, and what to install where a package is missing."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (_BEGINNING, "<frozen runpy>"):
        trace = trace.tb_next
    drop_frames(error, trace)
    drop_listeners(trace)
    sys.__excepthook__(kind, error.with_traceback(trace), trace)
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "triton"):
        sys.stderr.write(f'ptxsim: the program needs {error.name}: pip install "ptxsim[triton]"\n')


@cache
def prepare() -> None:
    """Get this process ready for a program, before that imports anything."""
    sys.excepthook = show
    load_runtime()
    comparisons.listen()
    after_import("torch", cuda_is_cpu)
    after_import(PATHFINDER, use_driver)
    for name in ("LINEINFO", "DISABLE_FILE_CACHING"):  # read as CuTe DSL is imported
        os.environ.setdefault(f"CUTE_DSL_{name}", "1")
    after_import(CUTE_DSL, cute_dsl)

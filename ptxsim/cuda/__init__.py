"""CUDA C++: its compilers, its fat binaries, its runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxsim.session.module import Module

__all__ = ["compile"]


def compile(
    file: str | Path, target: str | None = None, *, compiler: str | None = None, flags: Sequence[str] = ()
) -> Module:
    """Compile a .cu file; findings in its kernels stand at its lines.

    target: "sm_90a" unless said. compiler: "nvrtc" (pip install "ptxsim[cuda]") or "nvcc"; else the one that can take the file and is there.
    flags: more of the compiler's own. Raises OSError where the file cannot be read, PtxError where it does not compile or where no
    compiler is there.
    """
    from ptxsim.cuda.compiler import compile_file
    from ptxsim.session.module import Module

    return Module(compile_file(file, target, compiler, flags))

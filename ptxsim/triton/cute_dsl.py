"""For programs in CuTe DSL under `ptxsim exec`: its compiled host code calls ptxsim's CUDA runtime, its kernels stay PTX, and torch's
tensors are in device memory.

Host code finds the runtime's functions in a library of CuTe DSL's own; ptxsim's, which has the same names, is put before it. In the
compiled module the machine code, a constant, is replaced by the PTX that it was made of. Tensor maps are written by the host code itself, in
the machine's format (machine.copies.driver_map).
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptxsim.cuda.runtime.library import PRELOAD
from ptxsim.programs.after_import import after_import

CUDA = 2  # DLDeviceType


def apply() -> None:
    """CuTe DSL has been loaded."""
    from cutlass.base_dsl.compiler import Compiler
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.cutlass_dsl.cuda_jit_executor import CudaDialectJitCompiledFunction, CudaDialectJitModule

    library = os.environ.get(PRELOAD, "").split(os.pathsep)[-1]
    if not library:  # no C compiler, which the program would need if it launches
        return
    libraries = BaseDSL.get_shared_libs
    BaseDSL.get_shared_libs = lambda dsl: [library, *libraries(dsl)]
    Compiler.compile = _with_ptx(Compiler.compile)
    # What it asks the static runtime of cuda.bindings.
    CudaDialectJitCompiledFunction.num_devices = 1
    CudaDialectJitModule.unload = lambda module: setattr(module, "_unloaded", True)
    after_import("torch", _tensors)


def _with_ptx(compile: Callable[..., Any]) -> Callable[..., Any]:
    """A compilation that keeps the PTX."""

    def to_ptx(compiler: Any, module: Any, pipeline: str, *given: Any, **named: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            asked, kept = (re.search(rf"dump-{kind}-path='([^']*)'", pipeline) for kind in ("ptx", "cubin"))
            prefix = asked[1] if asked else f"{folder}/kernel"
            if not asked:
                pipeline = pipeline.replace("cubin-format=", f"dump-ptx-path='{prefix}' cubin-format=", 1)
            compiled = compile(compiler, module, pipeline, *given, **named)
            chip = re.search(r"cubin-chip=(\w+)", pipeline)
            name = chip[1] if chip else ""
            path = Path(f"{prefix}.{name}.ptx")
            if path.exists():
                _replace(compiled, path.read_text())
            if path.exists() and kept:  # what programs load themselves (cutlass.utils.HardwareInfo)
                Path(f"{kept[1]}.{name}.cubin").write_text(path.read_text() + "\0")
        return compiled

    return to_ptx


def _replace(module: Any, text: str) -> None:
    """Let a compiled module hold PTX where it holds the machine code of its kernels."""
    from cutlass._mlir import ir

    size = len(text.encode()) + 1
    for operation in module.body:
        attributes = operation.operation.attributes
        if "global_type" in attributes and ir.StringAttr(attributes["sym_name"]).value.endswith("_binary"):
            kind = ir.Type.parse(f"!llvm.array<{size} x i8>", context=module.context)
            attributes["global_type"] = ir.TypeAttr.get(kind)
            attributes["value"] = ir.StringAttr.get(text + "\0", context=module.context)


def _tensors() -> None:
    """Give CuTe DSL, and whoever asks for the address of a tensor, device memory that goes in and comes out with every launch."""
    import torch

    from ptxsim.triton import runtime_tensors

    storages = runtime_tensors.storages()
    assert storages is not None
    torch.Tensor.data_ptr = runtime_tensors.data_ptr
    before = torch.Tensor.__dlpack__

    def capsule(tensor: Any, *given: Any, **named: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        if caller.partition(".")[0] != "cutlass" or tensor.untyped_storage().device.type != "cpu":
            return before(tensor, *given, **named)
        found = before(tensor)
        ask = ctypes.pythonapi.PyCapsule_GetPointer
        ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = ask(found, b"dltensor")
        ctypes.c_uint64.from_address(at).value = storages.keep(tensor)  # DLTensor: data, then device type and number
        ctypes.c_int32.from_address(at + 8).value = CUDA
        return found

    torch.Tensor.__dlpack__ = capsule

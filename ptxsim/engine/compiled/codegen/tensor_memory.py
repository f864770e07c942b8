"""Instructions on tensor memory (machine.tensor_memory)."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.program.operation import Op


@lowers("tensor_memory_fence")
def fence(w: FunctionWriter, op: Op) -> None:
    """Nothing: what it orders is done in the order of the program."""

"""Native lowerings by family. A family whose effects use the machine and that has none here takes the slow path.

    @lowers("mma", "wmma")
    def product(w: FunctionWriter, op: Op) -> None: ...

A lowering prints one operation: it reads the sources, writes the destinations, and raises CannotEmit, with nothing that
cannot be undone, where this operation takes the slow path.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.program.operation import Op

Lowering = Callable[[FunctionWriter, Op], None]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*families: str) -> Callable[[Lowering], Lowering]:
    """Register the native lowering of families."""

    def register(lowering: Lowering) -> Lowering:
        for family in families:
            assert family not in LOWERINGS, family
            LOWERINGS[family] = lowering
        return lowering

    return register

"""What would correct a wrong result: the launch is repeated with other swizzles in the matrix descriptors.

A tile that threads have stored with one swizzle and a descriptor reads with another gives wrong numbers and nothing else; no
address is wrong. Only the results can show it, and only where the expected ones are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

from ptxsim.diagnostic import PtxError
from ptxsim.isa.facts import Mechanism
from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.session.launch import Launch

SHORT = 5_000  # warp instructions of a run that is tried again
OPERANDS = (("A",), ("B",), ("A", "B"))


def other_swizzle(
    again: Callable[[], tuple[Launch, dict[str, Any]]], is_met: Callable[[dict[str, Any]], bool]
) -> str | None:
    """With which swizzle the results are as expected, as a sentence; None if with none. `again` makes a launch on fresh
    data, `is_met` judges the data after it."""
    launch, _ = again()
    if not any(op.completes_by is Mechanism.PRODUCT_GROUP for op in launch.program.ops):
        return None
    for operands, mode in product(OPERANDS, SWIZZLE_BITS):
        launch, values = again()
        if _ends_well(launch, operands, mode) and is_met(values):
            which = f"the descriptor{'s' * (len(operands) > 1)} of {' and '.join(operands)}"
            return f"tried: with swizzle {mode} in {which}, the product is what is expected"
    return None


def _ends_well(launch: Launch, operands: tuple[str, ...], mode: str) -> bool:
    """Run with that swizzle for those operands, the results in the launch's arrays; False where the run cannot."""

    def tried(operand: str, descriptor: int) -> int:
        if operand not in operands:
            return descriptor
        return replace(Descriptor.decode(descriptor), swizzle=mode).encode()

    try:
        machine = launch.run_grid(replace_descriptor=tried)
        launch.copy_out()
    except PtxError:
        return False
    return machine.stopped_at is None

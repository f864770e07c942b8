"""What native code draws with a seed other than 0, as Python does (machine.draws)."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import Context
from ptxsim.jit.export import view
from ptxsim.machine.asynchronous import LATEST
from ptxsim.machine.draws import Draws, draw


def delay(context: Context) -> int:
    """machine.asynchronous.delay."""
    return LATEST if context.draws == 0 else draw(view(context.draws, Draws, 1)[0], LATEST)


def is_drawn(context: Context, one_in: int) -> bool:
    """What is so one time in some, and never with seed 0."""
    return context.draws != 0 and draw(view(context.draws, Draws, 1)[0], one_in) == 0

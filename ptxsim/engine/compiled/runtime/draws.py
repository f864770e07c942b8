"""What native code draws with a seed other than 0, as Python does (machine.draws)."""

from __future__ import annotations

from ptxsim.engine.compiled.runtime.abi import Context
from ptxsim.jit.export import view
from ptxsim.machine.asynchronous import LATEST
from ptxsim.machine.draws import Draws, draw, gives_up


def delay(context: Context) -> int:
    """machine.asynchronous.delay."""
    return LATEST if context.draws == 0 else draw(view(context.draws, Draws, 1)[0], LATEST)


def gives_up_early(context: Context) -> bool:
    """machine.draws.gives_up, and never with seed 0."""
    return context.draws != 0 and gives_up(view(context.draws, Draws, 1)[0])

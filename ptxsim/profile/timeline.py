"""What happened when on the replayed SM: the blocks of every warp, and the work of every engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.profile.machine_code import Pipe

SUB_CORE_ENGINES = {
    Pipe.ALU: "ALU", Pipe.FMA: "FMA", Pipe.FMA_HEAVY: "integer multiplier", Pipe.FP64: "FP64", Pipe.XU: "special functions",
    Pipe.TENSOR: "tensor core", Pipe.LSU: "load and store", Pipe.UNIFORM: "uniform", Pipe.ADU: "address and constants",
    Pipe.TENSOR_MEMORY: "tensor memory",
}  # fmt: skip


class Span(NamedTuple):
    """A stretch of a track, in cycles from the launch on."""

    group: str
    track: str
    name: str
    begin: float
    end: float


@dataclass(slots=True)
class Timeline:
    """`warps`: rows of slot, CTA, block, begin, end; `work`: rows of engine, sub-core, begin, end; `waits`, of some cycles at least:
    rows of slot, CTA, site of the instruction that waits, reason (model.encode.STALLS), begin, end, who ended it (replay.state.NOBODY)."""

    warps: np.ndarray
    work: np.ndarray
    waits: np.ndarray
    sm: int
    program: Program

    def warp_spans(self) -> Iterator[Span]:
        """A span for every block that a warp executed; tracks are warp slots, groups CTAs (in the order they ran on the SM)."""
        for slot, cta, block, begin, end in self.warps.tolist():
            ops = self.program.blocks[int(block)]
            name = f"lines {ops[0].line}-{ops[-1].line}" if ops else f"block {int(block)}"
            yield Span(f"SM {self.sm}, CTA {int(cta)} of it", f"warp slot {int(slot)}", name, begin, end)

    def engine_spans(self) -> Iterator[Span]:
        """A span for every stretch in which an engine worked; tracks are units of the SM and pipes of the sub-cores."""
        for engine, sub_core, begin, end in self.work.tolist():
            yield Span(f"SM {self.sm}, engines", engine_name(int(engine), int(sub_core)), "busy", begin, end)

    def waker(self, slot: int, who: int) -> str:
        """Who ended a wait of the warp in a slot; empty where neither a warp nor an engine did."""
        from ptxsim.profile.replay.state import NOBODY, SLOTS, SUBS

        if who == NOBODY:
            return ""
        return f"warp slot {who}" if who < SLOTS else engine_name(who - SLOTS, slot % SUBS)


def engine_name(engine: int, sub_core: int) -> str:
    """The track of an engine: a unit of the SM, or a pipe of a sub-core."""
    from ptxsim.profile.replay.state import ENGINES, SHARED_UNITS

    if engine < SHARED_UNITS:
        return ENGINES[engine]
    return f"sub-core {sub_core}: {SUB_CORE_ENGINES[Pipe(engine - SHARED_UNITS)]}"

"""What happened when on the replayed SM: the blocks of every warp, and the work of every engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ptxsim.engine.program.operation import Op
from ptxsim.profile.lowering.machine_code import Pipe

SUB_CORE_ENGINES = {
    Pipe.ALU: "ALU", Pipe.FMA: "FMA", Pipe.FMA_HEAVY: "integer multiplier", Pipe.FP64: "FP64", Pipe.XU: "special functions",
    Pipe.TENSOR: "tensor core", Pipe.LSU: "load and store", Pipe.UNIFORM: "uniform", Pipe.ADU: "address and constants",
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
    """`warps`: rows of slot, CTA, block, begin, end; `work`: rows of engine, sub-core, begin, end."""

    warps: np.ndarray
    work: np.ndarray
    sm: int
    blocks: Sequence[Sequence[Op]]

    def warp_spans(self) -> Iterator[Span]:
        """A span for every block that a warp executed; tracks are warp slots, groups CTAs (in the order they ran on the SM)."""
        for slot, cta, block, begin, end in self.warps.tolist():
            ops = self.blocks[int(block)]
            name = f"lines {ops[0].line}-{ops[-1].line}" if ops else f"block {int(block)}"
            yield Span(f"SM {self.sm}, CTA {int(cta)} of it", f"warp slot {int(slot)}", name, begin, end)

    def engine_spans(self) -> Iterator[Span]:
        """A span for every stretch in which an engine worked; tracks are units of the SM and pipes of the sub-cores."""
        from ptxsim.profile.model.replay_state import ENGINES, SHARED_UNITS

        for engine, sub_core, begin, end in self.work.tolist():
            if engine < SHARED_UNITS:
                yield Span(f"SM {self.sm}, engines", ENGINES[int(engine)], "busy", begin, end)
            else:
                name = SUB_CORE_ENGINES[Pipe(int(engine) - SHARED_UNITS)]
                yield Span(f"SM {self.sm}, engines", f"sub-core {int(sub_core)}: {name}", "busy", begin, end)

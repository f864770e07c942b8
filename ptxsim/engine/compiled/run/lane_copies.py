"""The memory of native cp.async, and the copies in flight as Python objects when a CTA goes on in the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.compiled.run.side_exit import field, port_at
from ptxsim.engine.compiled.runtime.cp_async_state import COPY, COPY_BYTES, QUEUE, QUEUE_BYTES, RING
from ptxsim.lanes import word_mask
from ptxsim.machine.async_groups import LaneCopy, LaneGroups
from ptxsim.machine.cta import Cta, Warp
from ptxsim.machine.memory import ARENA
from ptxsim.machine.records import aligned

if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.context import NativeContext


class LaneCopies:
    """What native cp.async needs in an engine's context: the queues of one CTA's warps."""

    def __init__(self, native: NativeContext, warps: int):
        self.native = native
        self.queues = aligned(warps * QUEUE_BYTES).reshape(warps, QUEUE_BYTES)

    def begin(self) -> None:
        """A CTA begins, in native code."""
        self.queues[:, : QUEUE["ring"]] = 0
        self.native.record.copies = self.queues.ctypes.data

    def hand_over(self, cta: Cta) -> None:
        """Make Python objects of the copies that have not landed."""
        self.native.record.copies = 0
        for warp, queue in zip(cta.warps, self.queues):
            issued, landed, committed = (int(field(queue, QUEUE[n], "<i8")) for n in ("issued", "landed", "committed"))
            groups = LaneGroups.of(warp)
            groups.committed[:] = committed
            for number in range(landed, issued):
                start = QUEUE["ring"] + number % RING * COPY_BYTES
                groups.copies.append(self._copy(warp, queue[start : start + COPY_BYTES]))

    def _copy(self, warp: Warp, copy: np.ndarray) -> LaneCopy:
        memory = self.native.machine.memory
        mask, reading = (word_mask(int(field(copy, COPY[name], "<u4"))) for name in ("mask", "reading"))
        size = int(field(copy, COPY["size"], "<i4"))
        to, source = (copy[COPY[name] : COPY[name] + 256].view("<u8").copy() for name in ("to", "from"))
        port = port_at(self.native, warp, int(field(copy, COPY["site"], "<i4")))
        port.mask = mask
        sources = [(memory.bytes, source - np.uint64(ARENA), reading, size)] if reading.any() else []
        group = np.full(32, int(field(copy, COPY["group"], "<i8")), np.int64)
        return LaneCopy(port, size, group, sources, warp.cta.shared, to, mask.copy())

"""The values by which a thread came to what it stored: its floats, followed back from the store through registers and shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxsim.arrays import dtype_of
from ptxsim.engine.access import read_address
from ptxsim.engine.program.operand import Address, Register, Vector
from ptxsim.engine.program.operation import Op
from ptxsim.lanes import LANES
from ptxsim.machine.cta import Warp
from ptxsim.types import ScalarType

_MOST = 1 << 16  # registers written that are remembered
_NOBODY = np.full(LANES, -1)

Node = tuple[int, int]  # a write and a lane of it


@dataclass(slots=True)
class _Write:
    """A register that an operation has written: its lanes, and of each the writes by which it came to that."""

    op: Op
    type: ScalarType
    lanes: np.ndarray
    sources: tuple[np.ndarray, ...]  # by lane, a write; -1 is none
    stored: dict[int, Node]  # by lane, what shared memory has been given where it loads


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on the way, and the float that it computed. `number`: those of smaller ones were executed before it."""

    number: int
    op: Op
    value: Any


class Steps:
    """A watch of the CTA of a thread (CTA, warp, lane), until that last executes a store."""

    def __init__(self, thread: tuple[int, int, int], store: Op, part: int):
        """part: which register of a vector is followed."""
        self.thread, self.store, self.part = thread, store, part
        self.writes: list[_Write] = []
        self._last: dict[Node, np.ndarray] = {}  # by warp and register slot, the write of each lane
        self._shared: dict[int, Node] = {}  # by address, what was stored there
        self._addresses: dict[int, np.ndarray] = {}  # by warp, of the operation that it executes
        self._end: Node | None = None

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        if warp.cta.linear != self.thread[0]:
            return
        if any(access.space == "shared" for access in op.accesses):
            address = next((operand for operand in op.sources if isinstance(operand, Address)), None)
            if address is not None:
                self._addresses[warp.index] = read_address(address, warp).astype(np.int64)
        lane = self.thread[2]
        if op is self.store and warp.index == self.thread[1] and mask[lane]:
            registers = list(_values(op.sources[-1:]))[self.part : self.part + 1]
            self._end = next(((int(self._of(warp, r)[lane]), lane) for r in registers), None)

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        if warp.cta.linear != self.thread[0] or len(self.writes) >= _MOST:
            return
        addresses, active = self._addresses.pop(warp.index, None), np.nonzero(mask)[0].tolist()
        sources = list(_values(op.sources))
        before = tuple(self._of(warp, register) for register in sources)
        if addresses is not None and not op.destinations:
            for number, (register, writes) in enumerate(zip(sources, before)):
                offset = number * register.type.bits // 8
                self._shared.update({int(addresses[lane]) + offset: (int(writes[lane]), lane) for lane in active})
        for number, register in enumerate(_values(op.destinations)):
            stored: dict[int, Node] = {}
            if addresses is not None:
                places = addresses + number * register.type.bits // 8
                stored = {lane: self._shared.get(int(places[lane]), (-1, 0)) for lane in active}
            self._last[warp.index, register.slot] = np.where(mask, len(self.writes), self._of(warp, register))
            self.writes.append(_Write(op, register.type, np.array(warp.registers[register.slot]), before, stored))

    def _of(self, warp: Warp, register: Register) -> np.ndarray:
        return self._last.get((warp.index, register.slot), _NOBODY)

    def found(self) -> list[Step]:
        """The steps to the stored value, the nearest to it first; constants are none."""
        nodes = [self._end] if self._end is not None and self._end[0] >= 0 else []
        seen = set(nodes)
        for number, lane in nodes:  # which grows
            write = self.writes[number]
            before = [(int(lanes[lane]), lane) for lanes in write.sources] + [write.stored.get(lane, (-1, 0))]
            for node in before:
                if node[0] >= 0 and node not in seen:
                    seen.add(node)
                    nodes.append(node)
        steps = []
        for number, lane in nodes:
            write = self.writes[number]
            value = _float(write.lanes, write.type, lane)
            loads = [access.space for access in write.op.accesses]
            if value is not None and (write.sources or loads) and "param" not in loads:
                steps.append(Step(number, write.op, value))
        return steps


def _values(operands: Any) -> Iterator[Register]:
    """Registers that hold values, not addresses and conditions."""
    for operand in operands:
        if isinstance(operand, Register) and not operand.sink and operand.declared.kind != "predicate":
            yield operand
        elif isinstance(operand, Vector):
            yield from _values(operand.elements)


def _float(lanes: np.ndarray, t: ScalarType, lane: int) -> Any:
    """What a lane of a register holds, where that is a float, or 32 bits that may be one."""
    name = "f32" if (t.kind, t.bits) == ("bits", 32) else t.name
    if name not in ("f16", "bf16", "f32", "f64"):
        return None
    dtype = dtype_of(name)
    found = np.frombuffer(int(lanes[lane]).to_bytes(8, "little")[: dtype.itemsize], dtype)[0]
    is_integer = t.kind == "bits" and 0 < abs(found) < np.finfo(np.float32).tiny  # a small one, most likely
    return None if is_integer else found

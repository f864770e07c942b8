"""The values by which a thread came to what it stored: its floats, followed back from the store through registers and shared memory.

What cannot be followed ends the way, so that no value is another element's: what comes from other lanes (shuffles, matrices in rows;
of a product its accumulator alone is followed), what is computed of parts of a register, and what asynchronous operations write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxsim.arrays import dtype_of
from ptxsim.engine.access import read_address
from ptxsim.engine.program.operand import Address, Register, Vector
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Scope
from ptxsim.lanes import LANES
from ptxsim.layout.fragments import address_lanes, fragment_layout
from ptxsim.machine.cta import Warp
from ptxsim.types import TYPES, ScalarType

_MOST = 1 << 16  # registers written that are remembered
_NOBODY = np.full(LANES, -1)
_GRAIN = 2  # bytes of shared memory that are told apart
_FLOATS = {dtype_of(name): TYPES[name] for name in ("f16", "bf16", "f32", "f64")}

Node = tuple[int, int, int]  # a write, a lane of it, and the byte of the register where the value begins
Source = tuple[np.ndarray, ScalarType]  # by lane, the write of a register that is read; -1 is none


@dataclass(slots=True)
class _Write:
    """A register that an operation has written, its `number` among the operation's: its lanes, and by which writes they came to that."""

    op: Op
    number: int
    type: ScalarType
    lanes: np.ndarray
    sources: tuple[Source, ...]
    stored: dict[tuple[int, int], Node]  # by lane and byte, what shared memory had been given where it loads


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on the way, and the float that it computed. `number`: those of smaller ones were executed before it."""

    number: int
    op: Op
    value: Any


class Steps:
    """A watch of the CTA of a thread (CTA, warp, lane), until that last executes a store."""

    def __init__(self, thread: tuple[int, int, int], store: Op, part: int, dtype: np.dtype):
        """part: which of the store's elements of type `dtype` is followed."""
        self.thread, self.store = thread, store
        self.byte, self.type = part * dtype.itemsize, _FLOATS.get(dtype)
        self.writes: list[_Write] = []
        self._last: dict[tuple[int, int], np.ndarray] = {}  # by warp and register slot, the write of each lane
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
            found = _at(list(_values(op.sources[-1:])), self.byte)
            self._end = (int(self._of(warp, found[0])[lane]), lane, found[1]) if found else None

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        if warp.cta.linear != self.thread[0] or len(self.writes) >= _MOST:
            return
        addresses, active = self._addresses.pop(warp.index, None), np.nonzero(mask)[0].tolist()
        sources = tuple((self._of(warp, register), register.type) for register in _values(op.sources))
        if addresses is not None and any(access.writes and access.space == "shared" for access in op.accesses):
            self._keep(op, addresses, active, sources)
        results = list(_values(op.destinations))
        loaded = self._loaded(op, addresses, active, results) if addresses is not None else {}
        for number, register in enumerate(results):
            self._last[warp.index, register.slot] = np.where(mask, len(self.writes), self._of(warp, register))
            lanes = np.array(warp.registers[register.slot])
            self.writes.append(_Write(op, number, register.type, lanes, sources, loaded.get(number, {})))

    def _loaded(
        self, op: Op, addresses: np.ndarray, active: list[int], results: list[Register]
    ) -> dict[int, dict[tuple[int, int], Node]]:
        """By number of the register that is loaded, by lane and byte, what had been stored there."""
        found: dict[int, dict[tuple[int, int], Node]] = {}
        for lane, register, byte, place in _places(op, addresses, active, [each.type.bytes for each in results]):
            node = self._shared.get(place)
            if node is not None:
                found.setdefault(register, {})[lane, byte] = node
        return found

    def _keep(self, op: Op, addresses: np.ndarray, active: list[int], sources: tuple[Source, ...]) -> None:
        """Remember what an operation stores to shared memory; where that cannot be told, nothing that was there is known any more."""
        sizes = [] if op.destinations else [t.bytes for _, t in sources]
        places = list(_places(op, addresses, active, sizes)) if min(sizes, default=0) >= _GRAIN else []
        if not places:
            self._shared.clear()
        for lane, register, byte, place in places:
            self._shared[place] = int(sources[register][0][lane]), lane, byte

    def _of(self, warp: Warp, register: Register) -> np.ndarray:
        return self._last.get((warp.index, register.slot), _NOBODY)

    def found(self) -> list[Step]:
        """The steps to the stored value, the nearest to it first; constants are none."""
        if self._end is None or self.type is None:
            return []
        nodes: list[tuple[Node, ScalarType | None]] = [(self._end, self.type)]
        seen, steps = {self._end}, list[Step]()
        for (number, lane, byte), wanted in nodes:  # which grows
            if number < 0:
                continue
            write = self.writes[number]
            t = _type_at(write.type, byte, wanted)
            spaces = [access.space for access in write.op.accesses]
            if t is not None and (write.sources or spaces) and "param" not in spaces and not _is_async(write.op):
                code = int(write.lanes[lane]).to_bytes(8, "little")[byte : byte + t.bytes]
                steps.append(Step(number, write.op, np.frombuffer(code, dtype_of(t.name))[0]))
            for node, kind in _before(write, lane, byte, t):
                if node not in seen:
                    seen.add(node)
                    nodes.append((node, kind))
        return steps


def _before(write: _Write, lane: int, byte: int, t: ScalarType | None) -> Iterator[tuple[Node, ScalarType | None]]:
    """The nodes that a value of a type, at a byte of a register, was made from."""
    op, sources = write.op, write.sources
    if (lane, byte) in write.stored:
        yield write.stored[lane, byte], t
    if _crosses(op):
        if op.facts.product is not None and not _is_async(op):
            accumulator = list(_values(op.sources[2:3]))
            first = len(list(_values(op.sources[:2])))
            if write.number < len(accumulator):
                yield (int(sources[first + write.number][0][lane]), lane, byte), t
        return
    count = len(list(_values(op.destinations)))
    if op.facts.copies and len(sources) == 1 and count > 1:  # a register is taken apart
        byte += write.number * write.type.bytes
    elif (
        op.facts.copies and len(sources) > 1 and sum(each.bytes for _, each in sources) == write.type.bytes
    ):  # one is put together
        number, byte = divmod(byte, sources[0][1].bytes)
        sources = sources[number : number + 1]
    elif write.type.kind == "packed" and len(sources) == 2 and all(each.is_float for _, each in sources):
        sources, byte = (sources[:1] if byte else sources[1:]), 0  # cvt: the first is the upper half
    elif (write.type.kind == "packed" or byte) and not op.facts.copies:
        sources = tuple(each for each in sources if each[1].kind == "packed")
    for writes, kind in sources:
        yield (int(writes[lane]), lane, byte), (kind if kind.is_float else t if op.facts.copies else None)


def _type_at(own: ScalarType, byte: int, wanted: ScalarType | None) -> ScalarType | None:
    """The type of the float at a byte of a register; of bits it is what uses them that says it. None where it is no float."""
    if own.is_float:
        found: ScalarType | None = own
    elif own.kind == "packed":
        found = TYPES[own.element or ""]
    else:
        found = wanted if own.kind == "bits" else None
    fits = found is not None and found in _FLOATS.values() and 8 * byte + found.bits <= own.bits
    return found if fits else None


Place = tuple[int, int, int, int]  # lane, number of a register, byte of it, and where that is in memory


def _places(op: Op, addresses: np.ndarray, active: list[int], sizes: list[int]) -> Iterator[Place]:
    """Where registers of so many bytes are loaded from or stored to; nothing where that is not told."""
    if _has_rows(op):
        yield from _rows(op, addresses)
    elif not _crosses(op):
        for lane in active:
            place = int(addresses[lane])
            for number, size in enumerate(sizes):
                for byte in range(0, size, _GRAIN):
                    yield lane, number, byte, place + byte
                place += size


def _has_rows(op: Op) -> bool:
    """Whether lanes give the addresses of rows of matrices with elements of 16 bits: ldmatrix, stmatrix."""
    return op.facts.by_lanes and op.facts.scope is Scope.WARP and getattr(op.words["type"], "bits", 0) == 8 * _GRAIN


def _rows(op: Op, addresses: np.ndarray) -> Iterator[Place]:
    shape, majority = f"{op.words['shape']}.{op.words['num']}", "trans" if op.words["trans"] else None
    tile, givers = fragment_layout(op.facts.family, shape, "D", op.words["type"].name, majority), address_lanes(shape)
    for lane in range(LANES):
        for element in range(tile.elements):
            matrix, row, column = tile.coords(lane, element)
            register, part = divmod(element, tile.per_register)
            yield lane, register, part * _GRAIN, int(addresses[givers[matrix, row]]) + column * _GRAIN


def _crosses(op: Op) -> bool:
    """Whether a lane's result comes from other lanes, too."""
    return op.facts.reads_lanes or op.facts.scope is not Scope.LANE


def _is_async(op: Op) -> bool:
    """Whether its result is there later."""
    return op.facts.scope not in (Scope.LANE, Scope.WARP)


def _at(registers: list[Register], byte: int) -> tuple[Register, int] | None:
    """The register of a vector that has a byte of it, and which of its own that is."""
    for register in registers:
        if byte < register.type.bytes:
            return register, byte
        byte -= register.type.bytes
    return None


def _values(operands: Any) -> Iterator[Register]:
    """Registers that hold values, not addresses and conditions."""
    for operand in operands:
        if isinstance(operand, Register) and not operand.sink and operand.declared.kind != "predicate":
            yield operand
        elif isinstance(operand, Vector):
            yield from _values(operand.elements)

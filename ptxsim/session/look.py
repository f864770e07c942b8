"""Looking into a run: the operands of one instruction, and who stored an element of an output.

Both repeat the launch, which gives the same bits for the same seed, with somebody watching.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.diagnostic import PtxError
from ptxsim.engine.program import Op, Program
from ptxsim.machine.cta import Warp
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.session.arrays import DTYPES, bad, dtype_of
from ptxsim.session.launch import Launch
from ptxsim.session.spelling import did_you_mean
from ptxsim.syntax import ast

LANES = 32
_PLACE = re.compile(r"(\d+):([^:\s]+)(?::\.?(\w+))?")
_STORES = frozenset({Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.ASYNC_WRITE})


@dataclass(slots=True)
class Shown:
    """An operand at its first execution by warp 0 (or the first warpgroup) of CTA 0.

    `matrix` if the instruction sees it as a matrix: a fragment, or the tile in shared memory that a descriptor names as
    it lay when the instruction was issued. Else `registers`: name -> lane values (32,).
    """

    line: int
    opcode: str
    operand: str
    matrix: np.ndarray | None = None
    registers: dict[str, np.ndarray] = field(default_factory=dict)
    was_executed: bool = False


Place = tuple[int, str, str | None]


def parse_place(text: str) -> Place:
    """`118:a` as (118, "a", None), `113:d:f16` as (113, "d", "f16"): read untyped bits as f16. Raises PtxError."""
    match = _PLACE.fullmatch(text)
    if not match:
        raise bad(f"{text!r} is not LINE:OPERAND or LINE:OPERAND:TYPE", "write --print 118:a, or --print 113:d:f16")
    if match[3]:
        dtype_of(match[3])
    return int(match[1]), match[2], match[3]


def look(launch: Launch, places: list[Place]) -> list[Shown]:
    """Run a launch once more and show operands. Raises PtxError for a line without an instruction or an unknown operand."""
    watched = [_Watched(launch.program, *place) for place in places]

    def watch(op: Op, warp: Warp, mask: np.ndarray) -> None:
        if warp.cta.linear == 0:
            for one in watched:
                one.watch(op, warp)

    def start(warp: Warp, engine: Any) -> None:
        engine.watch = watch

    launch._run([], start, None)
    return [one.show(launch.program) for one in watched]


class _Watched:
    """One operand of one instruction: the register slots it consists of, and what they held in each warp."""

    def __init__(self, program: Program, line: int, operand: str, type: str | None):
        found = [op for op in program.ops if op.line == line]
        if not found:
            lines = sorted({op.line for op in program.ops}, key=lambda other: abs(other - line))[:3]
            raise bad(
                f"--print: line {line} has no instruction that runs", f"near it: {', '.join(map(str, sorted(lines)))}"
            )
        self.op, self.operand, self.type = found[0], operand, type
        self.slots = self._slots(program)
        self.seen: dict[int, list[Any]] = {}
        self.shared: np.ndarray | None = None  # shared memory when a wgmma that reads a tile was issued
        self._due: set[int] = set()

    def watch(self, op: Op, warp: Warp) -> None:
        """Take the operand at its first execution; what wgmma writes, when it has arrived."""
        if op is self.op and warp.index not in self.seen:
            self._due.add(warp.index)
            if self._is_tile and self.shared is None:
                self.shared = warp.cta.shared.copy()
            if op.opcode.startswith("wgmma"):  # starts when all four warps have come, which may be later than this
                return
        if warp.index in self._due and not any(slot in warp.in_flight for _, slot in self.slots):
            self._due.remove(warp.index)
            self.seen[warp.index] = [warp.registers[slot] for _, slot in self.slots]

    def _slots(self, program: Program) -> list[tuple[str, int]]:
        slots = {name: slot for slot, name in enumerate(program.slot_names)}
        operands = self.op.bound.operands
        if self.operand.lower() in operands:
            self.operand = self.operand.lower()
            names = list(_names(operands[self.operand]))
        else:
            everything = [name for operand in operands.values() for name in _names(operand)]
            names = [name for name in everything if name.lstrip("%") == self.operand.lstrip("%")][:1]
            if not names:
                raise bad(
                    f"--print: {self.op.opcode} at line {self.op.line} has no operand {self.operand!r}",
                    did_you_mean(self.operand, [*operands, *everything]),
                )
        return [(name, slots[name]) for name in names if name in slots]

    def show(self, program: Program) -> Shown:
        shown = Shown(self.op.line, self.op.opcode, self.operand, was_executed=0 in self.seen)
        if not shown.was_executed:
            return shown
        shown.matrix = self._matrix()
        if shown.matrix is None:
            for (name, slot), raw in zip(self.slots, self.seen[0]):
                shown.registers[name] = _typed(raw, self.type or program.slots[slot].name)
        return shown

    @property
    def _is_tile(self) -> bool:
        """Whether the operand is a wgmma descriptor."""
        if self.operand not in ("a", "b") or not self.op.opcode.startswith("wgmma.mma_async"):
            return False
        return len(self.slots) == 1 and isinstance(self.op.bound.operands[self.operand], ast.Name)

    def _tile(self) -> np.ndarray:
        """The matrix, (rows, k), that a descriptor names."""
        from ptxsim.layout.fragments import container_bits, dimensions
        from ptxsim.machine.wgmma import Tile
        from ptxsim.session.forms import one_meaning

        meaning = one_meaning(self.op.opcode)
        _, rows, k = dimensions(meaning.shape)
        type = meaning.types[1 if self.operand == "a" else 2]
        transposed = self.op.bound.operands.get(f"t{self.operand}")
        bits = container_bits(meaning.family, meaning.shape, type)
        if self.operand == "a":
            rows, k = 64, k // 2 if meaning.sparse else k
        tile = Tile(int(self.seen[0][0][0]), "MN" if getattr(transposed, "value", 0) else "K", rows, k, bits)
        dtype = dtype_of(self.type or type)
        return tile.read(self.shared).astype(f"u{dtype.itemsize}").view(dtype)

    def _matrix(self) -> np.ndarray | None:
        """The elements of a fragment by row and column; None if the operand is none, or a warp is missing."""
        if self.operand not in ("a", "b", "c", "d") or not self.slots:
            return None
        if self._is_tile:
            return self._tile()
        from ptxsim.session.forms import fragment

        try:
            found = fragment(self.op.opcode, self.operand.upper())
        except PtxError:
            return None
        warps = range(found.lanes // LANES)
        if found.registers != len(self.slots) or any(warp not in self.seen for warp in warps):
            return None
        words = np.concatenate([_words(self.seen[warp]) for warp in warps], axis=1)
        codes = found.to_matrix(words)
        dtype = dtype_of(found.type)
        if self.type is not None and dtype_of(self.type).itemsize == dtype.itemsize:
            dtype = dtype_of(self.type)
        return codes.astype(f"u{dtype.itemsize}").view(dtype)


def _names(operand: Any) -> Iterator[str]:
    """The names in an operand, in order."""
    if isinstance(operand, ast.Name):
        yield operand.name
    elif isinstance(operand, ast.Vector | ast.Group):
        for element in operand.elements:
            yield from _names(element)
    elif isinstance(operand, ast.Pair):
        yield from _names(operand.first)
        yield from _names(operand.second)
    elif isinstance(operand, ast.Address):
        for part in (operand.base, *operand.extra):
            yield from _names(part)
    elif isinstance(operand, ast.Not | ast.Negative):
        yield from _names(operand.operand)


def _words(registers: list[Any]) -> np.ndarray:
    """Registers as 32-bit words (words, 32), the low word of a 64-bit one first."""
    rows = []
    for raw in registers:
        if raw.dtype.itemsize == 8:
            rows += list(np.ascontiguousarray(raw).view(np.uint32).reshape(LANES, 2).T)
        else:
            rows.append(raw.astype(np.uint32))
    return np.stack(rows)


def _typed(raw: Any, type: str) -> np.ndarray:
    """Lane values as a type of their width, elements narrower than the register in a row; 128 bits as (32, 2) words."""
    if isinstance(raw, list):
        return np.stack(raw, axis=-1)
    dtype = dtype_of(type) if type in DTYPES else raw.dtype
    if dtype.name == "bool" or dtype.itemsize > raw.dtype.itemsize:
        return raw
    parts = np.ascontiguousarray(raw).view(dtype)
    return parts if dtype.itemsize == raw.dtype.itemsize else parts.reshape(LANES, -1)


# ---- who stored it --------------------------------------------------------------------------------------------------


class Stores(Observer):
    """Remembers, for every element of some buffers, the last instruction and thread that stored to it."""

    events = _STORES

    def __init__(self, buffers: dict[str, tuple[int, int, int]]):
        """buffers: name -> (address, elements, bytes of an element)."""
        self.buffers = buffers
        self.sites = {name: np.full(count, -1, np.int32) for name, (_, count, _) in buffers.items()}
        self.threads = {name: np.zeros((count, 4), np.int32) for name, (_, count, _) in buffers.items()}

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        lanes = np.arange(LANES, dtype=np.uint32)
        active = (records["mask"][:, None] >> lanes & 1).astype(bool)
        row, lane = np.nonzero(active)
        address = records["addresses"][row, lane].astype(np.int64)
        width = records["width"][row].astype(np.int64)
        for name, (start, count, size) in self.buffers.items():
            offsets = np.arange(0, int(width.max(initial=0)), size)
            element = (address[:, None] + offsets - start) // size
            hit = (offsets < width[:, None]) & (element >= 0) & (element < count)
            # Row-major, so in the order of the run: where two records store to one element, the later one stays.
            access, part = np.nonzero(hit)
            which = row[access]
            self.sites[name][element[hit]] = records["site"][which]
            self.threads[name][element[hit]] = np.stack(
                [records["cta"][which], records["warp"][which], lane[access], part], axis=1
            )


def find_writers(
    launch: Launch, arrays: dict[str, tuple[str, np.ndarray]]
) -> Callable[[str, tuple[int, ...]], str | None]:
    """Run a launch once more and tell who last stored to an element.

    arrays: name in expectations -> (parameter, array). The result takes such a name and an index, and says
    "stored at line 118 from %f2 by CTA 0 warp 2 lane 5".
    """
    buffers = {}
    for name, (parameter, array) in arrays.items():
        placed = launch.arguments.buffers.get(parameter) or launch.arguments.buffers.get(f"{parameter}.array")
        if placed is not None:
            allocation = placed[1]
            buffers[name] = (allocation.address, array.size, array.dtype.itemsize)
    stores = Stores(buffers)
    launch._run([stores], None, None)

    def who(name: str, index: tuple[int, ...]) -> str | None:
        if name not in buffers:
            return None
        flat = int(np.ravel_multi_index(index, arrays[name][1].shape))
        site = int(stores.sites[name][flat])
        if site < 0:
            return "never stored"
        cta, warp, lane, part = stores.threads[name][flat].tolist()
        op = launch.program.ops[site]
        registers = list(_names(list(op.bound.operands.values())[-1]))
        register = f" from {registers[part]}" if op.opcode.startswith("st.") and part < len(registers) else ""
        return f"stored at line {op.line}{register} by CTA {cta} warp {warp} lane {lane}"

    return who

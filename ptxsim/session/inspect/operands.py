"""Looking into a run: the operands of one instruction, by a repetition of the launch that is watched."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.arrays import bad, dtype_of
from ptxsim.diagnostic import PtxError
from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Scope
from ptxsim.isa.operand import Either
from ptxsim.lanes import LANES
from ptxsim.machine.cta import Register, Warp
from ptxsim.machine.warpgroup import WARPS
from ptxsim.session.launch import Launch
from ptxsim.spelling import did_you_mean
from ptxsim.syntax import ast
from ptxsim.types import DTYPES

_PLACE = re.compile(r"(\d+):([^:@\s]+)(?::\.?(\w+))?(?:@(\S*))?")
_FOCUS = re.compile(r"(cta|warp|time)\(?(\d+(?:,\d+){0,2})\)?")


@dataclass(slots=True)
class Shown:
    """An operand at one execution by one warp (an asynchronous product: by its warpgroup): a source as it was, a result as it came out.

    `matrix` if the instruction sees it as a matrix: a fragment, or the tile in shared memory that a descriptor names as
    it lay when the instruction was issued; or the tensor memory that an address names, lanes by columns, as it lay before, with
    `corner`, the first lane and column. Else `registers`: name -> lane values (32,), of which `active` lanes executed.
    `executed` counts for every CTA and warp how often; `cta`, `warps` and `time` (from 1) are what is shown.
    """

    line: int
    opcode: str
    operand: str
    cta: int = 0
    warps: tuple[int, ...] = (0,)
    time: int = 1
    matrix: np.ndarray | None = None
    registers: dict[str, np.ndarray] = field(default_factory=dict)
    active: np.ndarray | None = None
    executed: dict[tuple[int, int], int] = field(default_factory=dict)
    was_executed: bool = False
    corner: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """An operand of the instruction at a line, read as `type`, at one execution of one warp. `cta` is linear or (x, y, z)."""

    line: int
    operand: str
    type: str | None = None
    cta: tuple[int, ...] = (0,)
    warp: int = 0
    time: int = 1


def parse_place(text: str) -> Place:
    """`118:a`, `113:d:f16` (untyped bits as f16), `118:a@cta2.warp1.time3` (CTA 2, or cta1,0,0). Raises PtxError."""
    match = _PLACE.fullmatch(text)
    if not match:
        raise bad(f"{text!r} is not LINE:OPERAND or LINE:OPERAND:TYPE", "write --print 118:a, or --print 113:d:f16")
    if match[3]:
        dtype_of(match[3])
    focus: dict[str, Any] = {}
    for word in match[4].split(".") if match[4] is not None else ():
        part = _FOCUS.fullmatch(word)
        if not part or (part[1] != "cta" and "," in part[2]) or (part[1] == "time" and int(part[2]) < 1):
            raise bad(f"{word!r} names no execution", "write --print 118:a@cta2.warp1.time3; times count from 1")
        focus[part[1]] = tuple(map(int, part[2].split(","))) if part[1] == "cta" else int(part[2])
    return Place(int(match[1]), match[2], match[3], **focus)


def look(launch: Launch, places: list[Place]) -> list[Shown]:
    """Run a launch once more and show operands. Raises PtxError for a line without an instruction, an unknown operand,
    and for a CTA or warp that the launch has not."""
    watch = _Watch([_Watched(launch, place) for place in places])
    launch.run_grid(watch=watch)
    return [one.show(launch.program) for one in watch.watched]


@dataclass(slots=True)
class _Watch:
    """What the engine reports of every operation."""

    watched: list[_Watched]

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        for one in self.watched:
            one.before(op, warp, mask)

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        for one in self.watched:
            one.after(op, warp, mask)


class _Watched:
    """One operand of one instruction: the register slots it consists of, and what they held in each warp."""

    def __init__(self, launch: Launch, place: Place):
        program = launch.program
        found = [op for op in program.ops if op.line == place.line]
        if not found:
            lines = sorted({op.line for op in program.ops}, key=lambda other: abs(other - place.line))[:3]
            raise bad(
                f"--print: line {place.line} has no instruction that runs",
                f"near it: {', '.join(map(str, sorted(lines)))}",
            )
        self.op, self.operand, self.type, self.time = found[0], place.operand, place.type, place.time
        self.target, self.numerics = launch.target.name, launch.numerics
        self.slots = self._slots(program)
        self.is_result = self._is_result()
        self.cta, self.warp, self.warps = self._focus(launch, place)
        self.executed: Counter[tuple[int, int]] = Counter()
        self.seen: dict[int, list[Any]] = {}
        self.active: dict[int, np.ndarray] = {}
        self.shared: np.ndarray | None = None  # shared memory when a product that reads a tile was issued
        self.tensor: np.ndarray | None = None  # the cells of tensor memory before the instruction
        self.corner = 0, 0
        self._begun: dict[
            int, tuple[list[Any], np.ndarray]
        ] = {}  # executions that are not over, with sources and lanes
        self._due: set[int] = set()

    def _focus(self, launch: Launch, place: Place) -> tuple[int, int, tuple[int, ...]]:
        """The CTA's linear index, the warp, and the warps that share the operand with it. Raises PtxError."""
        coordinates = (*place.cta, 0, 0)[:3]
        cta = place.cta[0]
        if len(place.cta) > 1:
            cta = int(np.dot(coordinates, (1, launch.grid[0], launch.grid[0] * launch.grid[1])))
        inside = all(c < g for c, g in zip(coordinates, launch.grid)) if len(place.cta) > 1 else True
        ctas, warps = math.prod(launch.grid), -(-math.prod(launch.block) // LANES)
        if not inside or cta >= ctas:
            raise bad(f"--print: there is no CTA {','.join(map(str, place.cta))}", f"the grid is {launch.grid}")
        if place.warp >= warps:
            raise bad(f"--print: there is no warp {place.warp}", f"a CTA has {warps}, counted from 0")
        group = place.warp // WARPS * WARPS
        is_shared = self.op.completes_by is Mechanism.PRODUCT_GROUP
        return cta, place.warp, tuple(range(group, min(group + WARPS, warps))) if is_shared else (place.warp,)

    def _is_result(self) -> bool:
        """Whether the instruction writes the operand; a register that is both source and result is shown as result."""
        if self.operand in self.op.bound.operands:
            return self.operand in self.op.bound.form.writes
        return bool({slot for _, slot in self.slots} & set(slots_of(self.op.destinations)))

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        """Take sources: an instruction may write the registers it reads."""
        if op is self.op and warp.cta.linear == self.cta and warp.index in self.warps:
            self._begun[warp.index] = [_copied(warp.registers[slot]) for _, slot in self.slots], mask.copy()
            if self._is_in_tensor_memory and self.executed[self.cta, warp.index] == self.time - 1 and mask.any():
                self._take_tensor_memory(warp, mask)

    def _take_tensor_memory(self, warp: Warp, mask: np.ndarray) -> None:
        """What lies from the address on: in the lanes that the warp reaches, or in all where the tensor core accesses them, up to the end of
        the allocation."""
        from ptxsim.layout.tensor_memory import COLUMNS, QUARTER, ROWS
        from ptxsim.machine.tensor_memory.cells import memory_of

        address = self.op.bound.operands[self.operand]
        assert isinstance(address, ast.Address)
        lane, memory = int(np.flatnonzero(mask)[0]), memory_of(warp.cta)
        first = sum(int(warp.registers[slot][lane]) for _, slot in self.slots) + (address.offset or 0)
        row, column = first >> 16 & ROWS - 1, first & COLUMNS - 1
        end = next((a.start + a.columns for a in memory.held.values() if 0 <= column - a.start < a.columns), COLUMNS)
        rows = QUARTER if self.op.facts.scope is Scope.WARP else ROWS
        self.corner = row, column
        self.tensor = np.ascontiguousarray(memory.cells[column:end, row : row + rows].T)

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        """Count executions; take results when they have arrived."""
        cta, index = warp.cta.linear, warp.index
        if op is self.op:
            self.executed[cta, index] += 1
        if cta != self.cta or index not in self.warps:
            return
        if op is self.op:
            if self.executed[cta, index] == self.time:
                self._take(warp, *self._begun[index])
            del self._begun[index]
            if op.facts.scope is Scope.WARPGROUP:  # starts when all four warps have come, which may be later than this
                return
        if index in self._due and not any(slot in warp.in_flight for _, slot in self.slots):
            self._due.remove(index)
            self.seen[index] = [_copied(warp.registers[slot]) for _, slot in self.slots]

    def _take(self, warp: Warp, sources: list[Any], mask: np.ndarray) -> None:
        self.active[warp.index] = mask
        if self._is_tile and self.shared is None:
            self.shared = warp.cta.shared.copy()
        if self.is_result:
            self._due.add(warp.index)
        else:
            self.seen[warp.index] = sources

    def _slots(self, program: Program) -> list[tuple[str, int]]:
        slots = {name: slot for slot, name in enumerate(program.slot_names)}
        operands = self.op.bound.operands
        if self.operand.lower() in operands:
            self.operand = self.operand.lower()
            names = list(names_in(operands[self.operand]))
        else:
            everything = [name for operand in operands.values() for name in names_in(operand)]
            names = [name for name in everything if name.lstrip("%") == self.operand.lstrip("%")][:1]
            if not names:
                raise bad(
                    f"--print: {self.op.opcode} at line {self.op.line} has no operand {self.operand!r}",
                    did_you_mean(self.operand, [*operands, *everything]),
                )
        return [(name, slots[name]) for name in names if name in slots]

    def show(self, program: Program) -> Shown:
        for warp, (sources, mask) in self._begun.items():  # the run stopped in these
            self.executed[self.cta, warp] += 1
            if self.executed[self.cta, warp] == self.time and not self.is_result and not self._is_tile:
                self.seen[warp], self.active[warp] = sources, mask
        shown = Shown(
            self.op.line, self.op.opcode, self.operand, self.cta, self.warps, self.time, executed=dict(self.executed),
            was_executed=self.warp in self.seen,
        )  # fmt: skip
        if not shown.was_executed:
            return shown
        if self.tensor is not None:
            dtype = dtype_of(self.type or "u32")
            columns = self.tensor.shape[1] * self.tensor.itemsize // dtype.itemsize  # whole elements
            shown.matrix = self.tensor.view(np.uint8)[:, : columns * dtype.itemsize].copy().view(dtype)
            shown.corner = self.corner
            return shown
        shown.matrix = self._matrix()
        if shown.matrix is None:
            shown.warps, shown.active = (self.warp,), self.active[self.warp]
            for (name, slot), raw in zip(self.slots, self.seen[self.warp]):
                shown.registers[name] = typed(raw, self.type or program.slots[slot].name)
        return shown

    @property
    def _is_in_tensor_memory(self) -> bool:
        """Whether the operand is an address in tensor memory."""
        kind = self.op.bound.form.kinds.get(self.operand)
        spaces = [getattr(each, "space", None) for each in (kind.kinds if isinstance(kind, Either) else (kind,))]
        return "tensor" in spaces and isinstance(self.op.bound.operands.get(self.operand), ast.Address)

    @property
    def _is_tile(self) -> bool:
        """Whether the operand is a matrix descriptor."""
        if self.operand not in ("a", "b") or self.op.completes_by is not Mechanism.PRODUCT_GROUP:
            return False
        return len(self.slots) == 1 and isinstance(self.op.bound.operands[self.operand], ast.Name)

    def _tile(self) -> np.ndarray:
        """The matrix, (rows, k), that a descriptor names."""
        from ptxsim.machine.async_product import MmaAsync

        op = MmaAsync(self.op, self.target, self.numerics)
        tile = op.tile(self.operand.upper(), int(self.seen[self.warp][0][0]))
        dtype = dtype_of(self.type or getattr(op.product.form, self.operand))
        assert self.shared is not None
        return tile.read(self.shared).astype(f"u{dtype.itemsize}").view(dtype)

    def _matrix(self) -> np.ndarray | None:
        """The elements of a fragment by row and column; None if the operand is none, or a warp is missing."""
        if self.operand not in ("a", "b", "c", "d") or not self.slots:
            return None
        if self._is_tile:
            return self._tile()
        from ptxsim.session.form_names import fragment

        try:
            found = fragment(self.op.opcode, self.operand.upper())
        except PtxError:
            return None
        if found.registers != len(self.slots) or found.lanes != LANES * sum(warp in self.seen for warp in self.warps):
            return None
        words = np.concatenate([words_of(self.seen[warp]) for warp in self.warps], axis=1)
        codes = found.to_matrix(words)
        dtype = dtype_of(found.type)
        if self.type is not None and dtype_of(self.type).itemsize == dtype.itemsize:
            dtype = dtype_of(self.type)
        return codes.astype(f"u{dtype.itemsize}").view(dtype)


def names_in(operand: Any) -> Iterator[str]:
    """The names in an operand, in order."""
    if isinstance(operand, ast.Name):
        yield operand.name
    elif isinstance(operand, ast.Vector | ast.Group):
        for element in operand.elements:
            yield from names_in(element)
    elif isinstance(operand, ast.Pair):
        yield from names_in(operand.first)
        yield from names_in(operand.second)
    elif isinstance(operand, ast.Address):
        for part in (operand.base, *operand.extra):
            yield from names_in(part)
    elif isinstance(operand, ast.Not | ast.Negative):
        yield from names_in(operand.operand)


def _copied(register: Any) -> Any:
    return [word.copy() for word in register] if isinstance(register, list) else register.copy()


def words_of(registers: list[Any]) -> np.ndarray:
    """Registers as 32-bit words (words, 32), the low word of a 64-bit one first."""
    rows = []
    for raw in registers:
        if raw.dtype.itemsize == 8:
            rows += list(np.ascontiguousarray(raw).view(np.uint32).reshape(LANES, 2).T)
        else:
            rows.append(raw.astype(np.uint32))
    return np.stack(rows)


def typed(raw: Register, type: str) -> np.ndarray:
    """Lane values as a type of their width, elements narrower than the register in a row; 128 bits as (32, 2) words."""
    if isinstance(raw, list):
        return np.stack(raw, axis=-1)
    dtype = dtype_of(type) if type in DTYPES else raw.dtype
    if dtype.name == "bool" or dtype.itemsize > raw.dtype.itemsize:
        return raw
    parts = np.ascontiguousarray(raw).view(dtype)
    return parts if dtype.itemsize == raw.dtype.itemsize else parts.reshape(LANES, -1)

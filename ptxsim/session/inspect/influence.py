"""What an element depends on: the CTA that stored it is run again on memory of which some of what it loads is changed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxsim.engine.analysis.def_use import slots_of
from ptxsim.engine.program.operation import Op
from ptxsim.engine.turns import Limits
from ptxsim.machine.cta import Warp
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.session.inspect.lineage_records import Kinds, Lineage, Masked, Read
from ptxsim.session.inspect.touches import Loads, type_of
from ptxsim.session.launch import Launch

SECONDS = 8.0  # of computing; no trial begins after so long
_MOST = 1 << 18  # elements that are tried
_MOST_MASKS = 16  # loads whose masked lanes are tried
_GRAIN, _GRAINS = 32, 64  # a range of so many elements, or of a part of all, may be taken for one of which each matters
_PROBES = 3  # elements of such a range that are tried alone, beside its ends


@dataclass(frozen=True, slots=True)
class _Part:
    """An element that the CTA loads: where, and by which read."""

    address: int
    read: int
    index: int


class Trials:
    """Repetitions of the CTA that stored an element, on changed memory."""

    def __init__(self, launch: Launch, before: GlobalMemory, found: Lineage, kinds: Kinds, limits: Limits):
        self.launch, self.before, self.found, self.kinds, self.limits = launch, before, found, kinds, limits
        self.work = before.copy()
        self.place = found.allocation.address + found.index * found.dtype.itemsize
        self.end = time.process_time() + SECONDS
        self.draw = np.random.default_rng(0)
        self.parts: list[_Part] = []
        self.grain = _GRAIN
        self.base: bytes | None = None  # the element, where nothing is changed
        # The memory in which parts are changed. Floats are plain numbers there: what is multiplied by zero, and what is no number,
        # shows no change.
        self.ground = before

    def look(self, loads: Loads) -> None:
        """Find out what matters; what a thread loads itself is told of its own loads alone."""
        self.launch.run_grid([loads], memory=self.before.copy())
        parts = self._parts(loads)
        if len(parts) > _MOST:
            self.found.is_complete = False
            return
        self.parts = parts
        self.grain = max(_GRAIN, len(parts) // _GRAINS)
        self._change(range(len(parts)), 0)
        self.ground = self.work.copy()
        self.base = self._value(())
        if self.base is None:
            self.ground = self.before
            self.base = self._value(())
        used = [parts[number] for number in self._mattering(range(len(parts)), known=False)]
        own = {part for part in used if self._is_own(part, loads)}
        its = {part.address for part in own}
        for number, read in enumerate(self.found.reads):
            mine = {p.index for p in used if p.read == number and (p in own or p.address not in its)}
            read.used = np.array(sorted(mine), np.int64)
        self._look_at_masks()

    def _is_own(self, part: _Part, loads: Loads) -> bool:
        site = self.found.reads[part.read].op.site
        return any(one == site and start <= part.address < start + size for one, start, size in loads.own)

    def _parts(self, loads: Loads) -> list[_Part]:
        """The elements that are loaded, those of one instruction and array beside each other, in the order of their addresses."""
        parts: list[_Part] = []
        ops = self.launch.program.ops
        for site in sorted(loads.ranges):
            by_holder: dict[int, set[int]] = {}
            holders: dict[int, tuple[Allocation, np.dtype]] = {}
            for start, size in sorted(loads.ranges[site]):
                holder = self.before.holder(start)
                if holder is None or holder.kind == "param":
                    continue
                default = type_of(ops[site]) or np.dtype(np.float32)
                _, dtype = holders.setdefault(holder.address, (holder, self.kinds(holder) or default))
                first = (start - holder.address) // dtype.itemsize
                last = (min(start + size, holder.address + holder.size) - holder.address - 1) // dtype.itemsize
                by_holder.setdefault(holder.address, set()).update(range(first, last + 1))
            for address, elements in by_holder.items():
                holder, dtype = holders[address]
                number, loaded = len(self.found.reads), np.array(sorted(elements), np.int64)
                self.found.reads.append(Read(ops[site], holder, dtype, loaded, loaded[:0]))
                parts += [_Part(address + i * dtype.itemsize, number, i) for i in loaded.tolist()]
        return parts

    # ---- changes ----

    def _mattering(self, parts: range, known: bool) -> Iterator[int]:
        """Of a range of parts, those whose change shows in the element; known: that some do."""
        if not known and not self._matters(parts):
            return
        if len(parts) == 1:
            yield parts[0]
            return
        if _PROBES + 2 < len(parts) <= self.grain:
            probes = {parts[0], parts[-1], *(int(p) for p in self.draw.choice(parts, _PROBES, replace=False))}
            if all(self._matters((probe,)) for probe in sorted(probes)):
                yield from parts
                return
        middle = len(parts) // 2
        first = list(self._mattering(parts[:middle], known=False))
        yield from first
        yield from self._mattering(parts[middle:], known=not first)

    def _matters(self, parts: Collection[int]) -> bool:
        return any(self._value(parts, sign) != self.base for sign in (1, -1))

    def _value(self, parts: Collection[int], sign: int = 1) -> bytes | None:
        """The element as bytes after a run on changed parts; None where it does not come to its end."""
        if time.process_time() > self.end:
            self.found.is_complete = False
            return self.base
        self.work.take(self.ground)
        self._change(parts, sign)
        return self._run()

    def _run(self, watch: Any = None) -> bytes | None:
        machine = self.launch.run_grid(memory=self.work, limits=self.limits, watch=watch)
        if machine.stopped_at is not None:
            return None
        start = self.place - self.found.allocation.address
        return self.work.view(self.found.allocation)[start : start + self.found.dtype.itemsize].tobytes()

    def _change(self, parts: Collection[int], sign: int) -> None:
        """Let parts of the memory hold other values. sign: 0 takes plain numbers near 1, for floats alone."""
        by_read: dict[int, list[int]] = {}
        for number in parts:
            by_read.setdefault(self.parts[number].read, []).append(self.parts[number].index)
        for number, indices in by_read.items():
            read = self.found.reads[number]
            size = read.allocation.size // read.dtype.itemsize * read.dtype.itemsize
            values = self.work.view(read.allocation)[:size].view(read.dtype)
            at = np.array(indices)
            is_float = read.dtype.kind not in "iub" and "int" not in read.dtype.name
            if sign == 0 and is_float:
                values[at] = (1 + at % 7 / 8).astype(read.dtype)
            elif sign:
                old = self.before.view(read.allocation)[:size].view(read.dtype)[read.loaded]
                values[at] = _others(values[at], old, sign) if is_float else _other_integers(values[at], old, sign)

    # ---- masks ----

    def _look_at_masks(self) -> None:
        """Whether lanes matter that a load's mask has put off: what they hold is not what was loaded."""
        for op in self.launch.program.ops:
            reads = [read for read in self.found.reads if read.op is op]
            if op.guard is None or not reads or op.site == 0 or len(self.found.masked) >= _MOST_MASKS:
                continue
            masks = [_Off(op, reads[0].dtype, sign) for sign in (1, -1)]
            changed = [self._masked(mask) != self.base for mask in masks]
            if any(changed) and masks[0].held:
                self.found.masked.append(Masked(op, masks[0].held))

    def _masked(self, mask: _Off) -> bytes | None:
        self.work.take(self.ground)
        return self._run(mask)


def _others(values: np.ndarray, among: np.ndarray, sign: int) -> np.ndarray:
    """Floats that are larger than all that are there, each another one, or as much below them."""
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo
    there = np.abs(among.astype(np.float64))
    top = float(there[np.isfinite(there)].max(initial=1.0))
    steps = 2 + np.arange(len(values)) % 13 / 16
    return np.asarray(sign * np.minimum(top * steps, float(finfo(values.dtype).max) / 4)).astype(values.dtype)


def _other_integers(values: np.ndarray, among: np.ndarray, sign: int) -> np.ndarray:
    """Integers that are there too, so that an index stays one; one more where all are the same."""
    low, high = among.min(), among.max()
    if low == high:
        return np.asarray(values ^ True if values.dtype.kind == "b" else values + np.array(1, values.dtype))
    wanted, other = (high, low) if sign > 0 else (low, high)
    return np.asarray(np.where(values == wanted, other, wanted)).astype(values.dtype)


class _Off:
    """Changes what lanes hold that a load leaves out, just before it: the value that stands for what is not loaded."""

    def __init__(self, op: Op, dtype: np.dtype, sign: int):
        self.op, self.dtype, self.sign = op, dtype, sign
        self.slots = slots_of(op.destinations)
        self.held: list[Any] = []

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        pass

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        if op.site != self.op.site - 1 or self.op.guard is None:
            return
        slot, negated = self.op.guard
        off = mask & (warp.registers[slot] if negated else ~warp.registers[slot])
        if not off.any():
            return
        for slot in self.slots:
            register = warp.registers[slot].copy()
            self._remember(register[off])
            register[off] = self._other(register.dtype)
            warp.registers[slot] = register

    def _remember(self, words: np.ndarray) -> None:
        size = min(self.dtype.itemsize, words.dtype.itemsize)
        for word in np.unique(words).tolist():
            held = np.frombuffer(int(word).to_bytes(8, "little")[:size].ljust(self.dtype.itemsize, b"\0"), self.dtype)[
                0
            ]
            if len(self.held) < 3 and not any(held == one or held != held for one in self.held):
                self.held.append(held)

    def _other(self, word: np.dtype) -> int:
        count = max(1, word.itemsize // self.dtype.itemsize)
        value = np.array([1000 * self.sign if self.dtype.itemsize > 1 else 3], np.float64).astype(self.dtype)
        return int.from_bytes(np.repeat(value, count).tobytes()[: word.itemsize], "little")

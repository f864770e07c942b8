"""Remedies for bank conflicts: row pitches, swizzles and copies, each tried on all accesses to an array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from ptxsim.lanes import LANES, word_mask
from ptxsim.layout.banks import ATOMIC_KINDS, MATRIX_KINDS, analyze
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle

LINE = 128  # bytes: once around the banks
PIECES = (4, 8, 16, 32, 64)  # bytes that a swizzle moves together
COPIES = 48 * 1024  # bytes that copies of an array may take
Move = Callable[[np.ndarray], np.ndarray]  # offsets in the array, int64 (..., 32), to others


@dataclass(frozen=True, slots=True)
class Access:
    """Executions of one instruction on an array: offsets from its start, int64 (n, 32), active lanes as masks (n,), and
    how often each happened (n,). `pitch` is the row pitch in bytes that the text shows, if it does."""

    offsets: np.ndarray
    width: int
    kind: str
    masks: np.ndarray
    counts: np.ndarray
    pitch: int | None = None

    def active(self) -> np.ndarray:
        """bool (n, 32)."""
        return word_mask(self.masks)

    def wavefronts(self, move: Move | None = None) -> np.ndarray:
        """Of each execution (n,), with its offsets moved."""
        offsets = self.offsets if move is None else move(self.offsets)
        return np.atleast_1d(analyze(offsets, self.width, self.kind, self.masks).wavefronts)

    def ideal(self) -> np.ndarray:
        """Wavefronts of each execution (n,) without conflicts."""
        return np.atleast_1d(analyze(self.offsets, self.width, self.kind, self.masks).ideal)


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that was tried. costs: wavefronts (n,) of the executions of every access to the array.

    `family` is what kind of change it is; pitch, extra: rows of so many bytes become so many longer.
    """

    text: str
    family: str
    costs: tuple[np.ndarray, ...] = field(repr=False)
    move: Move = field(repr=False, compare=False)
    pitch: int = 0
    extra: int = 0

    def total(self, accesses: Sequence[Access]) -> int:
        """Wavefronts of all executions of all accesses."""
        return sum(int((cost * access.counts).sum()) for cost, access in zip(self.costs, accesses, strict=True))

    def named(self, pitch: int | None) -> Fix:
        """For one whose rows have this pitch."""
        return replace(self, text=f"row pitch {self.pitch + self.extra} B") if self.pitch == pitch else self


class Array:
    """All accesses to an array that starts at a multiple of 128 bytes, and the layout changes that help them.

    `copied`: "tensor" if tensor copies move it, which know the hardware's swizzles alone, or "bulk" if copies of whole rows
    do, which can make rows longer by multiples of 16 bytes.
    """

    def __init__(self, accesses: Sequence[Access], copied: str | None = None):
        self.accesses = list(accesses)
        self.before = Fix("", "", tuple(access.wavefronts() for access in self.accesses), lambda offsets: offsets)
        self.ideal = [access.ideal() for access in self.accesses]
        # Those with conflicts come first: what helps none of them need not be tried on the others.
        conflicting = [bool((cost > ideal).any()) for cost, ideal in zip(self.before.costs, self.ideal)]
        keys = [(not has, a.kind, a.width) for has, a in zip(conflicting, self.accesses)]
        self.batches = [[i for i, own in enumerate(keys) if own == key] for key in sorted(set(keys))]
        self.conflicting = {i for i, has in enumerate(conflicting) if has}
        # Whatever is inserted, no access may become misaligned.
        self.unit = max(16 if copied else 4, *(16 if a.kind in MATRIX_KINDS else a.width for a in self.accesses))
        self.families = {"tensor": ("swizzle",), "bulk": ("pitch",)}.get(copied or "", ("pitch", "swizzle", "xor"))
        self.rows = {pitch for a in self.accesses for pitch in (a.pitch, _step(a)) if pitch}
        wanted = [change for change in self._changes() if change[1] in self.families]
        self.tried = [fix for change in wanted if (fix := self._try(*change)) is not None]

    def _try(self, text: str, family: str, move: Move, *rows: int) -> Fix | None:
        """A change tried on all accesses; None if it helps none of them."""
        costs: list[np.ndarray] = [np.empty(0, int)] * len(self.accesses)
        helps = False
        for batch in self.batches:
            if not helps and not self.conflicting & set(batch):
                return None
            for index, cost in zip(batch, _wavefronts([self.accesses[index] for index in batch], move)):
                costs[index] = cost
                helps |= bool(cost.max() < self.before.costs[index].max())
        return Fix(text, family, tuple(costs), move, *rows) if helps else None

    def _changes(self) -> Iterable[tuple[Any, ...]]:
        pitches = [pitch for pitch in sorted(self.rows | {LINE}) if pitch >= self.unit and self._keeps_rows(pitch)]
        for pitch in pitches:
            for extra in range(self.unit, LINE + 1, self.unit):
                yield f"{extra} B more after every {pitch} B", "pitch", longer(pitch, extra), pitch, extra
        for mode in SWIZZLE_BITS:
            if mode != "none":
                yield f"swizzle {mode}", "swizzle", lambda offsets, mode=mode: swizzle(offsets, mode)
        for pitch in pitches:
            if pitch & pitch - 1 == 0:
                # Rows in turn, or every second or fourth, flip pieces of their elements' size or of wider ones.
                for skipped, piece in product(range(3), PIECES):
                    if self.unit <= piece < pitch:
                        shift, mask = (pitch // piece).bit_length() - 1 + skipped, min(pitch, LINE) - piece
                        yield f"swizzle offset ^ (offset >> {shift} & {mask:#x})", "xor", crossed(shift, mask)

    def _keeps_rows(self, pitch: int) -> bool:
        """Whether every access stays within a row."""
        return all(
            (a.offsets % pitch + (16 if a.kind in MATRIX_KINDS else a.width) <= pitch)[a.active()].all()
            for a in self.accesses
        )

    def fixes(self, index: int) -> list[Fix]:
        """Changes that help the worst execution of one access, and all accesses together, the best first.

        One of each family: longer rows, and a swizzle that the hardware knows or, where that does more, of smaller pieces.
        What takes away less than half of the access's excess is not worth the effort.
        """
        access = self.accesses[index]
        pitch = access.pitch or _step(access)
        before = self.before.costs[index]
        worst = int(before.argmax())
        if (plain := self._without_swizzle(index, worst)) is not None:
            return [plain]
        if (copies := self._copies(index, worst)) is not None:
            return [copies]
        sums = {id(fix): fix.total(self.accesses) for fix in (self.before, *self.tried)}
        excess = int(((before - self.ideal[index]) * access.counts).sum())
        good = [
            fix
            for fix in self.tried
            if fix.costs[index][worst] < before[worst] and sums[id(fix)] < sums[id(self.before)]
            and 2 * int(((before - fix.costs[index]) * access.counts).sum()) >= excess
        ]  # fmt: skip
        best: dict[str, Fix] = {}
        for family in ("pitch", "swizzle", "xor"):
            alike = _halfway([fix for fix in good if fix.family == family], index, worst, before[worst])
            least = min((sums[id(fix)] for fix in alike), default=0)
            # The smallest change that does nearly as much as the best one.
            alike = [fix for fix in alike if 10 * (sums[id(fix)] - least) <= sums[id(self.before)] - least]
            if alike:
                best[family] = min(
                    alike, key=lambda fix: (fix.pitch != pitch, fix.extra, sums[id(fix)], fix.costs[index][worst])
                )
        if {"swizzle", "xor"} <= best.keys():
            better = best["xor"].costs[index][worst] < best["swizzle"].costs[index][worst]
            del best["swizzle" if better else "xor"]
        found = sorted(best.values(), key=lambda fix: (fix.costs[index][worst], sums[id(fix)]))
        return [fix.named(pitch) for fix in _halfway(found, index, worst, before[worst])]

    def _alone(self, index: int, text: str, move: Move) -> Fix:
        """A change tried on one access only; others may have to change with it."""
        costs = list(self.before.costs)
        costs[index] = self.accesses[index].wavefronts(move)
        return Fix(text, "alone", tuple(costs), move)

    def _without_swizzle(self, index: int, worst: int) -> Fix | None:
        """Rows that are padded and swizzled: the two do not add up, and the padding is enough."""
        access = self.accesses[index]
        if straight(access.offsets[worst], access.active()[worst]) is None:
            return None

        def move(offsets: np.ndarray) -> np.ndarray:
            rows = [straight(row, active) for row, active in zip(offsets, access.active())]
            return np.stack([row if new is None else new for row, new in zip(offsets, rows)])

        fix = self._alone(index, "no swizzle", move)
        return fix if fix.costs[index][worst] < self.before.costs[index][worst] else None

    def _copies(self, index: int, worst: int) -> Fix | None:
        """Atomics of which several lanes are on one word: fewer of them with copies of the words."""
        access = self.accesses[index]
        used = access.offsets[worst][access.active()[worst]] // 4
        if access.kind not in ATOMIC_KINDS or len(np.unique(used)) == len(used):
            return None
        span = int(access.offsets[access.active()].max()) + access.width
        if len(np.unique(used)) == 1:
            fix = self._alone(index, "one word a lane, summed later", copied(access.width, LANES, np.arange(LANES)))
            return fix if fix.costs[index][worst] < self.before.costs[index][worst] else None
        tried = []
        for n in (2, 4, 8, 16, 32):
            tried += [
                self._alone(index, f"{n} copies, {whose}, summed later", copied(access.width, n, own))
                for whose, own in (
                    (
                        f"one for each {LANES // n} neighbours" if n < LANES else "one a lane",
                        np.arange(LANES) * n // LANES,
                    ),
                    (f"number lane % {n}", np.arange(LANES) % n),
                )
                if n * span <= COPIES
            ]
        best = min(tried, key=lambda fix: int(fix.costs[index][worst]), default=self.before)
        return best if best.costs[index][worst] < self.before.costs[index][worst] else None


def _wavefronts(accesses: list[Access], move: Move) -> list[np.ndarray]:
    """Of the executions of accesses of one kind and width, all together."""
    moved = move(np.concatenate([access.offsets for access in accesses]))
    masks = np.concatenate([access.masks for access in accesses])
    found = np.atleast_1d(analyze(moved, accesses[0].width, accesses[0].kind, masks).wavefronts)
    return np.split(found, np.cumsum([len(access.masks) for access in accesses])[:-1])


def _halfway(fixes: list[Fix], index: int, worst: int, before: int) -> list[Fix]:
    """Fixes that save at least half of what the best one saves in the worst execution of an access."""
    least = min((fix.costs[index][worst] for fix in fixes), default=0)
    return [fix for fix in fixes if 2 * fix.costs[index][worst] <= before + least]


def longer(pitch: int, extra: int) -> Move:
    """Rows of `pitch` bytes become `extra` bytes longer."""
    return lambda offsets: offsets + offsets // pitch * extra


def crossed(shift: int, mask: int) -> Move:
    """Bits from `shift` on flip those of `mask`."""
    return lambda offsets: offsets ^ (offsets >> shift & mask)


def copied(width: int, copies: int, own: np.ndarray) -> Move:
    """Elements of `width` bytes lie `copies` times next to each other, and each lane takes its own one (32,)."""
    return lambda offsets: (offsets // width * copies + own) * width + offsets % width


def _step(access: Access) -> int | None:
    """The most common distance in bytes, beyond one access, between neighbouring lanes of the first execution."""
    active = access.active()[0]
    steps = np.diff(access.offsets[0])[active[1:] & active[:-1]]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    usual = int(values[counts.argmax()])
    return usual if usual > access.width and 2 * counts.max() > len(steps) else None


def straight(address: np.ndarray, active: np.ndarray) -> np.ndarray | None:
    """Rows of one pitch in place of rows whose 16-byte column is XORed with the row number, if that is what they are.

    Looks at groups of eight of the 32 addresses: row r of a group lies at start + r * pitch + 16 * (column ^ r).
    """
    if not active.all():
        return None
    groups = address.reshape(-1, 8)
    if (np.diff(groups, 2, axis=1) == 0).all():
        return None
    row, column = np.arange(8), np.arange(8)[:, None]
    shifts = ((column ^ row) - column) * 16  # (column, row)
    pitches = groups[:, 1, None] - groups[:, :1] - shifts[:, 1]  # (group, column)
    expected = groups[:, :1, None] + pitches[:, :, None] * row + shifts
    fits = (expected == groups[:, None, :]).all(axis=2)
    for pitch in set(pitches[0][fits[0]]):
        if pitch > 16 and (fits & (pitches == pitch)).any(axis=1).all():
            found: np.ndarray = (groups[:, :1] + pitch * row).reshape(address.shape)
            return found
    return None

"""Why a shared-memory access conflicts, in words, and what other row pitches or swizzles would cost, by trying them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ptxsim.layout.banks import ATOMIC_KINDS, BANKS, LANES, MATRIX_KINDS, Accesses, analyze, prepare
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that was tried: what it is, the addresses (n, 32) with it, and the wavefronts they take all together.

    `pitch` is the new row pitch in bytes, `swizzle` the mode; None where the fix leaves that as it is.
    """

    text: str
    wavefronts: int
    addresses: np.ndarray = field(repr=False, compare=False)
    pitch: int | None = None
    swizzle: str | None = None


def explain(addresses, width: int = 16, kind: str = "ld", mask=None, matrices: int | None = None) -> str:
    """One sentence on the worst phase of an instruction; "no conflicts" where there are none.

    Arguments as for `shared_wavefronts`; of several executions (n, 32) the worst one is explained.
    """
    access = prepare(addresses, width, kind, mask, matrices)
    conflicts = np.atleast_1d(analyze(addresses, width, kind, mask, matrices).conflicts)
    if not conflicts.any():
        return "no conflicts"
    address, lanes, banks = _worst_phase(access, kind, int(conflicts.argmax()))
    if kind in ATOMIC_KINDS:
        words = len(np.unique(address // 4))
        same = "one word" if words == 1 else f"{words} words of one bank"
        return f"{len(lanes)} lanes on {same}: atomics on a bank are done one by one"
    noun = "rows" if kind in MATRIX_KINDS else "lanes"
    steps = np.unique(np.diff(address))
    gap = f", {abs(int(steps[0]))} B apart" if len(steps) == 1 else ""
    sets = {tuple(np.unique(b)) for b in banks}
    if len(sets) == 1:
        size = len(next(iter(sets)))
        return f"{len(lanes)} {noun}{gap}: all on the same {f'{size} banks' if size > 1 else 'bank'}"
    return _shared_banks(address, lanes, access.words, noun, gap)


def _worst_phase(access: Accesses, kind: str, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Addresses (n,), lanes (n,) and banks (n, words) of the lanes in the costliest phase of one row."""
    address, active, size = access.address[row], access.active[row], int(access.phase_lanes[row])
    words = address[:, None] // 4 + np.arange(access.words)
    best, best_cost = np.flatnonzero(active), -1
    for first in range(0, LANES, size):
        lanes = np.arange(first, first + size)[active[first : first + size]]
        if not len(lanes):
            continue
        used = words[lanes].ravel() if kind in ATOMIC_KINDS else np.unique(words[lanes])
        cost = int(np.bincount(used % BANKS).max())
        if cost > best_cost:
            best, best_cost, busiest = lanes, cost, int(np.bincount(used % BANKS).argmax())
    if kind in ATOMIC_KINDS:
        best = best[(words[best] % BANKS == busiest).any(axis=1)]
    return address[best], best, words[best] % BANKS


def _shared_banks(address: np.ndarray, lanes: np.ndarray, words: int, noun: str, gap: str) -> str:
    """Name the groups of lanes that meet: a lane's group is how many words are in its bank before its own."""
    queues: dict[int, list[int]] = {}
    groups: dict[int, list[int]] = {}
    for lane, start in zip(lanes.tolist(), (address // 4).tolist()):
        depth = 0
        for word in range(start, start + words):
            queue = queues.setdefault(word % BANKS, [])
            if word not in queue:
                queue.append(word)
            depth = max(depth, queue.index(word))
        groups.setdefault(depth, []).append(lane)
    ways = max(len(queue) for queue in queues.values())
    crowded = [bank for bank, queue in queues.items() if len(queue) == ways]
    count = f"{len(crowded)} banks" if len(crowded) > 1 else f"bank {crowded[0]}"
    if len(groups) == 2 and all(len(_spans(group)) <= 2 for group in groups.values()):
        first, second = (_names(groups[depth]) for depth in (0, 1))
        return f"{noun} {first} and {second}{gap} share {count}"
    return f"{len(lanes)} {noun}{gap}: {ways} different words in {'each of ' if len(crowded) > 1 else ''}{count}"


def _spans(lanes: list[int]) -> list[tuple[int, int]]:
    spans = []
    for _, run in groupby(enumerate(lanes), lambda pair: pair[1] - pair[0]):
        members = [lane for _, lane in run]
        spans.append((members[0], members[-1]))
    return spans


def _names(lanes: list[int]) -> str:
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in _spans(lanes))


def fixes(
    addresses, width: int = 16, kind: str = "ld", mask=None, matrices: int | None = None, pitch: int | None = None
) -> list[Fix]:
    """Row pitches and swizzles that lower the wavefronts, best first, then pitch and swizzle together.

    addresses: (32,) or (n, 32), all the executions of one instruction; wavefronts are their sum. `pitch` is the row
    pitch in bytes as it is; where it is None the most usual distance between neighbouring lanes is taken.
    Rows that are padded and swizzled get the fix "no swizzle" (the two do not add up), atomics on one word a word a lane.
    """
    access = prepare(addresses, width, kind, mask, matrices)

    def fix(text: str, changed: np.ndarray, **what) -> Fix:
        cost = int(np.sum(analyze(changed, width, kind, access.active, matrices).wavefronts))
        return Fix(text, cost, changed, **what)

    before = fix("", access.address).wavefronts
    size = 16 if kind in MATRIX_KINDS else width
    pitch = pitch or _usual_step(access, size)
    base = int(access.address[access.active].min()) if access.active.any() else 0
    tried: list[Fix] = []
    padded: dict[int, np.ndarray] = {}
    if pitch:
        offset = np.where(access.active, access.address - base, 0)
        for extra in _paddings(size):
            padded[pitch + extra] = base + offset // pitch * (pitch + extra) + offset % pitch
            tried.append(fix(f"row pitch {pitch + extra} B", padded[pitch + extra], pitch=pitch + extra))
    if kind not in ATOMIC_KINDS:
        for mode in SWIZZLE_BITS:
            if mode != "none":
                tried.append(fix(f"swizzle {mode}", swizzle(access.address, mode), swizzle=mode))
    plain = _without_swizzle(access)
    if plain is not None and (unswizzled := fix("no swizzle", plain, swizzle="none")).wavefronts < before:
        return [unswizzled]
    if kind in ATOMIC_KINDS and (access.address == access.address[:, :1])[access.active].all():
        spread = fix("one word a lane, summed later", access.address + 4 * np.arange(access.address.shape[1]))
        return [spread] if spread.wavefronts < before else []
    good = sorted((one for one in tried if one.wavefronts < before), key=lambda one: one.wavefronts)
    best = [next((one for one in good if one.swizzle), None), next((one for one in good if one.pitch), None)]
    if all(best):
        changed = swizzle(padded[best[1].pitch], best[0].swizzle)
        both = fix("both", changed, pitch=best[1].pitch, swizzle=best[0].swizzle)
        return [*sorted(best, key=lambda one: one.wavefronts), both]
    return [one for one in best if one]


def _without_swizzle(access: Accesses) -> np.ndarray | None:
    """Rows of one pitch in place of rows whose 16-byte column is XORed with the row number, if that is what they are.

    Looks at groups of eight lanes: row r of a group lies at start + r * pitch + 16 * (column ^ r).
    """
    if not access.active.all() or access.address.shape[1] % 8:
        return None
    groups = access.address.reshape(-1, 8)
    if (np.diff(groups, 2, axis=1) == 0).all():
        return None
    row, column = np.arange(8), np.arange(8)[:, None]
    shifts = ((column ^ row) - column) * 16  # (column, row)
    pitches = groups[:, 1, None] - groups[:, :1] - shifts[:, 1]  # (group, column)
    expected = groups[:, :1, None] + pitches[:, :, None] * row + shifts
    fits = (expected == groups[:, None, :]).all(axis=2)
    common = set(pitches[0][fits[0]])
    for pitch in common:
        if pitch > 16 and (fits & (pitches == pitch)).any(axis=1).all():
            return (groups[:, :1] + pitch * row).reshape(access.address.shape)
    return None


def _paddings(size: int) -> list[int]:
    """Bytes to add to a row: one, two or four accesses, or as many banks, so that rows stay aligned."""
    return [max(4, size) << shift for shift in range(3)]


def lane_step(addresses, width: int = 16, kind: str = "ld", mask=None) -> int | None:
    """The most usual distance in bytes, beyond one access, between neighbouring active lanes; None if there is none."""
    return _usual_step(prepare(addresses, width, kind, mask, None), 16 if kind in MATRIX_KINDS else width)


def _usual_step(access: Accesses, size: int) -> int | None:
    """The most usual distance, beyond one access, between addresses of neighbouring active lanes."""
    both = access.active[:, 1:] & access.active[:, :-1]
    steps = np.diff(access.address, axis=1)[both]
    steps = steps[steps > size]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    return int(values[counts.argmax()])

"""Explains in a sentence why a shared-memory access has bank conflicts."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.layout.atomic_loops import tries
from ptxsim.layout.banks import ATOMIC_KINDS, LOOP_KINDS, MATRIX_KINDS, Accesses, analyze, prepare  # fmt: skip
from ptxsim.layout.wavefronts import BANKS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def explain(
    addresses: ArrayLike, width: int = 16, kind: str = "ld", mask: ArrayLike | None = None, matrices: int | None = None
) -> str:
    """One sentence on the worst phase of an instruction; "no conflicts" where there are none.

    Arguments as for `shared_wavefronts`; of several executions (n, 32) the worst one is explained.
    """
    access = prepare(addresses, width, kind, mask, matrices)
    if kind in LOOP_KINDS:
        return _tries(access, width, kind, int(np.argmax(analyze(addresses, width, kind, mask).wavefronts)))
    conflicts = np.atleast_1d(analyze(addresses, width, kind, mask, matrices).conflicts)
    if kind == "copy":
        return "lanes on one bank, of shared memory or of the lines they read, are moved one after the other"
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


def _tries(access: Accesses, width: int, kind: str, row: int) -> str:
    """How often the compare-and-swap loop of an atomic repeats."""
    address, active = access.address[row], access.active[row]
    count, _ = tries(address.tolist(), int(access.masks()[row]), access.words, kind == "spin", [0] * LANES)
    words = len(np.unique(address[active] // max(4, width)))
    on = "one word" if words == 1 else f"{words} words"
    return f"{active.sum()} lanes on {on}: a loop around a compare-and-swap, {count} tries"


def _worst_phase(access: Accesses, kind: str, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Addresses (n,), lanes (n,) and banks (n, words) of the lanes in the costliest phase of one row."""
    address, active, size = access.address[row], access.active[row], access.phase_lanes(row)
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
    """Name the groups of lanes that conflict; the group of a lane is the number of words in its bank before its own."""
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


def lane_step(addresses: ArrayLike, width: int = 16, kind: str = "ld", mask: ArrayLike | None = None) -> int | None:
    """The most common distance in bytes, beyond one access, between neighbouring active lanes; None if there is none."""
    return _usual_step(prepare(addresses, width, kind, mask, None), 16 if kind in MATRIX_KINDS else width)


def _usual_step(access: Accesses, size: int) -> int | None:
    """The most common distance, beyond one access, between addresses of neighbouring active lanes."""
    both = access.active[:, 1:] & access.active[:, :-1]
    steps = np.diff(access.address, axis=1)[both]
    steps = steps[steps > size]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    return int(values[counts.argmax()])

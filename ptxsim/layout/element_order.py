"""In which order lanes and registers hold the elements of a matrix, told from where in memory each of them came from.

The layouts of fragments are linear in the bits of the lane's and the element's number: each bit leads so many lines on, or so many steps along k.
So are the places of a tile: from each line to the next it is as far, and from each step. What bits lead to in memory says what they lead to
in the matrix.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

LINE, STEP = range(2)


class Bit(NamedTuple):
    """Where a bit of the number of a lane or an element leads: 2**exponent lines or steps, back if `back`."""

    axis: int
    exponent: int
    back: bool = False


Order = tuple[Bit, ...]  # of the bits of a number, the lowest first


def linear(values: np.ndarray) -> tuple[int, ...] | None:
    """What each bit of an index adds to values, int64 (2**n,); None if they are no such sums."""
    flat = values.ravel()
    count = len(flat).bit_length() - 1
    if len(flat) != 1 << max(count, 0):
        return None
    found = flat[1 << np.arange(count)] - flat[0]
    return tuple(found.tolist()) if (_bits_below(count) @ found == flat - flat[0]).all() else None


@lru_cache(maxsize=16)
def _bits_below(count: int) -> np.ndarray:
    """The bits of all numbers of so many, int64 (2**count, count), the lowest first."""
    return np.arange(1 << count)[:, None] >> np.arange(count) & 1


def order_of(lines: np.ndarray, steps: np.ndarray) -> Order | None:
    """That of a matrix whose elements have these coordinates, int64 (elements, lanes); None if bits do not lead along one axis each."""
    found, by_line, by_step = list[Bit](), linear(lines), linear(steps)
    if by_line is None or by_step is None:
        return None
    for line, step in zip(by_line, by_step):
        weight = line or step
        if weight <= 0 or (line and step) or weight & (weight - 1):
            return None
        found.append(Bit(LINE if line else STEP, weight.bit_length() - 1))
    return tuple(found)


@lru_cache(maxsize=1024)
def held_as(weights: tuple[int, ...], wanted: Order) -> Order | None:
    """The order in which elements are held, from how many bytes each bit leads on in memory; of several ways to see it the one that is most like
    the order that is wanted. None if they do not lie at even distances."""
    sizes = sorted(map(abs, weights))
    if not sizes or not sizes[0]:
        return None
    ways = []
    for pitch, step in product(sorted(set(sizes)), repeat=2):
        led = {bit: (pitch, step)[bit.axis] << bit.exponent for bit in wanted}
        if sorted(led.values()) == sizes:
            ways.append(_assigned(weights, wanted, led))
    return min(ways, key=lambda way: sum(map(Bit.__ne__, way, wanted)), default=None)


def _assigned(weights: tuple[int, ...], wanted: Order, led: dict[Bit, int]) -> Order:
    """What each bit leads to; led: how far what it may lead to is in memory."""
    left, found = dict(led), dict[int, Bit]()
    for is_exact in (True, False):
        for n, weight in enumerate(weights):
            fitting = [wanted[n]] if is_exact else [bit for bit, size in left.items() if size == abs(weight)]
            if n not in found and fitting and left.get(fitting[0]) == abs(weight):
                found[n] = fitting[0]._replace(back=weight < 0)
                del left[fitting[0]]
    return tuple(found[n] for n in range(len(weights)))


def coordinates(order: Order) -> tuple[np.ndarray, np.ndarray]:
    """Lines and steps of the elements that are held so, int64 (2**n,)."""
    found = np.zeros((2, 1 << len(order)), np.int64)
    number = np.arange(1 << len(order))
    for n, bit in enumerate(order):
        found[bit.axis] += ((number >> n & 1) ^ bit.back) << bit.exponent
    return found[LINE], found[STEP]

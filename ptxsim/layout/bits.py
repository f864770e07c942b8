"""A register layout written as one line: which coordinate bit every lane bit and element bit carries.

    BitLayout("lane k1 k2 m0 m1 m2 | elem k0 m3 k3", axes="mk", extents=(16, 16))

reads: lane bit 0 is bit 1 of k, lane bit 2 is bit 0 of m, element bit 0 is bit 0 of k, and so on, low bits first.
`warp` bits follow the lane bits (a warpgroup has 128 lanes); `reg` bits follow the `elem` bits. `n3..` stands for
everything from bit 3 of n up, as many as the extent of n needs, powers of two or not. `k+2` counts from the
first k bit that does not fit in one register and `k*` is all the bits inside it, so one line serves every element width.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

_FIELDS = ("lane", "warp", "elem", "reg")
_TOKEN = re.compile(r"([a-z])(?:(\*)|(\+?)(\d+)(\.\.)?)")


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of an index: it takes `extent` values, each worth `stride` along `axis`."""

    axis: int
    stride: int
    extent: int


class BitLayout:
    """The map (lane, element) -> coordinates that a line of bits describes.

    `axes` names the coordinates in order, `extents` their sizes, `inside` the number of consecutive elements in one
    register (they run along the axis marked `*`), `copies` how often the whole fragment is repeated in surplus
    elements. Raises ValueError where the line cannot be read or does not cover the extents exactly once.
    """

    def __init__(self, line: str, axes: str, extents: tuple[int, ...], inside: int = 1, copies: int = 1):
        self.line, self.axes, self.extents, self.copies = line, axes, tuple(extents), copies
        self._inside = inside.bit_length() - 1
        digits: dict[str, list[Digit]] = {field: [] for field in _FIELDS}
        for part in line.split("|"):
            field, *tokens = part.split()
            for token in tokens:
                digits[field] += self._digits(token)
        self.lane_digits = digits["lane"] + digits["warp"]
        self.element_digits = digits["elem"] + digits["reg"]
        self.lanes = _size(self.lane_digits)
        self.elements = _size(self.element_digits) * copies
        lane, element = np.meshgrid(np.arange(self.lanes), np.arange(self.elements), indexing="ij")
        self.coordinates: tuple[np.ndarray, ...] = tuple(
            _spread(self.lane_digits, lane, axis) + _spread(self.element_digits, element, axis)
            for axis in range(len(axes))
        )
        self._check()

    def _digits(self, token: str) -> list[Digit]:
        match = _TOKEN.fullmatch(token)
        if not match or match[1] not in self.axes:
            raise ValueError(f"cannot read {token!r} in the layout {self.line!r}")
        axis = self.axes.index(match[1])
        if match[2]:
            return [Digit(axis, 1 << bit, 2) for bit in range(self._inside)]
        stride = 1 << (int(match[4]) + (self._inside if match[3] else 0))
        extent = max(1, self.extents[axis] // stride) if match[5] else 2
        return [Digit(axis, stride, extent)]

    def _check(self) -> None:
        """Every coordinate occurs exactly `copies` times."""
        total = int(np.prod(self.extents))
        inside = all(int(c.max()) < extent for c, extent in zip(self.coordinates, self.extents))
        if not inside or (np.bincount(self.flat.ravel(), minlength=total) != self.copies).any():
            raise ValueError(f"the layout {self.line!r} does not cover {self.extents} {self.copies} times")

    @property
    def flat(self) -> np.ndarray:
        """Row-major index into the matrix for every (lane, element)."""
        index: np.ndarray = np.ravel_multi_index(self.coordinates, self.extents)
        return index

    def forward(self, lane: int, element: int) -> tuple[int, ...]:
        """The coordinates that `element` of `lane` holds."""
        return tuple(int(c[lane, element]) for c in self.coordinates)

    def owners(self, *coordinates: int) -> list[tuple[int, int]]:
        """Every (lane, element) that holds the coordinates, the first copy first."""
        lanes, elements = np.nonzero(self.flat == np.ravel_multi_index(coordinates, self.extents))
        return sorted(zip(lanes.tolist(), elements.tolist()), key=lambda owner: (owner[1], owner[0]))


def _size(digits: list[Digit]) -> int:
    size = 1
    for digit in digits:
        size *= digit.extent
    return size


def _spread(digits: list[Digit], index: np.ndarray, axis: int) -> np.ndarray:
    """The part of coordinate `axis` that the digits of `index` carry; what is left above them repeats."""
    total = np.zeros_like(index)
    for digit in digits:
        index, value = np.divmod(index, digit.extent)
        if digit.axis == axis:
            total += value * digit.stride
    return total

"""Factors of a product as they are where its loop goes along k with another step than it should, on one side or on both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    Factors = tuple[np.ndarray, np.ndarray]  # left, right

_STEPS = (16, 8, 32, 64, 4)  # of one product along k: f16, tf32, f8; and those of loops


def stepped(left: np.ndarray, right: np.ndarray, texts: tuple[str, str]) -> Iterator[tuple[Factors, str]]:
    """Factors of which other columns of the left one meet other rows of the right one, and what to say."""
    import numpy as np

    size = left.shape[1]
    k = np.arange(size)
    for step in (each for each in _STEPS if each < size and size % each == 0):
        for ahead in {step, size - step}:
            yield (
                (left, right[(k + ahead) % size]),
                f"that is the result if rows {ahead} {ahead + 1} ... of {texts[1]} are multiplied by columns 0 1 ... of {texts[0]}: along k "
                "one of them is ahead of the other",
            )
        for meant, what in (
            (k % step, f"the first {step} are taken again and again: the step along k is missing"),
            (k // step * (step // 2) + k % step, f"each {step} begin only {step // 2} after the {step} before"),
            (k // step * 2 * step % size + k % step, f"each {step} begin {2 * step} after the {step} before"),
        ):
            for factors, which in (
                ((left[:, meant], right[meant]), f"columns of {texts[0]} and rows of {texts[1]}"),
                ((left[:, meant], right), f"columns of {texts[0]}"),
                ((left, right[meant]), f"rows of {texts[1]}"),
            ):
                yield factors, f"that is the result if of the {which} {what}"

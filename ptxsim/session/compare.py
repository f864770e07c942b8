"""Arrays whose `==` is a verdict on the whole: `assert d == a @ b.T` in a test."""

from __future__ import annotations

from typing import Any

import numpy as np


class Verdict(np.ndarray):
    """Element-wise booleans that are true if all of them are."""

    def __bool__(self) -> bool:
        return bool(np.asarray(self).all())


class Difference(np.ndarray):
    """Element-wise booleans that are true if any of them is."""

    def __bool__(self) -> bool:
        return bool(np.asarray(self).any())


class Array(np.ndarray):
    """An ndarray in every way but one: `==` gives a Verdict and `!=` a Difference.

    `form` is the instruction whose D this is, if it came from `execute`; whatever is computed from it has none.
    """

    form: str | None

    def __array_finalize__(self, source: Any) -> None:
        self.form = None

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        try:
            return np.asarray(self).__eq__(np.asarray(other)).view(Verdict)
        except (ValueError, AttributeError):  # the shapes do not fit: not equal, and the explanation says so
            return np.zeros((1,), dtype=bool).view(Verdict)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        return (~np.asarray(self == other)).view(Difference)

    __hash__ = None  # type: ignore[assignment]


def as_array(values: np.ndarray, form: str | None = None) -> Array:
    """The same memory as an Array."""
    array = np.asarray(values).view(Array)
    array.form = form
    return array

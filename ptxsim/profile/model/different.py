"""The different ones of many whole numbers: lines of memory, and who touches them."""

from __future__ import annotations

import numpy as np

DENSE = 64  # bytes of a table that take less time than to sort one number


def different(values: np.ndarray) -> np.ndarray:
    """Sorted, as np.unique gives them; by a table where they lie close together. From numpy 2.3 on, that one hashes the numbers, which takes it
    twenty times as long as sorting where many fall together."""
    if not len(values):
        return values
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span > len(values) * DENSE:
        ordered = np.sort(values)
        found: np.ndarray = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    else:
        table = np.zeros(span, bool)
        table[values - least] = True
        found = np.flatnonzero(table) + least
    return found

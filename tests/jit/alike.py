"""A body run in Python, compiled, and compiled with checks: the same result, and the same arrays afterwards."""

import copy

import numpy as np


def same(one, other) -> bool:
    """Whether arrays, tuples of them or numbers are equal, NaN with NaN."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.tobytes() == other.tobytes()
    return one == other or (one != one and other != other)


def alike(body, *arguments):
    """Run a body in all three ways; returns the result and the arguments as it left them."""
    runs = []
    for run in (body, body.compiled, body.checked):
        given = copy.deepcopy(arguments)
        with np.errstate(all="raise"):  # numpy computes in the width of the array
            runs.append((run(*given), given))
    (result, left), *others = runs
    for other, changed in others:
        assert same(result, other), (result, other)
        assert same(left, changed)
    return result, left

"""A body run in Python, compiled in haste and with care, and compiled with checks: the same result, and the same arrays afterwards."""

import copy
import ctypes

import numpy as np

from ptxsim.jit.compiler import shared
from ptxsim.jit.export import export, signature
from ptxsim.jit.record import Pointer, Record

PREFIX = "ptxsim_test_alike_"


def same(one, other) -> bool:
    """Whether arrays, tuples of them or numbers are equal, NaN with NaN."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.tobytes() == other.tobytes()
    return one == other or (one != one and other != other)


def alike(body, *arguments):
    """Run a body in all its ways; returns the result and the arguments as it left them."""
    runs = []
    for way in ("plain", "quick", "careful", "checked"):
        run = {"plain": body, "checked": body.checked}.get(way, body.compiled)
        if way == "careful":
            for entry in body.compiled.entries.values():
                if entry.left:
                    entry.improve()
        given = copy.deepcopy(arguments)
        with np.errstate(all="raise"):  # numpy computes in the width of the array
            runs.append((run(*given), given))
    (result, left), *others = runs
    for other, changed in others:
        assert same(result, other), (result, other)
        assert same(left, changed)
    return result, left


def exported(body):
    """A body on records as native code calls it, to be called like the body."""
    export(shared(), PREFIX, body)
    parameters, result = signature(body.function)
    types = [ctypes.c_void_p if isinstance(each, Pointer) else each.ctype for each in parameters]
    address = shared().address(PREFIX + body.function.__name__)
    function = ctypes.CFUNCTYPE(result.ctype if result is not None else None, *types)(address)
    return lambda *given: function(*(each.address if isinstance(each, Record) else each for each in given))

"""What wrong elements of an array have in common, how wrong they are, and what that may come from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import type_of
from ptxsim.session.ptxfile.misplaced import moved
from ptxsim.session.ptxfile.values import narrow
from ptxsim.session.views import box as places_of

if TYPE_CHECKING:
    import numpy as np

    from ptxsim.session.ptxfile.misplaced import Equal

_ROUNDING = 16  # epsilons of a type, and at most one in fifty: an error that may be rounding
_NEAR = 9999  # more ULPs than this say nothing


def pattern_of(wrong: np.ndarray) -> str:
    """What the indices of the wrong elements share, as a clause: ", all with row bit 3 set"; empty if nothing."""
    import numpy as np

    count = int(wrong.sum())
    if count == wrong.size or count < 2:
        return ", every one" if count == wrong.size and count > 1 else ""
    places = np.argwhere(wrong)
    axes = (
        ["row", "column"]
        if wrong.ndim == 2
        else ["index"]
        if wrong.ndim == 1
        else [f"axis {i}" for i in range(wrong.ndim)]
    )
    shared = []
    matching = np.ones(wrong.shape, dtype=bool)
    for axis, (name, size) in enumerate(zip(axes, wrong.shape)):
        values = places[:, axis]
        indices = np.arange(size).reshape([-1 if a == axis else 1 for a in range(wrong.ndim)])
        if size > 1 and (values == values[0]).all():
            shared.append(f"{name} {values[0]}")
            matching &= indices == values[0]
            continue
        for bit in range(max(1, (size - 1).bit_length())):
            bits = values >> bit & 1
            if size > 1 and (bits == bits[0]).all():
                shared.append(f"{name} bit {bit} {'set' if bits[0] else 'clear'}")
                matching &= (indices >> bit & 1) == bits[0]
    is_exact = bool(shared) and int(matching.sum()) == count
    box = places_of(places, wrong.shape)
    if box and not (is_exact and len(shared) == 1):
        return f", exactly those at {box}"
    if not shared:
        return ""
    clause = " and ".join(shared)
    preposition = "in" if " bit " not in shared[0] else "with"
    return f", exactly those {preposition} {clause}" if is_exact else f", all {preposition} {clause}"


def rearranged(got: np.ndarray, expected: np.ndarray, label: str, equal: Equal, is_stored: bool = False) -> str | None:
    """A hint if the right values stand in the wrong places. is_stored: whether a wrong element is known to have been stored."""
    import numpy as np

    if not np.any(got):
        return (
            f"{label} is all zeros: {'zeros were stored' if is_stored else 'nothing was stored to it, or zeros were'}"
        )
    if np.array_equal(got, np.broadcast_to(got.flat[0], got.shape)):
        return f"every element of {label} is {show(got.flat[0])}"
    if got.ndim == 2 and got.shape[0] == got.shape[1] and equal(got.T, expected).all():
        return f"{label} is the transpose of what is expected: rows are taken for columns, or the factors of a product have changed places"
    if got.dtype.kind in "fi" and equal(-got, expected).all():
        return f"{label} is what is expected with the other sign (of wgmma: imm-scale-a and imm-scale-b)"
    if lines := moved(got, expected, equal):
        return f"of {label}, {lines}: a layout is wrong, not the arithmetic"
    if np.array_equal(np.sort(got, axis=None), np.sort(expected, axis=None)):
        return f"{label} holds exactly the expected values, in other places: a layout is wrong, not the arithmetic"
    return None


def largest(got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, dtype: Any) -> str | None:
    """The largest error, where both sides are finite floats."""
    import numpy as np

    if np.result_type(got, expected).kind != "f":
        return None
    with np.errstate(all="ignore"):
        error = np.where(np.isfinite(got) & np.isfinite(expected), np.abs(got - expected), 0.0)
    if not error.any() or int(wrong.sum()) < 2:
        return None
    index = np.unravel_index(int(np.argmax(error)), error.shape)
    distance = ulps(got[index], expected[index], dtype)
    far = f", {distance} ULP of {type_of(dtype)}" if distance else ""
    return f"the largest error is {show(error[index])}{far}, at [{','.join(str(int(i)) for i in index)}]"


def rounding(got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, dtype: Any) -> str | None:
    """The tolerance that would do, where every error is small enough to be rounding in the type of the result."""
    import ml_dtypes
    import numpy as np

    if dtype is None or dtype.kind in "iub" or "int" in dtype.name:
        return None
    got, expected = got[wrong].astype(np.float64), expected[wrong].astype(np.float64)
    with np.errstate(all="ignore"):
        relative = np.abs(got - expected) / np.abs(expected)
    largest = float(relative.max())
    finfo: Any = ml_dtypes.finfo  # which has no annotations
    if not largest <= min(_ROUNDING * float(finfo(dtype).eps), 2e-2):  # nor is a NaN
        return None
    digit = 10.0 ** math.floor(math.log10(largest))
    enough = math.ceil(largest / digit) * digit
    return f"the largest relative error is {largest:.2g}: if that is rounding, add rtol={enough:.0e}"


def ulps(got: Any, expected: Any, dtype: Any) -> int | None:
    """Steps between two neighbouring numbers of a float type, or None where that says nothing."""
    import numpy as np

    if dtype is None or dtype.kind in "iub" or "int" in dtype.name or not np.isfinite(got) or not np.isfinite(expected):
        return None
    integer = np.dtype(f"uint{8 * dtype.itemsize}")
    sign = 1 << (8 * dtype.itemsize - 1)
    ordered = []
    for value in (got, expected):
        bits = int(narrow(value, dtype).reshape(1).view(integer)[0])
        ordered.append(sign - bits if bits & sign else bits)
    distance = abs(ordered[0] - ordered[1])
    return distance if 0 < distance <= _NEAR else None


def show(value: Any) -> str:
    """A number as messages print it: nine digits distinguish neighbouring f32."""
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.9g}" if isinstance(value, float) else str(value)

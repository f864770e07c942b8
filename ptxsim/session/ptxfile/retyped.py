"""Factors whose bits an instruction takes for another type of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptxsim.session.ptxfile.values import Value, narrow, widen

if TYPE_CHECKING:
    import numpy as np

    from ptxsim.session.ptxfile.swizzled import Factors

ALIKE = (("f16", "bf16"), ("e4m3", "e5m2"), ("s8", "u8"))


def retyped(left: Value, right: Value, texts: tuple[str, str]) -> Iterator[tuple[Factors, str]]:
    """Both factors or one of them with their bits read as the other type, and what to say."""
    sides = (left, right)
    others = [_other(side) for side in sides]
    for chosen in ((0, 1), (0,), (1,)):
        read = {side: found for side in chosen if (found := others[side]) is not None}
        if len(read) == len(chosen):
            first, second = (read[side][0] if side in read else sides[side].data for side in (0, 1))
            said = " and ".join(f"{texts[side]}, of {of}, as {taken}" for side, (_, of, taken) in read.items())
            yield (first, second), f"that is the result if the instruction takes {said}: look at the types in its name"


def _other(value: Value) -> tuple[np.ndarray, str, str] | None:
    """Stored data read as the other type, its own type and that one; None if it has no such type or is computed."""
    from ptxsim.arrays import dtype_of, type_of

    own = None if value.dtype is None else type_of(value.dtype)
    taken = {**dict(ALIKE), **{b: a for a, b in ALIKE}}.get(own or "")
    if own is None or taken is None:
        return None
    return widen(narrow(value.data, value.dtype).view(dtype_of(taken))), own, taken

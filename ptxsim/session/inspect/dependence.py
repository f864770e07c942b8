"""On which inputs a wrong element depends, and on which the expected one does: the launch is repeated on changed inputs.

A wrong index that stays in its array breaks no rule; only the numbers are wrong. What they are computed from says where to look.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from ptxsim.diagnostic import PtxError
from ptxsim.session.ptxfile.expressions import evaluate, names_in
from ptxsim.session.ptxfile.pieces import place_in
from ptxsim.session.ptxfile.values import narrow, widen

SHORT = 5_000  # warp instructions of a run that is repeated for this
_MOST_RUNS = 160
_MOST_ELEMENTS = 1 << 18  # of an array that is changed
_PARTS = 32  # of a dimension, that are changed one after the other
_DRAWS = 4  # sets of numbers, until a change shows
_SHOWN = 12  # parts that are listed
_VISIBLE = 1 / 64  # the least part of an expected value by which it must change, so that no rounding hides it

Change = Callable[[dict[str, Any]], None]  # arrays by name, before a launch
Part = tuple[int, int, int]  # dimension, first index, last index + 1


def other_inputs(
    left: ast.expr, right: ast.expr, values: Mapping[str, Any], again: Callable[[Change], Mapping[str, Any] | None],
    rtol: float = 0.0, atol: float = 0.0,
) -> list[str]:  # fmt: skip
    """Sentences about inputs on which the first wrong element of `left`, an argument or a part of one, depends as `right` does not, or the other way
    round. values: what the wrong run gave. again: what a run gives on changed inputs, None where it does not come to its end. Raises PtxError where an expression has no value."""
    stored = evaluate(left, values)
    own = None if stored.dtype is None or not np.ndim(stored.data) else partial(place_in, left, values)
    if own is None:
        return []
    place = _first_wrong(narrow(stored.data, stored.dtype), evaluate(right, values).data, rtol, atol)
    named = dict.fromkeys(name.removesuffix("_in") for name in sorted(names_in(right)))
    arrays = {name: values[name] for name in named if _is_changed(values.get(name))}
    parts = [(name, part) for name, array in arrays.items() for part in _parts(array.shape)]
    if place is None or not parts or len(parts) > _MOST_RUNS:
        return []

    @cache
    def of(chosen: tuple[str, Part] | None, seed: int) -> tuple[float, float] | None:
        """The element, as it is and as it should be, on inputs of which one part is changed; None where either is no number to go by."""

        def change(values: dict[str, Any]) -> None:
            draw = np.random.default_rng(seed)
            for name, array in arrays.items():
                data, other = draw.integers(1, 4, array.shape), draw.integers(4, 7, array.shape)
                if chosen is not None and name == chosen[0]:
                    axis, start, stop = chosen[1]
                    here = (slice(None),) * axis + (slice(start, stop),)
                    data[here] = other[here]
                values[name][...] = narrow(data, array.dtype)
                values[f"{name}_in"] = values[name].copy()

        found = again(change)
        if found is None:
            return None
        got = widen(evaluate(left, found).data)
        expected = float(np.broadcast_to(widen(evaluate(right, found).data), got.shape)[place])
        return (got[place], expected) if np.isfinite(expected) else None

    missing: dict[str, list[Part]] = {}
    extra: dict[str, list[Part]] = {}
    more_runs = _MOST_RUNS
    for name, part in parts:
        for seed in range(_DRAWS):
            base, now = of(None, seed), of((name, part), seed)
            if base is None or now is None:
                return []
            depends = now[0] != base[0] and not (now[0] != now[0] and base[0] != base[0])
            if depends and now[1] == base[1]:
                extra.setdefault(name, []).append(part)
            elif not depends and abs(now[1] - base[1]) > _VISIBLE * abs(base[1]):
                missing.setdefault(name, []).append(part)
            elif not depends and now[1] != base[1] and more_runs:
                more_runs -= 1  # a rounding may hide so little: other numbers may show it
                continue
            break
    name, at = own(place) or (f"({ast.unparse(left)})", place)
    element = f"{name}[{','.join(map(str, at))}]"
    said = [f"depends on {_listed(extra, arrays, ' and ')}, as it should not"] if extra else []
    said += [f"does not depend on {_listed(missing, arrays, ' nor ')}, as it should"] if missing else []
    return [f"{element} {'; it '.join(said)} (seen with other inputs)"] if said else []


def _is_changed(value: Any) -> bool:
    return isinstance(value, np.ndarray) and 0 < value.size <= _MOST_ELEMENTS and value.ndim > 0


def _first_wrong(got: np.ndarray, expected: Any, rtol: float, atol: float) -> tuple[int, ...] | None:
    expected = narrow(expected, got.dtype)
    if np.ndim(expected) and np.shape(expected) != got.shape:
        return None
    got, expected = widen(got), widen(expected)
    wrong = np.argwhere((got != expected) & ~np.isclose(got, expected, rtol, atol))
    return tuple(int(i) for i in wrong[0]) if len(wrong) else None


def _parts(shape: tuple[int, ...]) -> Iterator[Part]:
    for axis, size in enumerate(shape):
        step = -(-size // _PARTS)
        if size > 1:
            yield from ((axis, start, min(start + step, size)) for start in range(0, size, step))


def _listed(parts: Mapping[str, Iterable[Part]], arrays: Mapping[str, np.ndarray], word: str) -> str:
    """`in[16:32] and in[48:64]`: parts that lie beside each other are one."""
    texts = []
    for name, found in parts.items():
        joined: list[Part] = []
        for axis, start, stop in found:
            if joined and joined[-1][0] == axis and joined[-1][2] == start:
                joined[-1] = axis, joined[-1][1], stop
            else:
                joined.append((axis, start, stop))
        for axis, start, stop in joined:
            index = str(start) if stop == start + 1 else f"{start}:{stop}"
            is_all = start == 0 and stop == arrays[name].shape[axis]
            texts.append(name if is_all else f"{name}[{':,' * axis}{index}]")
    texts = list(dict.fromkeys(texts))
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return word.join(texts[:_SHOWN]) + more


def tried(*given: Any) -> list[str]:
    """`other_inputs`; nothing where an expression has no value on other inputs."""
    try:
        with np.errstate(all="ignore"):
            return other_inputs(*given)
    except (PtxError, ValueError, OverflowError):
        return []

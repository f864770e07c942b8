"""Comparisons that a Python program makes of its results: where one fails, who wrote the first wrong element is told.

Under `ptxsim exec` the usual functions of torch and numpy are listened to; what they return and raise stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from ptxsim.programs.after_import import after_import
from ptxsim.programs.answers import Answers
from ptxsim.session.foreign_arguments import array_of

_FUNCTIONS = {
    "torch": ("allclose", "equal"), "torch.testing": ("assert_close",),
    "numpy": ("allclose", "array_equal"), "numpy.testing": ("assert_allclose", "assert_array_equal", "assert_equal"),
}  # fmt: skip
_MOST_TOLD = 3
_TOLERANCE = 1e-5  # where the comparison says none
_LIBRARIES = ("torch", "numpy", "triton", "ptxsim")  # whose own comparisons are their affair


_asked: list[Answers] = []  # of the launches in this process
_told: list[str] = []
_is_listening: list[bool] = []


def listen() -> None:
    """From now on, or once the library has been imported: a program may take the functions out of it before its first launch."""
    _is_listening.append(True)
    for module, names in _FUNCTIONS.items():
        after_import(module, partial(_wrap, module, names))


def ask(answers: Answers) -> None:
    """Who is asked who wrote an element."""
    if _is_listening:
        answers.are_compared = True
        _asked.append(answers)


def _wrap(module: str, names: tuple[str, ...]) -> None:
    for name in names:
        setattr(sys.modules[module], name, _listening(getattr(sys.modules[module], name)))


def _listening(compare: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(compare)
    def compared(*args: Any, **options: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
        try:
            result = compare(*args, **options)
        except AssertionError:
            if caller not in _LIBRARIES:
                _tell(args, options)
            raise
        if result is False and caller not in _LIBRARIES:
            _tell(args, options)
        return result

    return compared


def _tell(args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Say what the wrong elements have in common, and who wrote the first of them."""
    sides = [side for value in args[:2] if (side := _array(value)) is not None and side.ndim]
    if not _asked or len(_told) >= _MOST_TOLD or len(sides) < 2 or sides[0].shape != sides[1].shape:
        return
    rtol, atol = (float(options.get(name) or _TOLERANCE) for name in ("rtol", "atol"))
    for got, wanted in (sides, sides[::-1]):
        close = np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol, atol, equal_nan=True)
        wrong = np.argwhere(~close)
        if not len(wrong):
            return
        place = got.ctypes.data + int(np.dot(wrong[0], got.strides))
        for answers in _asked:
            text = answers.of_host(place)
            if text is not None:
                _told.append(text)
                answers.say("\n  ".join(_differences(got, wanted, rtol, atol)))
                answers.say(text)
                return


def _differences(got: np.ndarray, wanted: np.ndarray, rtol: float, atol: float) -> list[str]:
    """The first wrong elements, and what wrong ones have in common."""
    from ptxsim.session.ptxfile.expectations import explain_difference

    with np.errstate(all="ignore"):
        finding = explain_difference(got, wanted, rtol, atol)
    return [finding.message, *finding.notes] if finding else []


def _array(value: Any) -> np.ndarray | None:
    """What is compared, in the memory where it lies."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return array_of(value)
    return value if isinstance(value, np.ndarray) else None

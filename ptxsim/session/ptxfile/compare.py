"""Arrays whose `==` is a verdict on the whole: `assert d == a @ b.T` in a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim.session.ptxfile.expectations import Writer

if TYPE_CHECKING:
    from ptxsim.session.launch import Launch
    from ptxsim.session.module import Kernel
    from ptxsim.session.options import LaunchOptions
    from ptxsim.session.run import Run


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

    `origin` gives, when it is called, who wrote an element: for the D of an instruction lane and register, for the
    argument of a launch line and thread. Whatever is computed from the array has none.
    """

    origin: Callable[[], Writer | None] | None

    def __array_finalize__(self, source: Any) -> None:
        self.origin = None

    def __eq__(self, other: object) -> Any:
        try:
            return np.asarray(self).__eq__(np.asarray(other)).view(Verdict)
        except (ValueError, AttributeError):  # the shapes do not fit: not equal, and the explanation says so
            return np.zeros((1,), dtype=bool).view(Verdict)

    def __ne__(self, other: object) -> Any:
        return (~np.asarray(self == other)).view(Difference)

    __hash__ = None


def as_array(values: np.ndarray, form: str | None = None) -> Array:
    """The same memory as an Array; `form` is the instruction whose D it is, if it came from `execute`."""
    array = np.asarray(values).view(Array)
    if form is not None:
        array.origin = lambda: fragment_owners(form)
    return array


def fragment_owners(form: str) -> Writer:
    """Names the lane and register that hold an element of the D of an instruction."""
    from ptxsim.session.form_names import fragment as find

    fragment = find(form, "D")

    def who(name: str, index: tuple[int, ...]) -> str | None:
        owners = fragment.owners(*index)
        return ", ".join(f"lane {lane}, register d{element}" for lane, element in owners[:2]) or None

    return who


def launch_remembered(kernel: Kernel, args: Sequence[Any], options: LaunchOptions, on_error: str) -> Run:
    """Launch; afterwards the arrays among the arguments know who stored their elements.

    To be asked later, the launch is kept with copies of its data.
    """
    before = [np.array(value) if isinstance(value, np.ndarray) else value for value in args]
    for position, value in enumerate(args):
        if isinstance(value, Array):
            value.origin = partial(_who_stored, kernel, before, options, position)
    return kernel.run(args, options, on_error)


def _who_stored(kernel: Kernel, args: Sequence[Any], options: LaunchOptions, position: int) -> Writer | None:
    from ptxsim.session.inspect.writers import Arrays, Writers

    def again() -> tuple[Launch, Arrays]:
        return kernel.repeat(args, options), {"left": (kernel.parameters[position].name, args[position])}

    return Writers(again, kernel.module.source)

"""How kernels of numba-cuda are given arrays: each is several parameters, with its data, shape and strides among them.

numba-cuda, "numba/cuda/core/datamodel" (ArrayModel): meminfo, parent, nitems, itemsize, data, then the shape and the strides in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptxsim.arrays import dtype_of
from ptxsim.demangle import demangle
from ptxsim.session.module import Kernel
from ptxsim.session.views import CPP_TYPES, View

_ARRAY = re.compile(r"Array<(?P<type>[\w ]+), (?P<axes>\d+), ")
_ITEMSIZE, _DATA, _SHAPE = 3, 4, 5  # places among an array's parameters


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as its author knows it: its name, its first parameter, and of an array its type and number of axes."""

    name: str
    first: int
    type: str = ""
    axes: int = 0

    @property
    def parameters(self) -> int:
        return _SHAPE + 2 * self.axes if self.axes else 1


def arguments(kernel: Kernel) -> list[Argument]:
    """The arguments of a kernel; empty where it is none of numba-cuda's, or its text is not at hand."""
    inner = demangle(kernel.name).partition("(")[2].rpartition(")")[0]
    types = re.split(r",\s*(?![^<]*>)", inner)
    source = kernel.module.source
    origin = source.line_table.after(kernel.function.line)
    text = source.original(list(origin.chain())[-1].file) if origin is not None and "Array<" in inner else None
    name = re.sub(r"\[abi:\w+\]", "", demangle(kernel.name).partition("(")[0]).rpartition("::")[2]
    declared = re.search(rf"\bdef {re.escape(name)}\((?P<names>[^()]*)\)", text.text) if text else None
    names = [word.strip().partition(":")[0] for word in declared["names"].split(",")] if declared else []
    names = [word for word in names if word]
    found: list[Argument] = []
    for word, type in zip(names, types):
        first = found[-1].first + found[-1].parameters if found else 0
        array = _ARRAY.match(type)
        found.append(Argument(word, first, array["type"], int(array["axes"])) if array else Argument(word, first))
    whole = sum(one.parameters for one in found)
    return found if len(names) == len(types) and whole == len(kernel.parameters) else []


def written(kernel: Kernel) -> dict[str, str]:
    """What their author calls the parameters, as in Kernel: of an array that of its data."""
    own = kernel.parameters
    return {own[one.first + (_DATA if one.axes else 0)].name: one.name for one in arguments(kernel)}


def views(kernel: Kernel, args: Sequence[bytes]) -> Iterator[tuple[str, View]]:
    """By their names, the arrays that a kernel is given."""
    for one in arguments(kernel):
        if one.axes and one.type in CPP_TYPES:
            data, *sizes = (
                int.from_bytes(value, "little") for value in args[one.first + _DATA : one.first + one.parameters]
            )
            dtype = dtype_of(CPP_TYPES[one.type])
            shape, strides = sizes[: one.axes], sizes[one.axes :]
            yield one.name, View(data, dtype, tuple(shape), tuple(step // dtype.itemsize for step in strides))

"""What is told of one element that a program asks about: who stored it, and what it was computed from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ptxsim.arrays import dtype_of
from ptxsim.demangle import demangle, short_name, without_parameters
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.machine.memory import Allocation
from ptxsim.machine.places import coordinates
from ptxsim.programs import numba_arrays
from ptxsim.session.arguments import parameter_bytes
from ptxsim.session.inspect.lineage import lineage
from ptxsim.session.inspect.lineage_records import Lineage, Masked, Read
from ptxsim.session.inspect.steps import Step
from ptxsim.session.inspect.writers import nobody_stores
from ptxsim.session.module import Kernel
from ptxsim.session.options import LaunchOptions
from ptxsim.session.parameter_names import names_at_hand
from ptxsim.session.ptxfile.differences import show
from ptxsim.session.ptxfile.expressions import evaluate, parse_expression
from ptxsim.session.views import CPP_TYPES, View, flat, of_array, written
from ptxsim.types import TYPES

_NEUTRAL = "right where that changes nothing, as 0 in a sum; not in a maximum, a product or an exponential"
_MOST_STEPS = 16  # lines whose values are told
_MOST_VALUES = 3  # of a line
_QUESTION = re.compile(r"\s*(?P<name>[A-Za-z_$]\w*)\s*\[(?P<index>[-\d\s,*+()]+)\](?::(?P<type>\w+))?\s*")


@dataclass(frozen=True, slots=True)
class Question:
    """An element: of the array that a parameter of this name points to, as `type` where that is said."""

    name: str
    index: tuple[int, ...]
    type: str | None = None


def parse_question(text: str) -> Question:
    """`out_ptr[3,5]`, `c[3*64+5]:f32`. Raises PtxError."""
    found = _QUESTION.fullmatch(text)
    if found is not None:
        try:
            parts = [int(evaluate(parse_expression(part.strip()), {}).data) for part in found["index"].split(",")]
        except (PtxError, TypeError):
            found = None
    if found is None:
        message = f"{text!r} names no element: --why 'out_ptr[3]', --why 'out_ptr[3,5]', --why 'c[3*64+5]:f32'"
        raise PtxError(Finding("bad-directive", message, help="NAME is a kernel's parameter that points to an array"))
    if found["type"]:
        dtype_of(found["type"])
    return Question(found["name"], tuple(parts), found["type"])


class Remembered:
    """A launch that can be repeated from the memory as it was before it.

    args: as Kernel.launch takes them; arrays of the host lie in memory of the launch. names: what the author calls the parameters, in their order.
    """

    def __init__(
        self, kernel: Kernel, args: Sequence[Any], options: LaunchOptions, number: int, names: Sequence[str] = ()
    ):
        options = replace(
            options, checks="memory", banks=False, profile=0, progress=None, jobs=1, sample=None, every=None
        )
        self.kernel, self.number = kernel, number
        self.launch = kernel.prepare(args, options, is_silent=True)
        self.args = [parameter_bytes(*given) for given in self.launch.arguments.values]
        self._given = {parameter.name: name for parameter, name in zip(kernel.parameters, names)}
        buffers = self.launch.arguments.buffers.items()
        own = {parameter.removesuffix(".array"): buffer for parameter, buffer in buffers}  # such is a tensor map's
        self._buffers = {self.names.get(parameter, parameter): buffer for parameter, buffer in own.items()}
        self.views = dict(kernel.views or numba_arrays.views(kernel, self.args)) | {
            name: of_array(allocation.address, array) for name, (array, allocation) in self._buffers.items()
        }
        self.memory = self.launch.memory.copy()
        self.launch.release()

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What their author calls the parameters, by their names in the PTX."""
        kernel = self.kernel
        return (
            self._given
            or kernel.written
            or numba_arrays.written(kernel)
            or names_at_hand(kernel.module.source, kernel.function)
        )

    def pointers(self) -> dict[str, tuple[int, Allocation]]:
        """By the names of parameters: the address that each holds, and the allocation that it lies in."""
        found = {name: (allocation.address, allocation) for name, (_, allocation) in self._buffers.items()}
        for parameter, value in zip(self.kernel.parameters, self.args):
            if len(value) == 8:
                address = int.from_bytes(value, "little")
                holder = self.memory.holder(address) if address else None
                if holder is not None:
                    found[self.names.get(parameter.name, parameter.name)] = address, holder
        return found

    @cached_property
    def _types(self) -> dict[str, np.dtype]:
        """Of the elements that parameters point to, where the kernel's C++ name says it."""
        inner = demangle(self.kernel.name).partition("(")[2].rpartition(")")[0]
        types = re.split(r",\s*(?![^<(]*[>)])", inner) if inner else []
        found = {}
        for parameter, text in zip(self.kernel.parameters, types):
            name = re.sub(r"\b(const|volatile|__restrict__)\b", "", text.replace("*", "", 1)).strip()
            if "*" in text and name in CPP_TYPES:
                found[self.names.get(parameter.name, parameter.name)] = dtype_of(CPP_TYPES[name])
        return found

    def view(self, name: str, allocation: Allocation, dtype: np.dtype) -> View:
        """How what a parameter points to is seen."""
        if name in self.views:
            return self.views[name]
        address = self.pointers()[name][0]
        return flat(address, dtype, allocation.address + allocation.size - address)

    def kind(self, allocation: Allocation) -> np.dtype | None:
        """The type of what lies in an allocation."""
        for name, (_, holder) in self.pointers().items():
            if holder == allocation:
                return self.views[name].dtype if name in self.views else self._types.get(name)
        return None

    def lineage_of(self, question: Question) -> Lineage | None:
        """Of the element that is asked about; None where no parameter is called so. Raises IndexError."""
        found = self.pointers().get(question.name)
        if found is None:
            return None
        address, allocation = found
        dtype = dtype_of(question.type) if question.type else self.kind(allocation)
        view = self.views.get(question.name)
        if len(question.index) == 1:
            size = (dtype or np.dtype(np.float32)).itemsize
            return self.at(allocation, (address - allocation.address) // size + question.index[0], dtype)
        if view is None:
            raise IndexError("only the address of what lies there is known: give one number, row * columns + column")
        return self.at(
            allocation, (address - allocation.address + view.offset(question.index)) // view.dtype.itemsize, view.dtype
        )

    def at(self, allocation: Allocation, index: int, dtype: np.dtype | None) -> Lineage:
        """Of an element counted from the start of an allocation. Raises IndexError."""

        def kind(holder: Allocation) -> np.dtype | None:
            return dtype if holder == allocation and dtype is not None else self.kind(holder)

        return lineage(self.launch, self.memory, allocation, index, kind)

    def told_at(self, address: int) -> str | None:
        """What there is to say of the element at an address of device memory; None where this launch stores nothing beside it."""
        allocation = self.memory.holder(address)
        if allocation is None:
            return None
        dtype = self.kind(allocation)
        found = self.at(allocation, (address - allocation.address) // (dtype or np.dtype(np.float32)).itemsize, dtype)
        return self.told(found) if found.stored.any() else None

    # ---- words ----

    def told(self, found: Lineage) -> str:
        """What there is to say, in lines; each line of the program is shown where it is first spoken of."""
        element = self._elements(found.allocation, np.array([found.index]), found.dtype)
        kernel = without_parameters(short_name(self.kernel.name))
        lines = [
            f"{element} is {show(found.after)} after {kernel}, launch {self.number}; it was {show(found.before)} before"
        ]
        lines += self._unstored(found) if found.by is None else self._stored(found)
        scalars = self._scalars()
        return "\n  ".join(lines + ([f"arguments: {scalars}"] if scalars else []))

    def _unstored(self, found: Lineage) -> list[str]:
        stored = np.nonzero(found.stored)[0]
        what = self._elements(found.allocation, stored, found.dtype)
        return [nobody_stores(what)]

    def _stored(self, found: Lineage) -> list[str]:
        assert found.by is not None
        op, cta, warp, lane = found.by
        times = "" if found.times == 1 else f", the last of {found.times} times"
        times += f" (by {found.ctas} CTAs: what follows is of the last)" if found.ctas > 1 else ""
        said = [(f"stored at {{}} by {self._thread(cta, warp, lane)}{times}", op.line)]
        reads = self._by_line(found.reads)
        used = [read for read in reads if len(read.used)]
        for read in used:
            all_of_it = len(read.used) == len(read.loaded)
            part = "all" if all_of_it else f"{len(read.used)} of the {len(read.loaded)} elements"
            what = self._elements(read.allocation, read.used, read.dtype)
            said.append((f"depends on {what}, {part} that the {self._cta} loads at {{}}", read.op.line))
        for read in reads:
            if not len(read.used):
                what = self._elements(read.allocation, read.loaded, read.dtype)
                said.append((f"does not depend on {what}, loaded at {{}}", read.op.line))
        for line, values in self._held(found.masked).items():
            held = ", ".join(map(show, values))
            said.append(
                (f"depends on lanes that the mask at {{}} leaves out, which hold {held} (other=): {_NEUTRAL}", line)
            )
        lines = self._placed(said)
        if not used:
            lines.append("depends on nothing that is loaded from global memory")
        lines += self._steps(found)
        if not found.is_complete:
            lines.append("not all that is loaded could be tried in the time there is: a smaller shape shows all of it")
        return lines

    def _steps(self, found: Lineage) -> list[str]:
        """The values of each line on the way, where there are several lines: what its operations last computed for the element."""
        values: dict[tuple[str, str], dict[int, Step]] = {}
        for step in found.steps:  # the nearest to the element first
            values.setdefault(self._place(step.op.line), {}).setdefault(step.op.site, step)
        lines = []
        for (place, text), steps in values.items():
            last = sorted(steps.values(), key=lambda step: step.number)[-_MOST_VALUES:]
            shown = ", ".join(dict.fromkeys(show(step.value) for step in last))
            lines.append((last[-1].number, f"    {place.rpartition(':')[2]}: {shown} | {text}", text))
        told = [line for _, line, text in sorted(lines) if text]
        return ["values on the way to it, of each line the last:", *told[-_MOST_STEPS:]] if len(told) > 1 else []

    def _by_line(self, reads: list[Read]) -> list[Read]:
        """Reads of one line and array as one: of a line there are as many loads as the compiler makes of it."""
        found: dict[tuple[str, int], Read] = {}
        for read in reads:
            key = self._place(read.op.line)[0], read.allocation.address
            other = found.get(key)
            if other is None or other.dtype != read.dtype:
                found[key] = read
            else:
                loaded, used = (np.union1d(*both) for both in ((other.loaded, read.loaded), (other.used, read.used)))
                found[key] = replace(other, loaded=loaded, used=used)
        return list(found.values())

    def _held(self, masked: list[Masked]) -> dict[int, list[Any]]:
        """By a line of PTX, one for each of the author's, what lanes hold that its mask leaves out."""
        lines: dict[str, int] = {}
        found: dict[int, list[Any]] = {}
        for one in masked:
            held = found.setdefault(lines.setdefault(self._place(one.op.line)[0], one.op.line), [])
            held += [value for value in one.held if value not in held]
        return found

    def _placed(self, said: list[tuple[str, int]]) -> list[str]:
        """Sentences with the place of a line in each, and the text of that line under the first."""
        lines, shown = [], set[str]()
        for sentence, line in said:
            place, text = self._place(line)
            lines.append(sentence.format(place))
            if text and place not in shown:
                lines.append(f"    {text}")
            shown.add(place)
        return lines

    @property
    def _cta(self) -> str:
        return "program" if self.kernel.views else "block"

    def _thread(self, cta: tuple[int, int, int], warp: int, lane: int) -> str:
        where = ",".join(map(str, cta))
        if self.kernel.views:
            return f"program ({where}), warp {warp} lane {lane}"
        x, y, _ = self.launch.block
        thread = ",".join(map(str, coordinates(32 * warp + lane, x, y)))
        return f"block ({where}) thread ({thread})"

    def _place(self, line: int) -> tuple[str, str]:
        """A line of the program's, and what is written there."""
        source = self.kernel.module.source
        origin = source.origin(line)
        if origin is None:
            return f"line {line} of the PTX", source.line(line).strip()
        own = source.original(origin.file)
        return f"{origin.file.rpartition('/')[2]}:{origin.line}", own.line(origin.line).strip() if own else ""

    def _elements(self, allocation: Allocation, indices: np.ndarray, dtype: np.dtype) -> str:
        """Elements of an allocation by the parameter that points to it."""
        for name, (_, holder) in self.pointers().items():
            view = self.view(name, holder, dtype)
            first = (view.address - allocation.address) // dtype.itemsize
            if holder == allocation and view.dtype.itemsize == dtype.itemsize:
                found = view.indices(indices - first)
                if found is not None:
                    return written(name, found, view.shape)
        return written(allocation.name, indices[:, None], (allocation.size // dtype.itemsize,))

    def _scalars(self) -> str:
        texts = []
        for parameter, value in zip(self.kernel.parameters, self.args):
            name, t = self.names.get(parameter.name, parameter.name), TYPES[parameter.type]
            if (
                parameter.shape
                or name in self.pointers()
                or len(value) not in (1, 2, 4, 8)
                or name not in self.names.values()
            ):
                continue
            number: Any = int.from_bytes(value, "little", signed=True)
            if t.name in ("f32", "f64"):
                number = np.frombuffer(value, dtype_of(t.name))[0]
            texts.append(f"{name} = {show(number)}")
        return ", ".join(texts)

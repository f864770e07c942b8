"""The state of a run, kept so that it can be put back: everything reachable from its grid, in place.

Objects keep their identity: a snapshot has the contents of every mutable one, and putting it back writes them into the same objects.
What is never changed by a run - programs, forms, syntax, types - is not followed.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import types
from collections import deque
from collections.abc import Iterable
from enum import Enum
from random import Random
from typing import Any

import numpy as np

# Rooms whose objects a run does not change, and values that cannot change.
_FIXED_ROOMS = (
    "ptxsim.isa", "ptxsim.syntax", "ptxsim.instructions", "ptxsim.types", "ptxsim.source", "ptxsim.diagnostic", "ptxsim.layout",
    "ptxsim.engine.program", "ptxsim.engine.analysis", "ptxsim.session", "ptxsim.debugger", "ptxsim.numerics", "ptxsim.jit", "numba", "llvmlite",
    "threading", "weakref",
)  # fmt: skip
_FIXED = (
    type(None), bool, int, float, complex, str, bytes, range, slice, type, types.ModuleType, types.BuiltinFunctionType,
    types.GenericAlias, np.dtype, np.generic, np.ufunc, Enum, type(Ellipsis), property, types.MethodWrapperType, types.GetSetDescriptorType,
)  # fmt: skip


class Unknown(Exception):
    """Something is reachable whose state cannot be kept."""


class Snapshot:
    """The state of all that is reachable from `roots`. Raises Unknown. `bytes`: about how much memory it takes."""

    def __init__(self, roots: Iterable[Any], fixed: tuple[type, ...] = ()):
        self.bytes = 0
        self._known: set[int] = set()  # arrays that have been kept
        self._fixed = (*_FIXED, *fixed)
        self._arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self._objects: list[tuple[Any, Any]] = []  # containers and what they hold; objects and their attributes
        self._cells: list[tuple[types.CellType, Any]] = []
        self._counts: list[tuple[Any, str, int]] = []
        self._generators: list[tuple[np.random.Generator, Any]] = []
        seen: dict[
            int, Any
        ] = {}  # also keeps what is only made here from being forgotten, and its number from being used again
        waiting = list(roots)
        while waiting:
            value = waiting.pop()
            if id(value) not in seen and not self._is_fixed(value):
                seen[id(value)] = value
                waiting += self._keep(value)

    def _is_fixed(self, value: Any) -> bool:
        return isinstance(value, self._fixed) or type(value).__module__.startswith(_FIXED_ROOMS)

    def _keep(self, value: Any) -> Iterable[Any]:
        """Keep what a value holds; what is to be looked at because of it."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, dict):
            self._objects.append((value, dict(value)))
            attributes = (
                self._attributes(value) if type(value).__module__ != "builtins" and hasattr(value, "__dict__") else ()
            )
            return [*value.values(), *value, *attributes]
        if isinstance(value, list | set | deque | bytearray):
            self._objects.append((value, list(value)))
            return () if isinstance(value, bytearray) else list(value)
        if isinstance(value, tuple | frozenset):
            return list(value)
        if isinstance(value, np.random.Generator):
            self._generators.append((value, value.bit_generator.state))
            return ()
        if isinstance(value, types.FunctionType):
            return [self._cell(cell) for cell in value.__closure__ or ()]
        if isinstance(value, types.MethodType):
            return [value.__self__]
        if isinstance(value, functools.partial):
            return [value.func, *value.args, *value.keywords.values()]
        if isinstance(value, ctypes.Structure | ctypes.Array):  # over an array that its owner has, too
            kept = bytes(value)
            self._objects.append((value, kept))
            self.bytes += len(kept)
            return ()
        if isinstance(value, Random | itertools.count) or not _names(value):
            raise Unknown(type(value).__name__)
        return self._attributes(value)

    def _array(self, value: np.ndarray) -> Iterable[Any]:
        """Keep the bytes of the array that a view is of."""
        while isinstance(value.base, np.ndarray):
            value = value.base
        if id(value) not in self._known:
            self._known.add(id(value))
            if value.flags.writeable:
                self._arrays.append((value, value.copy()))
                self.bytes += value.nbytes
            if value.dtype.hasobject:
                return value.reshape(-1).tolist()
        return ()

    def _cell(self, cell: types.CellType) -> Any:
        try:
            held = cell.cell_contents
        except ValueError:
            return None
        self._cells.append((cell, held))
        return held

    def _attributes(self, value: Any) -> Iterable[Any]:
        held = {}
        for name in _names(value):
            try:
                each = getattr(value, name)
            except AttributeError:
                continue
            if isinstance(each, itertools.count):
                self._counts.append((value, name, int(repr(each)[6:-1])))
            else:
                held[name] = each
        self._objects.append((value, _Attributes(held)))
        return list(held.values())

    def restore(self) -> None:
        """Put everything back."""
        for array, kept in self._arrays:
            array[...] = kept
        for value, held in self._objects:
            if isinstance(held, _Attributes):
                own = getattr(value, "__dict__", None)
                for name in [name for name in own or () if name not in held.values]:
                    if not isinstance(own[name], itertools.count):  # type: ignore[index]  # there is one
                        object.__delattr__(value, name)
                for name, each in held.values.items():
                    object.__setattr__(value, name, each)
            elif isinstance(value, dict | set):
                value.clear()
                value.update(held)
            elif isinstance(held, bytes):
                ctypes.memmove(ctypes.addressof(value), held, len(held))
            elif isinstance(value, deque):
                value.clear()
                value.extend(held)
            else:
                value[:] = held if isinstance(value, list) else bytes(held)
        for cell, held in self._cells:
            cell.cell_contents = held
        for value, name, number in self._counts:
            object.__setattr__(value, name, itertools.count(number))
        for generator, state in self._generators:
            generator.bit_generator.state = state


class _Attributes:
    """What the attributes of an object hold."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]):
        self.values = values


def _names(value: Any) -> list[str]:
    """The attributes that an object has of its own: those of its dictionary, and its slots."""
    own = getattr(value, "__dict__", None)
    slots = (
        name
        for kind in type(value).__mro__
        for name in (
            [kind.__dict__["__slots__"]]
            if isinstance(kind.__dict__.get("__slots__"), str)
            else kind.__dict__.get("__slots__", ())
        )
    )
    return [*(own or ()), *(name for name in slots if name not in ("__dict__", "__weakref__"))]

"""`@body`: a function over arrays that runs as it is, and compiled."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from ptxsim.jit import kinds
from ptxsim.jit.compiler import Jit, shared
from ptxsim.jit.kinds import BOOL, FLOAT, INT, Kind, Scalar, Struct, Value, kind_of, signature_of, words
from ptxsim.jit.translator import ModuleText, Translator

Array: TypeAlias = np.ndarray[Any, Any]  # in the signatures of bodies
Numbers: TypeAlias = Array | list[int]  # a row of ints, or scratch
P = ParamSpec("P")
R = TypeVar("R")


def record(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """A structured dtype whose elements have their fields as attributes too: `a[i].name`. Raises ValueError for names numpy has."""
    for name, *_ in fields:
        if hasattr(np.record, name):
            raise ValueError(f"every record has an attribute {name!r} already")
    return np.dtype((np.record, list(fields)))


class Body(Generic[P, R]):
    """A function of the language of bodies. A call runs it in Python; `compiled` and `checked` are called like it."""

    def __init__(self, function: Callable[P, R], enough: int):
        functools.update_wrapper(self, function)
        self.function = function
        self.enough, self.asked = enough, 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @cached_property
    def compiled(self) -> Compiled[P, R]:
        """The same as machine code, from the store or made at the first call (some tenths of a second)."""
        return Compiled(self.function)

    def form(self, size: int) -> Callable[P, R]:
        """Which form to call for `size` more steps: Python, from `enough` steps of this process on machine code.

        PTXSIM_BODIES=python or native decides for all bodies.
        """
        self.asked += size
        wish = os.environ.get("PTXSIM_BODIES")
        return self.compiled if wish == "native" or (self.asked >= self.enough and wish != "python") else self.function

    @cached_property
    def checked(self) -> Compiled[P, R]:
        """As compiled, but indices, divisors and shift counts are checked: raises IndexError. For tests."""
        return Compiled(self.function, checked=True)


@overload
def body(function: Callable[P, R]) -> Body[P, R]: ...
@overload
def body(*, enough: int) -> Callable[[Callable[P, R]], Body[P, R]]: ...
def body(function: Any = None, *, enough: int = 1000) -> Any:
    """Make a function a body: what it may do is in the package's documentation. enough: see `Body.form`."""
    return Body(function, enough) if function is not None else lambda f: Body(f, enough)


class Compiled(Generic[P, R]):
    """A body as machine code, by the kinds of its arguments. Runs without the interpreter lock."""

    def __init__(self, function: Callable[P, R], checked: bool = False):
        self.function, self.checked = function, checked
        self._entries: dict[tuple[Any, ...], Entry] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError("compiled bodies take no arguments by name")
        signature = tuple(map(signature_of, args))
        entry = self._entries.get(signature)
        if entry is None:
            with self._lock:
                given = tuple(map(kind_of, args))
                entry = self._entries[signature] = Entry(self.function, given, self.checked, shared())
        found: R = entry(args)
        return found


class Entry:
    """Machine code of a body for arguments of some kinds.

    It is called with a block of words: where it went wrong (checked code), a letter for each result, the results, the arguments.
    """

    def __init__(self, function: Callable[..., Any], given: tuple[Kind, ...], checked: bool, jit: Jit):
        self.kinds, self.checked, self.places = given, checked, list[str]()
        self.arguments = struct.Struct("=" + "".join(map(_codes, given)))
        own = function.__module__.partition(".")[0] == __name__.partition(".")[0]
        if own and not checked:  # its source is not even read: it is the same while the package's digest is
            key = jit.key("body", function.__module__, function.__qualname__, repr(given))
            jit.load(key, lambda: _text(ModuleText(), function, given, f"body_{key}"), level=2, passes=True)
        else:
            unit = ModuleText(checked)
            text = _text(unit, function, given, "body_")
            key, self.places = jit.key(text), unit.places
            jit.load(key, lambda: text.replace("@body_", f"@body_{key}"), level=2, passes=True)
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(jit.address(f"body_{key}"))

    def __call__(self, args: tuple[Any, ...]) -> Any:
        block = ctypes.create_string_buffer(8 * FIRST + self.arguments.size)
        numbers: list[Any] = []
        for kind, value in zip(self.kinds, args):
            _flatten(kind, value, numbers)
        self.arguments.pack_into(block, 8 * FIRST, *numbers)
        self.run(block)
        fault, codes = _HEAD.unpack_from(block)
        if fault:
            raise IndexError(self.places[fault - 1])
        codes = codes.rstrip(b"\0")
        if len(codes) < 2:
            return _RESULTS[codes].unpack_from(block, 16)[0] if codes else None
        return tuple(_RESULTS[codes[n : n + 1]].unpack_from(block, 16 + 8 * n)[0] for n in range(len(codes)))


MOST_RESULTS = 8
FIRST = 2 + MOST_RESULTS  # word of the first argument
_HEAD = struct.Struct("=q8s")
_RESULTS = {code: struct.Struct("=" + code.decode()) for code in (b"q", b"Q", b"d", b"?")}


def _codes(kind: Kind) -> str:
    """How the module struct packs an argument."""
    if isinstance(kind, Struct):
        return "".join(map(_codes, kind.kinds))
    return kind.code if isinstance(kind, Scalar) else "q" * len(kind.parts)


def _flatten(kind: Kind, value: Any, numbers: list[Any]) -> None:
    """The words of an argument."""
    if isinstance(kind, kinds.Array):
        # The first field of numpy's array object; `ctypes.data` takes ten times as long.
        numbers += (ctypes.c_size_t.from_address(id(value) + object.__basicsize__).value, *value.shape)
        if kind.strided:
            numbers.append(value.strides[0])
    elif isinstance(kind, Struct):
        for inner, each in zip(kind.kinds, value):
            _flatten(inner, each, numbers)
    else:
        numbers.append(value)


def _text(unit: ModuleText, function: Any, given: tuple[Kind, ...], symbol: str) -> str:
    """IR of a body, and of the function that takes its arguments out of a block."""
    entry = Translator(unit, function, ())
    values: list[Value] = []
    word = FIRST
    for kind in given:
        values.append(entry.argument("%block", word, kind))
        word += words(kind)
    if unit.checked:
        entry.do("store i64 0, ptr @fault")
    result = entry.invoke(function, values)
    found = [result] if isinstance(result.kind, Scalar) else entry.members(result)
    if len(found) > MOST_RESULTS:
        entry.refuse(f"more than {MOST_RESULTS} results")
    codes = b""
    for number, value in enumerate(found):
        assert isinstance(value.kind, Scalar)
        codes += b"?" if value.kind == BOOL else value.kind.code.encode()
        (operand,) = (entry.convert(value, INT) if value.kind == BOOL else value).parts
        part = "double" if value.kind == FLOAT else "i64"
        entry.do(f"store {part} {operand}, ptr {entry.offset('%block', 16 + 8 * number)}, align 8")
    entry.do(f"store i64 {int.from_bytes(codes, 'little')}, ptr {entry.offset('%block', 8)}, align 8")
    if unit.checked:
        entry.do(f"store i64 {entry.let('load i64, ptr @fault')}, ptr %block, align 8")
    entry.end("ret void")
    unit.functions.append(entry.text(f"void @{symbol}(ptr %block) #0"))
    return unit.text()

"""Bodies as machine code: called from Python, loaded from the store or made."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, ParamSpec, TypeVar, cast

from ptxsim.jit import kinds
from ptxsim.jit.compiler import FEW_PASSES, PASSES, Jit, full_name, shared
from ptxsim.jit.kinds import FIRST_ARGUMENT, Alike, Kind, Scalar, Struct, kind_of, signature_of

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A body as machine code, by the kinds of its arguments. Runs without the interpreter lock."""

    def __init__(self, function: Callable[P, R], checked: bool = False):
        self.function, self.checked = function, checked
        self.entries: dict[tuple[Any, ...], Entry] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError("compiled bodies take no arguments by name")
        signature = tuple(map(signature_of, args))
        entry = self.entries.get(signature)
        if entry is None:
            with self._lock:
                entry = self.entries.get(signature)
                if entry is None:
                    given = tuple(map(kind_of, args))
                    entry = self.entries[signature] = Entry(self.function, given, self.checked, shared())
        found: R = entry(args)
        return found


class Entry:
    """Machine code of a body for arguments of some kinds.

    It is called with a block of words: where it went wrong (checked code), a letter for each result, the results, the arguments.
    Code that is made quickly comes first, if the store has no better; careful code takes its place once that has run for as long
    as it pays. Both do the same.
    """

    def __init__(self, function: Callable[..., Any], given: tuple[Kind, ...], checked: bool, jit: Jit):
        self.kinds, self.jit = given, jit
        self.packers = [struct.Struct("=" + _codes(kind)) for kind in given]
        self.size = 8 * FIRST_ARGUMENT + sum(packer.size for packer in self.packers)
        name = full_name(function)
        if (
            name.startswith("ptxsim.") and not checked
        ):  # its source is not even read: it is the same while the package's digest is
            self.places = list[str]()
            self.key = jit.key("body", name, repr(given))
            self._text: Callable[[], str] = cache(lambda: _text(function, given, _SYMBOL)[0])
        else:
            text, self.places = _text(function, given, _SYMBOL, checked)
            self.key = jit.key(text)
            self._text = lambda: text
        self.left = 0.0  # seconds until careful code is made, or 0
        if jit.store.get(self.key) is not None:
            self.improve()
        else:
            is_kept = jit.store.get(f"{self.key}.quick") is not None
            size = self._load(".quick", 0, FEW_PASSES)
            self.left = size * (KEPT_PATIENCE if is_kept else PATIENCE)

    def improve(self) -> None:
        """From now on careful code runs."""
        self._load("", 2, PASSES)
        self.left = 0.0

    def _load(self, form: str, level: int, passes: Sequence[str]) -> int:
        """Take code of a form, from the store or made; returns its bytes."""
        symbol = f"body_{self.key}{form}"
        size = self.jit.load(self.key + form, lambda: self._text().replace(_SYMBOL, symbol), level, passes)
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.jit.address(symbol))
        return size

    def words(self, args: tuple[Any, ...]) -> bytes:
        """Arguments as they lie in the block."""
        return b"".join(map(_packed, self.packers, self.kinds, args))

    def __call__(self, args: tuple[Any, ...]) -> Any:
        block = ctypes.create_string_buffer(_EMPTY_HEAD + self.words(args), self.size)
        if self.left:
            began = time.perf_counter()
            self.run(block)
            self.left = max(0.0, self.left - (time.perf_counter() - began))
            if not self.left:
                self.improve()
        else:
            self.run(block)
        fault, codes = _HEAD.unpack_from(block)
        if fault:
            raise IndexError(self.places[fault - 1])
        codes = codes.rstrip(b"\0")
        if len(codes) < 2:
            return _RESULTS[codes].unpack_from(block, 16)[0] if codes else None
        return tuple(_RESULTS[codes[n : n + 1]].unpack_from(block, 16 + 8 * n)[0] for n in range(len(codes)))


class PreparedCall:
    """A call of machine code whose block stands ready, for native code to make it: `code` is where to call it, with `block`. `noted`:
    where the body notes that its caller has to look."""

    def __init__(self, entry: Entry, args: tuple[Any, ...]):
        self._entry, self._block = entry, ctypes.create_string_buffer(entry.size)
        self.noted = ctypes.addressof(self._block)  # where it went wrong: nowhere
        self.code = ctypes.cast(entry.run, ctypes.c_void_p).value or 0
        self.block = ctypes.addressof(self._block)
        self.fill(args)

    def fill(self, args: tuple[Any, ...]) -> None:
        """From now on the call has these arguments, of the same kinds; they must live as long."""
        words = self._entry.words(args)
        ctypes.memmove(self.block + len(_EMPTY_HEAD), words, len(words))


def prepared(form: Callable[..., Any], args: tuple[Any, ...], hasty: bool = False) -> PreparedCall | None:
    """A call of a form of a body; None where it has no careful code yet, or, if that is not worth waiting for (`hasty`), no code."""
    entry = form.entries.get(tuple(map(signature_of, args))) if isinstance(form, Compiled) else None
    return None if entry is None or (entry.left and not hasty) or entry.places else PreparedCall(entry, args)


def asks_first(function: Callable[..., Any]) -> bool:
    """Whether no process has asked this about a body; the store remembers that one has."""
    jit = shared()
    key = jit.key("asked", full_name(function))
    if jit.store.get(key) is not None:
        return False
    jit.store.put(key, b"")
    return True


_SYMBOL = "body_of_all"  # in place of a symbol, in text
# Seconds that quick code runs before careful code is made, per byte of its object: about as long as that takes to make. Where the
# store had it already, there will be more processes like this one.
PATIENCE, KEPT_PATIENCE = 8e-6, 8e-7
_address_at, _BEFORE_ADDRESS = ctypes.c_size_t.from_address, object.__basicsize__
_HEAD, _EMPTY_HEAD = struct.Struct("=q8s"), bytes(8 * FIRST_ARGUMENT)
_RESULTS = {code: struct.Struct("=" + code.decode()) for code in (b"q", b"Q", b"d", b"?")}


def _codes(kind: Kind) -> str:
    """How the module struct packs an argument."""
    if isinstance(kind, Struct):
        return "".join(map(_codes, kind.kinds))
    return kind.code if isinstance(kind, Scalar) else "q" * len(kind.parts)


def _packed(packer: struct.Struct, kind: Kind, value: Any) -> bytes:
    """The words of an argument, as they lie in memory; a tuple with attributes of its own keeps them."""
    if isinstance(kind, Scalar):
        return packer.pack(value)
    if isinstance(kind, Struct):
        kept = getattr(value, "__dict__", {})
        if "words" not in kept:
            kept["words"] = packer.pack(*_flattened(kind, value))
        return cast(bytes, kept["words"])
    return packer.pack(*_flattened(kind, value))


def _flattened(kind: Kind, value: Any) -> list[Any]:
    """The numbers that an argument's words are."""
    if isinstance(kind, kinds.Array):
        # The first field of numpy's array object; `ctypes.data` takes ten times as long.
        found = [_address_at(id(value) + _BEFORE_ADDRESS).value, *value.shape]
        return [*found, value.strides[0]] if kind.strided else found
    if isinstance(kind, Struct):
        return [number for inner, each in zip(kind.kinds, value) for number in _flattened(inner, each)]
    return _table(kind.kind, value) if isinstance(kind, kinds.Table) else [value]


def _table(kind: Struct, tuples: Alike[Any]) -> list[int]:
    """Where the words of tuples lie, which the list keeps, and how many they are."""
    kept = tuples.__dict__
    if kept.get("count") != len(tuples):
        packer = struct.Struct("=" + _codes(kind))
        text = b"".join(_packed(packer, kind, each) for each in tuples)
        kept["table"], kept["count"] = ctypes.create_string_buffer(text, len(text)), len(tuples)
    return [ctypes.addressof(kept["table"]), len(tuples)]


def _text(
    function: Callable[..., Any], given: tuple[Kind, ...], symbol: str, checked: bool = False
) -> tuple[str, list[str]]:
    """IR of a body and its entry, and the places in the source that may go wrong."""
    from ptxsim.jit.entry import entry_text  # what the store has is not translated
    from ptxsim.jit.module_text import ModuleText

    unit = ModuleText(checked)
    return entry_text(unit, function, given, symbol), unit.places

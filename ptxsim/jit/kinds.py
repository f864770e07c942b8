"""The static types of compiled bodies, and how values of each look in LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number. `parts` are the LLVM types a value of a kind is made of; `code` packs it for a call (module struct)."""

    name: str
    llvm: str
    code: str

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.llvm,)


INT = Scalar("int", "i64", "q")
UNSIGNED = Scalar("unsigned 64-bit int", "i64", "Q")
FLOAT = Scalar("float", "double", "d")
BOOL = Scalar("bool", "i1", "q")
SINGLE = Scalar("32-bit float (take float() of it)", "float", "f")  # in which numpy would compute


@dataclass(frozen=True, slots=True)
class Array:
    """A view of memory: elements of a dtype. Dimensions that are None are known at run time.

    strided: rows of the first dimension lie at a distance known at run time; all else lies side by side.
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    strided: bool = False

    @property
    def name(self) -> str:
        return f"array of {self.dtype}, {len(self.shape)} dimensions"

    @property
    def parts(self) -> tuple[str, ...]:
        """The address, the dimensions not known, the distance of rows."""
        return ("ptr", *("i64" for size in self.shape if size is None), *(("i64",) if self.strided else ()))


@dataclass(frozen=True, slots=True)
class Record:
    """One element of a structured dtype, where it lies."""

    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return f"record {self.dtype}"

    @property
    def parts(self) -> tuple[str, ...]:
        return ("ptr",)


@dataclass(frozen=True, slots=True)
class Struct:
    """A tuple that Python passed, named or not: a table of its fields' parts, in which nothing changes."""

    fields: tuple[str, ...]
    kinds: tuple[Kind, ...]
    known_hash: int = field(init=False, repr=False, compare=False)  # of dozens of arrays, asked for by every call
    name = "tuple"

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_hash", hash((self.fields, self.kinds)))

    def __hash__(self) -> int:
        return self.known_hash

    @property
    def parts(self) -> tuple[str, ...]:
        return ("ptr",)


@dataclass(frozen=True, slots=True)
class Table:
    """Tuples of one kind that Python passed (Alike), one after the other."""

    kind: Struct
    name = "list of tuples"

    @property
    def parts(self) -> tuple[str, ...]:
        """The address of the first, how many there are."""
        return ("ptr", "i64")


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple made in a body."""

    kinds: tuple[Kind, ...]
    name = "tuple"

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for kind in self.kinds for part in kind.parts)


Kind = Scalar | Array | Record | Struct | Table | Several


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression gives: a kind, and operands of LLVM IR for its parts."""

    kind: Kind
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a body is compiled: a constant, a function, a dtype, a module."""

    value: Any


class Alike(list[T]):
    """Tuples of one kind, at least one, of which a body takes one by its number. More may be appended between calls; none may change."""


MOST_RESULTS = 8
RESULT, FIRST_ARGUMENT = 2, 2 + MOST_RESULTS  # words of the block of a call


def words(kind: Kind) -> int:
    """How many words of 8 bytes an argument of a kind takes in the block of a call."""
    return sum(map(words, kind.kinds)) if isinstance(kind, Struct) else len(kind.parts)


def kind_of(value: Any) -> Kind:
    """The kind of an argument. Raises TypeError for what no body takes."""
    if isinstance(value, np.ndarray):
        if value.flags.c_contiguous:
            return Array(value.dtype, (None,) * value.ndim)
        inner = np.cumprod([value.itemsize, *value.shape[:0:-1]])[::-1].tolist()
        if list(value.strides[1:]) != inner[1:]:
            raise TypeError("a body takes arrays whose rows lie in one piece")
        return Array(value.dtype, (None,) * value.ndim, strided=True)
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.uint64):
        return UNSIGNED
    if isinstance(value, (int, np.integer)):
        return INT
    if isinstance(value, (float, np.floating)):
        return FLOAT
    if isinstance(value, tuple):
        return Struct(getattr(value, "_fields", ()), tuple(map(kind_of, value)))
    if isinstance(value, Alike) and isinstance(kind := kind_of(value[0]), Struct):
        return Table(kind)
    raise TypeError(f"a body takes no {type(value).__name__}")


def signature_of(value: Any) -> Any:
    """Equal for arguments of one kind only, and fast; a tuple with attributes of its own keeps it."""
    if type(value) is np.ndarray and value.flags.c_contiguous:
        return value.dtype, value.ndim
    if isinstance(value, np.ndarray):
        return kind_of(value)
    if isinstance(value, Alike):
        return Alike, signature_of(value[0])
    if not isinstance(value, tuple):
        return type(value)
    kept = getattr(value, "__dict__", {})
    if "signature" not in kept:
        kept["signature"] = _SIGNATURES.setdefault((type(value), *map(signature_of, value)), object())
    return kept["signature"]


_SIGNATURES: dict[Any, object] = {}  # in place of those of tuples, which take long to compare and to hash

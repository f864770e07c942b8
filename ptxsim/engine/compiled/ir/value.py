"""Lane values that print LLVM IR: what an effect computes with when the compiled engine traces it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ptxsim.types import ScalarType

# f16 and bf16 are carried as their bits and computed with in f32, as numpy does.
_ELEMENT = {"pred": "i1", "f32": "float", "f64": "double", "f16": "i16", "bf16": "i16"}
FLOATS = ("f32", "f64", "f16", "bf16")


class CannotEmit(Exception):
    """The instruction has no emitted form: it takes the slow path, in the interpreter."""


def kind_of(t: ScalarType) -> str:
    """The emitted kind of a PTX type, as lanes.dtype gives its numpy type: pred, u8..u64, s8..s64, f16, bf16, f32, f64."""
    if t.kind == "predicate":
        return "pred"
    if t.is_float and t.name in FLOATS:
        return t.name
    if t.bits > 64:
        raise CannotEmit(f"a single value of {t.bits} bits")
    return f"{'s' if t.is_signed else 'u'}{max(t.bits, 8)}"


def kind_of_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "b":
        return "pred"
    return f"{ {'u': 'u', 'i': 's', 'f': 'f'}[dtype.kind] }{8 * dtype.itemsize}"


def width(kind: str) -> int:
    """Bits of a lane of a kind."""
    return 1 if kind == "pred" else int(kind.lstrip("usbf"))


def is_float(kind: str) -> bool:
    return kind in FLOATS


def is_integer(kind: str) -> bool:
    return kind[0] in "us"


def element_type(kind: str) -> str:
    """The LLVM type of one lane."""
    return _ELEMENT.get(kind) or f"i{width(kind)}"


def literal(number: Any, kind: str) -> str:
    """A Python number as an LLVM constant of one lane."""
    if kind == "pred":
        return "true" if number else "false"
    if kind == "f32":
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(np.float32(number))))[0]:016X}"
    if kind == "f64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if kind in ("f16", "bf16"):
        raise TypeError(f"a constant of {kind}")
    return str(int(number))


def mangled(t: str) -> str:
    """<32 x i32> as v32i32."""
    count, _, element = t.strip("<>").partition(" x ")
    return f"v{count}{ {'float': 'f32', 'double': 'f64', 'half': 'f16'}.get(element, element) }"


class Operators(Protocol):
    """What prints the operators of values (ir.emitter). Operands are values, or Python numbers for all lanes."""

    lanes: int

    def arithmetic(self, operator: str, a: Any, b: Any) -> Value: ...
    def negative(self, x: Value) -> Value: ...
    def bitwise(self, operator: str, a: Any, b: Any) -> Value: ...
    def shift_left(self, x: Any, n: Any) -> Value: ...
    def shift_right(self, x: Any, n: Any) -> Value: ...
    def compare(self, relation: str, a: Any, b: Any) -> Value: ...


Method = Callable[["Value", Any], "Value"]


def _both(kind: str, name: str) -> tuple[Method, Method]:
    """The methods of an operator with the value on its left, and on its right."""

    def left(self: Value, other: Any) -> Value:
        found: Value = getattr(self.emitter, kind)(name, self, other)
        return found

    def right(self: Value, other: Any) -> Value:
        found: Value = getattr(self.emitter, kind)(name, other, self)
        return found

    return left, right


class Value:
    """One SSA value: `text` is its name or a constant, `kind` its type in every lane."""

    __slots__ = ("emitter", "kind", "text")

    def __init__(self, emitter: Operators, text: str, kind: str):
        self.emitter, self.text, self.kind = emitter, text, kind

    @property
    def type(self) -> str:
        """The LLVM vector type."""
        return f"<{self.emitter.lanes} x {element_type(self.kind)}>"

    def __bool__(self) -> bool:
        raise TypeError("Python asks a lane value whether it is true")

    __add__, __radd__ = _both("arithmetic", "add")
    __sub__, __rsub__ = _both("arithmetic", "sub")
    __mul__, __rmul__ = _both("arithmetic", "mul")
    __truediv__, __rtruediv__ = _both("arithmetic", "div")
    __and__ = __rand__ = _both("bitwise", "and")[0]
    __or__ = __ror__ = _both("bitwise", "or")[0]
    __xor__ = __rxor__ = _both("bitwise", "xor")[0]

    def __neg__(self) -> Value:
        return self.emitter.negative(self)

    def __invert__(self) -> Value:
        return self.emitter.bitwise("xor", self, True if self.kind == "pred" else -1)

    def __lshift__(self, count: Any) -> Value:
        return self.emitter.shift_left(self, count)

    def __rshift__(self, count: Any) -> Value:
        return self.emitter.shift_right(self, count)

    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = (  # type: ignore[assignment]  # lane by lane, as numpy's
        _both("compare", relation)[0] for relation in ("eq", "ne", "lt", "le", "gt", "ge")
    )
    __hash__ = object.__hash__  # not by `text`: a name means one value in one function only

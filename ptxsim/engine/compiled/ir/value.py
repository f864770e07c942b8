"""Lane values that print LLVM IR: what an effect computes with when the compiled engine traces it."""

from __future__ import annotations

import struct
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
    if kind == "f16":
        return str(int(np.float16(number).view(np.uint16)))
    if kind == "bf16":
        import ml_dtypes

        return str(int(np.array(number, ml_dtypes.bfloat16).view(np.uint16)))
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

    def __add__(self, other: Any) -> Value:
        return self.emitter.arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.emitter.arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.emitter.arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.emitter.arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.emitter.arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.emitter.arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.emitter.arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.emitter.arithmetic("div", other, self)

    def __neg__(self) -> Value:
        return self.emitter.negative(self)

    def __and__(self, other: Any) -> Value:
        return self.emitter.bitwise("and", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Value:
        return self.emitter.bitwise("or", self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Value:
        return self.emitter.bitwise("xor", self, other)

    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return self.emitter.bitwise("xor", self, True if self.kind == "pred" else -1)

    def __lshift__(self, count: Any) -> Value:
        return self.emitter.shift_left(self, count)

    def __rshift__(self, count: Any) -> Value:
        return self.emitter.shift_right(self, count)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]  # lane by lane, as numpy's
        return self.emitter.compare("eq", self, other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]  # lane by lane, as numpy's
        return self.emitter.compare("ne", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.emitter.compare("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.emitter.compare("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.emitter.compare("gt", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.emitter.compare("ge", self, other)

    __hash__ = object.__hash__  # not by `text`: a name means one value in one function only

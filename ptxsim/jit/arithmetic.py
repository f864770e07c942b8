"""Operators of bodies: Python's meaning, in 64 bits."""

from __future__ import annotations

import ast
import operator
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ptxsim.jit.function_text import FunctionText
from ptxsim.jit.kinds import BOOL, FLOAT, INT, SINGLE, UNSIGNED, Kind, Known, Scalar, Value

_FOLDED: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Pow: operator.pow,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_PLAIN = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITS = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_ORDER = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Untranslatable(Exception):
    """A body does something that is not part of the language of bodies; the message says where and what."""


class Arithmetic(FunctionText):
    """Operators on values."""

    def refuse(self, what: str) -> NoReturn:
        raise NotImplementedError

    def guard(self, holds: str) -> None:
        """Note a fault where a condition does not hold; only checked code does."""
        raise NotImplementedError

    checked = False

    # ---- conversions ----

    def value(self, given: Value | Known) -> Value:
        """A value at run time."""
        if isinstance(given, Value):
            return given
        known = given.value
        if isinstance(known, (bool, np.bool_)):
            return Value(BOOL, ("true" if known else "false",))
        if isinstance(known, (int, np.integer)):
            number = int(known)
            if not -(1 << 63) <= number < 1 << 64:
                self.refuse(f"{number} takes more than 64 bits")
            unsigned = number >> 63 == 1 or isinstance(known, np.uint64)
            return Value(UNSIGNED if unsigned else INT, (str(number),))
        if isinstance(known, float):
            return Value(FLOAT, (f"0x{struct.pack('>d', known).hex()}",))
        self.refuse(f"{known!r} is no number")

    def convert(self, given: Value | Known, kind: Kind) -> Value:
        """A value of a kind, where nothing is lost: bool to int, int to float, and constants."""
        if isinstance(given, Known) and kind is UNSIGNED and isinstance(given.value, (int, np.integer)):
            if 0 <= int(given.value) < 1 << 64:
                return Value(UNSIGNED, (str(int(given.value)),))
        value = self.value(given)
        if value.kind == kind:
            return value
        if kind in (INT, UNSIGNED) and value.kind == BOOL:
            return Value(kind, (self.let(f"zext i1 {value.parts[0]} to i64"),))
        if kind == FLOAT and value.kind in (INT, BOOL):
            number = self.convert(value, INT)
            return Value(FLOAT, (self.let(f"sitofp i64 {number.parts[0]} to double"),))
        self.refuse(f"{value.kind.name} where {kind.name} was expected")

    def common(self, a: Value | Known, b: Value | Known) -> Scalar:
        """The kind in which two numbers meet."""
        kinds = {self.value(a).kind, self.value(b).kind}
        for kind in (FLOAT, UNSIGNED, INT, BOOL):
            if kind in kinds and kinds <= {FLOAT, UNSIGNED, INT, BOOL}:
                return kind
        self.refuse(f"no arithmetic with {' and '.join(sorted(each.name for each in kinds))}")

    def truth(self, given: Value | Known) -> str:
        """i1: whether a number is not zero."""
        value = self.value(given)
        if value.kind == BOOL:
            return value.parts[0]
        if value.kind == FLOAT:
            return self.let(f"fcmp une double {value.parts[0]}, 0.0")
        if value.kind in (INT, UNSIGNED):
            return self.let(f"icmp ne i64 {value.parts[0]}, 0")
        self.refuse(f"{value.kind.name} is neither true nor false")

    # ---- operators ----

    def binary(self, op: ast.operator, a: Value | Known, b: Value | Known) -> Value | Known:
        if isinstance(a, Known) and isinstance(b, Known):
            return Known(_FOLDED[type(op)](a.value, b.value))
        if isinstance(op, (ast.LShift, ast.RShift)):
            return self._shift(op, a, b)
        kind = self.common(a, b)
        if isinstance(op, ast.Div):
            kind = FLOAT
        elif kind == BOOL and type(op) not in _BITS:
            kind = INT
        x, y = self.convert(a, kind).parts[0], self.convert(b, kind).parts[0]
        if kind == FLOAT:
            names: dict[type, str] = {**{each: "f" + name for each, name in _PLAIN.items()}, ast.Div: "fdiv"}
            if type(op) not in names:
                self.refuse(f"no {type(op).__name__} of floats")
            if isinstance(op, ast.Div) and self.checked:
                self.guard(self.let(f"fcmp une double {y}, 0.0"))
            return Value(FLOAT, (self.let(f"{names[type(op)]} double {x}, {y}"),))
        name = _PLAIN.get(type(op)) or _BITS.get(type(op))
        if name:
            return Value(kind, (self.let(f"{name} {kind.llvm} {x}, {y}"),))
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return Value(kind, (self._divide(op, kind, x, y, b),))
        self.refuse(f"no {type(op).__name__}")

    def _divide(self, op: ast.operator, kind: Kind, x: str, y: str, divisor: Value | Known) -> str:
        """Quotients toward minus infinity, and remainders of the divisor's sign, as Python's."""
        whole = isinstance(op, ast.FloorDiv)
        known = int(divisor.value) if isinstance(divisor, Known) else None
        if known is not None and known > 0 and known & (known - 1) == 0 and kind == INT:
            return self.let(f"ashr i64 {x}, {known.bit_length() - 1}" if whole else f"and i64 {x}, {known - 1}")
        if known == 0:
            self.refuse("division by zero")
        if known is None and self.checked:
            self.guard(some := self.let(f"icmp ne i64 {y}, 0"))
            y = self.let(f"select i1 {some}, i64 {y}, i64 1")
        if kind == UNSIGNED:
            return self.let(f"{'udiv' if whole else 'urem'} i64 {x}, {y}")
        rest = self.let(f"srem i64 {x}, {y}")
        inexact = self.let(f"icmp ne i64 {rest}, 0")
        apart = self.let(f"icmp slt i64 {self.let(f'xor i64 {rest}, {y}')}, 0")
        down = self.let(f"and i1 {inexact}, {apart}")
        if whole:
            quotient = self.let(f"sdiv i64 {x}, {y}")
            return self.let(f"add i64 {quotient}, {self.let(f'sext i1 {down} to i64')}")
        return self.let(f"select i1 {down}, i64 {self.let(f'add i64 {rest}, {y}')}, i64 {rest}")

    def _shift(self, op: ast.operator, a: Value | Known, b: Value | Known) -> Value:
        """Shifts by as much as one likes: what leaves the 64 bits is lost."""
        value, count = self.value(a), self.value(b)
        if value.kind == BOOL:
            value = self.convert(value, INT)
        if value.kind not in (INT, UNSIGNED) or count.kind not in (INT, UNSIGNED, BOOL):
            self.refuse("shifts are of ints by ints")
        x, n = value.parts[0], self.convert(count, INT).parts[0] if count.kind == BOOL else count.parts[0]
        if isinstance(b, Known) and not 0 <= int(b.value) < 64:
            self.refuse(f"a shift by {b.value}")
        name = "shl" if isinstance(op, ast.LShift) else "ashr" if value.kind == INT else "lshr"
        if isinstance(b, Known):
            return Value(value.kind, (self.let(f"{name} i64 {x}, {n}"),))
        fits = self.let(f"icmp ult i64 {n}, 64")
        if self.checked:
            self.guard(self.let(f"icmp sge i64 {n}, 0"))
        if name == "ashr":
            return Value(INT, (self.let(f"ashr i64 {x}, {self.let(f'select i1 {fits}, i64 {n}, i64 63')}"),))
        inside = self.let(f"{name} i64 {x}, {self.let(f'and i64 {n}, 63')}")
        return Value(value.kind, (self.let(f"select i1 {fits}, i64 {inside}, i64 0"),))

    def unary(self, op: ast.unaryop, a: Value | Known) -> Value | Known:
        if isinstance(a, Known):
            return Known(_FOLDED[type(op)](a.value))
        if isinstance(op, ast.Not):
            return Value(BOOL, (self.let(f"xor i1 {self.truth(a)}, true"),))
        if a.kind == FLOAT and isinstance(op, ast.USub):
            return Value(FLOAT, (self.let(f"fneg double {a.parts[0]}"),))
        number = self.convert(a, INT) if a.kind == BOOL else a
        if number.kind not in (INT, UNSIGNED) or isinstance(op, ast.UAdd):
            self.refuse(f"no {type(op).__name__} of {number.kind.name}")
        text = f"sub i64 0, {number.parts[0]}" if isinstance(op, ast.USub) else f"xor i64 {number.parts[0]}, -1"
        return Value(number.kind, (self.let(text),))

    def compare(self, op: ast.cmpop, a: Value | Known, b: Value | Known) -> Value | Known:
        if isinstance(a, Known) and isinstance(b, Known):
            return Known(_FOLDED[type(op)](a.value, b.value))
        name = _ORDER.get(type(op)) or self.refuse(f"no comparison {type(op).__name__}")
        kind = self.common(a, b)
        if kind == BOOL:
            kind = INT
        x, y = self.convert(a, kind).parts[0], self.convert(b, kind).parts[0]
        if kind == FLOAT:
            return Value(BOOL, (self.let(f"fcmp {'une' if name == 'ne' else 'o' + name} double {x}, {y}"),))
        sign = "" if name in ("eq", "ne") else "u" if kind == UNSIGNED else "s"
        return Value(BOOL, (self.let(f"icmp {sign}{name} i64 {x}, {y}"),))

    # ---- functions of numbers ----

    def extreme(self, function: Any, given: list[Value | Known]) -> Value | Known:
        """min and max: as Python's, the first of equal ones."""
        if all(isinstance(each, Known) for each in given):
            return Known(function(*(each.value for each in given if isinstance(each, Known))))
        best, order = given[0], ast.Lt() if function is min else ast.Gt()
        for each in given[1:]:
            kind = self.common(best, each)
            a, b = self.convert(best, kind), self.convert(each, kind)
            other = self.truth(self.compare(order, b, a))
            best = Value(kind, (self.let(f"select i1 {other}, {kind.llvm} {b.parts[0]}, {kind.llvm} {a.parts[0]}"),))
        return best

    def absolute(self, given: Value | Known) -> Value | Known:
        if isinstance(given, Known):
            return Known(abs(given.value))
        if given.kind == FLOAT:
            return Value(FLOAT, (self.let(f"call double @llvm.fabs.f64(double {given.parts[0]})"),))
        x = self.convert(given, INT).parts[0]
        return Value(INT, (self.let(f"call i64 @llvm.abs.i64(i64 {x}, i1 false)"),))

    def cast(self, to: Any, given: Value | Known) -> Value | Known:
        """int(), float(), bool(), np.int64(), np.uint64()."""
        if isinstance(given, Known):
            return Known(to(given.value))
        if to is bool:
            return Value(BOOL, (self.truth(given),))
        if to is float:
            if given.kind == SINGLE:
                return Value(FLOAT, (self.let(f"fpext float {given.parts[0]} to double"),))
            if given.kind == UNSIGNED:
                return Value(FLOAT, (self.let(f"uitofp i64 {given.parts[0]} to double"),))
            return self.convert(given, FLOAT)
        kind = UNSIGNED if to is np.uint64 else INT
        if given.kind == FLOAT and to is int:
            return Value(INT, (self.let(f"call i64 @llvm.fptosi.sat.i64.f64(double {given.parts[0]})"),))
        if given.kind in (INT, UNSIGNED):
            return Value(kind, given.parts)
        return self.convert(given, kind)

"""Additions to numba: bit casts, exact conversions and shifts, decorators with a cache that cannot fail."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import llvmlite.ir as ir
import platformdirs
from numba import njit, types
from numba.extending import intrinsic

from ptxsim.jit.store import distrust

Scalar: TypeAlias = Any  # a number in compiled code: numba finds its type, and plain Python's would be wrong
Function: TypeAlias = Callable[..., Any]
_Function = TypeVar("_Function", bound=Function)


def _conversion(instruction: str, source: Any, target: Any, llvm_type: ir.Type) -> Function:
    """An LLVM instruction that makes a number of one type one of another."""

    @intrinsic
    def convert(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(arguments[0], llvm_type)

        return target(source), generate

    found: Function = convert
    return found


def _operation(instruction: str, *signature: Any) -> Function:
    """An LLVM instruction of two or three numbers; `signature` is the types of the result and the operands."""

    def typed() -> Any:
        def generate(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments)

        return signature[0](*signature[1:]), generate

    def of_two(typing_context: Any, x: Any, y: Any) -> Any:
        return typed()

    def of_three(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return typed()

    found: Function = intrinsic(of_two if len(signature) == 3 else of_three)
    return found


# The bits of a number as one of another type.
word_of_float = _conversion("bitcast", types.float32, types.int32, ir.IntType(32))
float_of_word = _conversion("bitcast", types.int32, types.float32, ir.FloatType())
word_of_double = _conversion("bitcast", types.float64, types.int64, ir.IntType(64))
double_of_word = _conversion("bitcast", types.int64, types.float64, ir.DoubleType())
# float32 to int32 toward zero; any bits where it does not fit.
truncate = _conversion("fptosi", types.float32, types.int32, ir.IntType(32))
# A 32-bit word shifted by 0 to 31: numba's own operators compute in 64 bits.
shift_left = _operation("shl", types.uint32, types.uint32, types.uint32)
shift_right = _operation("lshr", types.uint32, types.uint32, types.uint32)
# x * y + z, rounded once.
fma = _operation("fma", *[types.float64] * 4)


def inner(function: _Function) -> _Function:
    """A jitted function that compiled ones call."""
    return cast(_Function, njit(error_model="numpy")(function))


def inlined(function: _Function) -> _Function:
    """One that becomes part of its callers before they are compiled: their loops vectorise across the call."""
    return cast(_Function, njit(inline="always")(function))


@cache
def _is_safe() -> bool:
    """Whether no other user can write where numba keeps its code."""
    package = Path(__file__).parent
    named = os.environ.get("NUMBA_CACHE_DIR")
    place = (
        Path(named) if named else package if os.access(package, os.W_OK) else Path(platformdirs.user_cache_dir("numba"))
    )
    while not place.exists():
        place = place.parent
    return distrust(place) is None


def compiled(signature: Any) -> Callable[[_Function], _Function]:
    """A jitted function, kept on disk where numba finds a place to write and what lies there can be read."""

    def decorate(function: _Function) -> _Function:
        options: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                jitted: _Function = njit(signature, cache=_is_safe(), **options)(function)
            except Exception:  # no place for a cache, or a broken one: compile for this process alone
                jitted = njit(signature, **options)(function)
            return jitted

    return decorate

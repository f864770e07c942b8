"""What numba's functions need beyond numba: numbers read as their bits, exact conversions, a cache that cannot fail."""

from __future__ import annotations

import warnings

import llvmlite.ir as ir
from numba import njit, types
from numba.extending import intrinsic


def _bitcast(source, target, llvm_type):
    """An intrinsic that reads the bits of one number type as another."""

    @intrinsic
    def cast(typing_context, value):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], llvm_type)

        return target(source), generate

    return cast


word_of_float = _bitcast(types.float32, types.int32, ir.IntType(32))
float_of_word = _bitcast(types.int32, types.float32, ir.FloatType())
word_of_double = _bitcast(types.float64, types.int64, ir.IntType(64))
double_of_word = _bitcast(types.int64, types.float64, ir.DoubleType())


@intrinsic
def truncate(typing_context, value):
    """float32 to int32 toward zero; any bits where it does not fit."""

    def generate(context, builder, signature, arguments):
        return builder.fptosi(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


def _shift(name):
    """An intrinsic that shifts a 32-bit word by 0 to 31: numba's own operators compute in 64 bits."""

    @intrinsic
    def shift(typing_context, word, count):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return types.uint32(types.uint32, types.uint32), generate

    return shift


shift_left = _shift("shl")
shift_right = _shift("lshr")


@intrinsic
def fma(typing_context, x, y, z):
    """float64 x * y + z, rounded once."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def compiled(signature):
    """A jitted function, kept on disk where numba finds a place to write and what lies there can be read."""

    def decorate(function):
        options = {"error_model": "numpy", "boundscheck": False, "nogil": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return njit(signature, cache=True, **options)(function)
            except Exception:  # no place for a cache, or a broken one: compile for this process alone
                return njit(signature, **options)(function)

    return decorate

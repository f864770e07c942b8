"""The functions that an expectation may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.arrays import dtype_of
from ptxsim.session.ptxfile.arithmetic import MOST, bound
from ptxsim.session.ptxfile.values import Value, narrow, widen
from ptxsim.types import DTYPES

_FUNCTIONS: dict[str, Callable[..., Any]] = {}
# Those that are numpy's: of numbers one by one, and of arrays.
_OF_NUMBERS = "abs exp exp2 log log2 sqrt sin cos tan tanh floor ceil trunc round sign"
_OF_ARRAYS = "sum max min mean prod cumsum any all flip roll"
_ELEMENTWISE = "where maximum minimum"
_TYPES = (*DTYPES, "float16", "float32", "float64", "bfloat16")


def is_elementwise(name: str) -> bool:
    """Whether an element of the function's result comes of the elements at the same place of what it is given."""
    return name in _TYPES or name in f"{_OF_NUMBERS} {_ELEMENTWISE} relu sigmoid astype".split()


def functions() -> dict[str, Callable[..., Any]]:
    """Functions an expression may call; made when first asked for, because numpy is slow to import."""
    if _FUNCTIONS:
        return _FUNCTIONS
    import numpy as np

    def cast(data: Any, type: str) -> Value:
        dtype = dtype_of({"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16"}.get(type, type))
        return Value(widen(narrow(data, dtype)), dtype)

    def limited(maker: Callable[..., Any]) -> Callable[..., Any]:
        def make(*sizes: Any) -> Any:
            if not sizes:
                raise ValueError("a size is missing")
            flat = np.asarray(sizes[-1] if isinstance(sizes[-1], tuple) else sizes, dtype=np.float64)
            if np.prod(np.abs(flat)) > MOST:
                raise ValueError("the array would be too large")
            return maker(*sizes)

        return make

    def eye(*sides: Any) -> Any:
        return limited(np.eye)(*(sides * 2 if len(sides) == 1 else sides))

    def arange(*ends: Any) -> Any:
        first, last, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
        if not abs((float(last) - float(first)) / float(step)) <= MOST:
            raise ValueError("the array would be too large")
        return np.arange(*ends)

    def by_type(type: str) -> Callable[[Any], Value]:
        return lambda data: cast(data, type)

    def softmax(x: Any, axis: int = -1) -> Any:
        shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return shifted / np.sum(shifted, axis=axis, keepdims=True)

    def reshape(x: Any, *shape: Any) -> Any:
        return np.reshape(x, shape[0] if len(shape) == 1 else shape)

    def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arrays: Any) -> Any:
            bound(*arrays)
            return function(*arrays)

        return call

    _FUNCTIONS.update(
        {name: getattr(np, name) for name in f"{_OF_NUMBERS} {_OF_ARRAYS}".split()},
        **{name: bounded(getattr(np, name)) for name in _ELEMENTWISE.split()},
        **{name: by_type(name) for name in _TYPES},
        relu=lambda x: np.maximum(x, 0), sigmoid=lambda x: 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64))),
        softmax=softmax, reshape=reshape, transpose=np.transpose, arange=arange,
        zeros=limited(lambda *shape: np.zeros(shape)), ones=limited(lambda *shape: np.ones(shape)),
        eye=eye, astype=cast,
    )  # fmt: skip
    return _FUNCTIONS

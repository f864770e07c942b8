"""How a program sees what a parameter points to, and its elements as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# Types of C++, as names of kernels have them.
CPP_TYPES = {
    "float": "f32", "double": "f64", "__half": "f16", "__nv_bfloat16": "bf16", "int": "s32", "unsigned int": "u32",
    "long": "s64", "unsigned long": "u64", "long long": "s64", "unsigned long long": "u64", "short": "s16",
    "unsigned short": "u16", "signed char": "s8", "unsigned char": "u8", "char": "s8", "bool": "u8",
}  # fmt: skip
_SHOWN = 4  # ranges that are listed


@dataclass(frozen=True, slots=True)
class View:
    """An array in device memory: the address of its first element, its type, its shape, and strides in elements."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def offset(self, index: tuple[int, ...]) -> int:
        """The bytes from the first element to one. Raises IndexError where there is none."""
        if len(index) != len(self.shape):
            raise IndexError(f"it has the shape {self.shape}: {len(self.shape)} numbers say which element")
        if not all(-n <= i < n for i, n in zip(index, self.shape)):
            raise IndexError(f"it has the shape {self.shape}")
        return self.dtype.itemsize * sum(i % n * step for i, n, step in zip(index, self.shape, self.strides))

    def indices(self, offsets: np.ndarray) -> np.ndarray | None:
        """The indices, one row each, of elements at so many elements from the first; None where one is of none."""
        left, found = offsets.astype(np.int64), np.zeros((len(offsets), len(self.shape)), np.int64)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            if self.shape[axis] > 1 and self.strides[axis] > 0:
                found[:, axis] = left // self.strides[axis]
                left = left % self.strides[axis]
        inside = (found >= 0) & (found < np.array(self.shape, np.int64))
        return found if inside.all() and not left.any() else None


def flat(address: int, dtype: np.dtype, size: int) -> View:
    """Bytes of which no more is known than what their elements are."""
    return View(address, dtype, (size // dtype.itemsize,), (1,))


def of_array(address: int, array: np.ndarray) -> View:
    """An array of the host's that has been copied to an address, row by row."""
    strides = [math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim)]
    return View(address, array.dtype, array.shape, tuple(strides))


def written(name: str, indices: np.ndarray, shape: tuple[int, ...]) -> str:
    """Elements in words of Python: `x[3,0:64]`, `x[5:4096:64]`; indices has a row for each."""
    if len(indices) == math.prod(shape):
        return name if len(indices) > 1 else f"{name}[{','.join('0' for _ in shape)}]"
    whole = box(indices, shape)
    if whole:
        return name + whole
    if len(shape) == 1:
        return _listed([f"{name}[{one}]" for one in _slices(indices[:, 0])])
    steps = _slices(np.ravel_multi_index(tuple(indices.T), shape))
    if len(steps) == 1:  # a wrong stride
        return f"{name}.flat[{steps[0]}]"
    columns: dict[tuple[int, ...], list[int]] = {}
    for *row, column in indices.tolist():
        columns.setdefault(tuple(row), []).append(column)
    texts: list[str] = []
    for row, text, count in _alike({row: _slices(np.array(one)) for row, one in columns.items()}):
        last = f"{row[-1]}:{row[-1] + count}" if count > 1 else str(row[-1])
        texts.append(f"{name}[{','.join([*map(str, row[:-1]), last])},{text}]")
    return _listed(texts)


def box(indices: np.ndarray, shape: tuple[int, ...]) -> str:
    """The indices as one slice in each axis, `[3,0:64]`; empty where they are no such part of an array."""
    axes = [np.unique(column) for column in indices.T]
    slices = [_slices(axis) for axis in axes]
    if math.prod(map(len, axes)) != len(indices) or any(len(one) != 1 for one in slices):
        return ""
    return f"[{','.join(':' if len(axis) == n > 1 else one[0] for axis, one, n in zip(axes, slices, shape))}]"


def _alike(rows: dict[tuple[int, ...], list[str]]) -> Iterator[tuple[tuple[int, ...], str, int]]:
    """Rows that follow each other and have the same parts as one: the first, a part, and how many rows."""
    first, count = next(iter(rows)), 0
    for row, parts in [*rows.items(), ((-1,), [])]:
        if parts != rows[first] or row != (*first[:-1], first[-1] + count):
            yield from ((first, part, count) for part in rows[first])
            first, count = row, 0
        count += 1


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more ranges" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _slices(values: np.ndarray) -> list[str]:
    """Sorted numbers as the fewest steps through them: `5`, `0:64`, `5:4096:64`."""
    texts, start = [], 0
    while start < len(values):
        end = start + 1
        step = int(values[end] - values[start]) if end < len(values) else 1
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        if step > 1 and end - start < 3:
            end = start + 1
        first, last = int(values[start]), int(values[end - 1])
        texts.append(str(first) if first == last else f"{first}:{last + 1}" + (f":{step}" if step > 1 else ""))
        start = end
    return texts

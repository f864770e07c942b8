"""Large arrays that are judged a piece at a time: what is computed element by element needs no more memory than a piece of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ptxsim.session.ptxfile.expressions import evaluate
from ptxsim.session.ptxfile.functions import is_elementwise

PIECE = 1 << 22  # elements, so that what is computed of a piece stays within some hundred megabytes

Origin = tuple[int, ...]
_ELEMENTWISE = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call, ast.Load, ast.operator, ast.unaryop, ast.cmpop,
    ast.boolop,
)  # fmt: skip


def pieces(operands: Sequence[ast.expr], names: Mapping[str, Any]) -> Iterator[tuple[Origin, Mapping[str, Any]]]:
    """What the names stand for, a piece at a time, each with the indices at which its arrays begin; or all of it, without such indices.

    Split are arrays of one shape and of more elements than a piece, where `operands` combine them element by element.
    """
    import numpy as np

    used = {node.id for operand in operands for node in ast.walk(operand) if isinstance(node, ast.Name)} & names.keys()
    arrays = {name: names[name] for name in used if isinstance(names[name], np.ndarray) and names[name].ndim}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or not all(map(_by_element, operands)):
        yield (), names
        return
    (shape,) = shapes
    if int(np.prod(shape)) <= PIECE:
        yield (), names
        return
    for part in _parts(shape):
        yield tuple(each.start for each in part), {**names, **{name: array[part] for name, array in arrays.items()}}


def place_in(tree: ast.expr, names: Mapping[str, Any], index: Origin) -> tuple[str, Origin] | None:
    """The array that an element of a side belongs to, and its index there: of `y[1:255]` element 62 is y[63]. None where it is computed."""
    import numpy as np

    if isinstance(tree, ast.Name):
        return tree.id, index
    if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name):
        return None
    name, array = tree.value.id, names.get(tree.value.id)
    if not isinstance(array, np.ndarray) or array.size > PIECE:
        return None
    numbers = np.asarray(evaluate(tree, {**names, name: np.arange(array.size).reshape(array.shape)}).data)
    return name, tuple(int(i) for i in np.unravel_index(int(numbers[index]), array.shape))


def _by_element(tree: ast.expr) -> bool:
    """Whether an element of the value comes of the elements at the same place."""
    for node in ast.walk(tree):
        if not isinstance(node, _ELEMENTWISE) or isinstance(node, ast.MatMult):
            return False
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and is_elementwise(node.func.id)):
            return False
    return True


def _parts(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Parts of an array in order, each of at most a piece and, where they are not single ones, of whole rows of the rest."""
    rest = 1
    for size in shape[1:]:
        rest *= size
    if rest > PIECE:
        for first in range(shape[0]):
            for part in _parts(shape[1:]):
                yield slice(first, first + 1), *part
        return
    rows = PIECE // rest
    for first in range(0, shape[0], rows):
        yield slice(first, min(first + rows, shape[0])), *(slice(0, size) for size in shape[1:])

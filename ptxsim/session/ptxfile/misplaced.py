"""Wrong results that are right ones in another layout: which rows or columns have changed places, which factor was read otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ptxsim.session.ptxfile.expressions import evaluate
from ptxsim.session.ptxfile.values import Value, narrow, widen

if TYPE_CHECKING:
    import numpy as np

_MOST = 1 << 24  # multiplications of a product that is tried again
_SHOWN = 3  # lines that are listed
_TRIED = "misplaced"  # the name of a factor that is tried


def moved(got: np.ndarray, expected: np.ndarray) -> str | None:
    """Which rows or columns of a matrix have changed places, as a clause; None if that is not what is wrong."""
    if got.ndim != 2:
        return None
    for axis, name in enumerate(("row", "column")):
        places = _places(got if axis == 0 else got.T, expected if axis == 0 else expected.T)
        if places is not None:
            return _described(places, name)
    return None


def _places(got: np.ndarray, expected: np.ndarray) -> list[int] | None:
    """For each row the one that was expected there; None where rows are not the expected ones, each at one place."""
    import numpy as np

    known = {row.tobytes(): number for number, row in enumerate(np.ascontiguousarray(expected))}
    if len(known) != len(expected):
        return None
    found = [known.get(row.tobytes()) for row in np.ascontiguousarray(got.astype(expected.dtype))]
    if None in found or len(set(found)) != len(found):
        return None
    return [number for number in found if number is not None]


def _described(places: list[int], name: str) -> str:
    size, changed = len(places), [number for number, place in enumerate(places) if place != number]
    steps = {places[number] ^ number for number in changed}
    step = steps.pop() if len(steps) == 1 else 0
    first = changed[0]
    if step and step & (step - 1) == 0 and {*range(first, first + 2 * step)} <= {*changed} and first % (2 * step) == 0:
        if step == 1:
            which = f"{name}s {first} and {first + 1}"
        else:
            which = f"{name}s {first} to {first + step - 1} and {first + step} to {first + 2 * step - 1}"
        more = f", and so on: {name} i holds {name} i ^ {step}" if len(changed) > 2 * step else ""
        return f"{which} have changed places{more}"
    if places == list(range(size))[::-1]:
        return f"the {name}s are in reverse order"
    shift = places[0]
    if all(place == (number + shift) % size for number, place in enumerate(places)):
        return f"the {name}s are shifted: {name} 0 holds {name} {shift}"
    listed = ", ".join(f"{name} {number} holds {name} {places[number]}" for number in changed[:_SHOWN])
    return listed + (f", and so on ({len(changed)} {name}s)" if len(changed) > _SHOWN else "")


def misread(tree: ast.expr, names: Mapping[str, Any], got: Value) -> str | None:
    """Which other reading of a factor of the product in an expression gives what came out; None if none of those tried does."""
    import numpy as np

    product = next(
        (n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult)), None
    )  # fmt: skip
    if product is None or got.dtype is None:
        return None
    left, right = (np.asarray(evaluate(side, names).data) for side in (product.left, product.right))
    if left.ndim != 2 or right.ndim != 2 or left.shape[0] * right.size > _MOST:
        return None
    texts = ast.unparse(product.left), ast.unparse(product.right)
    for side, value, hint in _readings(left, right, texts):
        factors = [product.left, product.right]
        original, factors[side] = factors[side], ast.Name(_TRIED, ast.Load())
        changed = _Replaced(product, original, factors[side]).visit(tree)
        result = np.asarray(evaluate(changed, {**names, _TRIED: value}).data)
        stored = np.asarray(got.data)
        if result.shape == stored.shape and np.array_equal(widen(narrow(result, got.dtype)), stored):
            return hint
    return None


def _readings(left: np.ndarray, right: np.ndarray, texts: tuple[str, str]) -> Iterator[tuple[int, np.ndarray, str]]:
    """Side, value and what to say, of factors that are read otherwise."""
    import numpy as np

    for side, value in enumerate((left, right)):
        order: Any = "F" if value.flags.c_contiguous else "C"
        other = value.ravel(order="K").reshape(value.shape, order=order)
        yield (
            side, other,
            f"that is the result for the other layout of {texts[side]}: its rows were taken for columns (.row for .col, "
            "ldmatrix with .trans for without)",
        )  # fmt: skip
        if not value.shape[0] % 16 and not value.shape[1] % 16:
            tiles = value.reshape(value.shape[0] // 16, 2, 8, value.shape[1] // 16, 2, 8)
            yield (
                side, tiles.transpose(0, 4, 2, 3, 1, 5).reshape(value.shape),
                f"that is the result if in each 16x16 tile of {texts[side]} the 8x8 matrices beside the diagonal change places: "
                "the middle two of an ldmatrix .x4, its registers or its rows",
            )  # fmt: skip
    size, step = left.shape[1], 1
    while step < size:
        if size % (2 * step) == 0:
            yield (
                0, left[:, np.arange(size) ^ step],
                f"that is the result if columns i and i ^ {step} of {texts[0]} change places (or those rows of {texts[1]}): "
                f"for {'each other' if step == 1 else f'0 to {step - 1} stand {step} to {2 * step - 1}'}",
            )  # fmt: skip
        step *= 2


class _Replaced(ast.NodeTransformer):
    """A tree with another factor in one product."""

    def __init__(self, product: ast.BinOp, old: ast.expr, new: ast.expr):
        self.product, self.old, self.new = product, old, new

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if node is not self.product:
            return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))
        sides = [self.new if side is self.old else side for side in (node.left, node.right)]
        return ast.BinOp(sides[0], node.op, sides[1])

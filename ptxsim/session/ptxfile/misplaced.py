"""Wrong results that are right ones in another layout: which rows or columns have changed places, which factor was read otherwise."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import chain, combinations, permutations, product
from typing import TYPE_CHECKING, Any

from ptxsim.session.ptxfile.expressions import evaluate
from ptxsim.session.ptxfile.retyped import retyped
from ptxsim.session.ptxfile.steps import stepped
from ptxsim.session.ptxfile.swizzled import swizzled, swizzled_result, swizzled_whole
from ptxsim.session.ptxfile.values import Value, narrow, widen

if TYPE_CHECKING:
    import numpy as np

    from ptxsim.session.ptxfile.swizzled import Factors

    # Whether elements are equal, within the tolerance of the expectation.
    Equal = Callable[[np.ndarray, np.ndarray], np.ndarray]

_MOST = 1 << 24  # multiplications of a product that is tried again
_MOST_SLICED = 1 << 16  # elements of an array of which a part is multiplied
_SHOWN = 3  # lines that are listed
_MOST_ROWS, _MOST_ALIKE = 4096, 8  # rows that are looked for, and those that begin alike
_TRIED = ("left factor", "right factor")  # names that no argument has, of the factors that are tried


def moved(got: np.ndarray, expected: np.ndarray, equal: Equal) -> str | None:
    """What has changed places in a matrix, as a clause: rows, columns, or elements whose indices have two bits exchanged; None if
    that is not what is wrong."""
    if got.ndim != 2:
        return None
    for axis, name in enumerate(("row", "column")):
        places = _places(got if axis == 0 else got.T, expected if axis == 0 else expected.T, equal)
        if places is not None:
            return _described(places, name)
    for row, column in _bits(got.shape):
        if equal(got, _exchanged(expected, row, column)).all():
            return (
                f"[0,{1 << column}] and [{1 << row},0] have changed places, and so on, wherever row bit {row} and column bit {column} "
                "differ (registers of a fragment, or what they are stored to, in another order)"
            )
    if by_bits := _by_bits(got, expected, equal):
        return by_bits
    return next((said for result, said in swizzled_result(expected) if equal(got, result).all()), None)


def _by_bits(got: np.ndarray, expected: np.ndarray, equal: Equal) -> str | None:
    """That bits of row and column numbers stand for others, as where the lanes of a fragment are taken for other rows and columns."""
    import numpy as np

    sizes = [min(16, size & -size) for size in got.shape]
    bits = [(0, bit) for bit in range(4) if 1 << bit < sizes[0]] + [(1, bit) for bit in range(4) if 1 << bit < sizes[1]]
    steps = [tuple(1 << bit if axis == each else 0 for axis in range(2)) for each, bit in bits]

    def places(matrix: np.ndarray, step: tuple[int, ...]) -> np.ndarray:
        return matrix[step[0] :: sizes[0], step[1] :: sizes[1]]

    origin = [[step for step in steps if equal(places(got, place), places(expected, step)).all()] for place in steps]
    if any(len(each) != 1 for each in origin) or len({each[0] for each in origin}) != len(steps):
        return None
    rows, columns = np.indices(got.shape)
    from_row, from_column = rows // sizes[0] * sizes[0], columns // sizes[1] * sizes[1]
    for (axis, bit), ((row, column),) in zip(bits, origin):
        is_set = (rows, columns)[axis] >> bit & 1
        from_row, from_column = from_row + is_set * row, from_column + is_set * column
    if not equal(got, expected[from_row, from_column]).all():
        return None
    if all(from_row[0, 1 << bit] == 1 << bit == from_column[1 << bit, 0] for bit in range(3)):
        return "in each 8x8 matrix rows and columns have changed places (stmatrix with .trans for without, or without for with)"
    held = ", ".join(
        f"[{place[0]},{place[1]}] holds [{step[0]},{step[1]}]" for place, (step,) in zip(steps, origin) if place != step
    )
    return f"in each tile of {sizes[0]}x{sizes[1]} {held}, and so on by the bits of row and column (other lanes hold them: ptxsim layout FORM)"


def _bits(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Pairs of a bit of the row and one of the column, of those that a 16x16 tile has and all elements of a matrix have a partner by."""
    rows, columns = ([bit for bit in range(4) if size % (2 << bit) == 0] for size in shape)
    return product(rows, columns)


def _exchanged(matrix: np.ndarray, row_bit: int, column_bit: int) -> np.ndarray:
    """A matrix whose elements stand where a bit of the row and one of the column say the other."""
    import numpy as np

    rows, columns = np.indices(matrix.shape)
    differ = (rows >> row_bit ^ columns >> column_bit) & 1
    return np.asarray(matrix[rows ^ differ << row_bit, columns ^ differ << column_bit])


def _places(got: np.ndarray, expected: np.ndarray, equal: Equal) -> list[int] | None:
    """For each row the one that was expected there; None where rows are not the expected ones, each at one place."""
    import numpy as np

    found = []
    for row in got[:_MOST_ROWS]:
        alike = np.flatnonzero(equal(row[None, :_SHOWN], expected[:, :_SHOWN]).all(1))
        places = (
            [int(place) for place in alike if equal(row, expected[place]).all()] if len(alike) <= _MOST_ALIKE else []
        )
        if len(places) != 1:
            return None
        found += places
    return found if len(set(found)) == len(got) else None


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


def misread(tree: ast.expr, names: Mapping[str, Any], got: Value, equal: Equal) -> str | None:
    """Which other reading of a factor of the product in an expression gives what came out; None if none of those tried does."""
    import numpy as np

    node = next((n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult)), None)
    if node is None or got.dtype is None:
        return None
    sides = evaluate(node.left, names), evaluate(node.right, names)
    left, right = (np.asarray(side.data) for side in sides)
    if left.ndim != 2 or right.ndim != 2 or left.shape[0] * right.size > _MOST:
        return None
    texts = ast.unparse(node.left), ast.unparse(node.right)
    stored, changed = np.asarray(got.data), _with_names(tree, node)
    for factors, hint in chain(
        retyped(*sides, texts), _readings(left, right, texts), stepped(left, right, texts), swizzled(left, right, texts)
    ):
        result = np.asarray(evaluate(changed, {**names, **dict(zip(_TRIED, factors))}).data)
        if result.shape == stored.shape and equal(stored, widen(narrow(result, got.dtype))).all():
            return hint
    for name in _sliced(node):
        whole = np.asarray(evaluate(ast.Name(name, ast.Load()), names).data)
        if whole.ndim != 2 or whole.size > _MOST_SLICED:
            continue
        for array, hint in swizzled_whole(whole, name):
            result = np.asarray(evaluate(tree, {**names, name: array}).data)
            if result.shape == stored.shape and equal(stored, widen(narrow(result, got.dtype))).all():
                return hint
    return None


def _sliced(tree: ast.expr) -> list[str]:
    """Names of which a tree takes parts: what was read in the place of a part may be in the rest of the array."""
    parts = (part.value for part in ast.walk(tree) if isinstance(part, ast.Subscript))
    return list(dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name)))


def _readings(left: np.ndarray, right: np.ndarray, texts: tuple[str, str]) -> Iterator[tuple[Factors, str]]:
    """Factors that are read otherwise, and what to say."""
    for side, value, hint in _of_one_side(left, right, texts):
        yield (value, right) if side == 0 else (left, value), hint


def _of_one_side(left: np.ndarray, right: np.ndarray, texts: tuple[str, str]) -> Iterator[tuple[int, np.ndarray, str]]:
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
        if not value.shape[0] % 8 and not value.shape[1] % 8:
            blocks = value.reshape(value.shape[0] // 8, 8, value.shape[1] // 8, 8)
            yield (
                side, blocks.transpose(0, 3, 2, 1).reshape(value.shape),
                f"that is the result if in each 8x8 matrix of {texts[side]} rows and columns change places: ldmatrix with .trans for "
                f"without, or without for with; or registers that were filled with neighbours of a {'column' if side == 0 else 'row'}, "
                f"where the instruction takes those of a {'row' if side == 0 else 'column'}",
            )  # fmt: skip
        for row, column in _bits(value.shape):
            how = f"where row bit {row} and column bit {column} differ, elements of {texts[side]} change places: its registers or rows"
            if row == column == 3:
                how = (
                    f"in each 16x16 tile of {texts[side]} the 8x8 matrices beside the diagonal change places: "
                    "the middle two of an ldmatrix .x4, its registers or its rows"
                )
            yield side, _exchanged(value, row, column), f"that is the result if {how}"
    size, step = left.shape[1], 1
    while step < size:
        if size % (2 * step) == 0:
            yield (
                0, left[:, np.arange(size) ^ step],
                f"that is the result if columns i and i ^ {step} of {texts[0]} change places (or those rows of {texts[1]}): "
                f"for {'each other' if step == 1 else f'0 to {step - 1} stand {step} to {2 * step - 1}'}",
            )  # fmt: skip
        step *= 2
    bits = [bit for bit in range(4) if size % (2 << bit) == 0]
    for low, high in combinations(bits, 2):
        k = np.arange(size)
        differ = (k >> low ^ k >> high) & 1
        yield (
            0, left[:, k ^ (differ << low | differ << high)],
            f"that is the result if columns of {texts[0]} whose bits {low} and {high} differ change places (or those rows of {texts[1]}): "
            f"for {1 << low} stands {1 << high}",
        )  # fmt: skip
    for order in permutations(bits):
        if sum(bit != place for bit, place in zip(order, bits)) > 2:  # two that are exchanged have been tried
            k = np.arange(size)
            meant = sum(((k >> bit & 1) << place for bit, place in zip(order, bits)), k >> len(bits) << len(bits))
            listed = " ".join(map(str, meant[: min(8, size)]))
            yield (
                0, left[:, meant],
                f"that is the result if columns of {texts[0]} and rows of {texts[1]} meet in another order: rows 0 1 2 3 ... of {texts[1]} "
                f"are multiplied by columns {listed} ... of {texts[0]} (registers were filled with other elements than the fragment has "
                "there: ptxsim layout FORM)",
            )  # fmt: skip


def _with_names(tree: ast.expr, product: ast.BinOp) -> ast.expr:
    """A tree whose product is one of two names."""

    class Replaced(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            if node is not product:
                return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))
            left, right = (ast.Name(name, ast.Load()) for name in _TRIED)
            return ast.BinOp(left, node.op, right)

    changed: ast.expr = Replaced().visit(deepcopy(tree, {id(product): product}))  # it changes what it visits
    return changed

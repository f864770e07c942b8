"""The small language of expectations: arithmetic on arrays and counts.

Python's grammar reads it, a short list says what is allowed. Values are widened before anything is computed (floats to
f64, integers to 64 bits), so the reference of a result is better than the result. A plain array keeps the type it is
stored in, and the other side of a comparison is rounded to that type once.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.ptxfile.arithmetic import COMPARISONS as COMPARISONS
from ptxsim.session.ptxfile.arithmetic import MOST, TooMuch, arithmetic, bound, unify
from ptxsim.session.ptxfile.functions import functions
from ptxsim.session.ptxfile.values import Value, widen
from ptxsim.source import Span
from ptxsim.spelling import did_you_mean

MAX_DEPTH = 64
METRICS = ("banks", "cycles", "findings", "warp_instructions")
GLOBAL_COUNTS = ("requests", "sectors")
BANK_COUNTS = ("worst", "wavefronts", "ideal", "excess", "conflicts", *GLOBAL_COUNTS)


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression in which only allowed things appear. Raises PtxError with a column within the text."""
    if len(text) > 4000:
        raise _error("the expression is too long", Span(0, 1, 1))
    try:
        tree = _restored(ast.parse(_KEYWORD.sub(_disguise, text), mode="eval").body, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(text, error) from None
    _check(tree, 0)
    return tree


def _unreadable(text: str, error: Exception) -> PtxError:
    help = "write expect D == A @ B.T, or expect NAME at LINE; that nothing else is found is expected anyway"
    if not text:
        return _error("nothing is expected here", Span(0, 1, 1), help)
    if open_end := re.search(r"([=!<>]=|[<>+\-*/@%&|^,])\s*$", text):
        return _error(
            f"something is missing after {open_end[1]}", Span(0, open_end.start() + 1, len(open_end[1])), help
        )
    column = min(getattr(error, "offset", 1) or 1, len(text))
    message = (getattr(error, "msg", None) or "nested too deeply").removesuffix(". Perhaps you forgot a comma?")
    if re.search(r"[^=<>!]=[^=]", text) and not re.search(r"[=!<>]=|[<>]", text):
        help = "a comparison is written with two equal signs: =="
    return _error(f"cannot read the expression: {message}", Span(0, column, 1), help)


# Kernels call their parameters `in` or `from`: Python's keywords stand for themselves only where they are operators.
_KEYWORDS = [word for word in keyword.kwlist if word not in ("True", "False", "None", "and", "or", "not")]
_KEYWORD = re.compile(rf"\b({'|'.join(_KEYWORDS)})\b")
_DISGUISE = {chr(0x4E00 + number): word for number, word in enumerate(_KEYWORDS)}  # letters that no file uses


def _disguise(match: re.Match[str]) -> str:
    """A name as long as the keyword, so that columns stay."""
    return chr(0x4E00 + _KEYWORDS.index(match[1])) * len(match[1])


def _restored(tree: ast.expr, text: str) -> ast.expr:
    """The tree with its names as they were written, and offsets in characters instead of bytes."""
    data = _KEYWORD.sub(_disguise, text).encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = _DISGUISE.get(node.id[0], node.id)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy")) as function):
                node.func = ast.copy_location(ast.Name(function.attr, ast.Load()), function)
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset = len(data[: node.col_offset].decode(errors="ignore"))
            node.end_col_offset = len(data[: node.end_col_offset or 0].decode(errors="ignore"))
    return tree


def names_in(tree: ast.expr) -> set[str]:
    """The names an expression mentions, functions left out."""
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions}


def evaluate(tree: ast.expr, names: Mapping[str, Any]) -> Value:
    """The value of a checked expression. `names` maps to arrays, numbers, or mappings of counts. Raises PtxError."""
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            value = _Evaluator(names).visit(tree)
        if np.asarray(value.data).dtype.kind not in "biufV" and not isinstance(
            value.data, Mapping
        ):  # only in indices and calls
            raise _error(f"{ast.unparse(tree)} is no number and no array", _span(tree))
        return value
    except PtxError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError, AttributeError) as error:
        raise _error(str(error).partition("\n")[0] or type(error).__name__, _span(tree)) from None


def _error(message: str, span: Span, help: str | None = None) -> PtxError:
    return PtxError(Finding("bad-directive", message, column=span.column, length=span.length, help=help))


def _transposed(node: ast.BinOp, left: Any, right: Any) -> str | None:
    """Which factor of a product would fit if it were transposed, or were not."""
    for factor, one, other in ((node.right, left, right.T), (node.left, left.T, right)):
        if one.ndim == other.ndim == 2 and one.shape[1] == other.shape[0]:
            if isinstance(factor, ast.Attribute) and factor.attr == "T":
                return f"leave out the .T of {ast.unparse(factor)}?"
            return f"transpose it: {ast.unparse(factor)}.T?"
    return None


def _span(node: ast.AST) -> Span:
    column = getattr(node, "col_offset", 0)
    end = getattr(node, "end_col_offset", None) or column + 1
    return Span(0, column + 1, max(1, end - column))


# ---- what may be written --------------------------------------------------------------------------------------------

_ALLOWED = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call, ast.Attribute, ast.Subscript,
    ast.Slice, ast.Tuple, ast.List, ast.keyword, ast.Load, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
_CONSTANTS = (int, float, bool, str, type(None), type(...))


def _check(node: ast.AST, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _error("the expression is nested too deeply", _span(node))
    if not isinstance(node, _ALLOWED) or isinstance(node, ast.In | ast.NotIn | ast.Is | ast.IsNot):
        raise _error(f"an expectation holds no {type(node).__name__.lower()}", _span(node))
    if isinstance(node, ast.Constant) and not isinstance(node.value, _CONSTANTS):
        raise _error(f"{node.value!r} is no number", _span(node))
    if isinstance(node, ast.Call):
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if function is None:
            raise _error(f"{ast.unparse(node.func)} is no function", _span(node))
        if function not in functions():
            raise _error(f"no function is called {function!r}", _span(node.func), did_you_mean(function, functions()))
        if isinstance(node.func, ast.Attribute):
            _check(node.func.value, depth + 1)
        for child in (*node.args, *node.keywords):
            _check(child, depth + 1)
        return
    if isinstance(node, ast.Attribute) and node.attr != "T" and getattr(node.value, "id", None) != "banks":
        if node.attr in BANK_COUNTS:
            raise _error(f"no counts are called {ast.unparse(node.value)!r}", _span(node), f"write banks.{node.attr}")
        raise _error(f"arrays have no attribute {node.attr!r} here; .T transposes", _span(node))
    for child in ast.iter_child_nodes(node):
        _check(child, depth + 1)


# ---- what it means --------------------------------------------------------------------------------------------------


class _Evaluator:
    def __init__(self, names: Mapping[str, Any]):
        self.names = names

    def visit(self, node: ast.AST) -> Value:
        visit: Callable[[ast.AST], Value] = getattr(self, type(node).__name__.lower())
        return visit(node)

    def data(self, node: ast.AST) -> Any:
        return self.visit(node).data

    def name(self, node: ast.Name) -> Value:
        import numpy as np

        value = self.stored(node)
        if not isinstance(value, np.ndarray):
            return Value(value)
        if value.size > MOST:
            help = f"compare a part of it, as {node.id}[:{MOST}], or all of it element by element with an array of its shape"
            raise _error(
                f"{node.id} has {value.size} elements, which is too much for this expression", _span(node), help
            )
        return Value(widen(value), value.dtype)

    def stored(self, node: ast.Name) -> Any:
        """What a name stands for, in the type it is stored in."""
        if node.id not in self.names:
            raise _error(f"nothing is called {node.id!r}", _span(node), did_you_mean(node.id, self.names))
        if self.names[node.id] is None:
            raise _error(f"{node.id} was not measured in this run", _span(node))
        return self.names[node.id]

    def constant(self, node: ast.Constant) -> Value:
        import numpy as np

        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 64:
            raise _error(f"{value} has more than 64 bits", _span(node))
        return Value(np.uint64(value) if isinstance(value, int) and value >= 1 << 63 else value)

    def attribute(self, node: ast.Attribute) -> Value:
        value = self.visit(node.value)
        if isinstance(value.data, Mapping):
            if value.data.get(node.attr) is None:
                raise _error(f"{ast.unparse(node)} is not counted", _span(node), did_you_mean(node.attr, value.data))
            return Value(value.data[node.attr])
        if node.attr != "T" or not hasattr(value.data, "T"):
            raise _error(f"this has no {node.attr!r}", _span(node))
        return Value(value.data.T, value.dtype)

    def subscript(self, node: ast.Subscript) -> Value:
        import numpy as np

        if isinstance(node.value, ast.Name) and isinstance(stored := self.stored(node.value), np.ndarray):
            part = np.asarray(stored[self.index(node.slice)])  # no more of it is widened
            return Value(widen(part), part.dtype)
        value = self.visit(node.value)
        if not isinstance(value.data, np.ndarray):
            raise _error("only arrays are indexed", _span(node))
        return Value(np.asarray(value.data[self.index(node.slice)]), value.dtype)

    def index(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(self.index(element) for element in node.elts)
        if isinstance(node, ast.Slice):
            return slice(
                *(None if part is None else int(self.data(part)) for part in (node.lower, node.upper, node.step))
            )
        return self.data(node)

    def tuple(self, node: ast.Tuple) -> Value:
        return Value(tuple(int(self.data(element)) for element in node.elts))

    def list(self, node: ast.List) -> Value:
        import numpy as np

        return Value(np.array([self.data(element) for element in node.elts]))

    def unaryop(self, node: ast.UnaryOp) -> Value:
        import numpy as np

        value = np.asarray(self.data(node.operand))
        if isinstance(node.op, ast.Not):
            return Value(np.logical_not(value))
        if isinstance(node.op, ast.Invert):
            return Value(~value)
        value = unify(value, 0)[0]
        return Value(-value if isinstance(node.op, ast.USub) else value)

    def boolop(self, node: ast.BoolOp) -> Value:
        import numpy as np

        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = self.data(node.values[0])
        for operand in node.values[1:]:
            other = self.data(operand)
            bound(result, other)
            result = join(result, other)
        return Value(result)

    def binop(self, node: ast.BinOp) -> Value:
        import numpy as np

        left, right = self.data(node.left), self.data(node.right)
        if not all(isinstance(side, np.ndarray | np.generic | int | float) for side in (left, right)):
            raise _error("arithmetic needs numbers or arrays", _span(node))
        try:
            return Value(arithmetic(type(node.op), left, right))
        except TooMuch as error:
            raise _error(f"{ast.unparse(node)}: {error}", _span(node)) from None
        except ValueError:
            shapes = " and ".join("x".join(map(str, value.shape)) or "a number" for value in (left, right))
            is_product = isinstance(node.op, ast.MatMult) and np.ndim(left) == np.ndim(right) == 2
            help = _transposed(node, left, right) if is_product else None
            raise _error(f"shapes do not fit: {shapes}", _span(node), help) from None
        except TypeError:
            help = "a power is written **" if isinstance(node.op, ast.BitXor) else None
            raise _error(
                f"{ast.unparse(node)}: bits are those of integers, and this holds fractions", _span(node), help
            ) from None

    def compare(self, node: ast.Compare) -> Value:
        import numpy as np

        values = [self.data(operand) for operand in (node.left, *node.comparators)]
        result: Any = True
        for left, operator, right in zip(values, node.ops, values[1:]):
            bound(left, right)
            result = np.logical_and(result, COMPARISONS[type(operator)](*unify(left, right)))
        return Value(result)

    def call(self, node: ast.Call) -> Value:
        arguments = [self.visit(argument) for argument in node.args]
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            arguments.insert(0, self.visit(node.func.value))
        else:
            assert isinstance(node.func, ast.Name)  # all else has been refused
            name = node.func.id
        keywords = {}
        for named in node.keywords:
            if named.arg not in ("axis", "keepdims"):
                raise _error(f"{name} takes no {named.arg!r} here", _span(node), "axis= and keepdims= are known")
            keywords[named.arg] = self.data(named.value)
        result = functions()[name](*(argument.data for argument in arguments), **keywords)
        if isinstance(result, Value):
            return result
        keeps_type = name in ("reshape", "transpose", "flip", "roll") and arguments
        return Value(result, arguments[0].dtype if keeps_type else None)

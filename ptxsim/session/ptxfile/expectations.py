"""Whether a run gave what its file expects, and if not: where, how much, and what the wrong elements have in common."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.ptxfile.differences import largest, pattern_of, rearranged, rounding, show, ulps
from ptxsim.session.ptxfile.expressions import BANK_COUNTS, COMPARISONS, evaluate, names_in, parse_expression
from ptxsim.session.ptxfile.misplaced import misread
from ptxsim.session.ptxfile.pieces import PIECE, Origin, pieces, place_in
from ptxsim.session.ptxfile.values import Value, narrow, widen
from ptxsim.source import Span

if TYPE_CHECKING:
    import numpy as np

# Given an output's name and an index, who wrote it ("lane 5, register %f2 of line 118"), or None.
Writer = Callable[[str, tuple[int, ...]], "str | None"]

# `rtol=1e-3 atol=0` after a comparison, optionally with commas or in parentheses. Nothing is given back, or time would double with each.
_OPTION = re.compile(r"([A-Za-z_]\w*+)\s*+=(?!=)\s*+([^\s,()=]*+)")
_OPTIONS = re.compile(rf"(?<![\s,])[\s,]++(?:\(\s*+)?((?:{_OPTION.pattern}[\s,]*+)++)\)?\s*$")
_TOLERANCES = ("rtol", "atol")
# How people write a tolerance elsewhere. `+-` before a number is arithmetic to Python, which is never meant.
_FOREIGN_TOLERANCE = re.compile(
    r"\+-\s*(?=[\d.])|\+/-|±|~=|≈|=~|\b(?:tol|tolerance|eps|rel|abs)\s*=(?!=)|\bwithin\b|\b\w*(?:allclose|isclose|approx)\s*\("
)
_TOLERANCE_HELP = "a tolerance comes after the comparison: expect D == A @ B.T rtol=1e-3 atol=0"
_SHOWN = 3  # wrong elements that are listed


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left OP right [OP right]... rtol= atol=`, read and checked but not computed."""

    text: str
    operands: tuple[ast.expr, ...]
    operators: tuple[ast.cmpop, ...]
    rtol: float = 0.0
    atol: float = 0.0

    def __str__(self) -> str:
        tolerances = [f" {name}={value:g}" for name, value in (("rtol", self.rtol), ("atol", self.atol)) if value]
        return self.text + "".join(tolerances)

    @property
    def names(self) -> set[str]:
        return set().union(*(names_in(operand) for operand in self.operands))

    @property
    def counts(self) -> set[str]:
        """The counts of banks and global memory that it compares (`banks.sectors`: sectors)."""
        nodes = (node for operand in self.operands for node in ast.walk(operand))
        return {node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr in BANK_COUNTS}


def parse_comparison(text: str) -> Comparison:
    """Read `D == A @ B.T rtol=1e-3`. Raises PtxError whose column counts within `text`."""
    if foreign := _FOREIGN_TOLERANCE.search(text):
        written = foreign[0].strip()
        raise _bad(f"{written} is no tolerance here", foreign.start(), len(written), _TOLERANCE_HELP)
    expression, tolerances = _split_tolerances(text)
    if bare := re.search(r"\b(rtol|atol)\b", expression):
        raise _bad(f"{bare[1]} needs a value", bare.start(), len(bare[1]), _TOLERANCE_HELP)
    tree = parse_expression(expression)
    if not isinstance(tree, ast.Compare):
        raise _bad(
            "an expectation compares two sides", 0, len(expression), "write expect D == A @ B.T, or expect NAME at LINE"
        )
    return Comparison(expression, (tree.left, *tree.comparators), tuple(tree.ops), **tolerances)


def _split_tolerances(text: str) -> tuple[str, dict[str, float]]:
    """What stands before the tolerances, and the tolerances. Raises PtxError."""
    options = _OPTIONS.search(text)
    if options is None or text.count("(", 0, options.start()) != text.count(")", 0, options.start()):
        return text.strip(), {}  # the last parenthesis is that of a function
    tolerances: dict[str, float] = {}
    for match in _OPTION.finditer(text, options.start(1)):
        name = match[1]
        if name not in _TOLERANCES or name in tolerances:
            why = "is given twice" if name in tolerances else "is no tolerance: rtol and atol are"
            raise _bad(f"{name} {why}", match.start(), len(match[0]), _TOLERANCE_HELP)
        try:
            value = float(match[2])
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise _bad(f"{name} is a number of 0 or more", match.start(), len(match[0]), _TOLERANCE_HELP)
        tolerances[name] = value
    return text[: options.start()].strip(), tolerances


def check_comparison(
    comparison: Comparison, names: Mapping[str, Any], span: Span | None = None, writer: Writer | None = None
) -> list[Finding]:
    """Findings `expectation-failed`: none if the comparison holds. A tolerance that would let zeros pass is a warning.

    `names` maps names to arrays, numbers and mappings of counts (`banks`). Raises PtxError if a side has no value.
    """
    span = span or Span(1)
    return [finding.at(span) for finding in _judge(comparison, str(comparison), names, writer)]


def _judge(comparison: Comparison, text: str, names: Mapping[str, Any], writer: Writer | None) -> list[Finding]:
    """What is wrong with each two neighbouring sides. Large arrays are judged a piece at a time."""
    judged = [_Judged() for _ in comparison.operators]
    for origin, part in pieces(comparison.operands, names):
        values = [_side(operand, part) for operand in comparison.operands]
        for n, (left, right) in enumerate(pairwise(values)):
            sides = [ast.unparse(operand) for operand in comparison.operands[n : n + 2]]
            pair = _Pair(
                left, right, comparison.operators[n], sides[0], sides[1], comparison.rtol, comparison.atol, origin,
                partial(place_in, comparison.operands[n], part),
            )  # fmt: skip
            found = pair.check(text, writer, is_explained=judged[n].found is None)
            if found and isinstance(pair.operator, ast.Eq):
                hint = misread(comparison.operands[n + 1], part, left, pair.holds)
                found = replace(found, notes=(*found.notes, hint)) if hint else found
            judged[n].add(pair, found)
    return [finding for each in judged if (finding := each.finding())]


@dataclass(slots=True)
class _Judged:
    """What came of two sides, piece by piece: the first finding, and what counts in all of them."""

    found: Finding | None = None
    wrong: int = 0
    size: int = 0
    pieces: int = 0
    widest: _Pair | None = None  # with the largest expected magnitude

    def add(self, pair: _Pair, found: Finding | None) -> None:
        self.found = self.found or found
        self.wrong, self.size, self.pieces = self.wrong + pair.wrong, self.size + pair.size, self.pieces + 1
        if self.widest is None or not pair.top <= self.widest.top:  # nor is a NaN
            self.widest = pair

    def finding(self) -> Finding | None:
        if self.found is None:
            return self.widest.too_wide() if self.widest else None
        if self.pieces == 1:
            return self.found
        all_of_it = f"in all, {self.wrong} of {self.size} elements are wrong; what is said here is of the first {PIECE} or fewer with a wrong one"
        return replace(self.found, notes=(*self.found.notes, all_of_it))


def not_judged(finding: Finding, comparison: Comparison, place: str) -> Finding:
    """What is left of a failed expectation where an error stopped the run at a place (empty: at no single line)."""
    if finding.name != "expectation-failed" or finding.level != "error":
        return finding
    where = f" at {place}" if place else ""
    return replace(
        finding, message=f"{comparison} is not judged: the run stopped{where}", notes=(), labels=(), help=None
    )


def _side(tree: ast.expr, names: Mapping[str, Any]) -> Value:
    """The value of one side, which must be a number or an array."""
    import numpy as np

    value = evaluate(tree, names)
    if not isinstance(value.data, np.ndarray | np.generic | int | float):
        raise _bad(f"{ast.unparse(tree)} is no number and no array", tree.col_offset, len(ast.unparse(tree)))
    return value


def explain_difference(
    got: np.ndarray, expected: Any, rtol: float = 0.0, atol: float = 0.0, name: str = "result",
    writer: Writer | None = None,
) -> Finding | None:  # fmt: skip
    """What is wrong with an array that should equal another (or a number), or None. NaN equals NaN."""
    import numpy as np

    text = f"{name} == expected"
    if not isinstance(expected, np.ndarray) and np.ndim(expected):
        expected = narrow(expected, got.dtype)  # a list has no type of its own
    if isinstance(expected, np.ndarray) and expected.ndim and got.ndim and got.shape != expected.shape:
        return _other_shape(text, got, expected)
    sides = {name: got, "expected": expected}
    comparison = Comparison(text, (ast.Name(name), ast.Name("expected")), (ast.Eq(),), rtol, atol)
    return next(iter(_judge(comparison, text, sides, writer)), None)


def _bad(message: str, offset: int, length: int, help: str | None = None) -> PtxError:
    return PtxError(Finding("bad-directive", message, column=offset + 1, length=max(1, length), help=help))


@dataclass(slots=True)
class _Pair:
    """Two evaluated sides and the operator between them."""

    left: Value
    right: Value
    operator: ast.cmpop
    left_text: str
    right_text: str
    rtol: float
    atol: float
    origin: Origin  # indices of the first element, where the sides are a piece of larger arrays
    place: Callable[[Origin], tuple[str, Origin] | None]  # in which array an element of the left side lies
    wrong: int = 0
    size: int = 1
    top: Any = 0  # the largest expected magnitude; NaN where one is expected

    def check(self, text: str, writer: Writer | None, is_explained: bool = True) -> Finding | None:
        """What is wrong, None if nothing is; counted only, and None, where it is not to be explained."""
        import numpy as np

        got, expected, dtype = self._sides()
        if not np.ndim(got) and not np.ndim(expected):
            if self.holds(got, expected).all():
                return None
            sides = [(self.left_text, got), (self.right_text, expected)]
            facts = [f"{name} is {show(value)}" for name, value in sides if not _is_number(name)]
            return Finding("expectation-failed", f"{text} does not hold: {', '.join(facts)}")
        if np.ndim(got) and np.ndim(expected) and got.shape != expected.shape:
            return _other_shape(text, got, expected)
        got, expected = np.broadcast_arrays(got, expected)
        with np.errstate(all="ignore"):
            wrong = ~self.holds(got, expected)
        self.wrong, self.size = int(wrong.sum()), wrong.size
        if self.wrong and is_explained:
            return self._explain(text, got, expected, wrong, dtype, writer)
        if isinstance(self.operator, ast.Eq) and (self.rtol or self.atol) and expected.size:
            self.top = np.max(np.abs(expected))
        return None

    def _sides(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Both sides, the computed one rounded to the type the other is stored in."""
        import numpy as np

        got, expected = np.asarray(self.left.data), np.asarray(self.right.data)
        dtype = self.left.dtype or self.right.dtype
        if self.left.dtype is not None and self.right.dtype is None and expected.ndim:
            expected = widen(narrow(expected, dtype))
        elif self.right.dtype is not None and self.left.dtype is None and got.ndim:
            got = widen(narrow(got, dtype))
        return got, expected, dtype

    def holds(self, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Whether the elements of two arrays stand to each other as the expectation says."""
        import numpy as np

        if not isinstance(self.operator, ast.Eq):
            return np.asarray(COMPARISONS[type(self.operator)](got, expected))
        equal: np.ndarray = np.asarray(got == expected)
        if np.result_type(got, expected).kind != "f":
            return equal if not (self.rtol or self.atol) else equal | self._close(got, expected)
        equal = equal | (np.isnan(got) & np.isnan(expected))
        return equal | self._close(got, expected) if self.rtol or self.atol else equal

    def _close(self, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
        import numpy as np

        got, expected = got.astype(np.float64), expected.astype(np.float64)
        with np.errstate(all="ignore"):
            close: np.ndarray = np.abs(got - expected) <= self.atol + self.rtol * np.abs(expected)
        return np.asarray(np.isfinite(expected) & close)

    def too_wide(self) -> Finding | None:
        """A warning where the tolerance takes zeros for what is expected, whose largest magnitude decides it."""
        import numpy as np

        if not self.top or not self.holds(np.zeros_like(self.top), self.top).all():
            return None
        return Finding(
            "expectation-failed",
            "the tolerance is wider than the signal: an output of zeros would pass as well",
            level="warning",
            notes=(
                f"the largest expected magnitude is {show(self.top)}, atol is {self.atol:g}, rtol is {self.rtol:g}",
            ),
            help="lower atol and rtol, or use ints(...) data, where equality is exact",
        )

    def _explain(
        self, text: str, got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, dtype: Any, writer: Writer | None
    ) -> Finding:
        import numpy as np

        is_name = self.left_text.isidentifier()
        label = self.left_text if is_name else f"({self.left_text})"
        places = np.argwhere(wrong)
        lines = []
        for place in places[:_SHOWN]:
            index = tuple(int(i) for i in place)
            there = tuple(map(sum, zip(index, self.origin))) if self.origin else index
            own = self.place(there) if np.ndim(self.left.data) == len(index) else None
            name, at = own or (label, there)
            wanted = _OPERATOR_TEXT[type(self.operator)] + show(expected[index])
            line = f"{name}[{','.join(map(str, at))}] is {show(got[index])}, expected {wanted}"
            line += self._distance(got[index], expected[index], dtype)
            who = writer(name, at) if writer and own else None
            lines.append(f"{line}: {who}" if who else line)
        count = (
            f"{len(places)} of {wrong.size} elements are wrong"
            if len(places) > 1
            else f"1 of {wrong.size} elements is wrong"
        )
        pattern = pattern_of(wrong)
        of_it = "" if is_name or "[" not in pattern else f" of {self.left_text}"
        notes = [count + pattern + of_it, *lines[1:]]
        if isinstance(self.operator, ast.Eq):
            is_stored = ": stored at" in lines[0]
            hints = (largest(got, expected, wrong, dtype), rearranged(got, expected, label, self.holds, is_stored))
            notes += [hint for hint in hints if hint]
        help = rounding(got, expected, wrong, dtype) if isinstance(self.operator, ast.Eq) else None
        return Finding("expectation-failed", f"{text} does not hold: {lines[0]}", notes=tuple(notes), help=help)

    def _distance(self, got: Any, expected: Any, dtype: Any) -> str:
        """How far off an element is, as " (2 ULP)" or " (off by 0.1, 0.01 allowed)"; empty where that says nothing."""
        if not isinstance(self.operator, ast.Eq):
            return ""
        distance = ulps(got, expected, dtype)
        parts = [f"{distance} ULP"] if distance else []
        if (self.rtol or self.atol) and math.isfinite(got) and math.isfinite(expected):
            allowed = self.atol + self.rtol * abs(float(expected))
            parts.append(f"off by {abs(float(got) - float(expected)):.3g}, {allowed:.3g} allowed")
        return f" ({'; '.join(parts)})" if parts else ""


_OPERATOR_TEXT = {ast.Eq: "", ast.NotEq: "not ", ast.Lt: "< ", ast.LtE: "<= ", ast.Gt: "> ", ast.GtE: ">= "}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _other_shape(text: str, got: np.ndarray, expected: np.ndarray) -> Finding:
    return Finding(
        "expectation-failed",
        f"{text}: the sides have shapes {_shape(got)} and {_shape(expected)}",
        help="give both the same shape: .T, reshape(x, ...)",
    )


def _shape(array: np.ndarray) -> str:
    return "x".join(map(str, array.shape)) or "a number"

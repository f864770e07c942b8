"""What the text computes an address from: the definitions of its register, walked back and written as one sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ptxsim.demangle import local_name
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.formula import evaluate
from ptxsim.syntax import ast

DEPTH = 8  # definitions that are followed from one register to the next
WIDTH = 72  # characters of an expression; longer ones are followed less deep
ROUND = "round"  # how often a loop has come by
_LANE = ("%laneid", "%tid")


@dataclass(slots=True)
class Sum:
    """`constant + coefficient * term + ...`; terms are the texts that were not followed further."""

    constant: int = 0
    terms: dict[str, int] = field(default_factory=dict)

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        terms = dict(self.terms)
        for text, coefficient in other.terms.items():
            terms[text] = terms.get(text, 0) + factor * coefficient
        return Sum(self.constant + factor * other.constant, {text: c for text, c in terms.items() if c})

    def times(self, factor: int) -> Sum:
        return Sum().plus(self, factor)

    def __add__(self, other: Sum) -> Sum:
        return self.plus(other)

    def __sub__(self, other: Sum) -> Sum:
        return self.plus(other, -1)

    def __neg__(self) -> Sum:
        return self.times(-1)

    def __mul__(self, other: Sum) -> Sum:
        if other.number is not None:
            return self.times(other.number)
        if self.number is not None:
            return other.times(self.number)
        return self._term("*", other)

    def __lshift__(self, other: Sum) -> Sum:
        if other.number is not None and 0 <= other.number < 64:
            return self.times(1 << other.number)
        return NotImplemented

    def __rshift__(self, other: Sum) -> Sum:
        return self._term(">>", other)

    def __and__(self, other: Sum) -> Sum:
        return self._term("&", other)

    def __or__(self, other: Sum) -> Sum:
        return self._term("|", other)

    def __xor__(self, other: Sum) -> Sum:
        return self._term("^", other)

    def __truediv__(self, other: Sum) -> Sum:
        return self._term("/", other)

    def __mod__(self, other: Sum) -> Sum:
        return self._term("%", other)

    def _term(self, operator: str, other: Sum) -> Sum:
        return Sum(0, {f"({self.inner()} {operator} {other.inner()})": 1})

    @property
    def number(self) -> int | None:
        return None if self.terms else self.constant

    def __str__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda item: abs(item[1]) != 1)
        parts = [text if abs(c) == 1 else f"{abs(c)} * {text}" for text, c in ordered]
        signs = [c < 0 for _, c in ordered]
        if self.constant or not parts:
            parts, signs = [*parts, str(abs(self.constant))], [*signs, self.constant < 0]
        text = f"{'-' * signs[0]}{parts[0]}"
        return text + "".join(f" {'-' if minus else '+'} {part}" for part, minus in zip(parts[1:], signs[1:]))

    def inner(self) -> str:
        """The text as a part of a larger one."""
        return f"({self})" if len(self.terms) + bool(self.constant) > 1 or set(self.terms.values()) - {1} else str(self)


@dataclass(frozen=True, slots=True)
class Origin:
    """The address of an access as an expression; `rows[pitch]` is what counts steps of so many bytes."""

    text: str
    rows: dict[int, str]
    lines: tuple[int, ...]  # of the definitions that were followed

    def row(self, pitch: int | None, span: int) -> tuple[str, int] | None:
        """What counts rows of `pitch` bytes; where nothing does, the widest step that lanes take within `span` bytes."""
        if pitch in self.rows:
            return self.rows[pitch], pitch
        wide = max((step for step, text in self.rows.items() if 16 < step <= span and _by_lane(text)), default=None)
        return None if wide is None else (self.rows[wide], wide)


class Origins:
    """Definitions of a program's registers."""

    def __init__(self, program: Program):
        self.program = program
        # Instructions of one stretch are reached only through those before them in it.
        joined = {target for op in program.ops for target in op.targets}
        joined |= {function.entry for function in program.functions.values()}
        self.stretch: dict[int, int] = {}
        stretch = 0
        for number, block in enumerate(program.blocks):
            stretch += number in joined
            self.stretch |= {op.site: stretch for op in block}
        # From the target of a branch back to the branch.
        self.loops = [
            (program.blocks[target][0].site, op.site)
            for op in program.ops for target in op.targets
            if program.blocks[target] and program.blocks[target][0].site <= op.site
        ]  # fmt: skip
        self.slots = frozenset(program.slot_names)
        self.definitions: dict[str, list[Op]] = {}
        self._known: dict[tuple[int, str, int], tuple[Sum, frozenset[int]]] = {}
        for op in program.ops:
            for name in _defined(op, program):
                self.definitions.setdefault(name, []).append(op)

    def of(self, op: Op, number: int = 0) -> Origin | None:
        """Where the shared or global address of an access comes from, the first or another; None if there is none."""
        addresses = [operand for operand in op.bound.statement.operands if isinstance(operand, ast.Address)]
        address = addresses[number] if number < len(addresses) else None
        if address is None or address.base is None:
            return None
        for depth in range(DEPTH, -1, -1):
            found, lines = self._name(address.base.name, op, depth)
            found = _readable(found.plus(Sum(address.offset)))
            if len(str(found)) <= WIDTH or not depth:
                break
        rows = {abs(c): text[1:-1] if text[0] == "(" else text for text, c in found.terms.items() if abs(c) > 1}
        return Origin(str(found), rows, tuple(sorted(lines)))

    def _name(self, name: str, at: Op, depth: int) -> tuple[Sum, frozenset[int]]:
        """What a register is at an instruction, and the lines of the definitions that were followed."""
        op = self.definition(name, at) if depth else None
        if op is None:
            return self._looped(name, at, depth)
        key = op.site, name, depth
        if key not in self._known:
            self._known[key] = self._defined(op, name, depth)
        return self._known[key]

    def _defined(self, op: Op, name: str, depth: int) -> tuple[Sum, frozenset[int]]:
        lines: set[int] = set()
        found = _follow(op, lambda operand: self._operand(operand, op, depth - 1, lines))
        if found is None:
            return Sum(0, {name: 1}), frozenset()
        if found.constant or len(found.terms) > 1 or set(found.terms.values()) - {1}:  # what only renames is no help
            lines.add(op.line)
        return found, frozenset(lines)

    def _looped(self, name: str, at: Op, depth: int) -> tuple[Sum, frozenset[int]]:
        """What a register is that starts as something and to which a loop adds; itself where it is no such register."""
        ops = self.definitions.get(name, []) if depth else []
        steps = [op for op in ops if name in _names(op)]
        starts = [op for op in ops if op not in steps]
        if len(steps) != 1 or len(starts) != 1 or starts[0].site > at.site or starts[0].guard is not None:
            return Sum(0, {name: 1}), frozenset()
        (step,), (start,) = steps, starts
        sign = {"a + b": 1, "a - b": -1}.get(step.facts.formula, 0)
        others = [operand for operand in step.bound.statement.operands[1:] if getattr(operand, "name", "") != name]
        lines: set[int] = set()
        added = None
        if sign and len(others) == 1 and self._repeats(step, others[0], start):
            added = self._operand(others[0], step, depth - 1, lines)
        first, more = self._defined(start, name, depth)
        if added is None or name in first.terms:
            return Sum(0, {name: 1}), frozenset()
        rounds = Sum(0, {ROUND: 1})
        return first.plus(rounds * added, sign), frozenset({*lines, *more, step.line})

    def _repeats(self, step: Op, operand: ast.Operand, start: Op) -> bool:
        """Whether a loop that `start` is outside of goes through a step, of which it does not change the operand."""
        others = self.definitions.get(getattr(operand, "name", ""), [])
        return any(
            first <= step.site <= last and not any(first <= op.site <= last for op in (start, *others))
            for first, last in self.loops
        )

    def _operand(self, operand: ast.Operand, at: Op, depth: int, lines: set[int]) -> Sum | None:
        match operand:
            case ast.Integer():
                value = operand.value
                return Sum(value - 2**64 if value >= 2**63 else value)
            case ast.Name() | ast.Offset():
                base, offset = (
                    (operand.name, 0) if isinstance(operand, ast.Name) else (operand.base.name, operand.offset)
                )
                found, more = self._name(base, at, depth)
                lines |= more
                return found.plus(Sum(offset)) if offset else found
        return None

    def definition(self, name: str, at: Op) -> Op | None:
        """The one definition that reaches an instruction for sure; None where several may, as in loops."""
        everything = self.definitions.get(name, [])
        before = [op for op in everything if op.site < at.site]
        near = [op for op in before if self.stretch[op.site] == self.stretch[at.site]]
        found = near[-1] if near else before[0] if before and len(everything) == 1 else None
        return None if found is None or found.guard is not None else found


def _defined(op: Op, program: Program) -> list[str]:
    written = list(op.destinations)
    for operand in written:
        written += getattr(operand, "elements", ())
    return [program.slot_names[o.slot] for o in written if isinstance(o, Register)]


def _names(op: Op) -> set[str]:
    """The names among the sources of an instruction."""
    return {getattr(operand, "name", "") for operand in op.bound.statement.operands[1:]}


def _readable(found: Sum) -> Sum:
    """Variables by the names that their author gave them."""
    return Sum(found.constant, {local_name(text): coefficient for text, coefficient in found.terms.items()})


def _by_lane(text: str) -> bool:
    return any(name in text for name in _LANE)


def _follow(op: Op, value: Callable[[ast.Operand], Sum | None]) -> Sum | None:
    """The result of an integer instruction as a sum; None where it is none of those that make addresses."""
    words = op.bound.modifiers
    operands = op.bound.statement.operands[1:]
    if op.family == "load" and words["space"] == "param" and isinstance(operands[0], ast.Address) and operands[0].base:
        return Sum(0, {operands[0].base.name: 1})
    if not op.facts.formula or words.get("sat") or any(getattr(word, "is_float", False) for word in words.values()):
        return None
    sources = [source for operand in operands if (source := value(operand)) is not None]
    if not sources or len(sources) < len(operands):
        return None
    try:
        found: Sum = evaluate(op.facts.formula, dict(zip("abc", sources)), {"convert": lambda source: source})
    except (TypeError, KeyError):  # made with what is no part of a sum
        return None
    return found

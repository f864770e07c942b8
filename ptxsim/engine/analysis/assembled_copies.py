"""What the assembler makes of operations that copy, whatever they are called (instructions.assembled)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.analysis.product_values import with_effect
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions.assembled import flushed, kept, sign_cleared, sign_flipped

EXTREMA = ("min(a, b)", "max(a, b)")
UNDONE = ("f32", "f64", "f16", "bf16", "f16x2")  # types of which neg undoes neg
SIGNS = {"-a": sign_flipped, "abs(a)": sign_cleared}


def put_copies(program: Program) -> None:
    """Give operations the effects that ptxas gives them."""
    for block in program.blocks:
        negatives: dict[int, Register] = {}  # what registers hold the negative of
        for op in block:
            effect, source = _effect_of(op), op.sources[0] if op.sources else None
            if _is_negative(op):
                before = negatives.get(source.slot) if isinstance(source, Register) else None
                if before is not None:
                    effect, source = kept, before
            if effect is not None:
                op.definition, op.sources = with_effect(effect, op.facts), (source,)
                op.wants = {name: op.bound.modifiers.get(name) for name in op.definition.wants}
            if negatives or _is_negative(op):
                _note(op, negatives)


def _is_negative(op: Op) -> bool:
    """Whether an operation is neg of floats that another one undoes: of bf16x2, and with .ftz, it is none."""
    words = op.bound.modifiers
    return op.facts.formula == "-a" and str(words.get("type")) in UNDONE and not words.get("ftz")


def _note(op: Op, negatives: dict[int, Register]) -> None:
    """Keep which registers hold negatives after an operation."""
    for slot in writes(op):
        negatives.pop(slot, None)
        for other in [one for one, source in negatives.items() if source.slot == slot]:
            del negatives[other]
    into, source = (op.destinations or (None,))[0], (op.sources or (None,))[0]
    if _is_negative(op) and op.guard is None and op.definition.effect is not kept:
        if isinstance(into, Register) and isinstance(source, Register) and into.slot != source.slot:
            negatives[into.slot] = source


def _effect_of(op: Op) -> Callable[..., Any] | None:
    """What replaces an operation's effect; None if nothing does."""
    formula, words = op.facts.formula, op.bound.modifiers
    if formula == "select(a, b, c)":
        return kept if are_equal(op) else None
    if formula in EXTREMA and are_equal(op) and not any(words.get(name) for name in ("NaN", "abs", "xorsign")):
        type = str(words.get("type"))
        if words.get("ftz"):
            return flushed if type == "f32" else None
        return kept if type in ("f32", "f64", "f16") else None
    if op.guard is not None and formula in SIGNS and str(words.get("type")) == "f32" and not words.get("ftz"):
        return SIGNS[formula]
    return None


def are_equal(op: Op) -> bool:
    """Whether the first two operands of an operation are one register."""
    first, second, *_ = (*op.sources, None, None)
    return isinstance(first, Register) and isinstance(second, Register) and first.slot == second.slot

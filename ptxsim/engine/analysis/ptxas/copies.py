"""What the assembler makes of operations that copy, whatever they are called (instructions.assembled)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.engine.analysis.ptxas.product_values import are_equal, with_effect
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions.assembled import chosen, flushed, kept, sign_cleared, sign_flipped

EXTREMA = ("min(a, b)", "max(a, b)")
SIGNS = {"-a": sign_flipped, "abs(a)": sign_cleared}


def put_copies(program: Program) -> None:
    """Give operations the effects that ptxas gives them."""
    for op in program.ops:
        effect = _effect_of(op)
        if effect is not None:
            op.definition = with_effect(effect, op.facts)
            op.wants = {name: op.bound.modifiers.get(name) for name in op.definition.wants}


def _effect_of(op: Op) -> Callable[..., Any] | None:
    """What replaces an operation's effect; None if nothing does."""
    formula, words = op.facts.formula, op.bound.modifiers
    if formula == "select(a, b, c)":
        return chosen if are_equal(op) else None
    if formula in EXTREMA and are_equal(op) and not any(words.get(name) for name in ("NaN", "abs", "xorsign")):
        type = str(words.get("type"))
        if words.get("ftz"):
            return flushed if type == "f32" else None
        return kept if type in ("f32", "f64", "f16") else None
    if op.guard is not None and formula in SIGNS and str(words.get("type")) == "f32" and not words.get("ftz"):
        return SIGNS[formula]
    return None

"""Reciprocals of approximations, with .ftz: the assembler computes neither one after the other.

Read from the machine code of ptxas 13.0 for sm_80 to sm_120: the reciprocal of a reciprocal is what there was before, that of ex2 is ex2 of the
negative, if nothing else uses what ex2 leaves. The same holds for the divisor of div.approx, which is not followed here.
"""

from __future__ import annotations

from ptxsim.engine.analysis.def_use import DefUse, def_use
from ptxsim.engine.analysis.ptxas.product_values import slot_of, with_effect
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.instructions.assembled import exponential_of_negative, kept_operand, of_operand
from ptxsim.types import TYPES


def undo_approximations(program: Program) -> None:
    """Give reciprocals of reciprocals and of exponentials the effects that ptxas gives them."""
    made = {slot_of(op.destinations[0]) for op in program.ops if _is(op, "rcp") or _is(op, "ex2")} - {None}
    found = [op for op in program.ops if _is(op, "rcp") and slot_of(op.sources[0]) in made]
    if not found:
        return
    values = def_use(program)
    # Where nothing is stored, registers are what is wanted (snippets).
    stores = any(access.writes for op in program.ops for access in op.accesses)
    for op in found:
        before = _before(values, op)
        if (
            before is None
            or before.guard is not None
            or before.definition.effect in (of_operand, exponential_of_negative)
        ):
            continue
        if _is(before, "rcp"):
            _replace(op, of_operand, _kept(program, before))
        elif stores and values.readers[values.value(op, 0)] == [op.site]:
            _replace(op, exponential_of_negative, _kept(program, before))


def _is(op: Op, name: str) -> bool:
    """Whether an operation is an approximation of that name of f32 numbers, with .ftz."""
    words = op.bound.modifiers
    flushes = words.get("ftz") and words.get("operation") == "approx" and str(words.get("type")) == "f32"
    return words.get("name") == name and bool(flushes)


def _before(values: DefUse, op: Op) -> Op | None:
    """The only operation that makes an operation's operand, if it is an approximation."""
    definers = values.definers[values.value(op, 0)]
    found = values.program.ops[definers[0]] if len(definers) == 1 else None
    return found if found is not None and (_is(found, "rcp") or _is(found, "ex2")) else None


def _kept(program: Program, op: Op) -> Register:
    """Where an approximation leaves its operand, which may be overwritten."""
    if len(op.destinations) == 1:
        type = TYPES["f32"]
        op.destinations += (Register(len(program.slots), type, type),)
        program.slots.append(type)
        program.slot_names.append("operand a")
        op.definition = with_effect(kept_operand, op.facts)
        op.wants = _wanted(op)
    found = op.destinations[1]
    assert isinstance(found, Register)
    return found


def _replace(op: Op, effect: object, operand: Register) -> None:
    op.definition, op.sources = with_effect(effect, op.facts), (operand,)
    op.wants = _wanted(op)


def _wanted(op: Op) -> dict[str, object]:
    return {name: op.bound.modifiers.get(name) for name in op.definition.wants}

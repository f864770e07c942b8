"""The operations of a program as plain rows, and back: several times quicker than text is parsed and decoded.

Forms are told by their names, effects that the assembler has put in place of a form's own by theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxsim.engine.analysis.ptxas.product_values import effects_of, with_effect
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa import registry
from ptxsim.isa.bind import Bound
from ptxsim.isa.registry import Form

Rows = tuple[list[tuple[str, str, int]], list[list[tuple[Any, ...]]]]  # forms as `_named` has them, operations by block


def rows_of(program: Program) -> Rows:
    """Rows of all operations. Programs that run add nothing to them."""
    forms: dict[Form, int] = {}
    blocks = [[_row(op, forms.setdefault(op.bound.form, len(forms))) for op in block] for block in program.blocks]
    return [_named(form) for form in forms], blocks


def _named(form: Form) -> tuple[str, str, int]:
    """A form by its name, its definition, and its place among those that have both: that of families depends on which was read first."""
    identity = form.definition.identity
    return form.name, identity, _forms(form.name, identity).index(form)


def _forms(name: str, identity: str) -> list[Form]:
    return [form for form in registry.forms(name) if form.definition.identity == identity]


def _row(op: Op, form: int) -> tuple[Any, ...]:
    bound = op.bound
    effect = None if op.definition is bound.definition else op.definition.identity
    return (
        op.site, form, bound.modifiers, bound.operands, bound.statement, effect, op.wants, op.sources, op.destinations, op.guard,
        op.aligned, op.targets, op.call,
    )  # fmt: skip


def blocks_of(rows: Rows) -> list[list[Op]]:
    """The operations, block by block."""
    names, blocks = rows
    forms = [_forms(name, identity)[place] for name, identity, place in names]
    return [[_op(forms[row[1]], *row) for row in block] for block in blocks]


def _op(
    form: Form, site: int, _number: int, modifiers: Any, operands: Any, statement: Any, effect: str | None, *rest: Any
) -> Op:  # fmt: skip
    definition = form.definition
    if effect is not None:
        definition = next(each for each in _contracted(form) if each.identity == effect)
    wants, sources, destinations, guard, aligned, targets, call = rest
    return Op(
        site, Bound(form, modifiers, operands, statement), definition, wants, sources, destinations, guard, aligned, targets, call
    )  # fmt: skip


def _contracted(form: Form) -> Iterable[registry.Definition]:
    facts = form.definition.facts
    return (with_effect(effect, facts) for effect in effects_of(facts))

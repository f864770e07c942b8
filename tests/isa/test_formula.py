"""What an instruction computes is said beside its effect (isa.formula): the two agree."""

import numpy as np
import pytest

from ptxsim.instructions import load_families
from ptxsim.isa import registry
from ptxsim.isa.formula import evaluate, operators
from ptxsim.types import TYPES

FUNCTIONS = {
    "min": lambda *x: np.min(x, axis=0),
    "max": lambda *x: np.max(x, axis=0),
    "abs": np.abs,
    "convert": lambda x: x,
    "select": lambda x, y, chosen: np.where(chosen.astype(bool), x, y),
}
A, B, C = (np.array(row) for row in ([7, 1 << 20, 12345, 3], [5, 9, 31, 1], [1, 2, 1 << 16, 0]))


def forms(kind):
    """Notations with a formula, all of whose types may be `kind`, which copy or make numbers."""
    load_families()
    for name in registry.names():
        for form in registry.forms(name):
            types = [slot for slot in form.slots if slot.name in ("type", "dtype", "atype")]
            facts, effect = form.definition.facts, form.definition.effect
            if effect and facts.formula and types and all(kind in slot.words for slot in types):
                if (
                    "compare" not in facts.operators
                    and not form.definition.uses_machine
                    and name.split(".")[0] != "cvta"
                ):
                    yield pytest.param(form, id=form.notation)


@pytest.mark.parametrize(
    "kind, number", [("u32", np.uint32), ("b32", np.uint32), ("f32", np.float32), ("f64", np.float64)]
)
def test_a_formula_says_what_the_effect_computes(kind, number):
    found = list(forms(kind))
    assert found
    for parameter in found:
        form = parameter.values[0]
        definition = form.definition
        types = dict.fromkeys(("type", "dtype", "atype"), TYPES[kind])
        given = {**types, "rounding": "rn", "operation": "approx", **form.implies}
        wants = {name: given.get(name) for name in definition.wants}
        # Thirty-two lanes, as effects have them.
        values = {name: np.resize(row, 32).astype(number) for name, row in zip("abc", (A, B, C))}
        made = definition.effect(*(values.get(name) for name in definition.sources), **wants)
        result = made[0] if definition.carry else made
        exact = evaluate(
            definition.facts.formula,
            {n: v.astype(object) if number is np.uint32 else v for n, v in values.items()},
            FUNCTIONS,
        )
        if "/" in definition.facts.operators and number is np.uint32:
            exact = values["a"] // values["b"]
        bits = 8 * np.asarray(result).itemsize
        wanted = [int(x) % 2**bits if number is np.uint32 else x for x in exact]
        assert np.asarray(result).tolist() == pytest.approx(wanted, rel=1e-6), form.notation


@pytest.mark.parametrize(
    "formula, found",
    [("a", ()), ("a * b + c", ("+", "*")), ("-a", ("neg",)), ("min(a, b)", ("min",)), ("~a", ("~",)), ("", ())],
)
def test_operators_of_a_formula(formula, found):
    assert operators(formula) == found

"""What declarations of instructions say is taken, in whatever order families are read; what names nothing is refused."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import defaultdict

import pytest

from ptxsim.instructions import load_families
from ptxsim.isa import registry
from ptxsim.isa.match_opcode import Candidate, match_form
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.emulated import SEQUENCES
from ptxsim.types import parse_target, parse_version
from tests.isa.generate import Generator, every_form

MATRICES = """
from ptxsim.instructions import offer_families
from ptxsim.isa import registry
offer_families()
registry.forms("mma")  # reads a family that also declares forms of the others
for name in ("ldmatrix", "movmatrix"):
    assert registry.forms(name)[0].definition.effect is not None, name
"""


def test_what_is_executed_comes_first():
    load_families()
    for name in registry.names():
        executed = [form.definition.effect is not None for form in registry.forms(name)]
        assert executed == sorted(executed, reverse=True), name


def test_families_read_in_another_order():
    done = subprocess.run([sys.executable, "-c", MATRICES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wrong", [{"require": "9.9 sm_100"}, {"spaec": "global"}])
def test_what_names_no_option_and_no_slot_is_refused(wrong, monkeypatch):
    monkeypatch.setitem(registry._DECLARED, "trial", [])
    registry.declare("trial{.space}.type d, a", missing="a trial", space="shared", type="u32", **wrong)
    with pytest.raises(TypeError, match=f"neither options nor slots of the notation: {next(iter(wrong))}"):
        registry.forms("trial")


def test_what_an_effect_wants_some_form_gives():
    forms = defaultdict(list)
    for form in every_form():
        if form.definition.effect is not None:
            forms[form.definition.effect].append(form)
    for its in forms.values():
        given = {slot.name for form in its for slot in form.slots}.union(*(form.implies for form in its))
        for form in its:
            for name, kind in form.kinds.items():  # isa.check_operand.split_parts
                given |= {f"{name}_part"} if getattr(kind, "parts", "") else set()
                given |= {f"{name}_negated"} if getattr(kind, "negatable", False) else set()
        operands = {name for form in its for name in form.kinds}
        operands |= {"carry"} if any("r" in form.definition.carry for form in its) else set()
        definition = its[0].definition
        assert set(definition.wants) <= given, f"{definition.identity}: {set(definition.wants) - given}"
        assert set(definition.sources) <= operands, f"{definition.identity}: {set(definition.sources) - operands}"


def test_costs_are_rows_of_the_cycle_model():
    rows = {*UNITS, *SEQUENCES, "free", None}
    generator = Generator(parse_target("sm_100a"), parse_version("9.5"), random.Random(1))
    for form in every_form():
        cost = form.definition.facts.cost
        if not callable(cost):
            assert cost in rows, f"{form.notation}: {cost}"
            continue
        for _ in range(8):
            words = generator.words(form)
            found = match_form(form, words) if words is not None else None
            if isinstance(found, Candidate):
                asked = {**found.modifiers, **{w: found.modifiers.get(w) for w in form.definition.wants}}
                assert cost(asked) in rows, f"{form.notation}: {cost(asked)}"

"""Costs of instructions: every executed form has one that is known, or stands in the list of those whose cost is not."""

from __future__ import annotations

import numpy as np

from ptxsim import instructions
from ptxsim.isa import registry
from ptxsim.profile.lowering.emulated import SEQUENCES
from ptxsim.profile.lowering.lower import has_cost
from ptxsim.profile.model.figures import UNITS
from ptxsim.types import TYPES
from tests.profile.kernels import kernel

# Whose machine code is not known: taken for one ALU operation, and said so.
UNKNOWN = {
    "add", "sub", "mul", "fma",  # f32x2, mixed precision and three operands of Blackwell
    "cvt",  # narrow floats of Blackwell
    "alloca", "stacksave", "stackrestore", "clmad", "cnot", "createpolicy.cvt", "createpolicy.fractional", "createpolicy.range",
    "getctarank", "madc.hi", "madc.lo",
    *(f"v{name}{count}" for name in ("absdiff", "add", "sub", "min", "max", "set") for count in ("", 2, 4)),
    "vavrg2", "vavrg4", "vmad", "vshl", "vshr",
}  # fmt: skip


def modeled_forms():
    instructions.load_families()
    return [form for name in registry.names() for form in registry.forms(name) if form.definition.modeled]


def test_every_executed_form_has_a_known_cost():
    assert {form.name for form in modeled_forms() if not has_cost(form.definition)} == UNKNOWN


def test_every_declared_cost_is_a_row_of_the_model():
    for form in modeled_forms():
        cost = form.definition.facts.cost
        if cost is None:
            continue
        slots = {slot.name: [TYPES.get(word, word) for word in slot.words] for slot in form.slots}
        choices = [{}]
        for slot in ("type", "dtype", "atype", "stype"):
            choices = [{**chosen, slot: word} for chosen in choices for word in slots.get(slot, [None])]
        for chosen in choices:
            words = {slot.name: None for slot in form.slots} | dict(form.implies)
            words |= {slot: word for slot, word in chosen.items() if word is not None}
            row = cost(words) if callable(cost) else cost
            assert row is None or row in UNITS or row in SEQUENCES, form.notation


def test_an_unknown_cost_is_said():
    body = "mov.u32 %r0, %tid.x; vadd.s32.s32.s32 %r1, %r0, %r0; ld.param.u64 %d0, [place]; st.global.u32 [%d0], %r1;"
    cycles = kernel(body).launch(1, 32, [np.zeros(4, np.uint32), 0], profile=True).cycles
    (said,) = cycles.to_dict()["unknown_costs"]
    assert said.startswith("vadd.s32.s32.s32 (line ")

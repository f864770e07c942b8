"""Costs of instructions: every executed form has one that is known, or stands in the list of those whose cost is not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxsim
from ptxsim import instructions
from ptxsim.isa import registry
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.emulated import SEQUENCES
from ptxsim.profile.lowering.lower import has_cost, lower
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.machine_code import Kind
from ptxsim.session.listing import entries
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


# Nobody has measured them: as above.
UNMEASURED = ("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "clusterlaunchcontrol.")


def modeled_forms():
    instructions.load_families()
    return [form for name in registry.names() for form in registry.forms(name) if form.definition.modeled]


def is_product(form):
    """Whether the cost depends on shape and types, some of which were measured."""
    return form.definition.facts.family in ("mma", "wmma")


def test_every_executed_form_has_a_known_cost():
    unknown = {form.name for form in modeled_forms() if not is_product(form) and not has_cost(form)}
    assert {name for name in unknown if not name.startswith(UNMEASURED)} == UNKNOWN
    assert {form.name for form in modeled_forms() if form.name.startswith(UNMEASURED)} <= unknown


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


NEEDED = "st.global.b32 [%l0], %r0; st.global.b32 [%l0+4], %f0; st.global.b64 [%l0+8], %d0;"


def product_costs(product, target="sm_90a"):
    """Machine instructions of a product of two registers, and whether its cost is not known."""
    registers = ".reg .b16 %h<64>; .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .f64 %d<64>; .reg .b64 %l<4>;"
    text = f".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k() {{ {registers}\n{product}\n{NEEDED}\nret; }}"
    machine = lower(merged(ptxsim.Module.from_text(text).kernel("k").program(target)), target)
    made = [op for block in machine.blocks for op in block.ops if op.unit == "tensor"]
    return len(made), bool(machine.unknown)


def vector(letter, count):
    return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"


F16 = f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {vector('f', 4)}, {vector('r', 4)}, {vector('r', 2)}, {vector('f', 4)};"
F64 = f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {vector('d', 2)}, {{%d2}}, {{%d3}}, {vector('d', 2)};"
E4M3 = {
    shape: f"mma.sync.aligned.{shape}.row.col.f32.e4m3.e4m3.f32 {vector('f', 4)}, {vector('r', n)}, {vector('r', n // 2)}, {vector('f', 4)};"
    for shape, n in (("m16n8k16", 2), ("m16n8k32", 4))
}
S4 = f"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32 {vector('r', 4)}, {vector('r', 4)}, {vector('r', 4)}, {vector('r', 4)}, %r8, 0;"
WMMA_S4 = f"wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {vector('r', 2)}, {{%r2}}, {{%r3}}, {vector('r', 2)};"
WMMA_S8 = f"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {vector('r', 8)}, {vector('r', 2)}, {vector('r', 2)}, {vector('r', 8)};"


@pytest.mark.parametrize(
    "product, target, count, is_unknown",
    [
        (F16, "sm_90a", 1, False),
        (F64, "sm_90a", 1, False),
        (WMMA_S8, "sm_90a", 2, False),
        (E4M3["m16n8k32"], "sm_90a", 2, False),  # of halves
        (E4M3["m16n8k16"], "sm_90a", 2, True),  # not measured
        (S4, "sm_90a", 160, True),
        (WMMA_S4, "sm_90a", 2, True),
        (F16, "sm_80", 1, True),  # the row is sm_90's
        (F16, "sm_120a", 1, True),
    ],
)
def test_a_product_that_was_not_measured_is_said(product, target, count, is_unknown):
    assert product_costs(product, target) == (count, is_unknown)


def test_floats_of_eight_bits_become_halves_once():
    """ptxas 13.0: F2FP.UNPACK twice for each register of A and B, those of A once for both products, two HMMA and four FADD for each."""
    other = E4M3["m16n8k32"].replace("{%r0, %r1}, {%f0", "{%r4, %r5}, {%f0").replace("%f", "%g")
    registers = ".reg .f32 %f<8>; .reg .f32 %g<8>; .reg .b32 %r<8>; .reg .b64 %d<2>;"
    loads = "ld.param.u64 %d0, [place];" + "".join(f"ld.global.u32 %r{i}, [%d0+{4 * i}];" for i in range(6))
    loads += "".join(f"ld.global.f32 %{k}{i}, [%d0+{64 + 4 * i}];" for k in "fg" for i in range(4))
    stores = "".join(f"st.global.f32 [%d0+{64 + 4 * i}], %{k}{i};" for k in "fg" for i in range(4))
    text = f".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 place) {{ {registers}\n{loads}\n"
    text += f"{E4M3['m16n8k32']}\n{other}\n{stores}\nret; }}"
    machine = lower(merged(ptxsim.Module.from_text(text).kernel("k").program("sm_90a")), "sm_90a")
    made = [op.unit for block in machine.blocks for op in block.ops if op.kind == Kind.PLAIN]
    assert [made.count(unit) for unit in ("alu", "tensor", "fma")] == [2 * (4 + 2), 4, 8]  # the first B is a part of A


def test_the_profile_names_a_product_that_was_not_measured():
    zeros = "".join(f"mov.u32 %r{i}, 0;" for i in range(4))
    body = zeros + WMMA_S4 + "\n" + WMMA_S4 + "ld.param.u64 %d0, [place]; st.global.u32 [%d0], %r0;"
    cycles = kernel(body).launch(1, 32, [np.zeros(4, np.uint32), 0], profile=True).cycles
    (said,) = cycles.to_dict()["unknown_costs"]
    assert re.fullmatch(r"wmma\.mma\.sync\.aligned\.row\.col\.m8n8k32\.s32\.s4\.s4\.s32 \(lines \d+, \d+\)", said)


def test_forms_of_which_no_product_was_measured_are_listed_so():
    def unknown(pattern, target=None):
        return [entry["notation"] for entry in entries(pattern, target) if not entry["costed"]]

    assert not unknown("mma.m16n8k8.bf16", "sm_90a") and unknown("mma.m16n8k8.bf16", "sm_80")
    assert unknown("wmma.s4", "sm_90a") and not unknown("wmma.tf32", "sm_90a")
    assert unknown("mma.m16n8k64.e2m1")  # of sm_120

"""How far each executed instruction kind can be trusted."""

from __future__ import annotations

from ptxsim.engine.program import Program
from ptxsim.types import Target

# Targets whose results were recorded on hardware and are reproduced bit for bit.
RECORDED = ("sm_90", "sm_90a")
TENSOR_UNITS = ("tensor", "wgmma")


def fidelity(program: Program, target: Target) -> dict[str, str]:
    """`exact` where recordings of that target judge the instruction; integer and data movement are exact everywhere;
    tensor products and approximate functions of other targets are `modeled`."""
    kinds = {}
    for op in program.ops:
        name = op.bound.form.name
        depends = op.definition.unit in (*TENSOR_UNITS, "mufu")
        kinds[name] = "exact" if target.name in RECORDED or not depends else "modeled"
    return dict(sorted(kinds.items()))

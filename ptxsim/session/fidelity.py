"""How far each executed instruction kind can be trusted."""

from __future__ import annotations

from ptxsim.engine.program import Program, fact
from ptxsim.types import Target, parse_target

# Targets whose results were recorded on hardware and are reproduced bit for bit.
RECORDED = ("sm_90", "sm_90a")
# Units whose results differ between targets: tensor cores and the special-function unit.
OF_THE_TARGET = ("mma", "wgmma", "mufu")


@fact
def fidelity(program: Program, target: Target) -> dict[str, str]:
    """`exact` where recordings of that target judge the instruction, or where all targets agree; `modeled` for tensor
    products and special functions of other targets, which follow published models, and for what no recorded target has."""
    kinds: dict[str, str] = {}
    recorded = target.name in RECORDED
    for op in program.ops:
        form = op.bound.form
        known = recorded or op.definition.unit not in OF_THE_TARGET
        exact = known and any(form.requires.on(parse_target(name)) for name in RECORDED)
        if not exact or form.name not in kinds:
            kinds[form.name] = "exact" if exact else "modeled"
    return dict(sorted(kinds.items()))

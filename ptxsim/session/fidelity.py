"""How far each executed instruction kind can be trusted."""

from __future__ import annotations

from ptxsim.engine.program import Program, fact
from ptxsim.types import Target

# Targets whose results were recorded on hardware and are reproduced bit for bit.
RECORDED = ("sm_90", "sm_90a")
# Units whose results differ between targets: tensor cores and the special-function unit.
OF_THE_TARGET = ("mma", "wgmma", "mufu")
# Families that follow the manual where recordings show the GPU to differ in corners (.sat into bytes, mixed signs).
BY_THE_MANUAL = ("ptxsim.instructions.video",)


@fact
def fidelity(program: Program, target: Target) -> dict[str, str]:
    """`exact` where recordings of that target judge the instruction, or where all targets agree; `modeled` for tensor
    products and special functions of other targets, which follow published models, and for what follows the manual alone."""
    kinds = {}
    recorded = target.name in RECORDED
    for op in program.ops:
        effect = op.definition.effect
        known = recorded or op.definition.unit not in OF_THE_TARGET
        by_manual = effect is not None and effect.__module__ in BY_THE_MANUAL
        kinds[op.bound.form.name] = "exact" if known and not by_manual else "modeled"
    return dict(sorted(kinds.items()))

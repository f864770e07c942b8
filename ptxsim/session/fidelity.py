"""How far each executed instruction kind can be trusted.

exact     recordings of that target judge the form, or the manual leaves nothing open and all targets agree
modeled   what the form gives is known from published models or the assembler's lowering, not from that target's bits
bounded   within the manual's error, other bits than that target's must be expected: special functions on targets whose
          unpublished tables (they are computed with those of sm_90), and floating-point products of matrices
          under numerics="exact", which are the correctly rounded sums that no tensor core computes

Sums whose order the hardware chooses (atom and red of floats, and what races) are exact for the order that was run: the
operations are, and the order is the seed's. Of several forms of one kind the one that is trusted least counts.
"""

from __future__ import annotations

from ptxsim.diagnostic import PtxError
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.registry import by_name
from ptxsim.types import Target, parse_target

# Targets whose results were recorded on hardware and are reproduced bit for bit.
RECORDED = ("sm_90", "sm_90a")
RANKS = ("exact", "modeled", "bounded")


@fact
def fidelity(program: Program, target: Target, numerics: str = "target") -> dict[str, str]:
    """exact, modeled or bounded by instruction kind; `numerics` as the launch has it. What has no effect is left out."""
    modeled = (op for op in program.ops if op.definition.modeled)
    said = [(op.bound.form, trust) for op in modeled if (trust := _trust(op, target, numerics)) is not None]
    return {kind: max(trusts, key=RANKS.index) for kind, trusts in by_name(said).items()}


def _trust(op: Op, target: Target, numerics: str) -> str | None:
    facts = op.facts
    if facts.product is not None:
        return _of_product(op, target, numerics)
    if facts.fidelity is not None and (known := facts.fidelity(op.words, target.name in RECORDED)):
        return known
    has_it = any(op.bound.form.requires.on(parse_target(name)) for name in RECORDED)
    return "exact" if has_it else "modeled"


def _of_product(op: Op, target: Target, numerics: str) -> str | None:
    try:
        rule = op.product(target.name, numerics).rule
    except PtxError:  # a form that is not modeled there
        return None
    if numerics == "exact" and rule.form.d != "s32":
        return "bounded"
    specified = rule.algorithm in ("integer", "popcount") and not rule.form.satfinite
    return "exact" if specified or rule.evidence == "recorded" else "modeled"

"""Approximate functions: what the special-function unit computes, bit for bit.

PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions": rcp, sqrt, rsqrt, sin, cos,
lg2, ex2, tanh with .approx, div with .approx and .full.
"""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import Facts, Word, Words
from ptxsim.isa.registry import computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics import mufu
from ptxsim.types import ScalarType


def approximate(name: str, operation: str, ftz: Word, t: ScalarType, *operands: LaneValue) -> LaneValue:
    """The named form of numerics.mufu on lane values of type t."""
    form = mufu.FORMS[f"{name}.{operation}{'.ftz' if ftz else ''}.{t}"]
    return lanes.bits(form(*(lanes.bits(x, lanes.bits_type(t)) for x in operands)), t)


def fidelity(words: Words, recorded: bool) -> str | None:
    """The tables of the special-function unit are known for the recorded targets; the others' bits differ, within the manual's
    error. For the f64 forms, whose low words are zero, no error is given."""
    return None if recorded else "modeled" if words["type"].name == "f64" else "bounded"


# Where denormals are not flushed, what the special-function unit computes is scaled before and after; angles are reduced first.
_SCALED = {
    "rcp": "rcp.approx.f32", "sqrt": "scaled", "rsqrt": "scaled", "lg2": "scaled", "ex2": "scaled", "sin": "ranged", "cos": "ranged",
}  # fmt: skip


def cost(words: Words) -> str:
    if words["type"].lanes == 2:
        return "mufu.x2"
    if words["name"] == "rsqrt" and words["type"].bits == 64 and not words["ftz"]:
        return "rsqrt.f64"
    row = _SCALED.get(words["name"])
    needed = row == "ranged" or (row and not words["ftz"] and words["type"].bits == 32)
    return row if row and needed else "mufu"


FACTS = Facts(
    fidelity=fidelity, branches=lambda words: words.get("name") == "rsqrt" and words["type"].name == "f64" and not words["ftz"]
)  # fmt: skip


def quotient(a: LaneValue, b: LaneValue, *, operation: Word, ftz: bool, type: ScalarType) -> tuple[LaneValue, ...]:
    codes = (lanes.bits(x, "u32") for x in (a, b))
    factors = mufu.factors(*codes, flushed=bool(ftz), full=operation == "full")
    return approximate("div", operation, ftz, type, a, b), *(lanes.bits(x, type) for x in factors)


_QUOTIENT = Facts(fidelity=fidelity, factors=quotient)


@instruction("div.operation{.ftz}.type d, a, b", cost="div.approx.f32", operation="approx", type="f32", facts=_QUOTIENT)
@instruction(
    "div.full{.ftz}.type d, a, b", cost="div.full.f32", name="div.full", type="f32", facts=_QUOTIENT, implies={"operation": "full"}
)  # fmt: skip
@computes("a / b", folds=True)
def div(a: LaneValue, b: LaneValue, *, operation: Word, ftz: bool, type: ScalarType) -> LaneValue:
    return approximate("div", operation, ftz, type, a, b)


HALF = "7.0 sm_75"
BRAIN = "7.8 sm_90"

# name, flushing, types, since
_FORMS = (
    ("rcp", "{.ftz}", "f32", ""),
    ("rcp", ".ftz", "f64", ""),
    ("sqrt", "{.ftz}", "f32", ""),
    ("rsqrt", "{.ftz}", "f32 f64", ""),
    ("sin", "{.ftz}", "f32", ""),
    ("cos", "{.ftz}", "f32", ""),
    ("lg2", "{.ftz}", "f32", ""),
    ("ex2", "{.ftz}", "f32", ""),
    ("ex2", "", "f16 f16x2", HALF),
    ("ex2", ".ftz", "bf16 bf16x2", BRAIN),
    ("tanh", "", "f32 f16 f16x2", HALF),
    ("tanh", "", "bf16 bf16x2", BRAIN),
)

for _name, _ftz, _types, _since in _FORMS:

    @instruction(
        f"{_name}.operation{_ftz}.type d, a", cost=cost, operation="approx", type=_types, requires=_since, facts=FACTS,
        implies={"name": _name} | ({} if _ftz else {"ftz": False}),
    )  # fmt: skip
    @computes(folds=folding.approximation)
    def function(a: LaneValue, *, name: Word, operation: Word, ftz: Word, type: ScalarType) -> LaneValue:
        return approximate(name, operation, ftz, type, a)

"""The name of a matrix instruction, taken apart: family, shape, element types, modifiers.

Full opcodes and short ones are read alike (`wgmma.m64n256k16.f32.f16.f16`); which forms are legal where is the
instruction registry's business, not this file's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.layout.tables import ACCUMULATOR_TYPES, SHAPES

SCALE_TYPES = frozenset(["ue8m0", "ue4m3"])
TENSOR_MEMORY = "tcgen05"  # products on it
FAMILIES = ("mma", "wmma", "wgmma", TENSOR_MEMORY)


@dataclass(frozen=True, slots=True)
class Form:
    """A matrix instruction D = A*B + C. `kind` is the text after `kind::` (mxf8f6f4, mxf4, ...), else empty."""

    family: str
    sparse: bool
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    kind: str = ""
    scale: str = ""
    satfinite: bool = False
    rounding: str = "rn"
    popc_op: str = "and"

    @property
    def shape(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    def __str__(self) -> str:
        types = ".".join([self.d, self.a, self.b, self.c])
        return f"{self.family}{'.sp' if self.sparse else ''}.{self.shape}.{types}"


def element_types() -> set[str]:
    """The types that matrices of some instruction may have."""
    return {type for shapes in SHAPES.values() for type in shapes} | {
        c for types in ACCUMULATOR_TYPES.values() for c in types
    }


@cache
def parse_form(opcode: str) -> Form:
    """Take an opcode apart. Raises PtxError (syntax-error, or illegal-form where types are missing or ambiguous)."""
    words = opcode.strip().split(".")
    shapes = [re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word) for word in words]
    shape = next((s for s in shapes if s), None)
    if words[0] not in FAMILIES or shape is None:
        raise _error(
            f"{opcode!r} is no matrix instruction",
            f"write one of {', '.join(FAMILIES)}, a shape and types: wgmma.m64n256k16.f32.f16.f16",
        )
    m, n, k = map(int, shape.groups())
    known = element_types()
    types = [word for word in words if word in known]
    d, a, b, c = _types(opcode, words[0], types)
    kind = next((word[6:] for word in words if word.startswith("kind::")), "")
    scale = next((word for word in words if word in SCALE_TYPES), "")
    if "block_scale" in words and not scale:
        scale = "ue8m0"
    return Form(
        words[0],
        any(word.split("::")[0] == "sp" for word in words),
        m, n, k, d, a, b, c,
        kind=kind,
        scale=scale,
        satfinite="satfinite" in words,
        rounding=next((word for word in words if word in ("rn", "rz", "rm", "rp")), "rn"),
        popc_op="xor" if "xor" in words else "and",
    )  # fmt: skip


def _types(opcode: str, family: str, types: list[str]) -> list[str]:
    """d, a, b, c from the types an opcode names."""
    if len(types) == 4:
        return types
    if len(types) == 3:
        return [*types, types[0]]
    if len(types) == 2:
        if family == "wmma" and set(types) <= {"f16", "f32"}:  # .dtype.ctype, the operands being f16
            return [types[0], "f16", "f16", types[1]]
        return [types[0], types[1], types[1], types[0]]
    if len(types) == 1:
        operand = types[0]
        if operand in ("bf16", "tf32"):
            return ["f32", operand, operand, "f32"]
        if operand in ("s8", "u8", "s4", "u4", "b1"):
            return ["s32", operand, operand, "s32"]
        if operand == "f64":
            return ["f64"] * 4
        candidates = [f"{opcode.replace(operand, '')}{d}.{operand}.{operand}" for d in ("f16", "f32")]
        raise _error(f"{opcode!r} has more than one meaning", "write " + " or ".join(candidates), "illegal-form")
    raise _error(
        f"{opcode!r} names {len(types)} element types", "write the types of D, A, B and C in this order", "illegal-form"
    )


def _error(message: str, help: str, name: str = "syntax-error") -> PtxError:
    return PtxError(Finding(name, message, help=help))

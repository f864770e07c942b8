"""Which arithmetic each matrix instruction has on each target: one table, one row a case.

Algorithms (matrix.py runs them):

fused      blocks of `length` products and the accumulator, cut at 2^(emax - fraction), see fused.py
scaled     fused, with the block scales of A and B raising each product's exponent
grouped    groups of 16 exact fp4 products are the terms of one fused block
halves     8-bit floats converted to f16, two fused blocks from zero (k mod 4 below 2, then the others), then an
           ordinary add of C: how ptxas lowers fp8 mma.sync where the hardware has only fp8 wgmma or tcgen05
fma        scalar f32 fma chains in place of a tensor core instruction
fma64      one f64 fma after the other, k ascending
integer    exact sum, wrapped or clamped
popcount   population count of and / xor

Sparse forms take their kept products as the k of the same row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.numerics.forms import Form, parse_form
from ptxsim.types import parse_target


@dataclass(frozen=True, slots=True)
class Rule:
    """The arithmetic of one form on one target.

    `length` products a fused block, cut `fraction` bits below the largest exponent, which counts as `zero_exponent`
    at least. `accumulator` is what blocks are rounded to: f32 (toward zero), e8m13 (f32 with 13 fraction bits, toward
    zero) or f16 (nearest even). `c_type` is the type whose exponents C has when it enters. `evidence` is "recorded" (bits recorded from such a GPU) or "modeled".
    """

    form: Form
    target: str
    algorithm: str
    length: int
    fraction: int
    zero_exponent: int
    accumulator: str
    c_type: str
    evidence: str
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    first: int  # targets sm_first to sm_last
    last: int
    families: str
    operands: str
    shape: str  # a glob; "*k8" is every shape with k = 8
    algorithm: str
    length: int = 0
    fraction: int = 0
    zero: tuple[int, int] = (0, 0)  # zero exponent for f32 and for f16 accumulators
    float32: str = "f32"  # how an f32 accumulator is rounded
    evidence: str = "modeled"
    source: str = ""
    sparse: bool | None = None  # None: dense and sparse alike
    widens: bool = (
        True  # f16 C with f32 D becomes an f32 first (ptxas emits conversions); else the unit takes it as it is
    )
    kind: str = ""


VOLTA, AMPERE, HOPPER = (-131, -19), (-132, -20), (-133, -21)
GROUPED = (-139, -139)
FP8 = "e4m3 e5m2"
FP864 = "e4m3 e5m2 e3m2 e2m3 e2m1"
H200 = "golden vectors recorded on an H200"
MATLAB = "dot.npz: north-numerical-computing/MATLAB-tensor-core"
MMASIM = "microsoft/MMA-Sim 2.1.1"
PTXAS = "machine code of ptxas 13.0"

AMPERES = (80, 86, 89)  # targets of the GPUs that one block was recorded on

# The first row that fits counts. Recorded is what a target's own recordings judge: a block of eight products on an A100
# says nothing certain of two that follow each other.
TABLE = [
    # Block-scaled forms: MMA-Sim's ST-FDPA and GST-FDPA.
    Row(100, 129, "mma tcgen05", FP864, "*", "scaled", 32, 25, HOPPER, source=MMASIM, kind="mxf8f6f4"),
    Row(100, 129, "mma tcgen05", "e2m1", "*", "grouped", 64, 35, GROUPED, source=MMASIM, kind="mxf4"),
    Row(100, 129, "mma tcgen05", "e2m1", "*", "grouped", 64, 35, GROUPED, source=MMASIM, kind="mxf4nvf4"),
    # f16 on the 8x8x4 instruction: the Volta unit, later scalar code.
    Row(70, 70, "mma", "f16", "m8n8k4", "fused", 4, 23, VOLTA, evidence="recorded", source=MATLAB, widens=False),
    Row(71, 79, "mma", "f16", "m8n8k4", "fused", 4, 23, VOLTA, source=MMASIM, widens=False),
    Row(90, 90, "mma", "f16", "m8n8k4", "fma", evidence="recorded", source=f"{PTXAS}; {H200}"),
    Row(80, 129, "mma", "f16", "m8n8k4", "fma", source=PTXAS),
    # Half precision.
    Row(70, 72, "wmma", "f16", "*", "fused", 4, 23, VOLTA, source=MMASIM, widens=False),
    Row(75, 75, "mma wmma", "f16", "*", "fused", 8, 24, AMPERE, source=MMASIM),
    *(Row(n, n, "mma", "f16 bf16", "*k8", "fused", 8, 24, AMPERE, evidence="recorded", source=MATLAB) for n in AMPERES),
    Row(80, 89, "mma wmma", "f16 bf16", "*", "fused", 8, 24, AMPERE, source=MMASIM),
    Row(90, 90, "mma wmma wgmma", "f16 bf16", "*", "fused", 16, 25, HOPPER, evidence="recorded", source=H200),
    Row(100, 100, "mma", "f16 bf16", "*k16", "fused", 16, 25, HOPPER, evidence="recorded", source=MATLAB, sparse=False),
    Row(100, 129, "mma wmma tcgen05", "f16 bf16", "*", "fused", 16, 25, HOPPER, source=MMASIM),
    # tf32. wmma m16n16k8 is two chained steps of 4 everywhere.
    *(Row(n, n, "mma", "tf32", "*k4", "fused", 4, 24, AMPERE, evidence="recorded", source=MATLAB) for n in AMPERES),
    Row(80, 89, "mma wmma", "tf32", "*", "fused", 4, 24, AMPERE, source=MMASIM),
    Row(90, 90, "wmma", "tf32", "*", "fused", 4, 25, HOPPER, evidence="recorded", source=H200),
    Row(90, 90, "mma wgmma", "tf32", "*", "fused", 8, 25, HOPPER, evidence="recorded", source=H200),
    Row(100, 129, "wmma", "tf32", "*", "fused", 4, 25, HOPPER, source=PTXAS),
    Row(100, 100, "mma", "tf32", "*k4", "fused", 8, 25, HOPPER, evidence="recorded", source=MATLAB),
    Row(100, 129, "mma tcgen05", "tf32", "*", "fused", 8, 25, HOPPER, source=MMASIM),
    # 8-bit floats: tensor core units on sm_89, in wgmma, in tcgen05 and on sm_120; f16 in mma.sync between them.
    *(Row(89, 89, "mma", t, "*k32", "fused", 16, 13, AMPERE, "e8m13", "recorded", MATLAB, False) for t in FP8.split()),
    Row(89, 89, "mma", FP8, "*", "fused", 16, 13, AMPERE, "e8m13", source=MMASIM),
    Row(90, 90, "wgmma", FP8, "*", "fused", 32, 13, HOPPER, "e8m13", "recorded", H200),
    Row(90, 90, "mma", FP8, "*", "halves", 16, 25, HOPPER, evidence="recorded", source=H200),
    *(
        Row(100, 100, "mma", t, "*k32", "halves", 16, 25, HOPPER, evidence="recorded", source=MATLAB, sparse=False)
        for t in FP8.split()
    ),
    Row(100, 119, "mma", FP8, "*", "halves", 16, 25, HOPPER, source=PTXAS),
    Row(120, 129, "mma", FP864, "*", "fused", 32, 25, HOPPER, source=MMASIM),
    Row(100, 119, "tcgen05", FP864, "*", "fused", 32, 25, HOPPER, source=MMASIM),
    # Double precision and integers.
    Row(90, 90, "mma wmma", "f64", "*", "fma64", evidence="recorded", source=H200),
    Row(80, 129, "mma wmma", "f64", "*", "fma64", source=MMASIM),
    Row(90, 90, "mma wmma wgmma", "s8 u8 s4 u4", "*", "integer", evidence="recorded", source=H200),
    Row(72, 129, "mma wmma tcgen05", "s8 u8 s4 u4", "*", "integer", source="PTX ISA"),
    Row(90, 90, "mma wmma wgmma", "b1", "*", "popcount", evidence="recorded", source=H200),
    Row(75, 129, "mma wmma", "b1", "*", "popcount", source="PTX ISA"),
]


@cache
def find(form: Form | str, target: str = "sm_90a") -> Rule:
    """The arithmetic of a form (a Form or an opcode) on a target.

    Raises PtxError: not-modeled where the table has no row, syntax-error or illegal-form for an unreadable opcode.
    """
    if isinstance(form, str):
        form = parse_form(form)
    number = parse_target(target).number
    for row in TABLE:
        if row.first <= number <= row.last and _fits(row, form):
            narrow = form.d == form.c == "f16"  # f32 C with f16 D accumulates in f32 and converts at the end
            step = form.k // (2 if form.sparse else 1) // (2 if row.algorithm == "halves" else 1)
            return Rule(
                form, target, row.algorithm, min(row.length, step), row.fraction,
                row.zero[1] if narrow else row.zero[0], "f16" if narrow else row.float32,
                form.c if narrow or not row.widens else "f32", row.evidence, row.source,
            )  # fmt: skip
    raise PtxError(
        Finding("not-modeled", f"the arithmetic of {form} on {target} is not known", help="see parameters.TABLE")
    )


def _fits(row: Row, form: Form) -> bool:
    operands = row.operands.split()
    kind = form.kind if form.kind.startswith("mx") else ""
    return (
        form.family in row.families.split()
        and form.a in operands
        and form.b in operands
        and row.sparse in (None, form.sparse)
        and row.kind == kind
        and fnmatchcase(form.shape, row.shape)
    )

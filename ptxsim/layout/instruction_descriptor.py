"""The 32-bit instruction descriptor of products on tensor memory. PTX ISA, "TensorCore 5th Generation Instructions: Instruction descriptor"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

Fields = tuple[tuple[str, int, int], ...]  # name, lowest bit, bits

_COMMON: Fields = (
    ("selector", 0, 2), ("sparse", 2, 1), ("a", 7, 3), ("b", 10, 3), ("negate_a", 13, 1), ("negate_b", 14, 1),
    ("transpose_a", 15, 1), ("transpose_b", 16, 1), ("n", 17, 6), ("m", 24, 5),
)  # fmt: skip
PLAIN: Fields = (*_COMMON, ("saturate", 3, 1), ("d", 4, 2), ("shift", 30, 2))
SCALED: Fields = (*_COMMON, ("scale_b", 4, 2), ("scale", 23, 1), ("scale_a", 29, 2), ("k96", 31, 1))

_FP864 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_UE8M0, _EITHER = {1: "ue8m0"}, {0: "ue4m3", 1: "ue8m0"}


@dataclass(frozen=True)
class Kind:
    """A kind of products: the numbers of the types of A and B, D and the scales, and k of a dense product."""

    factors: Mapping[int, str]
    d: Mapping[int, str]
    k: int
    scales: Mapping[int, str] | None = None

    @property
    def fields(self) -> Fields:
        return PLAIN if self.scales is None else SCALED


KINDS = {
    "f16": Kind({0: "f16", 1: "bf16"}, {0: "f16", 1: "f32"}, 16),
    "tf32": Kind({2: "tf32"}, {1: "f32"}, 8),
    "f8f6f4": Kind(_FP864, {0: "f16", 1: "f32"}, 32),
    "i8": Kind({0: "u8", 1: "s8"}, {2: "s32"}, 32),
    "mxf8f6f4": Kind(_FP864, {}, 32, _UE8M0),
    "mxf4": Kind({1: "e2m1"}, {}, 64, _UE8M0),
    "mxf4nvf4": Kind({1: "e2m1"}, {}, 64, _EITHER),
}


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """What a product is. Types by name; m and n as numbers of rows and columns; k of the whole instruction.

    `selector` chooses metadata of a sparse product, `scale_a` and `scale_b` the byte of the scales; `shift`: log2 of the most
    rows that .ws shifts by, over 4 (0: none). `reserved` are bits that no field has.
    """

    kind: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    sparse: bool = False
    selector: int = 0
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    shift: int = 0
    scale: str = ""
    scale_a: int = 0
    scale_b: int = 0
    reserved: int = 0

    @property
    def values(self) -> int:
        """Elements of a row of A that are stored."""
        return self.k // 2 if self.sparse else self.k

    def encode(self) -> int:
        """The 32-bit value."""
        row = KINDS[self.kind]

        def code(names: Mapping[int, str] | None, name: str) -> int:
            return next((number for number, known in (names or {}).items() if known == name), 0)

        raw = {
            "a": code(row.factors, self.a), "b": code(row.factors, self.b), "d": code(row.d, self.d),
            "scale": code(row.scales, self.scale), "m": self.m >> 4, "n": self.n >> 3,
        }  # fmt: skip
        return self.reserved | sum(int(raw.get(name, getattr(self, name, 0))) << low for name, low, _ in row.fields)


class NotModeled(str):
    """Why a descriptor that a GPU takes is not modeled."""


@cache
def decode(value: int, kind: str) -> InstructionDescriptor | str:
    """The descriptor that a 32-bit value is for a kind (f16, tf32, ...), or what is wrong with it."""
    row = KINDS[kind]
    raw = {name: value >> low & (1 << bits) - 1 for name, low, bits in row.fields}
    reserved = value & 0xFFFFFFFF & ~sum(((1 << bits) - 1) << low for _, low, bits in row.fields)
    for name in "ab":
        if raw[name] not in row.factors:
            legal = ", ".join(f"{code} ({t})" for code, t in row.factors.items())
            return f"the type of {name.upper()} is {raw[name]}; kind::{kind} has {legal}"
    if row.scales is None and raw["d"] not in row.d:
        legal = ", ".join(f"{code} ({t})" for code, t in row.d.items())
        return f"the type of D is {raw['d']}; kind::{kind} has {legal}"
    if row.scales is not None and raw["scale"] not in row.scales:
        return f"the type of the scales is {raw['scale']}; kind::{kind} has 1 (ue8m0)"
    if raw.get("k96"):
        return NotModeled("bit 31 asks for K = 96, which sm_103 has: where its scales stand is not known")
    sparse = bool(raw["sparse"])
    return InstructionDescriptor(
        kind, raw["m"] << 4, raw["n"] << 3, row.k * (2 if sparse else 1),
        row.d[raw["d"]] if row.scales is None else "f32", row.factors[raw["a"]], row.factors[raw["b"]], sparse,
        raw["selector"], bool(raw.get("saturate")), bool(raw["negate_a"]), bool(raw["negate_b"]),
        bool(raw["transpose_a"]), bool(raw["transpose_b"]), raw.get("shift", 0),
        "" if row.scales is None else row.scales[raw["scale"]], raw.get("scale_a", 0), raw.get("scale_b", 0), reserved,
    )  # fmt: skip


def shape_problem(words: InstructionDescriptor, ctas: int, ws: bool = False) -> str | None:
    """Why no product of `ctas` CTAs (of .ws: weight-stationary) has these M and N, or None."""
    rows, columns = legal_shapes(words, ctas, ws)
    if words.m in rows and words.n in columns:
        return None
    step = columns[-1] - columns[-2]
    some = [str(n) for n in columns if len(columns) < 4 or n % step]
    ns = ", ".join(some) + ("" if len(columns) < 4 else f"{' or ' if some else ''}a multiple of {step} up to 256")
    return f"there is no product of M = {words.m} and N = {words.n}: M is {' or '.join(map(str, rows))} and N {ns}"


def legal_shapes(words: InstructionDescriptor, ctas: int, ws: bool) -> tuple[Sequence[int], Sequence[int]]:
    """The values of M, and those of N for the M of a descriptor. PTX ISA, "Matrix Shape"."""
    integers = words.kind == "i8"
    if ws:
        return (32, 64, 128), (64, 128) if words.sparse else (64, 128, 256)
    if ctas == 2:
        step = 32 if integers else 16
        return (256,) if words.scale and words.sparse else (128, 256), range(step, 257, step)
    if words.scale:
        return (128,), range(8, 257, 8)
    return (64, 128), (8, 24, *range(16, 257, 16)) if integers else range(8, 257, 8)


def field_problem(words: InstructionDescriptor, blocks: int = 0) -> str | None:
    """What is wrong with the other fields, in a product whose rows have so many block scales, or None."""
    if words.reserved:
        return f"bits {words.reserved:#x} are reserved, and must be 0"
    if words.saturate and words.kind != "i8":
        return f"only kind::i8 saturates; bit 3 must be 0 in kind::{words.kind}"
    if words.kind == "i8" and (words.negate_a or words.negate_b):
        return "kind::i8 negates nothing; bits 13 and 14 must be 0"
    for name, first in (("A", words.scale_a), ("B", words.scale_b)):
        if blocks and first % blocks:
            starts = " or ".join(map(str, range(0, 4, blocks)))
            return f"the scales of {name} begin at byte {first}; {blocks} of a row begin at {starts}"
    return None

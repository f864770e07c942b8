"""Scalar types, state spaces, targets and versions of PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

TypeKind = Literal["bits", "unsigned", "signed", "float", "predicate", "packed", "opaque"]


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type as an instruction or a register names it.

    `bits` is the width in a register or in memory; a packed type such as f16x2 has `element` and `lanes`.
    For floats: `exponent` and `mantissa` field widths and `bias`; `finite` floats have no infinity.
    """

    name: str
    kind: TypeKind
    bits: int
    element: str | None = None
    lanes: int = 1
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    finite: bool = False

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_signed(self) -> bool:
        return self.kind == "signed"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number of an integer type."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.is_signed else (0, (1 << self.bits) - 1)

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    def __str__(self) -> str:
        return self.name


def _float(name: str, bits: int, exponent: int, mantissa: int, bias: int, finite: bool = False) -> ScalarType:
    return ScalarType(name, "float", bits, exponent=exponent, mantissa=mantissa, bias=bias, finite=finite)


# Bits and lanes of packed types, and the types of their elements; those of six bits lie in bytes.
_PACKED = (
    (64, 2, "f32"), (32, 2, "f16 bf16 u16 s16"), (32, 4, "u8 s8 e4m3 e5m2 e3m2 e2m3 ue8m0"),
    (16, 2, "e4m3 e5m2 e3m2 e2m3 ue8m0"), (16, 4, "e2m1"), (8, 2, "e2m1"),
)  # fmt: skip

# PTX ISA, "Fundamental Types", "Alternate Floating-Point Data Formats", "Packed Data Types".
TYPES: dict[str, ScalarType] = {
    t.name: t
    for t in [
        ScalarType("pred", "predicate", 1),
        *(ScalarType(f"b{n}", "bits", n) for n in (1, 4, 8, 16, 32, 64, 128)),
        *(ScalarType(f"u{n}", "unsigned", n) for n in (4, 8, 16, 32, 64)),
        *(ScalarType(f"s{n}", "signed", n) for n in (4, 8, 16, 32, 64)),
        _float("f16", 16, 5, 10, 15),
        _float("bf16", 16, 8, 7, 127),
        _float("tf32", 32, 8, 10, 127),
        _float("f32", 32, 8, 23, 127),
        _float("f64", 64, 11, 52, 1023),
        _float("e4m3", 8, 4, 3, 7, finite=True),
        _float("e5m2", 8, 5, 2, 15),
        _float("e3m2", 6, 3, 2, 3, finite=True),
        _float("e2m3", 6, 2, 3, 1, finite=True),
        _float("e2m1", 4, 2, 1, 1, finite=True),
        _float("ue8m0", 8, 8, 0, 127, finite=True),
        _float("ue4m3", 8, 4, 3, 7, finite=True),
        *(
            ScalarType(f"{element}x{lanes}", "packed", bits, element, lanes)
            for bits, lanes, elements in _PACKED
            for element in elements.split()
        ),
        ScalarType("s2f6x2", "packed", 16, "s8", 2),
        ScalarType("e2m1p4x4", "packed", 32, "e2m1", 4),  # each in the low half of a byte
        *(ScalarType(name, "opaque", 64) for name in ("texref", "samplerref", "surfref")),
    ]
}

# PTX type -> dtype name; names that numpy does not know are those of ml_dtypes. Untyped bits are unsigned integers.
DTYPES: dict[str, str] = {
    "pred": "bool", "b1": "bool",
    "b4": "uint4", "b8": "uint8", "b16": "uint16", "b32": "uint32", "b64": "uint64",
    "u4": "uint4", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "s4": "int4", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32", "f64": "float64",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "ue8m0": "float8_e8m0fnu", "ue4m3": "float8_e4m3fn",
    "e3m2": "float6_e3m2fn", "e2m3": "float6_e2m3fn", "e2m1": "float4_e2m1fn",
    "f16x2": "uint32", "bf16x2": "uint32", "e4m3x2": "uint16", "e5m2x2": "uint16", "e4m3x4": "uint32",
    "e5m2x4": "uint32", "u16x2": "uint32", "s16x2": "uint32", "u8x4": "uint32", "s8x4": "uint32", "f32x2": "uint64",
}  # fmt: skip

Version = tuple[int, int]


def parse_version(text: str) -> Version:
    """`"8.6"` as (8, 6). Raises ValueError."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A GPU architecture: sm_90a has number 90 and suffix "a" (architecture-specific); "f" is family-specific."""

    number: int
    suffix: str = ""

    @property
    def name(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    def __str__(self) -> str:
        return self.name

    @property
    def family(self) -> int:
        """Targets with equal family share family-specific features: 100 and 103 are family 10."""
        return self.number // 10

    def meets(self, requirement: str) -> bool:
        """Whether this target has a feature that `requirement` names.

        "sm_80": this and every later target. "sm_90a": exactly that one. "sm_100f": the same family from that
        number on, with suffix f or a.
        """
        need = parse_target(requirement)
        if need.suffix == "":
            return self.number >= need.number
        if need.suffix == "a":
            return self == need
        return self.suffix in ("f", "a") and self.family == need.family and self.number >= need.number


# Every version there is: the last minor number of each major one (PTX ISA, "Release Notes"; `ptxas --list-version`).
_LAST_MINOR = {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 5}
VERSIONS: tuple[Version, ...] = tuple((major, n) for major, last in _LAST_MINOR.items() for n in range(last + 1))
NEWEST: Version = VERSIONS[-1]

# Every target and the first .version that knows it (PTX ISA, "Release Notes"; checked against ptxas).
TARGETS: dict[str, Version] = {
    "sm_50": (4, 0), "sm_52": (4, 1), "sm_53": (4, 2),
    "sm_60": (5, 0), "sm_61": (5, 0), "sm_62": (5, 0),
    "sm_70": (6, 0), "sm_72": (6, 1), "sm_75": (6, 3), "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4), "sm_88": (9, 0),
    "sm_89": (7, 8), "sm_90": (7, 8), "sm_90a": (8, 0),
    "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8),
    "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8),
    "sm_107": (9, 4), "sm_107a": (9, 4), "sm_107f": (9, 4), "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0),
    "sm_120": (8, 7), "sm_120a": (8, 7), "sm_120f": (8, 8), "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip


@cache
def parse_target(text: str) -> Target:
    """`"sm_90a"` as a Target. Raises ValueError where the text is no target name."""
    match = re.fullmatch(r"(?:sm|compute)_(\d+)([af]?)", text)
    if not match:
        raise ValueError(f"{text!r} is no target; targets are written sm_90a, sm_80, ...")
    return Target(int(match[1]), match[2])

"""Moves, and packing registers into a wider one. PTX ISA, "Data Movement and Conversion Instructions": mov."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Facts, Word
from ptxsim.isa.operand import Either, Pred, Reg, Value, Vec
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import TYPES, ScalarType

COPIES = Facts(copies=True)


@instruction(
    "mov.type d, a", cost="free", facts=COPIES, type="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 b128@8.3:sm_70"
)
@instruction(
    "mov.pred d, a",
    cost="free",
    facts=COPIES,
    operands={"d": Pred(), "a": Either((Pred(negatable=True, immediate=True), Value("pred")))},
)
@computes("a", folds=True)
def move(a: LaneValue) -> LaneValue:
    return a


@computes(folds=True)
def fill(a: LaneValue, *, count: Word) -> LaneValue:
    """One value in every element of a vector."""
    return [a] * count


_NARROW, _WIDE = "b16 b32 u16 u32 s16 s32 f32", "b64 u64 s64 f64"
for _vector, _count, _types in (("v2", 2, f"{_NARROW} {_WIDE}"), ("v4", 4, _NARROW)):
    _options: Options = {"vec": _vector, "type": _types, "implies": {"count": _count}}
    _registers = Vec(_count, Reg("type", sink=True))
    instruction(
        "mov.vec.type d, a",
        cost="free",
        facts=COPIES,
        operands={"d": _registers, "a": Vec(_count, Value("type"))},
        **_options,
    )(move)
    instruction("mov.vec.type d, a", cost="free", facts=COPIES, operands={"d": _registers}, **_options)(fill)


@computes(folds=True)
def pack(a: LaneValue, *, type: ScalarType) -> LaneValue:
    """Elements into one word, the first lowest; b128 words are lists of two b64."""
    if type.bits == 128:
        per_word = len(a) // 2
        return [pack(a[:per_word], type=TYPES["b64"]), pack(a[per_word:], type=TYPES["b64"])]
    step = type.bits // len(a)
    result = lanes.cast(a[0], type)
    for i, element in enumerate(a[1:], 1):
        result = result | lanes.cast(element, type) << i * step
    return result


@computes(folds=True)
def unpack(a: LaneValue, *, type: ScalarType, count: Word) -> LaneValue:
    """A word into `count` elements, the lowest first."""
    if type.bits == 128:
        return [element for word in a for element in unpack(word, type=TYPES["b64"], count=count // 2)]
    step = type.bits // count
    return [lanes.cast(a >> i * step, TYPES[f"b{step}"]) for i in range(count)]


for _type, _counts in {"b16": (2,), "b32": (2, 4), "b64": (2, 4), "b128": (2, 4)}.items():
    for _count in _counts:
        _element = f"b{TYPES[_type].bits // _count}"
        _options = {"implies": {"count": _count}, "type": _type + ("@8.3:sm_70" if _type == "b128" else "")}
        instruction(
            "mov.type d, a", cost="free", facts=COPIES, operands={"a": Vec(_count, Value(_element))}, **_options
        )(pack)
        instruction(
            "mov.type d, a",
            cost="free",
            facts=COPIES,
            operands={"d": Vec(_count, Reg(_element, sink=True))},
            **_options,
        )(unpack)

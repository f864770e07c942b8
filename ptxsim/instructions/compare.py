"""Comparison. PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison Instructions": setp, set."""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics.scalar import flush, wide
from ptxsim.types import TYPES, ScalarType

EQUALITY = "eq ne"
ORDER = "eq ne lt le gt ge"
UNSIGNED = f"{ORDER} lo ls hi hs"
FLOATING = f"{ORDER} equ neu ltu leu gtu geu num nan"
_BOOL = "and or xor"
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def relation(a: LaneValue, b: LaneValue, cmp: str) -> LaneValue:
    """The mask of a cmp b; an operator with u after it also holds where an operand is NaN."""
    cmp = _UNSIGNED_NAMES.get(cmp, cmp)
    match cmp:
        case "num":
            return (a == a) & (b == b)
        case "nan":
            return (a != a) | (b != b)
        case "ne":  # of floats: false where an operand is NaN
            return (a < b) | (a > b)
        case "neu":
            return a != b
        case "equ" | "ltu" | "leu" | "gtu" | "geu":
            return relation(a, b, cmp[:2]) | relation(a, b, "nan")
        case "eq":
            return a == b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
    return a >= b


def compare(a: LaneValue, b: LaneValue, cmp: Word, t: ScalarType, ftz: Word) -> LaneValue:
    if t.is_float:
        if ftz:
            a, b = flush(a, t), flush(b, t)
        a, b = wide(a, t), wide(b, t)
    elif cmp == "ne":
        return a != b
    return relation(a, b, cmp)


def combine(test: Any, c: LaneValue, word: LaneValue) -> LaneValue:
    """`test` and, or, xor `c`; only `test` if there is no word."""
    if word is None:
        return test
    return test & c if word == "and" else test | c if word == "or" else test ^ c


def no_flush_of_bf16(modifiers: Words) -> Any:
    types = (modifiers.get(slot) for slot in ("type", "dtype", "stype"))
    if modifiers.get("ftz") and any(t and t.name.startswith("bf16") for t in types):
        return ".ftz does not go with .bf16"
    return None


_ROWS = (
    (EQUALITY, "", "b16 b32 b64"),
    (UNSIGNED, "", "u16 u32 u64"),
    (ORDER, "", "s16 s32 s64"),
    (FLOATING, "{.ftz}", "f32"),
    (FLOATING, "", "f64"),
)
_DESTINATIONS: Kinds = {"d": Pred(sink=True), "p": Pred(sink=True)}
_CONDITION: Kinds = {"c": Pred(negatable=True, immediate=True)}


# Beside bf16 the condition is no literal.
_CONDITION_OF_BRAIN: Kinds = {"c": Pred(negatable=True)}
_BRAIN = "7.8 sm_90"


def setp_cost(words: Words) -> str | None:
    return "dsetp" if words["type"].name == "f64" else by_width("alu", "predicate64")(words)


def set_cost(words: Words) -> str | None:
    """Floats of any width are compared by one instruction, which makes the result too."""
    return "alu" if words["stype"].is_float or words["stype"].lanes > 1 else by_width("set", "add.64", "stype")(words)


def declare_setp(effect: Any, destinations: str, rows: Any) -> None:
    for operators, ftz, types in rows:
        condition = _CONDITION_OF_BRAIN if types.startswith("bf16") else _CONDITION
        options: Options = {"cmp": operators, "type": types, "rules": (no_flush_of_bf16,), "cost": setp_cost}
        instruction(f"setp.cmp{ftz}.type {destinations}, a, b", operands=_DESTINATIONS, **options)(effect)
        instruction(
            f"setp.cmp.boolop{ftz}.type {destinations}, a, b, c", operands=_DESTINATIONS | condition, boolop=_BOOL, **options
        )(effect)  # fmt: skip


@computes("compare(a, b)", folds=True)
def set_predicate(
    a: LaneValue, b: LaneValue, c: LaneValue, *, cmp: Word, boolop: Word, type: ScalarType, ftz: Word
) -> LaneValue:
    test = compare(a, b, cmp, type, ftz)
    return combine(test, c, boolop), combine(~test, c, boolop)


@computes("compare(a, b)")
def set_one_predicate(
    a: LaneValue, b: LaneValue, c: LaneValue, *, cmp: Word, boolop: Word, type: ScalarType, ftz: Word
) -> LaneValue:
    """Halves have one destination only."""
    return combine(compare(a, b, cmp, type, ftz), c, boolop)


@computes("compare(a, b)")
def set_predicate_pair(
    a: LaneValue, b: LaneValue, c: LaneValue, *, cmp: Word, boolop: Word, type: ScalarType, ftz: Word
) -> LaneValue:
    element = TYPES[str(type.element)]
    low, high = (
        compare(x, y, cmp, element, ftz) for x, y in zip(lanes.split(a, type), lanes.split(b, type), strict=True)
    )
    return combine(low, c, boolop), combine(high, c, boolop)


declare_setp(set_predicate, "d{|p}", _ROWS)
declare_setp(set_one_predicate, "d", ((FLOATING, "{.ftz}", "f16"), (FLOATING, "", "bf16@7.8:sm_90")))
declare_setp(set_predicate_pair, "d{|p}", ((FLOATING, "{.ftz}", "f16x2"), (FLOATING, "", "bf16x2@7.8:sm_90")))


ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def truth(test: Any, t: ScalarType) -> LaneValue:
    """True and false as values of the type t: 1.0 for floats, all ones for integers."""
    if t.is_float:
        word = lanes.cast(test, lanes.bits_type(t))
        return lanes.bits(word * ONE[t.name], t)
    word = lanes.cast(test, t)
    return ~word + 1


_WORDS = "u32 s32 f32 f16"
# operators, flushing, source types, result types, since
_SET_ROWS = (
    (EQUALITY, "", "b16 b32 b64", _WORDS, ""),
    (UNSIGNED, "", "u16 u32 u64", _WORDS, ""),
    (ORDER, "", "s16 s32 s64", _WORDS, ""),
    (FLOATING, "{.ftz}", "f32", _WORDS, ""),
    (FLOATING, "", "f64", _WORDS, ""),
    (FLOATING, "{.ftz}", "f16", "f16 u16@6.5 s16@6.5 u32@6.5 s32@6.5", ""),
    (EQUALITY, "", "b16 b32 b64", "bf16", _BRAIN),
    (UNSIGNED, "", "u16 u32 u64", "bf16", _BRAIN),
    (ORDER, "", "s16 s32 s64", "bf16", _BRAIN),
    (FLOATING, "", "f32 f64 f16", "bf16", _BRAIN),
    (FLOATING, "", "bf16", "bf16 u16 s16 u32 s32", _BRAIN),
    (FLOATING, "{.ftz}", "f16x2", "f16x2 u32@6.5 s32@6.5", ""),
    (FLOATING, "", "bf16x2", "bf16x2 u32 s32", _BRAIN),
)


@computes(folds=folding.comparison)
def set_word(
    a: LaneValue, b: LaneValue, c: LaneValue, *, cmp: Word, boolop: Word, dtype: ScalarType, stype: ScalarType,
    ftz: Word,
) -> LaneValue:  # fmt: skip
    if stype.lanes == 1:
        return truth(combine(compare(a, b, cmp, stype, ftz), c, boolop), dtype)
    element = TYPES[str(stype.element)]
    value = element if dtype.lanes == 2 else TYPES["u16"]
    columns = zip(lanes.split(a, stype), lanes.split(b, stype), strict=True)
    values = [truth(combine(compare(x, y, cmp, element, ftz), c, boolop), value) for x, y in columns]
    return lanes.bits(lanes.join(values, stype if dtype.lanes == 2 else TYPES["u16x2"]), dtype)


_SET_KINDS: Kinds = {"d": Reg("dtype"), "a": Value("stype"), "b": Value("stype")}
for _operators, _ftz, _sources, _results, _since in _SET_ROWS:
    _options: Options = {
        "cmp": _operators, "stype": _sources, "dtype": _results, "requires": _since, "rules": (no_flush_of_bf16,),
        "cost": set_cost,
    }  # fmt: skip
    _condition = _CONDITION_OF_BRAIN if _since == _BRAIN else _CONDITION
    instruction(f"set.cmp{_ftz}.dtype.stype d, a, b", operands=_SET_KINDS, **_options)(set_word)
    instruction(
        f"set.cmp.boolop{_ftz}.dtype.stype d, a, b, c", boolop=_BOOL, operands=_SET_KINDS | _condition, **_options
    )(set_word)

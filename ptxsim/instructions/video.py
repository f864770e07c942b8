"""Video instructions: arithmetic on bytes and halves of registers, one at a time or two and four side by side.

PTX ISA, "Video Instructions": vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset and their 2 and 4 forms.
All of it is done on 64-bit numbers, so nothing is lost before the saturation that an instruction asks for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptxsim import lanes
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.types import TYPES, ScalarType

_PART = "b[0-3]|h[01]"
_WORDS = "u32 s32"
_THIRD = "add min max"


def field(word: LaneValue, part: str | None, t: ScalarType) -> LaneValue:
    """A byte (b0..b3), a half (h0, h1) or the whole of a register, extended by the signedness of t, in s64."""
    width, index = (32, 0) if part is None else (8 if part[0] == "b" else 16, int(part[1:]))
    typed = lanes.bits(word, t) << 32 - width * (index + 1) if part else lanes.bits(word, t)
    return lanes.cast(typed >> 32 - width, "s64")


def average(x: LaneValue, y: LaneValue) -> Any:
    """Half of the sum, rounded up, and down where the sum is negative."""
    total = x + y
    return total + lanes.cast(total >= 0, "s64") >> 1


OPERATIONS: dict[str, Operation] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "absdiff": lambda x, y: lanes.absolute(x - y),
    "min": lanes.minimum,
    "max": lanes.maximum,
    "avrg": average,
    "eq": lambda x, y: lanes.cast(x == y, "s64"),
    "ne": lambda x, y: lanes.cast(x != y, "s64"),
    "lt": lambda x, y: lanes.cast(x < y, "s64"),
    "le": lambda x, y: lanes.cast(x <= y, "s64"),
    "gt": lambda x, y: lanes.cast(x > y, "s64"),
    "ge": lambda x, y: lanes.cast(x >= y, "s64"),
}


def limits(width: int, t: ScalarType) -> tuple[int, int]:
    """The least and the greatest number of `width` bits by the signedness of t."""
    return (-(1 << width - 1), (1 << width - 1) - 1) if t.is_signed else (0, (1 << width) - 1)


def saturate(x: LaneValue, width: int, t: ScalarType) -> LaneValue:
    low, high = limits(width, t)
    return lanes.minimum(lanes.maximum(x, low), high)


def merge(value: LaneValue, part: str, word: LaneValue) -> LaneValue:
    """`word` with its byte or half `part` replaced by the low bits of `value`; all u32."""
    width, index = 8 if part[0] == "b" else 16, int(part[1:])
    mask = (1 << width) - 1
    return word & (0xFFFFFFFF ^ mask << index * width) | (value & mask) << index * width


# What the GPU does with one value is what the assembler makes of it; where the manual says otherwise the GPU is followed:
# into a byte or a half everything from its greatest number up becomes that number, and so does every negative number;
# at its upper end an unsigned word is left to wrap; a shift saturates to the word, whatever part it goes into.


def clamp(result: Any, t: ScalarType, part: Any) -> LaneValue:
    """Saturation of a sum, a difference, a minimum or a maximum in s64."""
    if part:
        greatest = limits(8 if part[0] == "b" else 16, t)[1]
        return lanes.where((result < 0) | (result > greatest), greatest, result)
    return saturate(result, 32, t) if t.is_signed else lanes.maximum(result, 0)


def finish(result: Any, c: LaneValue, t: ScalarType, third: Word, part: Any) -> LaneValue:
    """The second operation with c, or the merge into it, of an s64."""
    word = lanes.cast(result, "u32")
    if third == "add":
        word = word + lanes.bits(c, "u32")
    elif third and t.is_signed:
        word = lanes.cast(OPERATIONS[third](result, lanes.cast(lanes.bits(c, "s32"), "s64")), "u32")
    elif third:
        other = lanes.cast(lanes.bits(c, "u32"), "u64")
        word = lanes.cast(OPERATIONS[third](lanes.bits(result, "u64"), other), "u32")
    elif part == "h1" and c is not None:  # the upper half goes to the upper half
        word = word & 0xFFFF0000 | lanes.bits(c, "u32") & 0xFFFF
    elif part and c is not None:
        word = merge(word, part, lanes.bits(c, "u32"))
    return lanes.bits(word, t)


# ---- one value ----

_SCALAR: Options = {
    "operands": {
        "d": Reg("dtype", parts=_PART), "a": Value("atype", parts=_PART), "b": Value("btype", parts=_PART),
        "c": Value("dtype"),
    },
    "dtype": _WORDS, "atype": _WORDS, "btype": _WORDS,
}  # fmt: skip


for _name in ("add", "sub", "absdiff", "min", "max"):
    _options: Options = _SCALAR | {"implies": {"name": _name}}

    @instruction(f"v{_name}.dtype.atype.btype{{.sat}} d, a, b{{, c}}", **_options)
    @instruction(f"v{_name}.dtype.atype.btype{{.sat}}.third d, a, b, c", third=_THIRD, **_options)
    def one_value(
        a: LaneValue, b: LaneValue, c: LaneValue, *, name: Word, dtype: ScalarType, atype: ScalarType,
        btype: ScalarType, sat: bool, third: Word, d_part: Word, a_part: Word, b_part: Word,
    ) -> LaneValue:  # fmt: skip
        result = OPERATIONS[name](field(a, a_part, atype), field(b, b_part, btype))
        result = clamp(result, dtype, d_part) if sat else result
        if name in ("add", "sub"):  # the second operation sees a sum as a word, a difference's magnitude whole
            result = lanes.cast(lanes.cast(result, "s32"), "s64")
        return finish(result, c, dtype, third, d_part)


for _name in ("shl", "shr"):
    _options = _SCALAR | {"implies": {"name": _name}, "btype": "u32", "mode": "clamp wrap"}

    @instruction(f"v{_name}.dtype.atype.btype{{.sat}}.mode d, a, b{{, c}}", **_options)
    @instruction(f"v{_name}.dtype.atype.btype{{.sat}}.mode.third d, a, b, c", third=_THIRD, **_options)
    def shift(
        a: LaneValue, b: LaneValue, c: LaneValue, *, name: Word, dtype: ScalarType, atype: ScalarType,
        btype: ScalarType, sat: bool, mode: Word, third: Word, d_part: Word, a_part: Word, b_part: Word,
    ) -> LaneValue:  # fmt: skip
        value, count = field(a, a_part, atype), field(b, b_part, btype)
        count = lanes.cast(count & 31 if mode == "wrap" else lanes.minimum(count, 32), "u64")
        result = lanes.shift_left(value, count) if name == "shl" else lanes.shift_right(value, count)
        if sat:  # 34 bits are looked at
            result = lanes.cast(lanes.cast(saturate(result << 30 >> 30, 32, dtype), "s32"), "s64")
        return finish(result, c, dtype, third, d_part)


_COMPARED: Options = _SCALAR | {
    "operands": _SCALAR["operands"] | {"d": Reg("u32", parts=_PART), "c": Value("u32")},
    "cmp": "eq ne lt le gt ge", "implies": {"dtype": TYPES["u32"]},
}  # fmt: skip
del _COMPARED["dtype"]


@instruction("vset.atype.btype.cmp d, a, b{, c}", **_COMPARED)
@instruction("vset.atype.btype.cmp.third d, a, b, c", third=_THIRD, **_COMPARED)
def compare(
    a: LaneValue, b: LaneValue, c: LaneValue, *, dtype: Word, cmp: Word, atype: ScalarType, btype: ScalarType,
    third: Word, d_part: Word, a_part: Word, b_part: Word,
) -> LaneValue:  # fmt: skip
    result = OPERATIONS[cmp](field(a, a_part, atype), field(b, b_part, btype))
    return lanes.bits(finish(result, c, atype, third, d_part), dtype)  # the second operation is of a's type


def one_sign(modifiers: Words) -> str | None:
    """Either the product or c may be negative, and with .po neither."""
    product = modifiers.get("a_negated") != modifiers.get("b_negated")
    if product and modifiers.get("c_negated"):
        return "the product and c cannot both be negated"
    return ".po takes no negated operand" if modifiers["po"] and (product or modifiers.get("c_negated")) else None


_SIGNED = {name: replace(_SCALAR["operands"][name], negatable=True) for name in "abc"}
_ADDED: Options = _SCALAR | {"operands": _SCALAR["operands"] | _SIGNED, "rules": (one_sign,)}


@instruction("vmad.dtype.atype.btype{.po}{.sat}{.scale} d, a, b, c", scale="shr7 shr15", **_ADDED)
def multiply_add(
    a: LaneValue, b: LaneValue, c: LaneValue, *, dtype: ScalarType, atype: ScalarType, btype: ScalarType, po: bool,
    sat: bool, scale: Word, a_part: Word, b_part: Word, a_negated: Word, b_negated: Word, c_negated: Word,
) -> LaneValue:  # fmt: skip
    """a * b + c, plus one if .po, shifted right, saturated to a signed word if a or b is signed or anything is negated.

    Whole words count as signed whatever their types say: so does the GPU (recorded).
    """
    signed = TYPES["s32"]
    negative = a_negated != b_negated
    final = signed if atype.is_signed or btype.is_signed or negative or c_negated else TYPES["u32"]
    product = field(a, a_part, atype if a_part else signed) * field(b, b_part, btype if b_part else signed)
    addend = field(c, None, signed)
    if c_negated:
        addend = ~addend
    result = (~product if negative else product) + addend + (1 if po or negative or c_negated else 0)
    if scale:
        result = lanes.cast(lanes.cast(result, final.name[0] + "64") >> int(scale[3:]), "s64")
    if sat:
        result = saturate(result, 32, final)
    return lanes.bits(lanes.cast(result, "u32"), dtype)


# ---- two halves, four bytes ----


def elements(a: LaneValue, b: LaneValue, part: str | None, t: ScalarType, count: int, offset: int) -> LaneValue:
    """The elements that a selector names out of b.a (elements of a below those of b), in s64.

    Without a selector they are those of the operand at `offset`: 0 for a, count for b.
    """
    letter = "h" if count == 2 else "b"
    chosen = [offset + i for i in range(count)] if part is None else [int(digit) for digit in reversed(part[1:])]
    return [field(a if n < count else b, f"{letter}{n % count}", t) for n in chosen]


def side_by_side(
    a: LaneValue, b: LaneValue, c: LaneValue, count: LaneValue, operation: Operation, dtype: ScalarType,
    atype: ScalarType, btype: ScalarType, sat: Word, add: Word, d_part: Word, a_part: Word, b_part: Word,
) -> LaneValue:  # fmt: skip
    letter, width = ("h", 16) if count == 2 else ("b", 8)
    selected = range(count) if d_part is None else sorted(int(digit) for digit in d_part[1:])
    left, right = elements(a, b, a_part, atype, count, 0), elements(a, b, b_part, btype, count, count)
    word = lanes.bits(c, "u32")
    for i in selected:
        result = operation(left[i], right[i])
        if sat:
            result = saturate(result, width, dtype)
        value = lanes.cast(result, "u32")
        word = word + value if add else merge(value, f"{letter}{i}", word)
    return lanes.bits(word, dtype)


_MASKS = {2: "h[01]|h10", 4: "b3?2?1?0?"}
_SELECTORS = {2: "h[0-3][0-3]", 4: "b[0-7][0-7][0-7][0-7]"}

for _count in (2, 4):
    _kinds: Kinds = {
        "d": Reg("dtype", parts=_MASKS[_count]), "c": Reg("dtype", unpacked=True),
        "a": Reg("atype", parts=_SELECTORS[_count]), "b": Reg("btype", parts=_SELECTORS[_count]),
    }  # fmt: skip
    for _name in ("add", "sub", "avrg", "absdiff", "min", "max"):
        _options = {
            "operands": _kinds, "implies": {"name": _name, "count": _count}, "dtype": _WORDS, "atype": _WORDS,
            "btype": _WORDS,
        }  # fmt: skip

        @instruction(f"v{_name}{_count}.dtype.atype.btype{{.sat}} d, a, b, c", **_options)
        @instruction(f"v{_name}{_count}.dtype.atype.btype{{.add}} d, a, b, c", **_options)
        def arithmetic(
            a: LaneValue, b: LaneValue, c: LaneValue, *, name: Word, count: Word, dtype: ScalarType,
            atype: ScalarType, btype: ScalarType, sat: Word, add: Word, d_part: Word, a_part: Word, b_part: Word,
        ) -> LaneValue:  # fmt: skip
            operation = OPERATIONS[name]
            return side_by_side(a, b, c, count, operation, dtype, atype, btype, sat, add, d_part, a_part, b_part)

    _options = {
        "operands": _kinds | {"d": Reg("u32", parts=_MASKS[_count]), "c": Reg("u32")}, "atype": _WORDS, "btype": _WORDS,
        "cmp": "eq ne lt le gt ge", "implies": {"count": _count},
    }  # fmt: skip

    @instruction(f"vset{_count}.atype.btype.cmp{{.add}} d, a, b, c", **_options)
    def compare_all(
        a: LaneValue, b: LaneValue, c: LaneValue, *, count: Word, cmp: Word, atype: ScalarType, btype: ScalarType,
        add: bool, d_part: Word, a_part: Word, b_part: Word,
    ) -> LaneValue:  # fmt: skip
        operation = OPERATIONS[cmp]
        return side_by_side(
            a, b, c, count, operation, TYPES["u32"], atype, btype, None, add, d_part, a_part, b_part
        )  # fmt: skip

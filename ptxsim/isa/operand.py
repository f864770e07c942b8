"""Kinds of operands, and which register types an instruction type accepts.

A kind may name its type by a slot of the notation ("type", "dtype"), by a type ("u32"), or by a function of the
modifiers. Counts of vectors likewise. PTX ISA, "Operand Type Checking".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxsim.isa.facts import Words
from ptxsim.types import TYPES, ScalarType

TypeRule = str | Callable[[Words], "str | ScalarType"]
CountRule = int | str | Callable[[Words], int]


def resolve_type(rule: TypeRule, modifiers: Words) -> ScalarType:
    """The type a rule means under these modifiers. Raises KeyError for an unknown name (a fault of the notation)."""
    found = rule(modifiers) if callable(rule) else modifiers.get(rule, rule)
    return found if isinstance(found, ScalarType) else TYPES[str(found)]


def resolve_count(rule: CountRule, modifiers: Words) -> int:
    """The number of elements a rule means; a slot's word gives its digits (v4 -> 4, x2 -> 2, absent -> 1)."""
    if isinstance(rule, int):
        return rule
    if callable(rule):
        return rule(modifiers)
    word = modifiers.get(rule)
    return int("".join(c for c in str(word) if c.isdigit())) if word else 1


@dataclass(frozen=True, slots=True)
class Reg:
    """A register only. `wide` lets it be wider than the type (ld, st, cvt); `sink` lets `_` stand for it.

    `parts` is a pattern of what may follow the register after a dot (`%r1.h0`, video instructions); the effect finds
    it among the modifiers, as `d_part` for an operand d. `unpacked`: no f16x2 register stands for an integer; so it is
    anyway where the kind names an integer type itself (a shift amount, a count) and not a slot. `untyped`: the register
    is declared as bits. `integers`: an integer register of the same size stands for a float, as in the vectors that are
    loaded and stored.
    """

    type: TypeRule
    wide: bool = False
    sink: bool = False
    parts: str = ""
    unpacked: bool = False
    untyped: bool = False
    integers: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """A register, an immediate, a special register or (for integers) the address of a variable. Fields as in Reg.

    `literals`: the lowest and highest integer literal, where they are not the type's; of floats, the lowest is left out.
    `pattern`: of floating literals, only `0f...` and `0d...` of the type's own width.
    `negatable` takes `-%r1` too; the effect finds it among the modifiers, as `a_negated` for an operand a.
    """

    type: TypeRule
    wide: bool = False
    parts: str = ""
    unpacked: bool = False
    integers: bool = False
    literals: tuple[int, int] | None = None
    pattern: bool = False
    negatable: bool = False


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate register; `negatable` takes `!p` too, `immediate` takes a literal."""

    negatable: bool = False
    immediate: bool = False
    sink: bool = False


@dataclass(frozen=True, slots=True)
class Imm:
    """An integer literal in low..high; `choices` if only some are legal, or those that are a `multiple` of a number."""

    low: int = -(1 << 63)
    high: int = (1 << 64) - 1
    choices: tuple[int, ...] = ()
    multiple: int = 1


@dataclass(frozen=True, slots=True)
class Vec:
    """Braces with exactly `count` elements of a kind, a list to the effect. `bare`: where count is 1 the braces may be
    left out, and the effect gets the element itself. `each`: the kinds of the elements, where they differ."""

    count: CountRule
    element: Reg | Value | Pred | Either
    bare: bool = False
    each: tuple[Kind, ...] = ()

    def of(self, index: int) -> Kind:
        """The kind of one element."""
        return self.each[index] if self.each else self.element


@dataclass(frozen=True, slots=True)
class Addr:
    """`[address]`. `space`: a slot name or a state space; `extra` are kinds of what follows a comma in the brackets.

    `untyped`: the register is declared b32 or b64, not as an integer. `access`: what is done with a parameter, "read",
    "write" or "address" (taken). `register`: where the state space is named, no variable stands there by its name.
    `whole`: no register of 8 or 16 bits, which is extended by zeros elsewhere.
    """

    space: str = "space"
    extra: tuple[Kind, ...] = ()
    untyped: bool = False
    access: str = ""
    register: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """A bare name: a label, a function, a table; `kinds` are what Names.variable_space says of such names."""

    what: str = "label"
    kinds: tuple[str, ...] = ("label",)


@dataclass(frozen=True, slots=True)
class Nowhere:
    """The sink `_`, and nothing else: a result that this form does not give."""


@dataclass(frozen=True, slots=True)
class Either:
    """Any one of several kinds."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Args:
    """A parenthesised list of a call: what it passes, or where its `results` go."""

    results: bool = False


Kind = Reg | Value | Pred | Imm | Vec | Addr | Symbol | Nowhere | Either | Args


def compatible(register: ScalarType, instruction: ScalarType, wide: bool = False) -> bool:
    """Whether a register declared with one type may stand for an operand of an instruction type.

    Sizes agree (a wide operand's register may be larger); untyped bits fit everything; integers of either sign fit
    each other; floats fit the same float only; packed and alternate floats live in untyped registers.
    """
    if instruction.kind == "predicate" or register.kind == "predicate":
        return instruction.kind == register.kind
    if register.bits != instruction.bits and not (wide and register.bits > instruction.bits):
        return False
    if instruction.kind == "bits" or register.kind == "bits":
        return True
    if instruction.is_integer and register.is_integer:
        return True
    if register.name == "f16x2":  # to integer instructions such a register is a word
        return instruction.is_integer or instruction.name in ("f16x2", "u16x2", "s16x2", "u8x4", "s8x4")
    return register.name == instruction.name

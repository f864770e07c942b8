"""All instructions: the decorator that declares them, and look-up by name.

    @instruction("add{.sat}.type d, a, b", type="s32")
    @instruction("add.type d, a, b", type="u16 u32 u64 s16 s64")
    def add(a, b, *, type, sat): return ...

One function may carry several notations. Keyword parameters of the effect name the slots it wants to know: a choice
gives its word (or None), a type its ScalarType, an optional literal True or False. Positional parameters are the source
operands by the notation's names; destinations are what it returns. An effect whose first parameter is `m` works through
the machine port (ptxsim.machine.port) instead of on plain lane values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ptxsim.isa.availability import Availability, parse_availability
from ptxsim.isa.notation import OperandName, Slot, parse_notation
from ptxsim.isa.operand import Addr, Imm, Kind, Reg, Value

Rule = Callable[[Mapping[str, object]], "str | None"]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One notation: slots, operands with their kinds, when it exists, and the definition it belongs to.

    `writes`: operand names that are destinations. `implies`: values of slots the notation has no word for.
    `rules`: functions of the modifiers; each returns None or why the combination is illegal.
    """

    name: str
    notation: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandName, ...]
    kinds: Mapping[str, Kind]
    writes: frozenset[str]
    requires: Availability
    definition: Definition
    rules: tuple[Rule, ...] = ()
    implies: Mapping[str, object] = field(default_factory=dict)


class Definition:
    """An instruction as ptxsim knows it: forms, effect and cost class. `effect` None means bound but not modeled."""

    def __init__(self, effect: Callable | None, unit: str):
        self.effect = effect
        self.unit = unit
        self.forms: list[Form] = []
        self.sources: tuple[str, ...] = ()
        self.wants: tuple[str, ...] = ()
        self.uses_machine = False
        if effect is not None:
            parameters = inspect.signature(effect).parameters.values()
            names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            self.uses_machine = names[:1] == ["m"]
            self.sources = tuple(names[self.uses_machine :])
            self.wants = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    @property
    def modeled(self) -> bool:
        return self.effect is not None

    def __repr__(self) -> str:
        return f"<Definition {self.forms[0].name if self.forms else '?'}>"


_FORMS: dict[str, list[Form]] = {}


def instruction(
    notation: str,
    *,
    name: str | None = None,
    requires: str = "",
    unit: str = "alu",
    operands: Mapping[str, Kind] | None = None,
    writes: str | None = None,
    rules: tuple[Rule, ...] = (),
    ordered: tuple[tuple[str, ...], ...] = (),
    implies: Mapping[str, object] | None = None,
    **choices: str,
) -> Callable:
    """Declare one notation of the instruction that the decorated effect (or None) defines.

    Operands not in `operands` are of the slot `type`: destinations are registers, sources registers or immediates.
    Destinations are `d` (and the second name of a pair `d|p`), unless `writes` names others ("" for none).
    """

    def declare(effect: Callable | None) -> Callable | None:
        definition = getattr(effect, "definition", None) or Definition(effect, unit)
        if effect is not None:
            effect.definition = definition  # type: ignore[attr-defined]
        opcode_name, slots, names = parse_notation(notation, choices, name, ordered)
        if writes is None:
            first = names[0] if names and not names[0].bracketed else None
            destinations = {first.name, first.second} - {None} if first and first.name == "d" else set()
        else:
            destinations = set(writes.split())
        kinds = {
            n: _kind(n, operand.bracketed, n in destinations, operands or {})
            for operand in names
            for n in (operand.name, operand.second)
            if n
        }
        form = Form(
            opcode_name, notation, slots, names, kinds, frozenset(destinations), parse_availability(requires),
            definition, rules, dict(implies or {}),
        )  # fmt: skip
        definition.forms.append(form)
        _FORMS.setdefault(opcode_name, []).append(form)
        return effect

    return declare


def declare(notation: str, **options) -> None:
    """Declare a form that is bound and checked but not modeled."""
    instruction(notation, **options)(None)


def _kind(name: str, bracketed: bool, destination: bool, kinds: Mapping[str, Kind]) -> Kind:
    if name in kinds:
        return kinds[name]
    if bracketed:
        return Addr()
    if name == "imm":
        return Imm()
    return Reg("type") if destination else Value("type")


def forms(name: str) -> list[Form]:
    """Forms of an exact (compound) name, in order of declaration."""
    return _FORMS.get(name, [])


def names() -> list[str]:
    return sorted(_FORMS)


def all_forms() -> Iterator[Form]:
    for found in _FORMS.values():
        yield from found


def split_opcode(opcode: str) -> tuple[str, list[str]]:
    """The longest registered name the opcode begins with, and the modifier words behind it."""
    words = opcode.split(".")
    for count in range(min(len(words), 6), 0, -1):
        name = ".".join(words[:count])
        if name in _FORMS:
            return name, words[count:]
    return words[0], words[1:]

"""All instructions: the decorator that declares them, and look-up by name.

    @instruction("add{.sat}.type d, a, b", type="s32")
    @instruction("add.type d, a, b", type="u16 u32 u64 s16 s64")
    @computes("a + b")
    def add(a, b, *, type, sat): return ...

One function may carry several notations. Keyword parameters of the effect name the slots it wants to know: a choice
gives its word (or None), a type its ScalarType, an optional literal True or False. Positional parameters are the source
operands by the notation's names; destinations are what it returns. An effect whose first parameter is `m` works through
the machine port (ptxsim.machine.port) instead of on plain lane values.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from ptxsim.isa.availability import Availability, parse_availability
from ptxsim.isa.facts import Facts, Words
from ptxsim.isa.notation import OperandName, Slot, Vocabulary, parse_notation, vocabulary
from ptxsim.isa.operand import Addr, Imm, Kind, Reg, Value

Rule = Callable[[Words], "str | None"]
Folds = Callable[[Words], bool]
Effect = TypeVar("Effect", bound="Callable[..., Any] | None")
Said = TypeVar("Said")
Kinds = dict[str, Kind]  # of operands, by name
Declare = Callable[..., object]  # `declare`, or what gives its forms an effect
Options = dict[str, Any]  # arguments of `instruction` that several notations share


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
    vocabulary: Vocabulary
    rules: tuple[Rule, ...] = ()
    implies: Mapping[str, object] = field(default_factory=dict)


class Definition:
    """An instruction as ptxsim knows it: its effect and its facts. `effect` None means bound but not modeled.

    `carry` tells what it does with the condition code CC.CF: "r" reads it (the effect's parameter `carry`, a mask), "w" writes it
    (the last result), "rw" both.
    """

    def __init__(self, effect: Callable[..., Any] | None, facts: Facts, carry: str = ""):
        self.effect = effect
        self.facts = facts
        self.carry = carry

    @cached_property
    def _signature(self) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
        if self.effect is None:
            return False, (), ()
        parameters = inspect.signature(self.effect).parameters.values()
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        machine = names[:1] == ["m"]
        return machine, tuple(names[machine:]), tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    @property
    def uses_machine(self) -> bool:
        """Whether the effect's first parameter is the machine port."""
        return self._signature[0]

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the source operands the effect takes, in order."""
        return self._signature[1]

    @property
    def wants(self) -> tuple[str, ...]:
        """Names of the slots the effect wants to know."""
        return self._signature[2]

    @property
    def identity(self) -> str:
        """The name of the effect, for what is kept by the text of a program."""
        return "-" if self.effect is None else f"{self.effect.__module__}.{self.effect.__qualname__}"

    @property
    def modeled(self) -> bool:
        return self.effect is not None or self.facts.control is not None


# Forms by compound name. A notation is parsed when its name is first asked for: most runs need few of them.
_DECLARED: dict[str, list[Callable[[], Form]]] = {}
_FORMS: dict[str, list[Form]] = {}
_COMPUTED: dict[Callable[..., Any] | None, tuple[str, Folds | None]] = {}  # formula and whether it folds, by effect
_OFFERED: dict[str, list[str]] = {}  # modules that will declare more, by the first word of the name


def instruction(
    notation: str, *, name: str | None = None, requires: str = "", facts: Facts | None = None,
    cost: str | Callable[[Words], str | None] | None = None, carry: str = "",
    operands: Mapping[str, Kind] | None = None, writes: str | None = None, rules: tuple[Rule, ...] = (),
    ordered: tuple[tuple[str, ...], ...] = (), implies: Mapping[str, object] | None = None, **choices: str,
) -> Callable[[Effect], Effect]:  # fmt: skip
    """Declare one notation of the instruction that the decorated effect (or None) defines.

    Operands not in `operands` are of the slot `type`: destinations are registers, sources registers or immediates.
    Destinations are `d` (and the second name of a pair `d|p`), unless `writes` names others ("" for none). `cost` stands for
    `facts=Facts(cost=...)`; the family of the facts is the first word of the name where they do not say it.
    """
    key = name or _first_words(notation)
    found = facts or Facts()
    found = replace(found, family=found.family or key.partition(".")[0], cost=cost or found.cost)

    def declare(effect: Effect) -> Effect:
        formula, folds = _COMPUTED.get(effect, ("", None))
        definition = Definition(effect, replace(found, formula=formula, folds=folds), carry)

        def make() -> Form:
            return _make_form(
                notation, choices, name, ordered, writes, operands or {}, requires, definition, rules, implies
            )

        _DECLARED.setdefault(key, []).append(make)
        return effect

    return declare


def computes(formula: str = "", *, folds: Folds | bool = False) -> Callable[[Effect], Effect]:
    """Say of an effect, before its notations are declared, what it computes of its sources; see Facts for both."""

    def declare(effect: Effect) -> Effect:
        _COMPUTED[effect] = formula, (lambda _words: True) if folds is True else folds or None
        return effect

    return declare


def _first_words(notation: str) -> str:
    """The name that a notation begins with."""
    found = re.match(r"[\w:]+", notation)
    assert found, notation
    return found[0]


def _make_form(
    notation: str, choices: Mapping[str, str], name: str | None, ordered: tuple[tuple[str, ...], ...], writes: str | None,
    operands: Mapping[str, Kind], requires: str, definition: Definition, rules: tuple[Rule, ...],
    implies: Mapping[str, object] | None,
) -> Form:  # fmt: skip
    opcode_name, slots, names = parse_notation(notation, choices, name, ordered)
    if nowhere := choices.keys() - {slot.name for slot in slots}:
        raise TypeError(f"{notation}: neither options nor slots of the notation: {', '.join(sorted(nowhere))}")
    if writes is None:
        first = names[0] if names and not names[0].bracketed else None
        destinations = {n for n in (first.name, first.second) if n} if first and first.name == "d" else set()
    else:
        destinations = set(writes.split())
    kinds = {
        n: _kind(n, operand.bracketed, n in destinations, operands)
        for operand in names
        for n in (operand.name, operand.second)
        if n
    }
    return Form(
        opcode_name, notation, slots, names, kinds, frozenset(destinations), parse_availability(requires),
        definition, vocabulary(slots), rules, dict(implies or {}),
    )  # fmt: skip


def declare(notation: str, *, missing: str, facts: Facts | None = None, **options: Any) -> None:
    """Declare a form that is bound and checked but not modeled, and why."""
    instruction(notation, facts=replace(facts or Facts(), missing=missing), **options)(None)


def _kind(name: str, bracketed: bool, destination: bool, kinds: Mapping[str, Kind]) -> Kind:
    if name in kinds:
        return kinds[name]
    if bracketed:
        return Addr()
    if name == "imm":
        return Imm()
    return Reg("type") if destination else Value("type")


def offer(modules: Mapping[str, Iterable[str]]) -> None:
    """Modules with the first words of the names they declare; they are imported when such a name is asked for."""
    for module, words in modules.items():
        for word in words:
            _OFFERED.setdefault(word, []).append(module)


def _demand(word: str) -> None:
    """Import what is offered for a first word."""
    for module in _OFFERED.get(word, ()):  # which another thread may be importing: it is waited for
        importlib.import_module(module)
    _OFFERED.pop(word, None)


def forms(name: str) -> list[Form]:
    """Forms of an exact (compound) name: those that are executed first, whichever family was read first."""
    _demand(name.partition(".")[0])
    found = _FORMS.get(name)
    if found is None or len(found) != len(_DECLARED.get(name, ())):
        made = [make() for make in _DECLARED.get(name, ())]
        found = _FORMS[name] = sorted(made, key=lambda form: form.definition.effect is None)
    return found


def by_name(said: Iterable[tuple[Form, Said]]) -> dict[str, list[Said]]:
    """What is said of forms, by the names they share, in order of names."""
    found: dict[str, list[Said]] = {}
    for form, what in said:
        found.setdefault(form.name, []).append(what)
    return dict(sorted(found.items()))


def names() -> list[str]:
    for word in list(_OFFERED):
        _demand(word)
    return sorted(_DECLARED)


def split_opcode(opcode: str) -> tuple[str, list[str]]:
    """The longest registered name the opcode begins with, and the modifier words after it."""
    words = opcode.split(".")
    _demand(words[0])
    for count in range(min(len(words), 6), 0, -1):
        name = ".".join(words[:count])
        if name in _DECLARED:
            return name, words[count:]
    return words[0], words[1:]

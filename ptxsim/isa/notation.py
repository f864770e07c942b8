"""The PTX manual's notation as a matcher and a printer.

    "ld{.weak}{.space}{.cache}{.vec}.type d, [a]{, policy}"

Words after the name are literals, or slots where a choice of words is given; braces mean "may be absent". The order of
modifiers is free, as the assembler takes it; order counts only among slots of one group (the types; row and col).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ptxsim.isa.availability import ALWAYS, Availability, parse_availability
from ptxsim.types import TYPES


@dataclass(frozen=True, slots=True)
class Slot:
    """One modifier: its name, the words it takes with their availability, whether it may be absent.

    `flag`: an optional literal; its value is True or False. `group`: slots of one group keep their order.
    """

    name: str
    words: Mapping[str, Availability]
    optional: bool = False
    flag: bool = False
    literal: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True)
class OperandName:
    """An operand of the notation: `d`, `[a]`, `d|p` (pair: second name), optional ones in braces."""

    name: str
    optional: bool = False
    bracketed: bool = False
    second: str | None = None
    second_optional: bool = False


def parse_words(text: str) -> dict[str, Availability]:
    """`"f32 f16@5.3:sm_53"`: words with, after `@`, version and targets joined by `:` (alternatives by `|`)."""
    words = {}
    for item in text.split():
        word, _, since = item.partition("@")
        words[word] = parse_availability(since.replace(":", " ").replace("|", " | ")) if since else ALWAYS
    return words


def parse_notation(
    text: str, choices: Mapping[str, str], name: str | None, ordered: tuple[tuple[str, ...], ...] = ()
) -> tuple[str, tuple[Slot, ...], tuple[OperandName, ...]]:
    """Split a notation into name, slots and operands. `name` is the compound name, if the first word is not all of it."""
    opcode, _, operands = text.partition(" ")
    name = name or re.split(r"[^\w:]", opcode, maxsplit=1)[0]
    slots: list[Slot] = []
    for brace, word in re.findall(r"(\{?)\.([\w:]+)\}?", opcode[len(name) :]):
        slot = _slot(word, bool(brace), choices, ordered)
        if any(s.name == slot.name for s in slots):  # .f16.f16: literals may repeat, slot names may not
            slot = replace(slot, name=f"{slot.name}#{len(slots)}")
        slots.append(slot)
    return name, tuple(slots), tuple(_operands(operands))


def _slot(word: str, optional: bool, choices: Mapping[str, str], ordered: tuple[tuple[str, ...], ...]) -> Slot:
    group = next((" ".join(names) for names in ordered if word in names), "")
    if word in choices:
        words = parse_words(choices[word])
        if not group:
            group = "type" if all(w in TYPES for w in words) else "layout" if set(words) <= {"row", "col"} else ""
        return Slot(word, words, optional, group=group)
    group = group or ("type" if word in TYPES else "layout" if word in ("row", "col") else "")
    return Slot(word, {word: ALWAYS}, optional, flag=optional, literal=True, group=group)


def _operands(text: str) -> list[OperandName]:
    found = []
    for token in re.findall(r"\{,[^{}]*\}|[^,{}]+(?:\{\|\w+\})?", text):
        optional = token.startswith("{")
        for part in token.strip("{} ").split(",") if optional else [token]:
            part = part.strip()
            if not part:
                continue
            bracketed = part.startswith("[")
            first, bar, second = part.strip("[] ").partition("|")
            second_optional = first.endswith("{")
            found.append(
                OperandName(
                    first.rstrip("{"), optional, bracketed, second.rstrip("}") if bar else None, second_optional
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words that a form's slots take, and those it cannot be without: most opcodes are refused by these alone."""

    known: frozenset[str]
    needed: frozenset[str]

    def may_be(self, words: frozenset[str]) -> bool:
        """Whether an opcode with these words may be of the form."""
        return words <= self.known and self.needed <= words


def vocabulary(slots: tuple[Slot, ...]) -> Vocabulary:
    """The vocabulary of a notation's slots."""
    needed = (word for slot in slots if not slot.optional and len(slot.words) == 1 for word in slot.words)
    return Vocabulary(frozenset(word for slot in slots for word in slot.words), frozenset(needed))


def assign(slots: tuple[Slot, ...], words: list[str]) -> tuple[dict[str, str], list[str], list[Slot]]:
    """Give each word to the first free slot that takes it, keeping order within groups.

    Returns the words by slot name, the words no slot took, and the slots that stay empty but must not.
    """
    taken: dict[str, str] = {}
    last: dict[str, int] = {}
    left = []
    for word in words:
        for index, slot in enumerate(slots):
            if slot.name in taken or word not in slot.words:
                continue
            if slot.group and last.get(slot.group, -1) > index:
                continue
            taken[slot.name] = word
            if slot.group:
                last[slot.group] = index
            break
        else:
            left.append(word)
    missing = [slot for slot in slots if not slot.optional and slot.name not in taken]
    return taken, left, missing

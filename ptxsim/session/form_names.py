"""Forms by name: full opcodes and short ones, and what they say about fragments.

`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32` and `mma.m16n8k16.f16` are read alike; a short form is taken if
only one meaning is left. One type names A and B, two D and A, three D, A and B.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ptxsim.diagnostic import problem
from ptxsim.given import a_text
from ptxsim.isa import registry
from ptxsim.isa.notation import Slot, assign
from ptxsim.isa.registry import Form
from ptxsim.layout.fragments import Fragment, fragment_layout
from ptxsim.layout.wmma_stride import wmma_stride as default_stride
from ptxsim.types import TYPES

# Names of the registry that the first word of a form may mean.
NAMES = {
    "mma": ("mma",),
    "wmma": ("wmma.mma",),
    "wgmma": ("wgmma.mma_async",),
    **{name: (name,) for name in ("ldmatrix", "stmatrix", "movmatrix")},
}
LONG_NAMES = ("wgmma.mma_async", "wmma.mma", "wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d")
# Slots that change which instruction it is: a form that has one is meant only where its word is given.
DECISIVE = ("kind", "block_scale", "sp", "sparsity", "format", "b8x16", "trans", "bitop", "popc")


@dataclass(frozen=True)
class Meaning:
    """One instruction a form may mean: family as in layout.fragments, shape, types of D, A, B and C, other words."""

    family: str
    shape: str
    types: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    form: Form = field(compare=False, repr=False)

    def word(self, slot: str) -> str | None:
        """The word of a slot, None where the form has none."""
        return dict(self.words).get(slot)

    @property
    def sparse(self) -> bool:
        return self.family.endswith(".sp")

    def __str__(self) -> str:
        others = [word for slot, word in self.words if slot in ("kind", "trans", "alayout", "blayout")]
        return ".".join([self.family, self.shape, *others, *self.types])


def meanings(form: str) -> list[Meaning]:
    """Every instruction a full or short form may mean. Raises PtxError where there is none."""
    words = a_text("the form", form, "write mma.m16n8k16.f16").strip().removeprefix("ptx.").split(".")
    long = next((name for name in LONG_NAMES if form.startswith(f"{name}.") or form == name), None)
    names = (long,) if long else NAMES.get(words[0])
    if names is None:
        close = difflib.get_close_matches(words[0], list(NAMES), 1, 0.4)
        raise problem(
            "unknown-instruction", f"no matrix instruction is called {words[0]!r}",
            f"did you mean {close[0]}?" if close else f"known: {', '.join(NAMES)}",
        )  # fmt: skip
    rest = words[long.count(".") + 1 :] if long else words[1:]
    found = list(dict.fromkeys(m for name in names for f in _modeled(name) for m in _expand(f, rest)))
    if not found:
        raise problem("illegal-form", f"no instruction has the form {form}", _nearest(form, names))
    return found


def one_meaning(form: str, key: Callable[[Meaning], object] = lambda meaning: meaning) -> Meaning:
    """The only instruction a form may mean, as far as `key` distinguishes them. Raises PtxError with the candidates."""
    found = meanings(form)
    kinds = {key(meaning): meaning for meaning in reversed(found)}
    if len(kinds) > 1:
        listed = [str(meaning) for meaning in kinds.values()]
        more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
        raise problem(
            "illegal-form", f"{form} has {len(listed)} meanings", f"write one of {', '.join(sorted(listed)[:8])}{more}"
        )
    return found[0]


def fragment(form: str, operand: str, layout: str | None = None) -> Fragment:
    """How the elements of an operand ("A", "B", "C", "D") are spread over lanes and registers; "E" is the metadata of a
    sparse form, nibbles at (selector, row, group).

    layout: "row" or "col" for mma.m8n8k4 with .f16, "trans" for ldmatrix and stmatrix, where the form does not say
    it. Raises PtxError for forms and operands that do not exist or have more than one meaning.
    """
    operand = a_text("the operand", operand, "operands are A, B, C and D").upper()
    if operand not in "ABCDE" or len(operand) != 1:
        raise problem("illegal-form", f"no operand {operand!r}", "operands are A, B, C and D, and E of sparse forms")

    def arguments(meaning: Meaning) -> tuple[str, str, str, str, str | None]:
        said = layout or meaning.word({"A": "alayout", "B": "blayout"}.get(operand, "trans"))
        if meaning.family in ("ldmatrix", "stmatrix"):
            said = layout or meaning.word("trans")
        elif (meaning.family, meaning.shape, meaning.types[1]) != ("mma", "m8n8k4", "f16"):
            said = None
        return (
            meaning.family,
            meaning.shape,
            operand,
            meaning.types["DABC".index("A" if operand == "E" else operand)],
            said,
        )

    meaning = one_meaning(form, arguments)
    return fragment_layout(*arguments(meaning))


def wmma_stride(form: str, operand: str, layout: str) -> int:
    """The default stride, in elements, of wmma.load and wmma.store: `form` is a shape ("m16n16k16") or a form."""
    for name, value in (("the shape", form), ("the operand", operand), ("the layout", layout)):
        a_text(name, value, 'wmma_stride("m16n16k16", "A", "row")')
    shapes = [word for word in form.split(".") if word.startswith("m") and word[1:2].isdigit()]
    return default_stride(shapes[0] if shapes else form, operand, layout)


@lru_cache
def _modeled(name: str) -> tuple[Form, ...]:
    # Only the families that are asked for: a layout must answer at once.
    word = name.partition(".")[0]
    for module in ("mma", "mma_sparse", "mma_block_scale") if word == "mma" else (word,):
        importlib.import_module(f"ptxsim.instructions.{module}")
    return tuple(form for form in registry.forms(name) if form.definition.modeled)


def _expand(form: Form, words: list[str]) -> Iterator[Meaning]:
    """The meanings of a form that agree with the words."""
    typed = [slot for slot in form.slots if slot.group == "type"]
    others = tuple(slot for slot in form.slots if slot.group != "type")
    given = [word for word in words if word in TYPES and any(word in slot.words for slot in typed)]
    taken, left, missing = assign(others, [word for word in words if word not in given])
    if left or any(slot.name in DECISIVE and slot.name != "trans" for slot in missing):
        return
    shapes = next((slot for slot in others if slot.name == "shape"), None)
    numbers = next((slot for slot in others if slot.name == "num"), None)
    family = _family(form, taken)
    for shape, number in itertools.product(_words(shapes, taken, "m8n8"), _words(numbers, taken, "")):
        for types in _types(form, typed, given):
            rest = tuple((slot.name, taken[slot.name]) for slot in others if slot.name in taken)
            yield Meaning(family, f"{shape}.{number}" if number else shape, types, rest, form)


def _family(form: Form, taken: dict[str, str]) -> str:
    sparse = "sparsity" in taken or any(word.startswith("sp") for word in taken.values() if word[:2] == "sp")
    return form.name.partition(".")[0] + (".sp" if sparse else "")


def _words(slot: Slot | None, taken: dict[str, str], default: str) -> list[str]:
    if slot is None:
        return [default]
    return [taken[slot.name]] if slot.name in taken else list(slot.words)


def _types(form: Form, slots: list[Slot], given: list[str]) -> Iterator[tuple[str, ...]]:
    """Types of D, A, B, C of every choice of the type slots that agrees with the types given."""
    names = [slot.name for slot in slots]
    for choice in itertools.product(*(slot.words for slot in slots)):
        chosen = dict(zip(names, choice))
        if any(rule({name: TYPES[word] for name, word in chosen.items()}) for rule in form.rules):
            continue
        if "dtype" not in chosen:  # loads, stores and moves have one type
            if given in ([], [choice[0]] if choice else []):
                yield (choice[0] if choice else "b8",) * 4
            continue
        d, a = chosen["dtype"], chosen.get("atype", "f16")
        b, c = chosen.get("btype", a), chosen.get("ctype", d)
        full = list(choice)
        short = {
            0: True,
            1: given == [a] and a == b,
            2: given == [d, a] and (a, d) == (b, c),
            3: given == [d, a, b] and c == d,
        }
        if given == full or (len(given) < len(full) and short.get(len(given), False)):
            yield d, a, b, c


def _nearest(form: str, names: tuple[str, ...]) -> str:
    known = {str(meaning) for name in names for f in _modeled(name) for meaning in _expand(f, [])}
    close = difflib.get_close_matches(form, sorted(known), 1, 0.3)
    return f"did you mean {close[0]}?" if close else "see `ptxsim isa`"

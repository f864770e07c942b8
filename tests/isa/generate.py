"""Random legal statements from the registry: words that the target and version have, operands by kind.

What is printed follows `prelude`, whose registers are named by their types: %p1 %h2 %r3 %f4 ...
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from ptxsim.instructions import load_families
from ptxsim.isa import registry
from ptxsim.isa.bind import Binder, Bound
from ptxsim.isa.facts import Words
from ptxsim.isa.match_opcode import match_form
from ptxsim.isa.operand import (
    Addr,
    Args,
    Either,
    Imm,
    Kind,
    Nowhere,
    Pred,
    Reg,
    Symbol,
    Value,
    Vec,
    compatible,
    resolve_count,
    resolve_type,
)  # fmt: skip
from ptxsim.isa.registry import Form
from ptxsim.syntax.ast import Instruction
from ptxsim.syntax.parser import parse_body
from ptxsim.types import TYPES, ScalarType, Target, Version

load_families()

COUNT = 300
# Register families by declared type; ptxas has .b128 from 8.3 on.
FAMILIES = {
    "pred": "p", "b16": "h", "u16": "hu", "s16": "hs", "f16": "x", "f16x2": "xx", "b32": "r", "u32": "ru", "s32": "rs",
    "f32": "f", "b64": "rd", "u64": "rdu", "s64": "rds", "f64": "d", "b128": "q", "b8": "c",
}  # fmt: skip
VARIABLES = {"global": "gbuf", "const": "cbuf", "shared": "sbuf", "local": "lbuf", "param": "pbuf"}
PRELUDE = """\
.version {version[0]}.{version[1]}
.target {target}
.address_size 64
.global .align 128 .b8 gbuf[4096];
.const .align 128 .b8 cbuf[4096];
.global .texref texture;
.global .surfref surface;
.visible .entry k(.param .align 16 .b8 pbuf[256]) {{
.shared .align 128 .b8 sbuf[4096];
.local .align 16 .b8 lbuf[256];
.param .align 16 .b8 qbuf[256];
{registers}
L0:
"""


def prelude(target: Target, version: Version) -> str:
    """The text before the statements; one `}` follows them."""
    registers = [
        f".reg .{t} %{name}<{COUNT}>;" for t, name in FAMILIES.items() if t != "b128" or version >= (8, 3)
    ]  # fmt: skip
    return PRELUDE.format(target=target, version=version, registers="\n".join(registers))


class Names:
    """The prelude's names, as the static checks ask."""

    def register_type(self, name: str) -> str | None:
        family = name.lstrip("%").rstrip("0123456789")
        return next((t for t, one in FAMILIES.items() if one == family), None) if name.startswith("%") else None

    def variable_space(self, name: str) -> str | None:
        where = {variable: space for space, variable in VARIABLES.items()}
        return {**where, "qbuf": "param", "L0": "label", "texture": "texref", "surface": "surfref"}.get(name)

    def parameter_role(self, name: str) -> str | None:
        return {"pbuf": "entry", "qbuf": "call"}.get(name)


def every_form() -> Iterator[Form]:
    """All registered forms of all instructions."""
    return (form for name in registry.names() for form in registry.forms(name))


class Generator:
    """Makes statements for one target and version."""

    def __init__(self, target: Target, version: Version, rng: random.Random):
        self.target, self.version, self.rng = target, version, rng
        self.binder = Binder(target, version)
        self.least = -1

    def statements(self, count: int, forms: list[Form] | None = None) -> list[str]:
        """So many statements, each of a random form; every instruction has the same chance, whatever its forms."""
        by_name: dict[str, list[Form]] = {}
        for form in forms or every_form():
            by_name.setdefault(form.name, []).append(form)
        names = sorted(by_name)
        found: list[str] = []
        while len(found) < count:
            text = self.statement(self.rng.choice(by_name[self.rng.choice(names)]))
            if text:
                found.append(text)
        return found

    def statement(self, form: Form, tries: int = 8) -> str | None:
        """A statement of this form, or None where the target and version have none or its operands need other lines."""
        if any(needs_more(kind) for kind in form.kinds.values()):
            return None
        if form.requires.problem(self.version, self.target):
            return None
        for _ in range(tries):
            words = self.words(form)
            if words is None:
                return None
            candidate = match_form(form, words)
            if candidate is None or isinstance(candidate, str):
                continue
            text = self._spell(form, words, candidate.modifiers)
            (statement,) = parse_body(text)
            assert isinstance(statement, Instruction)
            bound = self.binder.bind(statement, Names())
            if isinstance(bound, Bound):
                return text
        return None

    def words(self, form: Form) -> list[str] | None:
        """A word for each slot, nothing for some of the optional ones; None if a slot has no word here."""
        chosen = []
        for slot in form.slots:
            if slot.optional and self.rng.random() < 0.5:
                continue
            here = [word for word, since in slot.words.items() if not since.problem(self.version, self.target)]
            if here:
                chosen.append(self.rng.choice(here))
            elif not slot.optional:
                return None
        return chosen

    def _spell(self, form: Form, words: list[str], modifiers: Words) -> str:
        self.least = -1
        operands = []
        for operand in form.operands:
            if operand.optional and self.rng.random() < 0.5:
                break
            text = self.operand(form.kinds[operand.name], modifiers)
            if operand.second and not (operand.second_optional and self.rng.random() < 0.5):
                text += f"|{self.operand(form.kinds[operand.second], modifiers)}"
            operands.append(text)
        return f"{'.'.join([form.name, *words])} {', '.join(operands)};".replace(" ;", ";")

    def operand(self, kind: Kind, modifiers: Words) -> str:
        """An operand of the kind."""
        rng = self.rng
        match kind:
            case Reg():
                return "_" if kind.sink and rng.random() < 0.1 else self.register(kind, modifiers)
            case Value():
                wanted = resolve_type(kind.type, modifiers)
                if rng.random() < 0.3 and has_literals(wanted):
                    return self.literal(wanted, kind.literals)
                return self.register(kind, modifiers)
            case Pred():
                if kind.sink and rng.random() < 0.2:
                    return "_"
                if kind.immediate and rng.random() < 0.2:
                    return rng.choice("01")
                return ("!" if kind.negatable and rng.random() < 0.3 else "") + f"%p{rng.randrange(COUNT)}"
            case Imm():
                return str(self.integer(kind))
            case Vec():
                count = resolve_count(kind.count, modifiers)
                elements = [self.operand(without_sink(kind.of(i)), modifiers) for i in range(count)]
                return elements[0] if kind.bare and count == 1 and rng.random() < 0.5 else f"{{{', '.join(elements)}}}"
            case Addr():
                return (
                    f"[{', '.join([self.address(kind, modifiers), *(self.operand(k, modifiers) for k in kind.extra)])}]"
                )
            case Symbol():
                return "L0"
            case Either():
                # That a predicate may stand for a word is a laxity of some targets.
                # A sampler beside the texture needs a module with texmode_independent.
                kinds = [
                    k for k in kind.kinds if not isinstance(k, Pred) and not (isinstance(k, Addr) and len(k.extra) > 1)
                ]
                return self.operand(rng.choice(kinds or kind.kinds), modifiers)
            case Nowhere():
                return "_"
        raise AssertionError(kind)

    def register(self, kind: Reg | Value, modifiers: Words) -> str:
        """A register of any declared type that may stand there; most often the type itself."""
        wanted = resolve_type(kind.type, modifiers)
        wide = kind.wide and self.rng.random() < 0.3
        fitting = [
            t for t in FAMILIES if compatible(TYPES[t], wanted, wide) and (t != "b128" or self.version >= (8, 3))
        ]
        declared = wanted.name if wanted.name in fitting and self.rng.random() < 0.5 else self.rng.choice(fitting)
        return f"%{FAMILIES[declared]}{self.rng.randrange(COUNT)}"

    def literal(self, wanted: ScalarType, limits: tuple[int, int] | None) -> str:
        """A literal of the type: small numbers, its limits, bits of floats. Those of one statement do not decrease."""
        rng = self.rng
        if wanted.is_float:
            bits = "0f3F800000" if wanted.bits == 32 else "0d3FF0000000000000"
            return rng.choice(["1.0", "0.5", bits] if limits else ["1.0", "-2.5", bits])
        low, high = limits or (-1 if wanted.is_signed else 0, (1 << min(wanted.bits, 32) - 1) - 1)
        self.least = min(high, max(self.least, rng.choice([low, 0, 1, 2, 7, 31, high])))
        return str(self.least)

    def integer(self, kind: Imm) -> int:
        if kind.choices:
            return self.rng.choice(kind.choices)
        low, high = max(kind.low, 0), min(kind.high, 64 * kind.multiple)
        return self.rng.choice(range(-(-low // kind.multiple) * kind.multiple, high + 1, kind.multiple))

    def address(self, kind: Addr, modifiers: Words) -> str:
        """A register, with or without an offset, or a variable of the state space."""
        space = kind.space
        if space in modifiers:
            space = str(modifiers[space] or "generic").partition("::")[0]
        if space in ("tex", "surf"):
            return {"tex": "texture", "surf": "surface"}[space]
        rng = self.rng
        offset = rng.choice(["", "", "+16", "+64"])
        if kind.extra:
            offset = ""
        if space in VARIABLES and not kind.register and self.rng.random() < 0.4:
            return (rng.choice(["pbuf", "qbuf"]) if space == "param" else VARIABLES[space]) + offset
        if space in ("tensor", "fabric"):
            return f"%r{self.rng.randrange(COUNT)}{offset}"
        return f"%{self.rng.choice(['rd', 'rdu', 'rds'])}{self.rng.randrange(COUNT)}{offset}"


def has_literals(wanted: ScalarType) -> bool:
    """Whether the static checks let a literal stand for a value of the type."""
    return wanted.is_integer or (wanted.is_float and wanted.bits >= 32) or wanted.kind == "bits"


def without_sink(kind: Kind) -> Kind:
    """The kind of a vector's element: sinks are left out, some targets do not take them in the forms they emulate."""
    return replace(kind, sink=False) if isinstance(kind, Reg | Pred) and kind.sink else kind


def needs_more(kind: Kind) -> bool:
    """Whether an operand needs other lines of the module: a function, its arguments, a table of labels."""
    if isinstance(kind, Either):
        return any(needs_more(one) for one in kind.kinds)
    return isinstance(kind, Args) or (isinstance(kind, Symbol) and kind.what != "label")

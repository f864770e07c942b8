"""Modules made from the notations of all forms: opcodes with modifiers of their own, operands of the kinds that are wanted."""

from __future__ import annotations

import random
from functools import cache

from fuzzing.texts import NUMBERS
from ptxsim import instructions
from ptxsim.isa import operand as operands
from ptxsim.isa import registry
from ptxsim.isa.operand import Kind
from ptxsim.isa.registry import Form

TARGETS = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120a")
REGISTERS = {1: "p", 8: "c", 16: "h", 32: "r", 64: "d", 128: "q"}
HEADER = """\
// ptxsim: launch grid={grid} block={block}{cluster}
// ptxsim: arg A = ints(256):f32
.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 table[256];
.const .align 8 .b32 constants[4] = {{1, 2, 3, 4}};
.visible .entry k(.param .u64 A)
{{
    .reg .pred %p<6>;
    .reg .b16 %h<6>;
    .reg .b32 %r<40>;
    .reg .f32 %f<6>;
    .reg .b64 %d<6>;
    .reg .f64 %e<6>;
    .reg .b128 %q<3>;
    .shared .align 128 .b8 tile[2048];
    .local .align 16 .b8 mine[128];
    ld.param.u64 %d0, [A];
    mov.u64 %d1, tile;
    mov.u32 %r0, tile;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 16;
"""


@cache
def forms() -> tuple[Form, ...]:
    """Every form there is, in the order of names."""
    instructions.load_families()
    return tuple(form for name in sorted(registry.names()) for form in registry.forms(name))


def statement(rng: random.Random) -> str:
    """One instruction; two of three or so bind."""
    form = rng.choice(forms())
    if rng.random() < 0.4:  # what runs has more that can go wrong
        form = rng.choice([f for f in (rng.choice(forms()) for _ in range(8)) if f.definition.modeled] or [form])
    modifiers: dict[str, str | bool] = {name: str(word) for name, word in form.implies.items()}
    opcode = form.name
    for slot in form.slots:
        if slot.optional and rng.random() < 0.6:
            continue
        word = rng.choice(sorted(slot.words))
        modifiers[slot.name] = word
        opcode += "." + word
    if rng.random() < 0.03:
        opcode += "." + rng.choice(("f32", "sat", "shared", "v4", "sync", "x"))
    written = []
    for operand in form.operands:
        if operand.optional and rng.random() < 0.7:
            continue
        text = _operand(form.kinds[operand.name], modifiers, rng, operand.bracketed)
        if operand.second and not (operand.second_optional and rng.random() < 0.5):
            text += "|" + _operand(form.kinds[operand.second], modifiers, rng)
        written.append(text)
    if rng.random() < 0.03 and written:
        written.pop(rng.randrange(len(written)))
    guard = rng.choice(("@%p0 ", "@!%p1 ")) if rng.random() < 0.15 else ""
    return f"{guard}{opcode} {', '.join(written)};"


def _operand(kind: Kind, modifiers: dict[str, str | bool], rng: random.Random, bracketed: bool = False) -> str:
    if rng.random() < 0.02:
        return rng.choice((*NUMBERS, "_", "%r1", "tile", "[%d0]", "{%r1}", "%laneid", "%nowhere"))
    match kind:
        case operands.Reg(type) | operands.Value(type):
            if isinstance(kind, operands.Value) and rng.random() < 0.3:
                return rng.choice(NUMBERS)
            try:
                found = operands.resolve_type(type, modifiers)
            except Exception:  # of a slot that was left out
                return "%r3"
            if found.is_float and found.bits in (32, 64):
                return f"%{'f' if found.bits == 32 else 'e'}{rng.randrange(6)}"
            return f"%{REGISTERS.get(found.bits, 'r')}{rng.randrange(3)}"
        case operands.Pred():
            return f"{'!' if kind.negatable and rng.random() < 0.2 else ''}%p{rng.randrange(6)}"
        case operands.Imm():
            if kind.choices:
                return str(rng.choice(kind.choices))
            return rng.choice((str(kind.low), str(min(kind.high, kind.low + 16)), rng.choice(NUMBERS)))
        case operands.Vec():
            try:
                count = operands.resolve_count(kind.count, modifiers)
            except Exception:  # of a slot that was left out
                count = 2
            return "{" + ", ".join(_operand(kind.of(n), modifiers, rng) for n in range(min(count, 256))) + "}"
        case operands.Addr():
            space = str(modifiers.get("space", ""))
            near = (
                "%r0"
                if "shared" in space
                else rng.choice(("%d0", "%d0", "%d1", "table", "tile", "mine", "constants", "%r0"))
            )
            inside = near + rng.choice(("", "", "", f"+{rng.choice((0, 4, 16, 64, 1000))}", f"+{rng.choice(NUMBERS)}"))
            return "[" + ", ".join([inside, *(_operand(one, modifiers, rng) for one in kind.extra)]) + "]"
        case operands.Symbol():
            return rng.choice(("L", "L", "END", "k", "NOWHERE"))
        case operands.Either():
            return _operand(rng.choice(kind.kinds), modifiers, rng, bracketed)
        case operands.Args():
            return "(%r1)"
    return "_"


def of_grammar(rng: random.Random) -> str:
    """A kernel of a few statements, one a line, with directives that run it."""
    target = rng.choice(TARGETS)
    lines = [f"    {statement(rng)}" for _ in range(rng.choice((1, 2, 4, 8, 12)))]
    lines.insert(rng.randrange(len(lines) + 1), "L:")
    cluster = " cluster=2" if rng.random() < 0.1 else ""
    head = HEADER.format(
        grid=rng.choice((1, 2, 4)) if not cluster else 2, block=rng.choice((1, 32, 33, 128)), cluster=cluster,
        target=target, version=rng.choice(("8.8", "9.0", "8.6")),
    )  # fmt: skip
    return head + "\n".join(lines) + "\nEND:\n    ret;\n}\n"

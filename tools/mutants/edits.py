"""All ways to delete or weaken one synchronisation of a PTX text.

What an instruction synchronises is asked of its facts; only how its text is written otherwise is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from suites.corpus import statements

from ptxsim import Module
from ptxsim.instructions import offer_families
from ptxsim.isa.bind import Binder
from ptxsim.isa.facts import Facts, Mechanism, Role
from ptxsim.isa.match_opcode import Candidate
from ptxsim.source import Source
from ptxsim.syntax import ast

NARROWER = {"sys": "cta", "gpu": "cta", "cluster": "cta", "gl": "cta"}
ORDERS = ("release", "acquire", "acq_rel")
SHARED_OBJECTS = {
    Mechanism.BARRIER: "barrier", Mechanism.CLUSTER_BARRIER: "cluster barrier", Mechanism.FENCE: "fence",
    Mechanism.MBARRIER: "mbarrier", Mechanism.CP_ASYNC_GROUP: "cp.async group", Mechanism.BULK_GROUP: "bulk group",
    Mechanism.PRODUCT_GROUP: "wgmma group", Mechanism.WARP: "warp barrier", Mechanism.TENSOR_MEMORY: "tensor memory",
}  # fmt: skip
GROUPS = (Mechanism.CP_ASYNC_GROUP, Mechanism.BULK_GROUP, Mechanism.PRODUCT_GROUP)


@dataclass(frozen=True)
class Mutant:
    """One edit. `kind` is its class ("barrier deleted"), `start` and `stop` are places in the text, `new` stands there instead."""

    kind: str
    line: int
    start: int
    stop: int
    new: str
    at: int  # where the statement begins, with its guard
    guard: str

    def text(self, original: str) -> str:
        return original[: self.start] + self.new + original[self.stop :]

    def probe(self, original: str) -> str:
        """A text that traps where a thread would execute the statement."""
        return f"{original[: self.at]}{self.guard}trap; {original[self.at :]}"

    def shown(self, original: str) -> str:
        """What was written and what is written now, in a line."""
        return f"{' '.join(original[self.start : self.stop].split())} -> {self.new or 'nothing'}"


@dataclass(frozen=True)
class _Place:
    """A statement in the text: `start` of its guard or opcode, `opcode` and `stop` after its semicolon."""

    statement: ast.Instruction
    start: int
    opcode: int
    stop: int
    facts: Facts
    candidate: Candidate
    guard: str  # as written
    written: str  # its operands
    body: int  # where the first statement of its function begins

    def replaced(self, kind: str, new: str, whole: bool = True) -> Mutant:
        """The statement written otherwise, with its guard unless all of it is replaced."""
        return self._edit(kind, self.start if whole else self.opcode, self.stop, new)

    def with_opcode(self, kind: str, opcode: str) -> Mutant:
        return self._edit(kind, self.opcode, self.opcode + len(self.statement.opcode), opcode)

    def _edit(self, kind: str, start: int, stop: int, new: str) -> Mutant:
        return Mutant(kind, self.statement.line, start, stop, new, self.start, self.guard)

    def with_operand(self, kind: str, number: int, change: str) -> Iterator[Mutant]:
        """An operand changed by an instruction before: `change` has the scratch register as {0} and the operand as {1}."""
        operand = list(_operands(self.written))[number]
        guard = self.guard
        rest = self.written[: operand.start()] + "%hazard" + self.written[operand.end() :]
        first = change.format("%hazard", operand[0].strip())
        text = f"{{ .reg .b32 %hazard; {first}; {guard}{self.statement.opcode} {rest}; }}"
        yield self.replaced(kind, text)


def mutants(source: Source) -> list[Mutant]:
    """The mutants of a module, in the order of its lines. Raises PtxError where the text is not PTX."""
    offer_families()
    module = Module(source)
    binder = Binder(module.target, module.ast.version)
    starts = [0]
    for line in source.lines:
        starts.append(starts[-1] + len(line) + 1)
    found: list[Mutant] = []
    for function in module.ast.functions():
        body = 0
        for statement in statements(function.body or ()):
            candidates = binder.match(statement.opcode)
            if not isinstance(candidates, list):
                continue
            opcode = starts[statement.line - 1] + statement.column - 1
            start = opcode if statement.guard is None else source.text.rindex("@", 0, opcode)
            stop = source.text.index(";", opcode) + 1
            written = source.text[opcode + len(statement.opcode) : stop - 1]
            facts = candidates[0].form.definition.facts
            guard = source.text[start:opcode]
            body = body or start
            found += _of(_Place(statement, start, opcode, stop, facts, candidates[0], guard, written, body))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.kind))


def _of(place: _Place) -> Iterator[Mutant]:
    meeting = place.facts.synchronises
    if place.facts.family == "griddepcontrol":
        yield from _between_grids(place)
    if meeting is not None:
        yield from _deleted(place, meeting.mechanism, meeting.role)
        yield from _counts(place, meeting.mechanism, meeting.role)
    yield from _weakened(place)


def _between_grids(place: _Place) -> Iterator[Mutant]:
    """A wait for the grids before left out; the grids after let begin as soon as the kernel does (the first such instruction counts)."""
    if place.candidate.modifiers["action"] == "wait":
        yield place.replaced("grid wait deleted", "")
    else:
        yield Mutant("grids begun at once", place.statement.line, place.body, place.body, f"{place.statement.opcode}; ", place.start, place.guard)  # fmt: skip


def _deleted(place: _Place, mechanism: Mechanism, role: Role) -> Iterator[Mutant]:
    name = SHARED_OBJECTS[mechanism]
    words = place.statement.opcode.split(".")
    if mechanism is Mechanism.FENCE and "proxy" in words:
        name = "proxy fence"
    operands = [each[0].strip() for each in _operands(place.written)]
    if mechanism is Mechanism.WARP:
        if "warp" in words:  # bar.warp.sync; the others are there for their values
            yield place.replaced(f"{name} deleted", "")
        return
    if role in (Role.INIT, Role.END, Role.COUNT):
        return
    returns = bool(operands) and operands[0].startswith("%") and not place.written.lstrip().startswith("[")
    if role is Role.WAIT and mechanism is Mechanism.MBARRIER:
        yield place.replaced("mbarrier wait deleted", f"setp.eq.u32 {operands[0]}, 0, 0;")
    elif role is Role.ARRIVE and returns and mechanism is Mechanism.MBARRIER:
        yield place.replaced("mbarrier arrive deleted", f"mov.b64 {operands[0]}, 0;")
    elif not (mechanism is Mechanism.BARRIER and "red" in words):
        fence = " fence" if mechanism is Mechanism.TENSOR_MEMORY else ""
        deed = {Role.SYNC: "", Role.FENCE: fence, Role.ARRIVE: " arrive", Role.WAIT: " wait", Role.COMMIT: " commit"}[
            role
        ]
        yield place.replaced(f"{name}{deed} deleted", "")


def _counts(place: _Place, mechanism: Mechanism, role: Role) -> Iterator[Mutant]:
    words = place.statement.opcode.split(".")
    operands = [each[0].strip() for each in _operands(place.written)]
    if mechanism in GROUPS and role is Role.WAIT and operands and operands[0].isdigit():
        one = place.written.replace(operands[0], str(int(operands[0]) + 1), 1)
        kind = f"{SHARED_OBJECTS[mechanism]} wait one too few"
        yield place.replaced(kind, f"{place.statement.opcode}{one};", whole=False)
    if mechanism is Mechanism.BARRIER and len(operands) == 2 and "red" not in words:
        yield from place.with_operand("barrier count changed", 1, "add.u32 {0}, {1}, 32")
    if mechanism is Mechanism.MBARRIER:
        if role is Role.INIT:
            yield from place.with_operand("mbarrier count changed", 1, "add.u32 {0}, {1}, 1")
            yield from place.with_operand("mbarrier count changed", 1, "sub.u32 {0}, {1}, 1")
        if "expect_tx" in words or "expect" in words:
            yield from place.with_operand("transaction bytes changed", len(operands) - 1, "add.u32 {0}, {1}, 16")
            yield from place.with_operand("transaction bytes changed", len(operands) - 1, "sub.u32 {0}, {1}, 16")
        if role is Role.WAIT and "parity" in words:
            yield from place.with_operand("parity flipped", 2, "xor.b32 {0}, {1}, 1")
    if mechanism is Mechanism.WARP and operands and operands[-1] in ("-1", "0xffffffff", "4294967295"):
        yield from place.with_operand("mask narrowed", len(operands) - 1, "mov.b32 {0}, 0xffff")


def _weakened(place: _Place) -> Iterator[Mutant]:
    """Orders and scopes of accesses, fences, barriers and mbarriers."""
    opcode = place.statement.opcode
    accesses = place.facts.accesses(place.candidate.modifiers)
    meeting = place.facts.synchronises
    cluster = meeting is not None and meeting.mechanism is Mechanism.CLUSTER_BARRIER
    ordered = meeting is not None or any(each.order not in ("weak", "relaxed") for each in accesses)
    fence = meeting is not None and meeting.mechanism is Mechanism.FENCE
    if not ordered:
        return
    words = opcode.split(".")
    for word in ORDERS:
        if word in words and not fence and not (cluster and meeting is not None and meeting.role is Role.WAIT):
            yield place.with_opcode("order made relaxed", _with(words, word, "relaxed"))
    scope = str(place.candidate.modifiers.get("scope"))
    for wide, narrow in NARROWER.items():
        if wide == scope and wide in words and "proxy" not in words and "mbarrier_init" not in words:
            yield place.with_opcode("fence scope narrowed" if fence else "scope narrowed", _with(words, wide, narrow))
    if "volatile" in words:
        yield place.with_opcode("volatile dropped", ".".join(word for word in words if word != "volatile"))
    if meeting is not None and cluster and meeting.role is Role.ARRIVE and not {"relaxed", *ORDERS} & {*words}:
        yield place.with_opcode("order made relaxed", ".".join([*words[:3], "relaxed", *words[3:]]))


def _with(words: list[str], word: str, other: str) -> str:
    at = words.index(word)
    return ".".join([*words[:at], other, *words[at + 1 :]])


def _operands(written: str) -> Iterator[re.Match[str]]:
    """Operands as written, without the commas between them."""
    return re.finditer(r"\s*(?:\[[^\]]*\]|\{[^}]*\}|[^,\[{])+", written)

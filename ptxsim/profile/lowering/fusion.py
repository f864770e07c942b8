"""What the assembler makes one instruction of: multiply and add, three addends, logic of three inputs, address sums, ..."""

from __future__ import annotations

from collections.abc import Callable

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import def_use, slots_of, writes
from ptxsim.engine.analysis.divergence import divergent_slots, meetings
from ptxsim.engine.program.operand import Address, Constant, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Access
from ptxsim.syntax import ast
from ptxsim.types import ScalarType, parse_target

# By what a result is made with (isa.formula).
SUMS, BITWISE, EXTREMES = {"+", "-"}, {"&", "|", "^", "~"}, {"min", "max"}
SIGNS = {"neg", "abs"}  # which floating-point units apply to the sources of:
SIGNED = {"+", "-", "*", "compare"} | EXTREMES | SIGNS
# Targets for which ptxas 13.0 has integer minima and maxima of three (VIMNMX3) and of sums (VIADDMNMX), and with what lies below zero left out (VIMNMX.RELU).
OF_THREE, RELU = {90, 100, 103}, {90, 100, 103, 120, 121}


def cost_of(op: Op) -> str | None:
    """The row of the figures or of SEQUENCES that an operation's definition declares; None where it declares none."""
    cost = op.facts.cost
    return cost(op.words) if callable(cost) else cost


def accesses_of(op: Op) -> tuple[Access, ...]:
    """The accesses as the text has them: the assembler passes parameters of calls in registers, the engine in local memory."""
    return op.facts.accesses(op.bound.modifiers)


def maps_shared(program: Program) -> bool:
    """Whether a program makes addresses of the cluster's shared memory: generic ones may be some."""
    return any(op.family == "mapa" for op in program.ops)


def is_remote(op: Op, maps_shared: bool) -> bool:
    """Whether an access goes to shared memory of the cluster: it says so, or its address is generic where such addresses are made."""
    return any(access.remote or (access.space is None and maps_shared) for access in op.accesses)


def is_made(op: Op, operators: set[str]) -> bool:
    """Whether the result of an operation is made with these operators alone."""
    return bool(op.facts.operators) and operators.issuperset(op.facts.operators)


def type_of(op: Op) -> str:
    """The name of an operation's type."""
    words = op.words
    return str(words.get("type") or ("pred" if "pred" in words else ""))


def bits_of(op: Op) -> int:
    """Width of the operation's type in bits."""
    t = op.words.get("type")
    return t.bits if isinstance(t, ScalarType) else 32


def names_variable(op: Op) -> bool:
    """Whether a mov of a constant takes the address of a variable: a name in the text, not a number."""
    operands = op.bound.statement.operands
    return len(operands) == 2 and isinstance(operands[1], ast.Name | ast.Offset) and isinstance(op.sources[0], Constant)


def _sum_of(kind: str) -> Callable[[Op], bool]:
    """Whether an operation is an addition of a type."""
    return lambda p: is_made(p, {"+"}) and type_of(p) == kind


ADDRESSES = ("s32", "u32", "b32", "s64", "u64", "b64")
FARTHEST = 1 << 23  # bytes that an access may be from the address in its register


def _signed(value: object) -> int:
    """A constant of 64 bits with its sign; what is none is too far."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if isinstance(value, int) else FARTHEST


PREDICATED = ("alu", "fma", "imad")  # units of what a selp puts under its predicate


class Fusion:
    """Facts about a program's operations, and which of them become part of others."""

    def __init__(self, program: Program, target: str):
        self.program, self.target = program, target
        self.flow = def_use(program)
        self.graph = control_flow(program)
        self.divergent = divergent_slots(self.flow, loads=True)  # before fusion changes what is read
        self.meetings = meetings(self.flow)
        self.eaten: set[int] = set()  # operations that became part of another
        self.extra: dict[int, list[int]] = {}  # reads an operation takes over from what it ate
        self.kept: dict[int, int] = {}  # what a choice has where its predicate is off
        self.fused: dict[int, str] = {}  # unit of an operation that a fusion has changed
        self.folded = self._fold_constants()  # operations whose result the assembler computes

    def _fold_constants(self) -> set[int]:
        """Arithmetic on nothing but constants; addresses of variables are none, they depend on where the CTA runs."""
        constants: set[int] = set()
        folded: set[int] = set()
        for op in self.program.ops:
            writes = self.flow.writes.get(op.site, ())
            if (
                not writes
                or op.guard is not None
                or op.control is not None
                or any(len(self.flow.definers[w]) != 1 for w in writes)
            ):
                continue
            if op.family == "mov" and len(op.sources) == 1 and isinstance(op.sources[0], Constant):
                if not names_variable(op):
                    constants.update(writes)
            elif self.flow.reads[op.site] and all(r in constants for r in self.flow.reads[op.site]) and op.folds:
                constants.update(writes)
                folded.add(op.site)
        return folded

    # ---- facts ----

    def reads(self, op: Op) -> tuple[int, ...]:
        return tuple(dict.fromkeys([*self.flow.reads[op.site], *self.extra.get(op.site, ())]))

    def writes(self, op: Op) -> tuple[int, ...]:
        return tuple(self.flow.writes[op.site])

    def live_readers(self, slot: int) -> list[int]:
        return [site for site in self.flow.readers[slot] if site in self.flow.live]

    def definer(self, slot: int) -> Op | None:
        """The only operation that writes a register, if there is one."""
        sites = self.flow.definers.get(slot, ())
        return self.program.ops[sites[0]] if len(sites) == 1 else None

    def only_for(self, producer: Op, op: Op) -> bool:
        """Whether nothing but `op`, in the same block, uses what `producer` makes."""
        return (
            producer.site in self.flow.live
            and producer.site not in self.eaten
            and producer.guard is None
            and len(self.writes(producer)) == 1
            and self.live_readers(self.writes(producer)[0]) == [op.site]
            and self.flow.block_of[producer.site] == self.flow.block_of[op.site]
        )

    def is_uniform(self, op: Op) -> bool:
        writes = self.writes(op)
        return bool(writes) and not self.divergent.intersection(writes)

    def is_invariant(self, op: Op) -> bool:
        """A constant, parameter or special register: made where it is first used."""
        if op.guard is not None or len(self.flow.definers[self.writes(op)[0] if self.writes(op) else -1]) != 1:
            return False
        if op.site in self.folded:
            return True
        if op.family == "load":
            return accesses_of(op)[0].space == "param"
        return op.family == "mov" and not self.flow.reads[op.site]

    def guard(self, op: Op) -> tuple[int, ...]:
        """The predicate an operation runs under, by the name it has there."""
        if op.guard is None:
            return ()
        slot = op.guard[0]
        block = self.program.blocks[self.flow.block_of[op.site]]
        for before in reversed(block[: block.index(op)]):
            for declared, name in zip(writes(before), self.flow.writes[before.site]):
                if declared == slot:
                    return (name,)
        return (slot,)

    # ---- fusion ----

    def eat(self, producer: Op, op: Op, unit: str | None = None) -> None:
        """`producer` becomes part of `op`."""
        self.eaten.add(producer.site)
        taken = self.writes(producer)[0]
        self.extra[op.site] = [*self.extra.get(op.site, ()), *self.reads(producer)]
        self.flow.reads[op.site] = [r for r in self.flow.reads[op.site] if r != taken]
        if unit:
            self.fused[op.site] = unit

    def producers(self, op: Op) -> list[Op]:
        found = [self.definer(slot) for slot in dict.fromkeys(self.flow.reads[op.site])]
        return [p for p in found if p is not None and p.site in self.flow.live]

    def fuse(self) -> None:
        """Mark what becomes part of what, in program order."""
        for op in self.program.ops:
            if op.site not in self.flow.live or op.control is not None:
                continue
            kind = type_of(op)
            if self._offset(op):
                continue
            if is_made(op, SUMS) and bits_of(op) == 64 and kind != "f64":
                self._address_sum(op)
            elif is_made(op, SUMS) and kind in ("s32", "u32"):
                self._sum(op)
            elif is_made(op, BITWISE) and kind == "pred":
                self._condition(op)
            elif is_made(op, BITWISE):
                self._logic(op)
            elif is_made(op, EXTREMES) and kind in ("s32", "u32"):
                self._extreme(op, kind)
            elif op.family == "mul" and op.words.get("half") == "hi" and bits_of(op) == 64:
                self._both_halves(op)
            elif op.family == "selp" and bits_of(op) == 32:
                self._choice(op)
            if kind in ("f32", "f64", "f16", "f16x2", "bf16x2") and is_made(op, SIGNED):
                for producer in self.producers(op):
                    if is_made(producer, SIGNS) and type_of(producer) == kind and self.only_for(producer, op):
                        self.eat(producer, op)

    def _eat_first(self, op: Op, wanted: Callable[[Op], bool], unit: str | None) -> bool:
        for producer in self.producers(op):
            if wanted(producer) and self.only_for(producer, op):
                self.eat(producer, op, unit)
                return True
        return False

    def _extreme(self, op: Op, kind: str) -> None:
        """What a minimum or maximum takes along, as far as the target has it: a sum, or one of its kind, and of those with a sign what lies below zero."""
        operators, number = set(op.facts.operators), parse_target(self.target).number
        if number in OF_THREE and self._eat_first(op, _sum_of(kind), "alu"):
            return
        joined = [operators] if number in OF_THREE else []
        zero = any(isinstance(s, Constant) and s.value == 0 for s in op.sources)
        if number in RELU and kind == "s32" and operators == {"max"} and zero:
            joined = [{"min"}, {"max"}]
        self._eat_first(
            op, lambda p: type_of(p) == kind and p.site not in self.extra and set(p.facts.operators) in joined, "alu"
        )

    def _sum(self, op: Op) -> None:
        """mul + add is one IMAD, shl + add one LEA, and three addends one IADD3."""
        if self._eat_first(
            op, lambda p: p.family == "mul" and p.words.get("half") == "lo" and bits_of(p) == 32, "imad"
        ):
            return
        if self._eat_first(op, lambda p: p.family == "shl" and isinstance(p.sources[1], Constant), "alu"):
            return
        if len(self.extra.get(op.site, ())) == 0:
            self._eat_first(
                op, lambda p: is_made(p, SUMS | {"neg"}) and bits_of(p) == 32 and p.site not in self.fused, "alu"
            )

    def _address_sum(self, op: Op) -> None:
        """base + index * size: one IMAD.WIDE, or LEA and LEA.HI.X."""
        for producer in self.producers(op):
            if producer.family == "mul" and producer.words.get("half") == "wide":
                readers = [self.program.ops[s] for s in self.live_readers(self.writes(producer)[0])]
                if all(r.family == "add" and bits_of(r) == 64 for r in readers):
                    self.eat(producer, op, "imad.wide")  # every reader multiplies for itself
                    return
        for producer in self.producers(op):
            if producer.family == "shl" and isinstance(producer.sources[1], Constant) and producer.guard is None:
                readers = [self.program.ops[s] for s in self.live_readers(self.writes(producer)[0])]
                if all(r.family == "add" and bits_of(r) == 64 for r in readers):
                    self.eat(producer, op, "lea64")
                    return

    def _offset(self, op: Op) -> bool:
        """An address that is another one and a constant is part of the accesses that alone use it."""
        if op.family != "add" or op.guard is not None or type_of(op) not in ADDRESSES or len(self.writes(op)) != 1:
            return False
        number = next((k for k in range(2) if isinstance(op.sources[1 - k], Constant)), None)
        if number is None or not isinstance(op.sources[number], Register):
            return False
        constant, slot = op.sources[1 - number], self.writes(op)[0]
        assert isinstance(constant, Constant)
        base, readers = self.flow.value(op, number), [self.program.ops[s] for s in self.live_readers(slot)]
        here = self.flow.block_of[op.site]
        if not readers or self.definer(slot) is None or not -FARTHEST <= _signed(constant.value) < FARTHEST:
            return False
        if any(not self._addresses(reader, slot) for reader in readers):
            return False
        if self.definer(base) is None:  # the other one must still be what it was
            last = max(reader.site for reader in readers)
            if any(self.flow.block_of[reader.site] != here for reader in readers) or any(
                self.flow.block_of.get(s) == here and op.site < s < last for s in self.flow.definers[base]
            ):
                return False
        self.eaten.add(op.site)
        for reader in readers:
            self.flow.reads[reader.site] = [base if r == slot else r for r in self.flow.reads[reader.site]]
            self.flow.readers[base].append(reader.site)
        return True

    def _addresses(self, op: Op, slot: int) -> bool:
        """Whether an operation reads a register as the address of lanes' accesses and as nothing else."""
        if not op.accesses or op.copies_in_bulk or not op.facts.by_lanes:
            return False
        found = [
            k for k, s in enumerate(op.sources) if isinstance(s, Address | Register) and self._reads_at(op, k) == slot
        ]
        return self.flow.reads[op.site].count(slot) == len(found) > 0 and all(
            isinstance(op.sources[k], Address) for k in found
        )

    def _reads_at(self, op: Op, number: int) -> int:
        """What the source of that number, a register or an address, reads; -1 for none."""
        return self.flow.value(op, number) if slots_of([op.sources[number]]) else -1

    def _logic(self, op: Op) -> None:
        """Two of and, or, xor, not with up to three inputs are one LOP3."""
        for producer in self.producers(op):
            if not is_made(producer, BITWISE) or type_of(producer) == "pred" or bits_of(producer) != bits_of(op):
                continue
            inputs = {*self.reads(op), *self.reads(producer)} - set(self.writes(producer))
            if producer.site not in self.extra and len(inputs) <= 3 and self.only_for(producer, op):
                self.eat(producer, op, "alu" if bits_of(op) <= 32 else None)
                return

    def _both_halves(self, op: Op) -> None:
        """The two halves of one product of 64 bits have most of it together."""
        block = self.program.blocks[self.flow.block_of[op.site]]
        for other in block:
            if (
                other.family == "mul" and other.words.get("half") == "lo" and bits_of(other) == 64
                and other.site in self.flow.live and self.flow.reads[other.site] == self.flow.reads[op.site]
                and len(self.flow.reads[op.site]) == 2
            ):  # fmt: skip
                self.fused[other.site], self.fused[op.site] = "mul.lo.64", "mul.hi.64.also"
                return

    def _choice(self, op: Op) -> None:
        """What is made for a selp alone is made under its predicate, in the place of the other value, if nothing needs that later."""
        block = self.flow.block_of[op.site]
        slots = [self.flow.value(op, k) if isinstance(op.sources[k], Register) else -1 for k in range(2)]
        for slot, other in (slots, slots[::-1]):
            producer = self.definer(slot) if slot >= 0 and other >= 0 else None
            if producer is None or not self.only_for(producer, op) or self.is_invariant(producer):
                continue
            unit = self.fused.get(producer.site, cost_of(producer))
            ends = all(s <= op.site and self.flow.block_of[s] == block for s in self.live_readers(other))
            if (
                unit in PREDICATED
                and ends
                and not any(self.is_invariant(self.program.ops[s]) for s in self.flow.definers[other])
            ):
                self.eat(producer, op, unit)
                self.kept[op.site] = other
                return

    def _compares_again(self, op: Op) -> bool:
        """A comparison that others combine too is made again by each of them."""
        for producer in self.producers(op):
            slots = self.writes(producer)
            if (
                producer.family != "setp"
                or producer.guard is not None
                or len(slots) != 1
                or len(self.producers(op)) < 2
            ):
                continue
            if self.flow.block_of[producer.site] != self.flow.block_of[op.site] or producer.site in self.eaten:
                continue
            row = cost_of(producer)
            self.eat(producer, op, "predicate" if row == "alu" else row)
            if any(slots[0] in self.flow.reads[s] for s in self.live_readers(slots[0])):
                self.eaten.discard(producer.site)
            return True
        return False

    def _condition(self, op: Op) -> None:
        """A setp takes another predicate along: p and (a < b) is one instruction."""
        for producer in self.producers(op):
            if producer.family == "setp" and self.only_for(producer, op):
                row = cost_of(producer)
                self.eat(producer, op, "predicate" if row == "alu" else row)
                return
        if self._compares_again(op):
            return
        if op.family == "not":
            self.fused[op.site] = "free"

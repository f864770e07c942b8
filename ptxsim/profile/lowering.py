"""From PTX to machine instructions: what the assembler folds away, fuses, hoists, predicates and emulates.

A model of ptxas for sm_90, learned from its output on sample code. It only counts and times: no encodings, no registers
are assigned. `lower` is the way in; `emulated` has the sequences that stand for one PTX instruction.
"""

from __future__ import annotations

from ptxsim.engine.operand import Address, Constant, Register, Special, StackAddress
from ptxsim.engine.program import Op, Program
from ptxsim.profile import tensor, unroll
from ptxsim.profile.emulated import CHECKED, SEQUENCES
from ptxsim.profile.figures import UNITS
from ptxsim.profile.flow import Flow, analyze, registers_of
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp, MachineProgram, Pipe
from ptxsim.profile.pressure import FIXED, Pressure, registers
from ptxsim.profile.schedule import Budget, schedule

ALIASES = ("cvta", "cvta.to")  # the generic address of global memory is its address
LOGIC = ("and", "or", "xor", "not")
FULL_OCCUPANCY = 32  # registers a thread may have for 64 warps on an SM
SHORT_BRANCH = 7  # instructions a branch may skip to become predication
MODIFIERS = ("neg", "abs")


def base(op: Op) -> str:
    return op.opcode.partition(".")[0]


def words(op: Op) -> list[str]:
    return op.opcode.split(".")


def type_of(op: Op) -> str:
    """The last type word of an opcode."""
    return words(op)[-1]


def bits_of(op: Op) -> int:
    """Width of the operation's type in bits; packed types count as 32."""
    last = type_of(op)
    digits = last.lstrip("abcdefghijklmnopqrstuvwxyz")
    return 32 if "x" in digits else int(digits) if digits.isdigit() else 32


def crossing(made_by: Pipe, used_by: Pipe) -> int:
    """Extra latency between the ALU and the FMA pipe."""
    fma = (Pipe.FMA, Pipe.FMA_HEAVY)
    return int((made_by == Pipe.ALU and used_by in fma) or (made_by in fma and used_by == Pipe.ALU))


def balance(ops: list[MachineOp]) -> None:
    """Give every addition of a block to the pipe that has less to do, ALU or the heavy half of FMA."""
    busy = {"alu": 0.0, "imad": 0.0}
    for op in ops:
        unit = UNITS[op.unit]
        if unit.pipe == Pipe.ALU:
            busy["alu"] += unit.cost
        elif unit.pipe in (Pipe.FMA, Pipe.FMA_HEAVY):
            busy["imad"] += unit.cost / (2 if unit.pipe == Pipe.FMA else 1)
    for op in ops:
        if op.unit == "iadd":
            op.unit = min(("imad", "alu"), key=lambda name: busy[name])
            busy[op.unit] += UNITS[op.unit].cost


class Lowering:
    """Lowers one program."""

    def __init__(self, program: Program, pragmas: frozenset[int] = frozenset()):
        self.program, self.pragmas = program, pragmas
        self.flow: Flow = analyze(program)
        self.slots = len(self.flow.types)
        self.shared_base = self.new_slot()
        self.eaten: set[int] = set()  # operations that became part of another
        self.extra: dict[int, list[int]] = {}  # reads an operation takes over from what it ate
        self.fused: dict[int, str] = {}  # unit of an operation that a fusion has changed
        self.homes: dict[int, list[int]] = {}  # block -> sites of values that are made there, wherever PTX makes them

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

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
        """Whether nobody but `op`, in the same block, uses what `producer` makes."""
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
        return bool(writes) and all(w in self.flow.uniform for w in writes)

    def is_invariant(self, op: Op) -> bool:
        """A constant, parameter or special register: made where it is first used."""
        name = base(op)
        if op.guard is not None or len(self.flow.definers[self.writes(op)[0] if self.writes(op) else -1]) != 1:
            return False
        return (name == "ld" and ".param" in op.opcode) or (name == "mov" and not self.flow.reads[op.site])

    def guard(self, op: Op) -> tuple[int, ...]:
        """The predicate an operation runs under, by the name it has there."""
        if op.guard is None:
            return ()
        slot = op.guard[0]
        block = self.program.blocks[self.flow.block_of[op.site]]
        for before in reversed(block[: block.index(op)]):
            for declared, name in zip(self.raw_writes(before), self.flow.writes[before.site]):
                if declared == slot:
                    return (name,)
        return (slot,)

    def raw_writes(self, op: Op) -> list[int]:
        return [slot for d in op.destinations for slot in registers_of(d)]

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
            name = base(op)
            if name in ("add", "sub") and bits_of(op) == 64 and type_of(op) != "f64":
                self._address_sum(op)
            elif name in ("add", "sub") and type_of(op) in ("s32", "u32"):
                self._sum(op)
            elif name in LOGIC and type_of(op) == "pred":
                self._condition(op)
            elif name in LOGIC:
                self._logic(op)
            elif name in ("min", "max") and type_of(op) in ("s32", "u32"):
                self._eat_first(op, lambda p: base(p) == "add" and type_of(p) == type_of(op), "alu")
            elif name in ("add", "sub") and words(op)[1:] in (["f32"], ["ftz", "f32"], ["f64"]):
                self._eat_first(op, lambda p: base(p) == "mul" and words(p)[1:] == words(op)[1:], None)
            if type_of(op) in ("f32", "f64", "f16", "f16x2", "bf16x2") and name in (
                "add",
                "sub",
                "mul",
                "fma",
                "min",
                "max",
                "setp",
            ):
                for producer in self.producers(op):
                    if base(producer) in MODIFIERS and type_of(producer) == type_of(op) and self.only_for(producer, op):
                        self.eat(producer, op)

    def _eat_first(self, op: Op, wanted, unit: str | None) -> bool:
        for producer in self.producers(op):
            if wanted(producer) and self.only_for(producer, op):
                self.eat(producer, op, unit)
                return True
        return False

    def _sum(self, op: Op) -> None:
        """mul + add is one IMAD, shl + add one LEA, and three addends one IADD3."""
        if self._eat_first(op, lambda p: base(p) == "mul" and ".lo" in p.opcode and bits_of(p) == 32, "imad"):
            return
        if self._eat_first(op, lambda p: base(p) == "shl" and isinstance(p.sources[1], Constant), "alu"):
            return
        if len(self.extra.get(op.site, ())) == 0:
            self._eat_first(
                op, lambda p: base(p) in ("add", "sub", "neg") and bits_of(p) == 32 and p.site not in self.fused, "alu"
            )

    def _address_sum(self, op: Op) -> None:
        """base + index * size: one IMAD.WIDE, or LEA and LEA.HI.X."""
        for producer in self.producers(op):
            if base(producer) in ("mul",) and ".wide" in producer.opcode:
                readers = [self.program.ops[s] for s in self.live_readers(self.writes(producer)[0])]
                if all(base(r) == "add" and bits_of(r) == 64 for r in readers):
                    self.eat(producer, op, "imad.wide")  # every reader multiplies for itself
                    return
        for producer in self.producers(op):
            if base(producer) == "shl" and isinstance(producer.sources[1], Constant) and producer.guard is None:
                readers = [self.program.ops[s] for s in self.live_readers(self.writes(producer)[0])]
                if all(base(r) == "add" and bits_of(r) == 64 for r in readers):
                    self.eat(producer, op, "lea64")
                    return

    def _logic(self, op: Op) -> None:
        """Two of and, or, xor, not with up to three inputs are one LOP3."""
        for producer in self.producers(op):
            if base(producer) not in LOGIC or type_of(producer) == "pred" or bits_of(producer) != bits_of(op):
                continue
            inputs = {*self.reads(op), *self.reads(producer)} - set(self.writes(producer))
            if producer.site not in self.extra and len(inputs) <= 3 and self.only_for(producer, op):
                self.eat(producer, op, "alu" if bits_of(op) <= 32 else None)
                return

    def _condition(self, op: Op) -> None:
        """A setp takes another predicate along: p and (a < b) is one instruction."""
        for producer in self.producers(op):
            if base(producer) == "setp" and self.only_for(producer, op):
                unit = "predicate64" if bits_of(producer) == 64 else "predicate"
                if type_of(producer) == "f64":
                    unit = "dsetp"
                self.eat(producer, op, unit)
                return
        if base(op) == "not":
            self.fused[op.site] = "free"

    # ---- blocks ----

    def lower(self) -> MachineProgram:
        self.fuse()
        self._settle_invariants()
        blocks = [self._block(number) for number in range(len(self.program.blocks))]
        if blocks:
            prologue = [MachineOp("constant", site=self._first_site())]
            if any(op.space == "global" for block in blocks for op in block.ops):
                prologue.append(MachineOp("constant", site=self._first_site()))
            blocks[0].ops[:0] = prologue
        self._predicate(blocks)
        variants = self._unroll(blocks)
        pressure = Pressure(self.flow, blocks)
        # The assembler keeps to what lets an SM be full of warps, unless the kernel needs more anyway.
        limit = max(FULL_OCCUPANCY - FIXED, pressure.most())
        tight = limit == FULL_OCCUPANCY - FIXED
        origin = {copy: number for number, found in variants.items() for copy in found}
        for number, block in enumerate(blocks):
            live_out = frozenset(pressure.live_out(origin.get(number, number)))
            block.ops = schedule(block.ops, Budget(limit, pressure.words, live_out, tight))
        needed = registers(max(pressure.most(), min(limit, Pressure(self.flow, blocks).most())))
        return MachineProgram(blocks, self.slots, needed, variants)

    def _unroll(self, blocks: list[MachineBlock]) -> dict[int, list[int]]:
        """Append copies of loop bodies; block -> numbers of its copies, largest first."""
        barred = unroll.forbidden(self.flow, self.pragmas)
        variants: dict[int, list[int]] = {}
        for number in range(len(self.program.blocks)):
            if number in barred:
                continue
            for count in unroll.factors(self.flow, number, blocks[number]):
                variants.setdefault(number, []).append(len(blocks))
                blocks.append(unroll.copies(self.flow, number, blocks[number], count, self.new_slot))
        return variants

    def _first_site(self) -> int:
        return next((op.site for block in self.program.blocks for op in block), 0)

    def _settle_invariants(self) -> None:
        """Constants, parameters and special registers are made in the deepest block that dominates all their uses."""
        uses_shared: list[int] = []
        for op in self.program.ops:
            if op.site not in self.flow.live or op.control is not None:
                continue
            if self._names_shared(op):
                uses_shared += self._use_blocks(op)
            if self.is_invariant(op) and op.site not in self.eaten:
                used = self._use_blocks(op)
                self.homes.setdefault(self._meeting(used or [self.flow.block_of[op.site]]), []).append(op.site)
        self.shared_home = {self._outside_loops(block) for block in uses_shared}

    def _names_shared(self, op: Op) -> bool:
        """Whether an operation needs the address of a shared variable."""
        spaces = [o for o in op.sources if isinstance(o, Address) and o.base is None]
        if ".shared" in op.opcode and spaces:
            return True
        return base(op) == "mov" and not self.flow.reads[op.site] and self._feeds_shared(op)

    def _feeds_shared(self, op: Op) -> bool:
        """A constant that is the address of a shared variable: a name in the text, not a number."""
        from ptxsim.syntax import ast

        operands = op.bound.statement.operands
        return (
            len(operands) == 2
            and isinstance(operands[1], ast.Name | ast.Offset)
            and isinstance(op.sources[0], Constant)
        )

    def _use_blocks(self, op: Op) -> list[int]:
        if base(op) != "mov" and not self.is_invariant(op):
            return [self.flow.block_of[op.site]]
        return [self.flow.block_of[s] for w in self.writes(op) for s in self.live_readers(w)]

    def _meeting(self, blocks: list[int]) -> int:
        common = set.intersection(*(self.flow.dominators[b] for b in blocks)) or {0}
        return self._outside_loops(max(common, key=lambda b: len(self.flow.dominators[b])))

    def _outside_loops(self, block: int) -> int:
        """The nearest dominating block with no loop around it that the value's use is in."""
        depth = self.flow.loop_depth
        while depth[block] > 0:
            above = self.flow.dominators[block] - {block}
            if not above:
                break
            block = max(above, key=lambda b: len(self.flow.dominators[b]))
        return block

    def _block(self, number: int) -> MachineBlock:
        ops: list[MachineOp] = []
        if number in self.shared_home:
            site = self.program.blocks[number][0].site if self.program.blocks[number] else self._first_site()
            ops += [
                MachineOp("s2ur", (self.shared_base,), (), site),
                MachineOp("uniform", (), (), site),
                MachineOp("uniform", (self.shared_base,), (self.shared_base,), site),
            ]
        for site in self.homes.get(number, ()):
            ops += self._invariant(self.program.ops[site])
        for op in self.program.blocks[number]:
            if op.site in self.flow.live and op.site not in self.eaten and (op.control or not self.is_invariant(op)):
                ops += self._operation(op)
        balance(ops)
        return MachineBlock(ops)

    def _invariant(self, op: Op) -> list[MachineOp]:
        writes = self.writes(op)
        if base(op) == "ld":
            address = op.sources[0]
            line = 1 + (address.offset >> 6) if isinstance(address, Address) else 1
            return [MachineOp("constant", writes, (), op.site, amount=line)]
        source = op.sources[0]
        if isinstance(source, Special):
            name = source.name
            if name.startswith(("%ntid", "%nctaid")):
                return [MachineOp("constant", writes, (), op.site)]
            if name.startswith(("%clock", "%globaltimer")):
                return [MachineOp("clock", writes, (), op.site)]
            return [MachineOp("s2ur" if self.is_uniform(op) else "s2r", writes, (), op.site)]
        if self._feeds_shared(op):
            return [MachineOp("nothing", writes, (self.shared_base,), op.site, Kind.COPY)]
        return []

    # ---- single operations ----

    def _operation(self, op: Op) -> list[MachineOp]:
        if op.control is not None:
            return self._control(op)
        made = self._lowered(op)
        if op.guard is not None:
            for machine in made:
                machine.predicates = self.guard(op)
                # What a predicated instruction does not write keeps its old value.
                machine.reads = tuple(dict.fromkeys([*machine.reads, *machine.writes]))
        return made

    def _control(self, op: Op) -> list[MachineOp]:
        guard = self.guard(op)
        match op.control:
            case "bra":
                back = op.targets[0] <= self.flow.block_of[op.site]
                kind = Kind.LOOP_BRANCH if back else Kind.BRANCH
                return [MachineOp("branch", (), (), op.site, kind, predicates=guard)]
            case "brx.idx":
                return [
                    MachineOp("alu", (), self.reads(op), op.site),
                    MachineOp("branch", (), (), op.site, Kind.BRANCH),
                ]
            case "exit" | "ret":
                return [MachineOp("branch", (), (), op.site, Kind.EXIT, predicates=guard)]
        return [MachineOp("branch", self.writes(op), self.reads(op), op.site, Kind.BRANCH, predicates=guard)]

    def _lowered(self, op: Op) -> list[MachineOp]:
        from ptxsim.profile import lower_memory, lower_scalar

        made = lower_memory.lower(self, op)
        return lower_scalar.lower(self, op) if made is None else made

    def sequence(self, op: Op, name: str) -> list[MachineOp]:
        """The instructions that stand for `op`: a chain, as far as its latency allows; the rest runs beside it."""
        units, latency = SEQUENCES[name]
        made, elapsed, before, pipe = [], 0.0, self.reads(op), UNITS[units[-1]].pipe
        for unit in units[:-1]:
            step = UNITS[unit].latency + crossing(pipe, UNITS[unit].pipe)
            end = UNITS[units[-1]].latency + crossing(UNITS[unit].pipe, UNITS[units[-1]].pipe)
            chained = elapsed + step + end <= latency
            made.append(MachineOp(unit, (self.new_slot(),) if chained else (), before, op.site))
            if chained:
                elapsed, before, pipe = elapsed + step, made[-1].writes, UNITS[unit].pipe
        elapsed += crossing(pipe, UNITS[units[-1]].pipe)
        made.append(MachineOp(units[-1], self.writes(op), before, op.site, latency=max(1.0, latency - elapsed)))
        if name not in CHECKED:
            return made
        begin, end = MachineOp("branch", (), (), op.site), MachineOp("branch", (), (), op.site)
        return [begin, *made, MachineOp("branch", (), made[0].writes, op.site, Kind.CHECK), end]

    # ---- predication ----

    def _predicate(self, blocks: list[MachineBlock]) -> None:
        """Short forward branches over one block become predicates: the branch goes, the block runs as part of this one.

        What comes behind, if nobody else goes there, is part of it too.
        """
        full = [number for number, source in enumerate(self.program.blocks) if source]
        taken: set[int] = set()
        for place, number in enumerate(full):
            if number in taken:
                continue
            rest = full[place + 1 :]
            while len(rest) >= 2 and self._short_branch(blocks, number, *rest[:2]):
                inside, behind = rest[:2]
                self._absorb(blocks, number, inside)
                taken.add(inside)
                rest = rest[1:]
                if not self._entered_from(behind, {number, inside, *blocks[number].absorbed}):
                    break
                blocks[number].ops += blocks[behind].ops
                blocks[behind].ops = []
                blocks[number].absorbed += (behind,)
                taken.add(behind)
                rest = rest[1:]

    def _last(self, blocks: list[MachineBlock], number: int) -> Op | None:
        """The operation a block ends with, the blocks it has absorbed counted in."""
        source = self.program.blocks[(number, *blocks[number].absorbed)[-1]]
        return source[-1] if source else None

    def _short_branch(self, blocks: list[MachineBlock], number: int, inside: int, behind: int) -> bool:
        last, inner = self._last(blocks, number), blocks[inside]
        if last is None or last.control != "bra" or last.guard is None or not inside < last.targets[0] <= behind:
            return False
        if len(self.flow.predecessors[inside]) != 1 or any(op.control for op in self.program.blocks[inside]):
            return False
        return len(inner.ops) <= SHORT_BRANCH and all(
            op.kind in (Kind.PLAIN, Kind.COPY, Kind.ACCESS) for op in inner.ops
        )

    def _entered_from(self, block: int, known: set[int]) -> bool:
        """Whether a block is reached from these blocks alone, through empty ones or not."""
        queue, seen = [block], set()
        while queue:
            for before in self.flow.predecessors[queue.pop()]:
                if before in known or before in seen:
                    continue
                if self.program.blocks[before] or before >= block:
                    return False
                seen.add(before)
                queue.append(before)
        return True

    def _absorb(self, blocks: list[MachineBlock], number: int, inside: int) -> None:
        block, inner = blocks[number], blocks[inside]
        last = self._last(blocks, number)
        guard = self.guard(last)  # type: ignore[arg-type]
        block.ops = [op for op in block.ops if op.site != last.site]  # type: ignore[union-attr]
        for machine in inner.ops:
            machine.predicates = (*machine.predicates, *guard)
            machine.reads = tuple(dict.fromkeys([*machine.reads, *machine.writes]))
        block.ops += inner.ops
        block.absorbed += (inside,)
        inner.ops = []


def lower(program: Program, pragmas: frozenset[int] = frozenset()) -> MachineProgram:
    """Machine code of a program, as far as time is concerned. `pragmas`: lines of `.pragma "nounroll"`."""
    return Lowering(program, pragmas).lower()


__all__ = ["Register", "StackAddress", "lower", "registers_of", "tensor"]

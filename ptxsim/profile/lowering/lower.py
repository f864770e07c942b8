"""From PTX to machine instructions: what the assembler folds away, fuses, hoists, predicates and emulates.

A model of ptxas for sm_90, learned from its output on sample code. It only counts and times: no encodings, no registers
are assigned. `lower` is the way in; `emulated` has the sequences that stand for one PTX instruction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from ptxsim.closure import closure
from ptxsim.engine.analysis import def_use
from ptxsim.engine.program.operand import Address, Special, StackAddress
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Control, Scope
from ptxsim.isa.registry import Form
from ptxsim.machine.memory import PARAMETERS as FIRST_PARAMETER
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering import memory, scalar, synchronisation, tensor, unroll  # noqa: F401  (they register lowerings)
from ptxsim.profile.lowering.allocation import CALLING, fewest, registers
from ptxsim.profile.lowering.assembly import LOWERINGS, Assembly, names_shared
from ptxsim.profile.lowering.convergence import converge
from ptxsim.profile.lowering.fusion import names_variable
from ptxsim.profile.lowering.halves import narrow as narrow_values
from ptxsim.profile.lowering.halves import products, upper_halves
from ptxsim.profile.lowering.learned import corrected
from ptxsim.profile.lowering.merging import Alignment, merge_shared
from ptxsim.profile.lowering.moves import keep_moves
from ptxsim.profile.lowering.predication import keep_old_values, predicate
from ptxsim.profile.lowering.pressure import FULL_OCCUPANCY, LOADS_CONSTANTS, MOST, Pressure
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.lowering.repeated import loaded_once
from ptxsim.profile.lowering.schedule import FARTHER, NEARER, PASSED, WINDOW, Budget, is_vector, narrow, schedule
from ptxsim.profile.lowering.spills import spill
from ptxsim.profile.lowering.traits import Given, Traits, traits
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp, MachineProgram, Pipe
from ptxsim.types import Target, parse_target

STEP = 8  # registers a thread is given at a time
RESERVED = 4  # of them: for what no instruction of PTX names
MARGIN = 7  # the same, with what the assembler leaves free while it puts instructions in order
PARAMETER = 4  # cycles of the sub-core for a parameter: about every other one ptxas reads as an operand or by ULDC, which take none of LDC's 8
# Where the constants of a launch have the sizes of CTA and grid, the stack's begin, what describes global memory, and parameters: bytes, on sm_90.
SIZES, STACK, GLOBAL_MEMORY, PARAMETERS = 0x0, 0x28, 0x208, 0x210

Order: TypeAlias = tuple[list[MachineOp], frozenset[int]]  # a block's instructions, and what is live after them


def constant_line(place: int) -> int:
    """The line of 64 bytes of a place in the constants, from 1 on."""
    return 1 + (place >> 6)


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


class Lowering(Assembly):
    """Lowers one program."""

    def __init__(self, program: Program, target: str, most: int):
        super().__init__(program, target)
        self.allowed = most
        self.homes: dict[int, list[int]] = {}  # block -> sites of values that are made there, wherever PTX makes them
        self.counted: set[int] = set()  # copies of loops whose turns the text does not tell
        self.shared_home: set[int] = set()  # blocks that make the base address of shared memory
        self.rules = Given(0, 0, 0, most, 0)  # what rules say of registers
        self.traits: Traits = {}  # what the table of registers goes by

    # ---- blocks ----

    def lower(self) -> MachineProgram:
        self.fuse()
        products(self)
        self.narrow = narrow_values(self)
        self.absent |= upper_halves(self)
        self._settle_invariants()
        blocks = [self._block(number) for number in range(len(self.program.blocks))]
        if blocks:
            prologue = [MachineOp("constant", site=self._first_site(), constant=constant_line(STACK))]
            if any(op.space == "global" for block in blocks for op in block.ops):
                prologue.append(MachineOp("uniform", site=self._first_site(), constant=constant_line(GLOBAL_MEMORY)))
            blocks[0].ops[:0] = prologue
        predicate(self, blocks)
        converge(self, blocks)
        alignment = Alignment(self.program)
        for block in blocks:
            block.ops = merge_shared(alignment, block.ops)
        keep_old_values(blocks)
        before = Pressure(self, blocks, self.like)
        keep_moves(self, blocks, before.after, before.words)
        variants = self._unroll(blocks)
        pressure = Pressure(self, blocks, self.like)
        origin = {copy: number for number, found in variants.items() for copy in found}
        live_out = [frozenset(pressure.after[origin.get(number, number)]) for number in range(len(blocks))]
        once = [self._once(number, block.ops) for number, block in enumerate(blocks)]
        tight = [self._narrow(ops, pressure, live) for ops, live in zip(once[: len(pressure.blocks)], live_out)]
        # The order of loads is that of what the text needs; registers are those of the step of allocation that suffices.
        room = self._given(pressure.most()) - RESERVED
        texts = [block.ops for block in blocks]
        for block, ops, live in zip(blocks, once, live_out):
            block.ops = schedule(ops, Budget(room, pressure.words, live, self.meetings))
            if pressure.within(block.ops, live) > self.allowed - RESERVED:
                block.ops = self._narrow(block.ops, pressure, live)
        least = max((pressure.within(ops, live) for ops, live in zip(tight, live_out)), default=0)
        given = self._given(least)
        lanes = Pressure(self, blocks, self.like, moved=True)
        orders = [(block.ops, live) for block, live in zip(blocks, live_out)]
        needed, spilled = self._needed(lanes, orders, tight, given), 0
        self.rules = Given(needed, least, given, self.allowed, fewest(self))
        self.traits = traits(self, lanes, orders, list(zip(tight, live_out)), self.rules)
        if needed > self.allowed:
            needed, spilled = (
                self.allowed,
                spill(Pressure(self, blocks, self.like), blocks, live_out, self.allowed - RESERVED),
            )
        else:
            least = max(fewest(self), CALLING if self._calls() else 0)
            if needed < MOST:  # else the rules say no number: as many as there are, or more
                needed = min(self.allowed, max(least, corrected(needed, self.traits)))
            most = max(needed, FULL_OCCUPANCY) - RESERVED
            for number, (block, text, live) in enumerate(zip(blocks, texts, live_out)):
                block.ops = self._timed(
                    number, block.ops, text, Budget(room, pressure.words, live, self.meetings), lanes, most
                )
            for number in variants:
                self._ask_for_turns(number, blocks)
        # Where warps give registers to others, a thread begins with as many as .maxnreg or .minnctapersm allow, up to what some end with.
        if moved := [synchronisation.literal(op) for op in self.program.ops if op.family == "set_registers"]:
            needed = max(needed, min(self.allowed, max(moved)))
        return MachineProgram(
            blocks, self.slots, needed, variants, frozenset(self.unknown), spilled=spilled, successors=self.graph.through_calls
        )  # fmt: skip

    def _given(self, live: int) -> int:
        """Registers that so many live ones may spread over: what lets an SM be full of warps, or the step of allocation that they need."""
        return min(self.allowed, max(FULL_OCCUPANCY, -(-(live + MARGIN) // STEP) * STEP))

    def _needed(self, pressure: Pressure, made: list[Order], tight: list[list[MachineOp]], given: int) -> int:
        """Registers of a thread by rules, where blocks that would take more than `given` are in their tight order."""
        room = given - RESERVED
        orders: list[Order] = []
        # Where turns are made together: how many are left, and how many come after those.
        counted, full = {self.new_slot(), self.new_slot()}, False
        for number, (ops, live) in enumerate(made):
            if number >= len(tight) and number in self.counted:
                live = live | counted
            fits = pressure.within(ops, live) <= room
            if fits or number < len(tight):  # a loop that does not fit is not unrolled
                orders.append((ops if fits else tight[number], live))
            full |= not fits
        # What does not fit in its best order is put in one that takes all there is, not in the tightest, while an SM is full of warps.
        needed = max(registers(self, pressure, orders, self._calls()), min(given, FULL_OCCUPANCY) if full else 0)
        return max(fewest(self), min(given, needed) if pressure.most(orders) <= room else needed)

    def _calls(self) -> bool:
        """Whether calls are left: of functions by address, of others' functions, or that call themselves. The rest becomes part of its callers;
        functions that the kernel does not reach do not count."""
        functions = sorted(self.program.functions.values(), key=lambda function: function.entry)
        called: dict[str | None, set[str | None]] = {}
        for op in self.program.ops:
            if op.call is not None:
                within = [function.name for function in functions if function.entry <= self.flow.block_of[op.site]]
                called.setdefault(within[-1], set()).add(op.call.name)
        reached = _reached(called, functions[0].name) if called else set()
        return any(name not in self.program.functions or name in _reached(called, name) for name in reached)

    def _once(self, number: int, ops: list[MachineOp]) -> list[MachineOp]:
        """A block without loads of what it has; of copies of a loop all are there."""
        return loaded_once(self.program, self.flow, ops) if number < len(self.program.blocks) else ops

    def _narrow(self, ops: list[MachineOp], pressure: Pressure, live: frozenset[int]) -> list[MachineOp]:
        """A block in the order that needs fewest registers: its own, or one of `narrow`."""
        windows = (WINDOW, FARTHER) if len(ops) > WINDOW else (WINDOW,)
        found = [narrow(ops, Budget(0, pressure.words, live, self.meetings), window) for window in windows]
        return min([ops, *found], key=lambda order: pressure.within(order, live))

    def _timed(
        self, number: int, ops: list[MachineOp], text: list[MachineOp], budget: Budget, pressure: Pressure, most: int
    ) -> list[MachineOp]:
        """A block in the order that takes time, `ops` being the one that registers are counted in: without loads of what is there, and past
        barriers as far as `most` registers suffice for, or those that it takes anyway."""
        once = self._once(number, text)
        budget = replace(budget, whole=any(map(is_vector, once)))
        if any(op.kind in PASSED for op in text):
            enough = max(most, pressure.within(ops, budget.live_out))
            for ahead in (WINDOW, *NEARER):
                made = schedule(once, budget, PASSED, ahead)
                if pressure.within(made, budget.live_out) <= enough:
                    return made
        same = all(op is other for op, other in zip(once, text)) and not budget.whole
        return ops if same else schedule(once, budget)

    def _unroll(self, blocks: list[MachineBlock]) -> dict[int, list[int]]:
        """Append copies of loop bodies; block -> numbers of its copies, largest first."""
        barred = unroll.forbidden(self.program)
        variants: dict[int, list[int]] = {}
        for number in range(len(self.program.blocks)):
            if number in barred:
                continue
            for count in unroll.factors(self.flow, number, blocks[number]):
                variants.setdefault(number, []).append(len(blocks))
                if not unroll.known_turns(self.flow, number):
                    self.counted.add(len(blocks))
                blocks.append(unroll.copies(self.flow, number, blocks[number], count, self.new_slot))
        return variants

    def _ask_for_turns(self, number: int, blocks: list[MachineBlock]) -> None:
        """What comes before and after a loop of which ptxas makes copies: whether there are turns at all, for four at once, for two, one."""
        before = [block for block, after in enumerate(self.graph.successors) if number in after and block != number]
        if unroll.known_turns(self.flow, number) or len(before) != 1 or len(self.graph.successors[before[0]]) != 1:
            return
        site = blocks[number].ops[-1].site
        for _ in range(unroll.QUESTIONS):
            asked = self.new_slot()
            blocks[before[0]].ops += [
                MachineOp("alu", (asked,), (), site),
                MachineOp("branch", (), (), site, Kind.CHECK, predicates=(asked,)),
            ]

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
                home = self._meeting(used or [self.flow.block_of[op.site]])
                self.homes.setdefault(self._earliest(home) if op.family == "load" else home, []).append(op.site)
        self.shared_home = {self._outside_loops(block) for block in uses_shared}

    def _names_shared(self, op: Op) -> bool:
        """Whether an operation needs the address of a shared variable."""
        return names_shared(op) or (op.family == "mov" and not self.flow.reads[op.site] and names_variable(op))

    def _use_blocks(self, op: Op) -> list[int]:
        if op.family != "mov" and not self.is_invariant(op):
            return [self.flow.block_of[op.site]]
        return [self.flow.block_of[s] for w in self.writes(op) for s in self.live_readers(w)]

    def _meeting(self, blocks: list[int]) -> int:
        common = set.intersection(*(self.graph.dominators[b] for b in blocks)) or {0}
        return self._outside_loops(max(common, key=lambda b: len(self.graph.dominators[b])))

    def _earliest(self, block: int) -> int:
        """The first block that runs whenever this one does: where ptxas loads parameters to registers (LDC) that are used here."""
        graph = self.graph
        if parse_target(self.target).number < LOADS_CONSTANTS:
            return block
        same = [
            b
            for b in graph.dominators[block]
            if block in graph.postdominators[b]
            and graph.loop_depth[b] == graph.loop_depth[block]
            and self.program.blocks[b]
        ]
        return min(same, key=lambda b: len(graph.dominators[b]), default=block)

    def _outside_loops(self, block: int) -> int:
        """The nearest dominating block with no loop around it that the value's use is in."""
        depth = self.graph.loop_depth
        while depth[block] > 0:
            above = self.graph.dominators[block] - {block}
            if not above:
                break
            block = max(above, key=lambda b: len(self.graph.dominators[b]))
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
        if op.family == "load":
            address = op.sources[0]
            if isinstance(address, Address) and isinstance(address.base, StackAddress):
                return [MachineOp("nothing", writes, (), op.site, Kind.COPY)]  # what a call returns, in registers
            if not isinstance(address, Address) or address.base is not None:  # which line is not known
                return [MachineOp("constant", writes, (), op.site)]
            place = PARAMETERS + address.offset - FIRST_PARAMETER
            return [MachineOp("constant", writes, (), op.site, constant=constant_line(place), cost=PARAMETER)]
        source = op.sources[0]
        if isinstance(source, Special):
            name = source.name
            if name.startswith(("%ntid", "%nctaid")):
                return [MachineOp("constant", writes, (), op.site, constant=constant_line(SIZES))]
            if name.startswith(("%clock", "%globaltimer")):
                return [MachineOp("clock", writes, (), op.site)]
            return [MachineOp("s2ur" if self.is_uniform(op) else scalar.read_of(name), writes, (), op.site)]
        if names_variable(op):
            return [MachineOp("nothing", writes, (self.shared_base,), op.site, Kind.COPY)]
        return []

    # ---- single operations ----

    def _operation(self, op: Op) -> list[MachineOp]:
        if op.control is not None:
            return self._control(op)
        made = scalar.lower(self, op)
        if op.guard is not None:
            old = {*self.writes(op)}.difference(
                def_use.reads(op), self.extra.get(op.site, ())
            )  # `keep_old_values` sees to those
            for machine in made:
                machine.predicates = self.guard(op)
                machine.reads = tuple(slot for slot in machine.reads if slot not in old)
        return made

    def _control(self, op: Op) -> list[MachineOp]:
        guard = self.guard(op)
        match op.control:
            case Control.BRANCH:
                back = op.targets[0] <= self.flow.block_of[op.site]
                kind = Kind.LOOP_BRANCH if back else Kind.BRANCH
                return [MachineOp("branch", (), (), op.site, kind, predicates=guard)]
            case Control.TABLE:
                return [
                    MachineOp("alu", (), self.reads(op), op.site),
                    MachineOp("branch", (), (), op.site, Kind.BRANCH),
                ]
            case Control.EXIT | Control.RETURN:
                is_called = op.control is Control.RETURN and any(
                    0 < function.entry <= self.flow.block_of[op.site] for function in self.program.functions.values()
                )
                return [MachineOp("branch", (), (), op.site, Kind.RETURN if is_called else Kind.EXIT, predicates=guard)]
        return [MachineOp("branch", self.writes(op), self.reads(op), op.site, Kind.BRANCH, predicates=guard)]


def _reached(called: dict[str | None, set[str | None]], name: str | None) -> set[str | None]:
    """The functions that a function calls, directly or by others; None: one by address."""
    return closure(called.get(name, set()), lambda each: called.get(each, set()))


def lower(program: Program, target: str = "sm_90a", most: int = MOST) -> MachineProgram:
    """Machine code of a program, as far as time is concerned. most: registers that a thread may have."""
    return Lowering(program, target, most).lower()


@fact
def lowered(program: Program, target: str, most: int = MOST) -> MachineProgram:
    """`lower` of a program with its blocks merged, as every launch that is timed needs it."""
    return lower(merged(program), target, most)


def registers_of(program: Program, target: str) -> int:
    """Registers that a thread of a program takes, as far as the lowering can tell."""
    return lowered(program, target, MOST).registers


def has_cost(form: Form, target: Target | None = None) -> bool:
    """Whether the cost of an instruction is known to the cycle model, for some of its types at least. target: sm_90a if None."""
    definition = form.definition
    if definition.facts.product is not None and definition.facts.scope is Scope.WARP:
        return tensor.is_form_measured(form, target or parse_target("sm_90a"))
    return (
        definition.facts.control is not None
        or definition.facts.cost is not None
        or definition.facts.family in LOWERINGS
    )

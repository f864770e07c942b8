"""The ends of blocks: branches, calls of functions and ways back, exits. What two splits come of the scheduler makes."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.analysis.forward_progress import impatience
from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import WARP, WarpLayout
from ptxsim.engine.program.call_paths import call_paths, candidates
from ptxsim.engine.program.callees import blocks_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.engine.splits import UNTIL_IT_LEAVES
from ptxsim.isa.facts import Control
from ptxsim.jit.compiler import Abilities

NO_PATHS = "calls where functions recurse, use alloca, return predicates, or come to be called in too many ways"


class ControlWriter(FunctionWriter):
    """Writes what leads from one block to another. `block`: the one that is printed."""

    block: list[Op]

    def __init__(self, program: Program, places: WarpLayout, prefix: str, options: Options, cpu: Abilities):
        super().__init__(program, places, prefix, options, cpu)
        self.impatience = impatience(program)
        self._own = blocks_of(program)[program.name]  # of the kernel itself

    def lead_on(self, op: Op, out: set[int]) -> None:
        """Print the operation that ends a block; `out`: registers that are wanted after it. Raises CannotEmit where it takes the slow
        path."""
        match op.control:
            case Control.CALL:
                self._call(op)
            case Control.TABLE:
                self._branch_by_table(op)
            case Control.RETURN if self.number not in self._own:
                self._give_back(op)
            case _:
                self._branch(op, out)

    def _done(self) -> str:
        """Count the block; returns the turns left."""
        e = self.emitter
        count = e.let("load i64, ptr %count.at")
        e.line(f"  store i64 {e.let(f'add i64 {count}, {len(self.block)}')}, ptr %count.at")
        left = e.let(f"sub i32 {e.let('load i32, ptr %left.at')}, 1")
        e.line(f"  store i32 {left}, ptr %left.at")
        return left

    def go(self, target: int, left: str | None = None) -> None:
        """To another block, unless the turns are used up or it is another split's turn."""
        e = self.emitter
        left = left or self._done()
        stop = f"stop{self.label_number()}"
        if target == len(self.program.blocks):  # after the last block, which always leaves
            e.line("  unreachable")
            return
        stops = e.let(f"icmp eq i32 {left}, 0")
        if not self.options.full:  # where another split stands; a block that takes patience is always chosen
            last = UNTIL_IT_LEAVES - 1 if self.impatience[target] else target
            stops = e.let(f"or i1 {stops}, {e.let(f'icmp sle i32 %stop.before, {last}')}")
        e.line(f"  br i1 {stops}, label %{stop}, label %b{target}")
        e.label(stop)
        self.leave(abi.NEXT, block=target)

    # ---- branches and exits ----

    def _branch(self, op: Op, out: set[int]) -> None:
        guard = self.guard(op)
        self.flush(out)
        left = self._done()
        if guard is None:
            self._all_go(op, self.mask, left)
            return
        taken, e, n = self.word(guard), self.emitter, self.label_number()
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, {self.mask}')}, label %all{n}, label %some{n}")
        e.label(f"all{n}")
        self._all_go(op, taken, left)
        e.label(f"some{n}")
        self._go_on_if_none(taken, left)
        if op.control is Control.BRANCH:
            self.leave(abi.DIVERGE, taken=taken, block=self.number, target=op.targets[0])
        else:
            self._all_go(op, taken, left)

    def _all_go(self, op: Op, taken: str, left: str) -> None:
        if op.control is Control.BRANCH:
            self.go(op.targets[0], left)
        else:
            self.leave(abi.EXIT, taken=taken, block=self.number, site=op.site)

    def _go_on_if_none(self, taken: str, left: str) -> None:
        """To the next block where no lane is taken."""
        e, n = self.emitter, self.label_number()
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, 0')}, label %none{n}, label %split{n}")
        e.label(f"none{n}")
        self.go(self.number + 1, left)
        e.label(f"split{n}")

    def _taken(self, op: Op) -> str:
        """The lanes that the guard lets through. Memory is exact after it."""
        guard = self.guard(op)
        self.flush(self.live[self.index])
        return self.mask if guard is None else self.word(guard)

    def _branch_by_table(self, op: Op) -> None:
        e, index = self.emitter, self.emitter.convert(self.read(op.sources[0]), "u32")
        taken = self._taken(op)
        outside = e.let(f"and i32 {self.word(index >= len(op.targets))}, {taken}")
        self.bail_unless(e.let(f"icmp eq i32 {outside}, 0"))
        left = self._done()
        if op.guard is not None:
            self._go_on_if_none(taken, left)
        found, is_one = self.same(index, taken)
        if op.guard is not None:
            is_one = e.let(f"and i1 {is_one}, {e.let(f'icmp eq i32 {taken}, {self.mask}')}")
        n, targets = self.label_number(), dict.fromkeys(op.targets)
        e.line(f"  br i1 {is_one}, label %one{n}, label %many{n}")
        e.label(f"one{n}")
        cases = " ".join(f"i32 {i}, label %to{n}.{target}" for i, target in enumerate(op.targets))
        e.line(f"  switch i32 {found}, label %many{n} [ {cases} ]")
        for target in targets:
            e.label(f"to{n}.{target}")
            self.go(target, left)
        e.label(f"many{n}")
        slot = self.stack_slot("indices", "<32 x i32>")
        e.line(f"  store <32 x i32> {index.text}, ptr {slot}, align 64")
        table = self.module.table(np.asarray(op.targets, np.int32), "i32")
        self.call(
            "void", self.helper("scatter", ("splits",)), ("ptr", "%warp"),
            ("i32", e.field("%warp", WARP["chosen"], "i32")), ("i32", taken), ("ptr", slot), ("ptr", f"@{table}"),
            ("i32", str(self.number + 1)),
        )  # fmt: skip
        self.leave(abi.PLACED)

    # ---- calls ----

    def _call(self, op: Op) -> None:
        e, paths, site = self.emitter, call_paths(self.program), op.call
        if paths is None:
            raise CannotEmit(NO_PATHS)
        functions = [each for each in candidates(self.program, op) if (op.site, each.name) in paths.edges]
        if site is None or not functions:
            raise CannotEmit("a call of one of the driver's functions")
        address = None if site.address is None else e.convert(self.read(site.address), "u64")
        taken = self._taken(op)
        edges = [paths.edges[op.site, each.name] for each in functions]
        number = str(edges[0])
        if address is not None:
            found, is_one = self.same(address, e.let(f"select i1 {self._none(taken)}, i32 {self.mask}, i32 {taken}"))
            places = [self.program.function_addresses[each.name] for each in functions]
            number = "-1"
            for place, edge in zip(places, edges):
                number = e.let(f"select i1 {e.let(f'icmp eq i64 {found}, {place}')}, i32 {edge}, i32 {number}")
            is_known = e.let(f"and i1 {is_one}, {e.let(f'icmp ne i32 {number}, -1')}")
            self.bail_unless(e.let(f"or i1 {is_known}, {self._none(taken)}"))
        left = self._done()
        if op.guard is not None:
            self._go_on_if_none(taken, left)
        self.leave(abi.CALL, taken=taken, block=self.number, target=number)

    def _none(self, taken: str) -> str:
        return self.emitter.let(f"icmp eq i32 {taken}, 0")

    def _give_back(self, op: Op) -> None:
        if call_paths(self.program) is None:
            raise CannotEmit(NO_PATHS)
        taken = self._taken(op)
        left = self._done()
        if op.guard is not None:
            self._go_on_if_none(taken, left)
        self.leave(abi.RETURN, taken=taken, block=self.number)

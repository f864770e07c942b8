"""A program as one LLVM function: a switch on the block to run, and straight-line code for every block.

Registers are SSA values inside a block. They are written back to the warp's memory before anything that may take the slow
path, and at the end of the block, so that memory is exact whenever Python looks; only those that are read later are
written. The function returns what to do next (abi.NEXT and so on).
"""

from __future__ import annotations

from collections.abc import Collection

from ptxsim.engine.analysis.liveness import live_before, live_out, seen_by_others

# Each of these registers the lowerings of its families, or a unit.
from ptxsim.engine.compiled.codegen import (  # noqa: F401
    async_store,
    barrier,
    bulk,
    cluster_barrier,
    cp_async,
    effects,
    mbarrier,
    state_space,
    warp_matrix,
    warpgroup,
)
from ptxsim.engine.compiled.codegen.control import ControlWriter
from ptxsim.engine.compiled.codegen.operands import Options
from ptxsim.engine.compiled.codegen.registry import LOWERINGS
from ptxsim.engine.compiled.ir.outline import compute
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WARP, WarpLayout
from ptxsim.engine.program.operation import Op, Program
from ptxsim.jit.compiler import ATTRIBUTES, Abilities
from ptxsim.machine.event import Event


class KernelWriter(ControlWriter):
    """Writes the function of one program. `slow_path` are the operations that take the slow path, by site, and why."""

    def __init__(self, program: Program, places: WarpLayout, prefix: str, options: Options, cpu: Abilities):
        super().__init__(program, places, prefix, options, cpu)
        self.slow_path: dict[int, str] = {}
        self._lines: dict[int, list[str]] = {}  # of the blocks that have been printed
        self._live_out = None if options.keep else live_out(program)
        self._seen = seen_by_others(program)

    # ---- the whole ----

    def text(self, name: str, blocks: Collection[int] | None = None) -> str:
        """The IR of the program, or of some of its blocks, as function `name`."""
        e, everything = self.emitter, range(len(self.program.blocks))
        blocks = everything if blocks is None else blocks
        for number in blocks:
            self.print_block(number)
        head = [
            f"define i32 @{name}(ptr %context, ptr %warp) #0 {{",
            "entry:",
            *e.stack_slots,
            f"  %count.at = getelementptr i8, ptr %context, i64 {CONTEXT['count']}",
            f"  %left.at = getelementptr i8, ptr %warp, i64 {WARP['left']}",
            f"  %block.at = getelementptr i8, ptr %warp, i64 {WARP['block']}",
            f"  %op.at = getelementptr i8, ptr %warp, i64 {WARP['op']}",
            f"  %taken.at = getelementptr i8, ptr %warp, i64 {WARP['taken']}",
            f"  %target.at = getelementptr i8, ptr %warp, i64 {WARP['target']}",
            f"  %site.at = getelementptr i8, ptr %context, i64 {CONTEXT['site']}",
            f"  %own.site.at = getelementptr i8, ptr %warp, i64 {WARP['own_site']}",
            f"  %mask.at = getelementptr i8, ptr %warp, i64 {WARP['mask']}",
            "  %mask = load i32, ptr %mask.at",
            f"  %stop.before.at = getelementptr i8, ptr %warp, i64 {WARP['stop_before']}",
            "  %stop.before = load i32, ptr %stop.before.at",
            "  %lanes = bitcast i32 %mask to <32 x i1>",
            "  %block = load i32, ptr %block.at",
            "  switch i32 %block, label %nowhere [",
            *(f"    i32 {n}, label %b{n}" for n in blocks),
            "  ]",
            "nowhere:",
            "  unreachable",
        ]
        lines = [line for number in blocks for line in self._lines[number]]
        for number in sorted(set(everything).difference(blocks)):  # another function has them
            lines += [f"b{number}:", f"  store i32 {number}, ptr %block.at", f"  ret i32 {abi.NEXT}"]
        return self.module.text("\n".join([*head, *lines, "}"])) + f"attributes #0 = {ATTRIBUTES}\n"

    def print_block(self, number: int) -> bool:
        """Print a block, once; whether it is known, without native code, how often its operations take the slow path."""
        block = self.program.blocks[number]
        if number not in self._lines:
            out = everything = set(range(len(self.program.slots)))
            self.live = [everything] * len(block)
            if self._live_out is not None:
                out = self._live_out[number]
                self.live = live_before(block, out, self._seen)
            self._block(number, block, out)
            self._lines[number], self.emitter.lines = self.emitter.lines, []
        return not any(op.site in self.slow_path and op.guard is not None and op.control is None for op in block)

    def _block(self, number: int, block: list[Op], out: set[int]) -> None:
        e = self.emitter
        e.label(f"b{number}")
        self.number, self.block, self.ended = number, block, False
        self.begin_block()
        if block:
            self.op = block[0]
            self.event(Event.EXECUTE, 0, 0, 0, self.mask)
        for index, op in enumerate(block):
            self.op, self.index = op, index
            before = e.checkpoint()
            self.begin_operation()
            try:
                self.lead_on(op, out) if op.control is not None else self._operation(op)
            except CannotEmit as reason:
                e.undo(before)
                self.undo()
                self._slow_path(op, str(reason))
            if self.ended or op.control is not None:
                return
        self.flush(out)
        self.go(number + 1)

    def _slow_path(self, op: Op, why: str) -> None:
        """The interpreter executes this operation, if any lane does."""
        self.slow_path[op.site] = why
        guard = None if op.control is not None else self.guard(op)
        self.flush(self.live[self.index])
        self.leave_to_python(guard)
        if op.control is not None:  # Python has moved the splits
            self.emitter.line("  unreachable")
            return
        self.begin_block()

    def _operation(self, op: Op) -> None:
        """Print one operation. Raises CannotEmit where it takes the slow path."""
        effect = op.definition.effect
        if effect is None:
            raise CannotEmit("not modeled")
        if op.definition.uses_machine:
            lowering = LOWERINGS.get(op.family)
            if lowering is None:
                raise CannotEmit("no native lowering")
            lowering(self, op)
        else:
            guard, sources = self.guard(op), self.sources(op)
            self.deliver(op, compute(self.emitter, effect, sources, op.wants), guard)
            if op.facts.detour is not None and self.options.wanted.has(Event.DETOUR):
                lanes = self.emitter.convert(compute(self.emitter, op.facts.detour, sources, {}), "u64")
                self.event_at(Event.DETOUR, 0, 0, self.mask if guard is None else self.word(guard), lanes)

"""CTAs on several threads, where the order of CTAs cannot show.

Native code releases the interpreter lock. Every thread has its own context and counters and takes every n-th CTA. If anything
comes up that needs Python - a fault, a service, a spinning CTA - the memory is put back as it was, and the launch runs in order.
"""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ptxsim.engine.compiled.operands import CLOCKS
from ptxsim.engine.operand import Special
from ptxsim.engine.program import Program, fact

if TYPE_CHECKING:
    from ptxsim.engine.compiled.engine import CompiledEngine
    from ptxsim.engine.grid import Grid

MOST_MEMORY = 1 << 30  # bytes of global memory up to which a copy is kept, to go back to


@fact
def orderless(program: Program) -> bool:
    """Whether CTAs cannot tell in which order they run, unless they race: no atomics, no strong accesses, no clocks."""
    for op in program.ops:
        if op.definition.unit == "atomic" or op.wants.get("order") not in (None, "weak"):
            return False
        if any(isinstance(source, Special) and source.name.lstrip("%") in CLOCKS for source in op.sources):
            return False
    return True


def run(engine: CompiledEngine, grid: Grid) -> bool:
    """Run the whole grid on engine.jobs threads; False, with nothing done, where that is not possible."""
    machine, limits = engine.machine, grid.limits
    jobs = min(engine.jobs, grid.total)
    memory = machine.memory.bytes
    plain = machine.stream is None and limits.max_steps is None and not machine.pending
    if jobs < 2 or not plain or memory.nbytes > MOST_MEMORY or not orderless(engine.program):
        return False
    before = memory.copy()
    failed: list[BaseException | None] = []

    def work(first: int) -> tuple[int, int]:
        own = copy.copy(machine)
        own.warp_instructions = own.steps = 0
        try:
            alone = type(engine)(engine.program, own, native=engine.library).alone()
            for number in range(first, grid.total, jobs):
                if failed or not alone.run_to_end(number, lambda: bool(failed)):
                    failed.append(None)
                    break
        except BaseException as error:
            failed.append(error)
        return own.warp_instructions, own.steps

    with ThreadPoolExecutor(jobs) as pool:
        try:
            counts = list(pool.map(work, range(jobs)))
        except BaseException:  # Ctrl-C: the threads end before the launch does
            failed.append(None)
            raise
    if failed:
        memory[:] = before
        return False
    machine.warp_instructions += sum(instructions for instructions, _ in counts)
    machine.steps += sum(steps for _, steps in counts)
    grid.done = grid.total
    return True

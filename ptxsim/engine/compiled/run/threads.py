"""CTAs on several threads, where the order of CTAs cannot show.

Native code releases the interpreter lock. Every thread has its own context, counters and observers, and takes every n-th CTA. If
anything comes up that needs Python - a fault, the slow path, a spinning CTA - or that one who hears all CTAs in order might tell in
another way - a finding, a limit, memory that CTAs of several threads have written - the memory is put back as it was, and the launch
runs in order.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ptxsim.engine.analysis.clocks import reads_clock
from ptxsim.engine.analysis.communication import ctas_tell
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.program.operation import Program, fact
from ptxsim.engine.turns import Launch
from ptxsim.machine.event import EventStream
from ptxsim.machine.state import Machine

MOST_MEMORY = 1 << 30  # bytes of global memory up to which a copy is kept, to go back to
MOST_THREADS = 32
# Seconds that CTAs run in order before it is said how long the rest will take, and that this must be to be worth threads;
# a copy of the memory is made at some bytes per second.
LOOK, WORTH, COPIED = 0.005, 0.03, 2e9
SHOWN = 0.1  # seconds between looks at the progress


@fact
def orderless(program: Program) -> bool:
    """Whether CTAs cannot tell in which order they run, unless they race: no atomics but in shared memory, no strong
    accesses, no clocks."""
    return not any(map(reads_clock, program.ops)) and not ctas_tell(program)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Runner(Protocol):
    """Runs whole clusters on a machine."""

    def run_to_end(self, numbers: Sequence[int], stop: Callable[[int], bool]) -> bool:
        """Run clusters; False if Python would be needed for one, or `stop()` wants no more. It is asked again and again, with how many
        have ended."""


class Threads:
    """Decides whether the CTAs from some number on go to threads, and runs them there. Asks at most once.

    With `jobs` a number they do so from the first CTA on; with None when the CTAs that have run show that it pays.
    """

    def __init__(
        self, native: NativeContext, jobs: int | None, runner: Callable[[Machine], Runner], grid: Launch, first: int
    ):  # fmt: skip
        machine, limits = native.machine, grid.limits
        self.machine, self.runner, self.grid, self.first = machine, runner, grid, first
        self.began, self.is_judged = time.perf_counter(), False
        self.asked, self.jobs = jobs is not None, min(jobs or cores(), grid.clusters, MOST_THREADS)
        self.most = math.inf if limits.max_steps is None else limits.max_steps
        is_plain = machine.seed == 0 and machine.memory.allocated <= MOST_MEMORY
        self.open = self.jobs > 1 and is_plain and first == 0 and orderless(native.program)

    @property
    def is_due(self) -> bool:
        """Whether CTAs have run for so long that it can be said whether the rest should go to threads, and it has not been."""
        return not self.is_judged and time.perf_counter() - self.began >= LOOK

    def wanted(self, number: int) -> bool:
        """Whether the CTAs from `number` on, not yet begun, should run on threads."""
        if not self.open or self.machine.pending:
            return False
        if self.asked:
            return True
        took = time.perf_counter() - self.began
        if took < LOOK or number == self.first:
            return False
        self.is_judged = True
        rest = took / (number - self.first) * (self.grid.clusters - number)
        return rest > WORTH + self.machine.memory.allocated / COPIED

    def run(self, first: int) -> bool:
        """Run the CTAs from `first` on; False, with nothing done, where that was not possible."""
        from concurrent.futures import ThreadPoolExecutor, wait

        self.open = False
        grid, machine, memory = self.grid, self.machine, self.machine.memory
        streams = self._streams()
        if streams is None or machine.findings:
            return False
        done, unasked = grid.done, len(machine.unasked)
        before = machine.before if machine.before is not None and done == 0 else memory.copy()
        failed: list[BaseException | None] = []
        executed = [machine.warp_instructions] + [0] * self.jobs  # warp instructions, before and by thread

        def work(thread: int) -> int:
            own = copy.copy(machine)
            own.copies, own.findings = None, {}  # each machine has its own
            own.warp_instructions = own.steps = 0
            if machine.stream is not None:
                own.stream = streams[thread]

            def stop(ended: int) -> bool:
                finished[thread], executed[1 + thread] = ended, own.warp_instructions
                return bool(failed) or sum(executed) > self.most

            try:
                whole = self.runner(own).run_to_end(grid.order[first + thread :: self.jobs], stop)
                if own.stream is not None:
                    own.stream.finish()
                if not whole or own.findings:
                    failed.append(None)
            except BaseException as error:
                failed.append(error)
            return own.steps

        finished = [0] * self.jobs
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                futures = [pool.submit(work, thread) for thread in range(self.jobs)]
                while wait(futures, SHOWN).not_done:
                    grid.done = done + sum(finished) * (grid.total // grid.clusters)
                    grid.look_at_limits()
            except BaseException:  # Ctrl-C: the threads end before the launch does
                failed.append(None)
                raise
        # What is told of several CTAs is told of the first one.
        is_settled = all(offset in machine.asked for offset, _ in machine.unasked)
        is_right = not failed and is_settled and (machine.stream is None or machine.stream.take(streams))
        for stream in streams:
            for observer in stream.observers:
                observer.release()
            stream.end()
        if not is_right:
            memory.take(before)
            del machine.unasked[unasked:]
            grid.done = done
            return False
        machine.warp_instructions = sum(executed)
        machine.steps += sum(future.result() for future in futures)
        grid.done = grid.total
        return True

    def _streams(self) -> list[EventStream] | None:
        """Where the events of each thread go, if anybody listens; None: all must come to one."""
        stream = self.machine.stream
        if stream is None:
            return []
        stream.flush()
        streams = [each for _ in range(self.jobs) if (each := stream.beside()) is not None]
        return streams if len(streams) == self.jobs else None

"""One launch: its options checked, its arguments in device memory, and passes over its grid."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim.demangle import local_name
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.analysis.special_registers import uses_reserved_shared
from ptxsim.engine.decoding.linkage import initialize, place_variables
from ptxsim.engine.grid import Grid, Hook
from ptxsim.engine.interpreter import Interpreter, NotModeled, Watch
from ptxsim.engine.program.operation import Program
from ptxsim.engine.turns import Engine, Limits, Stopped
from ptxsim.machine.barriers.mbarrier_end import settle
from ptxsim.machine.event import EventStream, Observer
from ptxsim.machine.memory import ARENA, PARAMETERS, Allocation, GlobalMemory, own_name
from ptxsim.machine.state import Machine
from ptxsim.numerics.host import with_ieee
from ptxsim.session.arguments import Arguments
from ptxsim.session.cache import Decoded
from ptxsim.session.launch_checks import LaunchChecks
from ptxsim.session.module_memory import ModuleMemory
from ptxsim.session.options import LaunchOptions
from ptxsim.session.parameter_names import names_at_hand
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.types import Target

GRID_WORKSPACE = 64  # bytes: its size, and the barrier of the grid (cooperative_groups, details::grid_workspace)


@dataclass(frozen=True, slots=True)
class KernelCode:
    """What a launch runs: an entry of a text, decoded for a target, and its module's variables.

    They lie in the memory of `home`; without one the launch has memory of its own, and `symbols` are the variables that
    the host has touched.
    """

    source: Source
    function: ast.Function
    target: Target
    decoded: Decoded
    symbols: dict[str, np.ndarray] = field(default_factory=dict)
    home: ModuleMemory | None = None
    written: Mapping[str, str] = field(default_factory=dict)  # as in Kernel


class Launch:
    """Everything one launch needs. Raises PtxError where it cannot start.

    `given` are slots of registers that a start hook sets before the kernel runs. `is_silent`: what the kernel prints goes
    nowhere.
    """

    given: Collection[int] | None = None

    @with_ieee
    def __init__(self, code: KernelCode, args: Sequence[Any], options: LaunchOptions, *, is_silent: bool = False):
        self.code, self.target, self.is_silent = code, code.target, is_silent
        rules = LaunchChecks(code.function, code.source)
        self.grid, self.block = rules.shape("grid", options.grid), rules.shape("block", options.block)
        self.cluster = rules.cluster(options.cluster)
        self.numerics = rules.choice("numerics", options.numerics, "target")
        self.checks = rules.choice("checks", options.checks, "memory")
        self.dynamic_shared = rules.count("shared_mem", options.shared_mem or 0)
        self.seed = rules.count("seed", options.seed or 0)
        self.profiled_sms = rules.count("profile", options.profile or 0)
        self.every = rules.count("every", options.every or 1, 1)
        self.is_sample, self.part = bool(options.sample), options.part
        self.sampled: Collection[int] | None = None  # the only CTAs that run
        self.gpu = options.gpu if options.gpu is None else rules.gpu(options.gpu, self.target)
        given = options.registers
        self.registers = None if given is None else rules.count("registers", given, 1, "as `ptxas -v` prints them")
        self.cubin = None if options.cubin is None else Path(options.cubin)
        self.jobs = None if options.jobs is None else rules.count("jobs", options.jobs, 1, "None takes all cores")
        steps = options.max_steps
        steps = None if steps is None else rules.count("max_steps", steps, 1, "None is no limit")
        progress = rules.progress(options.progress)
        self.limits = Limits(steps, progress, rules.seconds("max_seconds", options.max_seconds), options.held)
        self.want_banks = options.banks
        self.prior = None if options.prior is None else replace(options.prior, here=code.source)
        self.is_cooperative = bool(options.cooperative)
        self.grid_workspace = 0
        self.engine_name, self.is_patient = self._engine_name(options.engine, rules), options.engine is None
        self.is_interpreted_by_choice = options.engine == "interpreter"
        rules.fit(self.grid, self.block, self.cluster)
        rules.ctas(self.grid, self.checks, self.seed)
        self.program, self.linkage = code.decoded.program, code.decoded.linkage
        self.shared_end = self.linkage.dynamic_shared_start + self.dynamic_shared
        rules.shared_memory(self.shared_end, self.target)
        self._most_memory = most if (most := options.max_memory) is None else rules.count("max_memory", most)
        rules.local_memory(self.program.local_bytes)
        self.running: Grid | None = None  # what a pass that is watched goes through
        self.memory = GlobalMemory() if code.home is None else code.home.memory
        self._placed: dict[str, Allocation] = {}  # module variables, where the launch has memory of its own
        self._temporary: list[Allocation] = []
        try:
            self._place(args, rules)
        except PtxError as error:
            self.release()
            raise error.of(code.source) from None

    def _place(self, args: Sequence[Any], rules: LaunchChecks) -> None:
        """Put variables, parameters, heap and arguments into memory, then fill them."""
        linkage, memory, variables = self.linkage, self.memory, [*self.linkage.variables, *self.linkage.inner]
        if self.code.home is None:
            self._placed = place_variables(memory, variables, linkage.symbols)
        block = memory.allocate("parameters", max(linkage.parameter_bytes, 1), "param", True, at=PARAMETERS)
        self._temporary.append(block)
        if linkage.allocates:
            memory.need_heap()
        if self.is_cooperative:
            workspace = memory.allocate("the grid's barrier", GRID_WORKSPACE)
            self._temporary.append(workspace)
            self.grid_workspace = workspace.address
        self.arguments = Arguments(self.code.function, memory, self._temporary)
        self.arguments.bind(args)
        rules.memory(memory.next - ARENA, self._most_memory)
        memory.called = self._called
        if self.code.home is None:
            initialize(memory, variables, self._placed, linkage.symbols, self.program.function_addresses)
        for own, values in self._symbols():
            own[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.arguments.copy_in(linkage.parameter_offsets, block)

    def _symbols(self) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """The module variables that the host has touched: their memory, and their values there."""
        for name, values in self.code.symbols.items():
            if name in self._placed:
                yield self.memory.view(self._placed[name]), values

    def _called(self, allocation: Allocation) -> str:
        """What messages call an allocation: by the parameter that points to it, as its author named it."""
        parameter = self.arguments.passed_in(allocation)
        if parameter is None:
            return allocation.name
        names, entry = self.code.written or names_at_hand(self.code.source, self.code.function), self.code.function.name
        mangled = (
            f"{entry}_" if entry.startswith("_Z") else ""
        )  # which nvcc puts before its own names, and nobody reads
        return names.get(parameter.name, parameter.name.removeprefix(mangled))

    @contextmanager
    def with_program(self, program: Program) -> Iterator[None]:
        """Its passes run another program of the same operations."""
        own, self.program = self.program, program
        try:
            yield
        finally:
            self.program = own

    def release(self) -> None:
        """Free what the launch has put into memory that outlives it, which knows nothing more of it."""
        self.memory.called = own_name
        if self.code.home is not None:
            while self._temporary:
                self.memory.free(self._temporary.pop())

    def copy_out(self) -> dict[str, np.ndarray]:
        """Copy device memory back to the host's arrays and module variables; the arrays by parameter. Raises PtxError."""
        try:
            outputs = self.arguments.copy_out()
        except PtxError as error:
            raise error.of(self.code.source) from None
        for memory, values in self._symbols():
            values.reshape(-1).view(np.uint8)[:] = memory[: values.nbytes]
        return outputs

    def run_grid(
        self, observers: Sequence[Observer] = (), *, memory: GlobalMemory | None = None, start: Hook | None = None,
        stop: Hook | None = None, watch: Watch | None = None, limits: Limits | None = None, shared_fill: int = 0,
        replace_descriptor: Callable[[str, int], int] | None = None, garbage: int = 0, seed: int | None = None,
        before: GlobalMemory | None = None, natively: bool = False,
    ) -> Machine:  # fmt: skip
        """One pass over the grid; the same seed gives the same bits. The machine that is returned has the findings.

        memory: what it works on, for a repetition a copy of what there was before the first pass. start, stop: called
        with every warp and the engine, before and after it runs. watch: sees every operation, in the interpreter.
        shared_fill: what every byte of shared memory holds at first. replace_descriptor: gives the descriptor to use for
        operand "A" or "B" of products in place of the kernel's. garbage: what shuffles flip of registers that they read from lanes
        that are not there. seed: another one than the launch's. before: a copy of the memory as it is, which nobody writes.
        natively: in native code where there is any, whichever engine was asked for.
        """
        machine = Machine(
            self.target, self.grid, self.block, self.cluster, self.memory if memory is None else memory,
            stream=EventStream(observers) if observers else None, seed=self.seed if seed is None else seed,
            local_bytes=self.program.local_bytes, dynamic_shared=self.dynamic_shared,
            shared_bytes=self.shared_end, shared_fill=shared_fill, numerics=self.numerics, checks=self.checks,
            print_to=_nowhere if self.is_silent else None,
        )  # fmt: skip
        self.is_silent = True  # what a kernel prints is wanted once
        machine.replace_descriptor, machine.garbage, machine.before = replace_descriptor, garbage, before
        machine.grid_workspace = self.grid_workspace
        if uses_reserved_shared(self.program):
            machine.shared_start = 0
        variables = self.shared_variables
        machine.shared_variables = {name: place for name, place in variables.items() if place[1]}
        machine.has_open_array = len(machine.shared_variables) < len(variables)
        engine = self._engine(machine, watch, keep_dead_registers=stop is not None, natively=natively)
        grid = Grid(self.program, machine, engine, limits or self.limits, start, stop)
        if self.part is not None:
            self._take_part(grid, *self.part)
        if self.sampled is not None:
            grid.take_only(self.sampled)
        self.running = grid if watch is not None else None
        self._run(grid, grid.run)
        if machine.stream is not None and watch is None:
            machine.stream.end()
        return machine

    @property
    def may_be_sampled(self) -> bool:
        """Whether some of the CTAs may run without the others: it is asked for, and they cannot notice."""
        from ptxsim.engine.compiled.run.threads import orderless

        return self.is_sample and not self.grid_workspace and orderless(self.program)

    def resume_grid(self, rest: Callable[[], bool]) -> Machine:
        """Go on with a pass from within a round that has been put back as it was (debugger.snapshot); `rest`: as for Grid.resume."""
        assert self.running is not None
        grid = self.running
        return self._run(grid, lambda: grid.resume(rest))

    def _run(self, grid: Grid, run: Callable[[], None]) -> Machine:
        """Run a grid to its end, whatever that is."""
        machine = grid.machine
        with np.errstate(all="ignore"):
            try:
                run()
            except Stopped as stopped:
                machine.stop(stopped.finding)
            except NotModeled as missing:
                message, help = f"{missing.op.opcode} is not modeled yet", "`ptxsim isa --missing` lists what is open"
                machine.stop(Finding("not-modeled", message, help=help).at(missing.op))
            grid.stop_all()
        settle(machine)
        if machine.stream is not None:
            machine.stream.finish()
        return machine

    def _take_part(self, grid: Grid, number: int, parts: int) -> None:
        """Run one of several parts of the grid. Raises PtxError where the order of CTAs can show."""
        from ptxsim.engine.compiled.run.threads import orderless

        if self.grid_workspace or self.seed or not orderless(self.program):
            message = (
                f"the CTAs of {self.code.function.name} may find out in which order they run, so they are not parted"
            )
            help = "what can show it: atomics and strong accesses outside shared memory, clocks, another seed than 0"
            raise PtxError(Finding("bad-directive", message, self.code.function.line, help=help)).of(self.code.source)
        grid.take_part(number, parts)

    @property
    def shared_variables(self) -> dict[str, tuple[int, int]]:
        """Address and bytes of the static variables in shared memory, by the name that their author knows."""
        places = {name: place for name, place in self.linkage.symbols.items() if place.space == "shared"}
        count = Counter(map(local_name, places))
        readable = {name: local_name(name) if count[local_name(name)] == 1 else name for name in places}
        return {readable[name]: (place.address, place.size) for name, place in places.items()}

    # ---- the engine ----

    def _engine_name(self, asked: str | None, rules: LaunchChecks) -> str:
        """The engine that runs: the compiled one unless another is asked for or this machine cannot."""
        asked = rules.choice("engine", asked, "") or None
        if asked == "interpreter":
            return asked
        from ptxsim.engine.compiled.run.selftest import refusal, unusable

        # What nobody has asked for is tested where its code is first needed.
        reason = unusable() if asked is None else refusal()
        if reason is None:
            return "compiled"
        if asked is not None:
            raise rules.problem(f"the compiled engine: {reason}", "use engine='interpreter'", "not-modeled")
        _warn(reason)
        return "interpreter"

    def _engine(self, machine: Machine, watch: Watch | None, keep_dead_registers: bool, natively: bool) -> Engine:
        """The engine; `keep_dead_registers`: all registers are read at the end."""
        is_interpreted = self.engine_name == "interpreter" and not (natively and self._could_be_native())
        if watch is not None or is_interpreted:
            return Interpreter(self.program, machine, watch)
        from ptxsim.engine.compiled.run.engine import CompiledEngine
        from ptxsim.engine.compiled.run.selftest import refusal

        test = refusal if self.is_patient or natively else None
        engine = CompiledEngine(self.program, machine, keep=keep_dead_registers, jobs=self.jobs, test=test)
        reason = engine.refusal()
        if reason is None:
            return engine
        self.engine_name = "interpreter"
        _warn(reason)
        return Interpreter(self.program, machine)

    def _could_be_native(self) -> bool:
        """Whether only the caller's choice keeps native code away."""
        from ptxsim.engine.compiled.run.selftest import unusable

        return self.is_interpreted_by_choice and unusable() is None


def _warn(reason: str) -> None:
    """Say that the interpreter takes over."""
    warnings.warn(f"the interpreter runs this, which takes longer: {reason}", RuntimeWarning, stacklevel=5)


def _nowhere(text: str) -> None:
    pass

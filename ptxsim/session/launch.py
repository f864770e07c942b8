"""One launch from arguments to Run."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim.checks.registers import unwritten_reads
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.grid import Grid, Limits, Stopped
from ptxsim.engine.interpreter import Interpreter, NotModeled
from ptxsim.engine.program.linkage import initial_bytes
from ptxsim.machine.cta import Warp
from ptxsim.machine.event import EventStream, Observer
from ptxsim.machine.memory import GlobalMemory
from ptxsim.machine.state import Machine, max_shared_bytes, shared_start
from ptxsim.numerics.host import with_ieee
from ptxsim.session.arguments import Arguments
from ptxsim.session.fidelity import fidelity
from ptxsim.session.inspect.uninitialized import Again
from ptxsim.session.run import BankTable, KernelError, Run
from ptxsim.syntax import ast
from ptxsim.types import Target

if TYPE_CHECKING:
    from ptxsim.checks.banks import BankCounter
    from ptxsim.session.module import Kernel, Module

Shape = tuple[int, int, int]
Hook = Callable[[Warp, object], None]
LIMITS = {"block": (1024, 1024, 64), "grid": (2**31 - 1, 65535, 65535), "cluster": (16, 16, 16)}


def shape(value) -> Shape:
    """An int or up to three ints as (x, y, z). Raises ValueError."""
    numbers = (int(value),) if isinstance(value, int | np.integer) else tuple(int(v) for v in value)
    if not 1 <= len(numbers) <= 3 or any(n < 1 for n in numbers):
        raise ValueError(f"{value} is no shape: give one to three positive numbers")
    return (*numbers, *([1] * (3 - len(numbers))))  # type: ignore[return-value]


class Launch:
    """Everything one launch needs. Raises PtxError where it cannot start."""

    @with_ieee
    def __init__(
        self, kernel: Kernel, grid: Shape, block: Shape, cluster: Shape, target: Target, args: list, shared_mem: int, *,
        engine: str | None, numerics: str, seed: int, jobs: int | None, checks: str, banks: bool | None, profile: bool | int,
        max_steps: int | None, progress: Callable[[int, int], None] | None,
    ):  # fmt: skip
        self.kernel, self.grid, self.block, self.target = kernel, grid, block, target
        shared_mem = self._count("shared_mem", shared_mem)
        seed, profile = self._count("seed", seed), self._count("profile", profile)
        jobs = None if jobs is None else self._count("jobs", jobs, 1, "None takes all cores")
        max_steps = None if max_steps is None else self._count("max_steps", max_steps, 1, "None is no limit")
        self.cluster = self._cluster(cluster)
        self.engine_name = self._engine_name(engine)
        self.numerics, self.seed, self.checks, self.want_banks = numerics, seed, checks, banks
        self.limits = Limits(max_steps, progress)
        self.jobs = jobs
        self.profiled_sms = profile
        self.has_printed = False  # what a kernel prints is wanted once
        self.given: Collection[int] | None = None  # slots of registers that somebody sets before a warp starts
        self._check_shapes()
        self.program, self.decoder = kernel.program(target)
        linkage = self.decoder.linkage
        self.memory = GlobalMemory()
        self.allocations = linkage.place_globals(self.memory)
        try:
            self.arguments = Arguments(kernel.function, args, self.memory)
        except PtxError as error:
            raise PtxError(f.of(kernel.module.source) for f in error.findings) from None
        self.memory.freeze()
        linkage.initialize(self.memory, self.allocations, self.program.function_addresses)
        for name, values in kernel.module._values.items():
            if name in self.allocations:
                self.memory.view(self.allocations[name])[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        try:
            self.arguments.copy_in(linkage, self.allocations["parameters"])
        except PtxError as error:
            raise PtxError(f.of(kernel.module.source) for f in error.findings) from None
        self.dynamic_shared = shared_mem
        self.shared_end = linkage.dynamic_shared_start + shared_mem
        self._check_shared()

    def _finding(self, name: str, message: str, help: str | None = None) -> Finding:
        function = self.kernel.function
        return Finding(name, message, function.line, function.column, help=help).of(self.kernel.module.source)

    def _count(self, name: str, value: Any, least: int = 0, help: str | None = None) -> int:
        """An option that is a whole number of `least` or more. Raises PtxError."""
        try:
            count = operator.index(value)
        except TypeError:
            count = least - 1
        if count < least:
            raise PtxError(
                self._finding("bad-directive", f"{name}={value!r} is no whole number of {least} or more", help)
            )
        return count

    def _cluster(self, asked: Shape) -> Shape:
        """The cluster shape: the kernel's .reqnctapercluster, or the launch's."""
        for directive in self.kernel.function.directives:
            if directive.name == "reqnctapercluster" and directive.arguments:
                return shape([int(a) for a in directive.arguments])
        return asked

    def _check_shapes(self) -> None:
        for name, value in (("grid", self.grid), ("block", self.block), ("cluster", self.cluster)):
            for axis, number, limit in zip("xyz", value, LIMITS[name]):
                if number > limit:
                    raise PtxError(self._finding("bad-directive", f"{name}.{axis} is {number}, the most is {limit}"))
        threads = self.block[0] * self.block[1] * self.block[2]
        if threads > 1024:
            raise PtxError(self._finding("bad-directive", f"a CTA of {threads} threads; the most is 1024"))
        if any(g % c for g, c in zip(self.grid, self.cluster)):
            raise PtxError(
                self._finding("bad-directive", f"grid {self.grid} is no multiple of the cluster {self.cluster}")
            )
        for directive in self.kernel.function.directives:
            numbers = [int(a) for a in directive.arguments if a.isdigit()]
            if directive.name == "reqntid" and numbers and shape(numbers) != self.block:
                raise PtxError(
                    self._finding(
                        "bad-directive", f"the kernel says .reqntid {numbers}, the launch's block is {self.block}"
                    )
                )
            if directive.name == "maxntid" and numbers and threads > int(np.prod(numbers)):
                raise PtxError(
                    self._finding(
                        "bad-directive", f"the kernel says .maxntid {numbers}, the launch's block has {threads} threads"
                    )
                )

    def _check_shared(self) -> None:
        used = self.shared_end - shared_start(self.target)
        most = max_shared_bytes(self.target)
        if used > most:
            raise PtxError(
                self._finding("bad-directive", f"the CTA needs {used} bytes of shared memory, {self.target} has {most}")
            )

    @with_ieee
    def execute(
        self, on_error: str, start: Hook | None = None, stop: Hook | None = None, prepared: bool = False,
        watchers: Iterable[Observer] = (),
    ) -> Run:  # fmt: skip
        """Run to the end. `start` and `stop` are called with every warp and the engine, before and after it ran.

        prepared: `start` fills shared memory. watchers: get the events too, beside what the options ask for.
        """
        checkers = self._checkers(prepared)
        counter = self._bank_counter(keep=stop is not None) if self.want_banks else None
        again = Again(self, start)
        before = self.memory.bytes.copy() if checkers or self.want_banks is None or again.is_wanted else None
        profile = self._profile()
        observers = [*checkers, *([counter] if counter else []), *([profile.tracer] if profile else []), *watchers]
        machine = self._run(observers, start, stop)
        findings = list(machine.findings.values())
        if self.checks != "none":
            findings += unwritten_reads(self.program, self.given)
        for checker in checkers:
            findings += checker.findings(self.program)
        findings = again.settled(findings, before, machine)
        try:
            outputs = self.arguments.copy_out()
        except PtxError as error:
            raise PtxError(f.of(self.kernel.module.source) for f in error.findings) from None
        for name, values in self.kernel.module._values.items():
            if name in self.allocations:
                memory = self.memory.view(self.allocations[name])
                values.reshape(-1).view(np.uint8)[:] = memory[: values.nbytes]
        source = self.kernel.module.source
        run = Run(
            source.name, self.kernel.name, self.target.name, self.engine_name, self.seed,
            findings=sorted((f.of(source) for f in findings), key=lambda f: (f.line, f.column)),
            bank_source=self._bank_source(counter, before, start), banks_counted=counter is not None,
            warp_instructions=machine.warp_instructions, fidelity=dict(fidelity(self.program, self.target, self.numerics)),
            outputs=outputs, grid=self.grid, block=self.block, cycles=profile.cycles() if profile else None,
            stopped_at=machine.extra.get("stopped at"),
        )  # fmt: skip
        if self.engine_name == "compiled":
            self.kernel.module.known.remember(self.kernel.name, self.target)
        if on_error == "raise" and any(f.level == "error" for f in run.findings):
            raise KernelError(run)
        return run

    def _run(self, observers: list[Observer], start: Hook | None, stop: Hook | None, shared_fill: int = 0) -> Machine:
        """One pass over the grid on the launch's memory."""
        machine = Machine(
            self.target, self.grid, self.block, self.cluster, self.memory,
            stream=EventStream(observers) if observers else None, seed=self.seed,
            local_bytes=self.program.local_bytes, dynamic_shared=self.dynamic_shared,
            shared_bytes=self.shared_end, shared_fill=shared_fill, numerics=self.numerics, checks=self.checks,
            print_to=_nowhere if self.has_printed else None,
        )  # fmt: skip
        self.has_printed = True
        machine.extra["shared variables"] = [
            (name, place.address, place.size)
            for name, place in self.decoder.linkage.symbols.items()
            if place.space == "shared" and place.size
        ]
        with np.errstate(all="ignore"):
            grid = Grid(self.program, machine, self._engine(machine, stop is not None), self.limits, start, stop)
            try:
                grid.run()
            except Stopped as stopped:
                machine.add_finding(stopped.finding)
                machine.extra["stopped at"] = stopped.finding.line or 0
            except NotModeled as missing:
                op = missing.op
                machine.extra["stopped at"] = op.line
                machine.add_finding(
                    Finding(
                        "not-modeled",
                        f"{op.opcode} is not modeled yet",
                        op.line,
                        op.column,
                        len(op.opcode),
                        help="`ptxsim isa --missing` lists what is open",
                    )  # fmt: skip
                )
            grid.stop_all()
        if machine.stream is not None:
            machine.stream.finish()
        return machine

    def _bank_counter(self, keep: bool) -> BankCounter:
        from ptxsim.checks.banks import BankCounter

        return BankCounter(self.program, keep, self.grid, self.cluster)

    def _bank_table(self, counter: BankCounter) -> BankTable:
        from ptxsim.session.bank_table import bank_table

        symbols = self.decoder.linkage.symbols.items()
        shared = {name: (place.address, place.size) for name, place in symbols if place.space == "shared"}
        return bank_table(counter, self.program, shared)

    def _bank_source(self, counter: BankCounter | None, before: np.ndarray | None, start: Hook | None):
        """How to make the bank table when somebody asks: of what was counted, or by a run over the memory as it was before."""
        if counter is not None:
            return lambda: self._bank_table(counter)
        if self.want_banks is False:
            return None

        @with_ieee
        def count() -> BankTable:
            late = self._bank_counter(keep=False)
            self.memory.bytes = before.copy()
            self._run([late], start, None)
            return self._bank_table(late)

        return count

    def _engine_name(self, asked: str | None) -> str:
        """The engine that runs: the compiled one unless another is asked for or this machine cannot."""
        if asked not in (None, "interpreter", "compiled"):
            raise PtxError(self._finding("bad-directive", f"there is no engine {asked}", "use compiled or interpreter"))
        if asked == "interpreter":
            return asked
        from ptxsim.engine.compiled.run.selftest import refusal

        reason = refusal()
        if reason is None:
            return "compiled"
        if asked is not None:
            raise PtxError(self._finding("not-modeled", f"the compiled engine: {reason}", "use engine='interpreter'"))
        self._tell(reason)
        return self.engine_name

    def _tell(self, reason: str) -> None:
        """The interpreter takes over, and says so."""
        self.engine_name = "interpreter"
        warnings.warn(f"the interpreter runs this, which takes longer: {reason}", RuntimeWarning, stacklevel=4)

    def _engine(self, machine: Machine, keep: bool):
        """The engine; `keep`: somebody will look at all registers at the end."""
        if self.engine_name == "interpreter":
            return Interpreter(self.program, machine)
        from ptxsim.engine.compiled.run.engine import CompiledEngine

        engine = CompiledEngine(self.program, machine, keep=keep, jobs=self.jobs)
        reason = engine.refusal()
        if reason is None:
            return engine
        self._tell(reason)
        return Interpreter(self.program, machine)

    def _profile(self):
        """The cycle model, where it was asked for."""
        if not self.profiled_sms:
            return None
        from ptxsim.profile.profiler import Profile, unroll_pragmas

        shared = self.shared_end - shared_start(self.target)
        pragmas = unroll_pragmas(self.decoder)
        return Profile(
            self.program, self.target, self.grid, self.block, self.cluster, shared, self.profiled_sms, pragmas
        )

    def _checkers(self, prepared: bool) -> list:
        """`prepared`: somebody fills shared memory before the run."""
        if self.checks != "all":
            return []
        from ptxsim.checks.cluster import ClusterChecker
        from ptxsim.checks.cluster_shared import Homes
        from ptxsim.checks.global_races import GlobalChecker
        from ptxsim.checks.proxy import ProxyChecker
        from ptxsim.checks.races import SharedChecker
        from ptxsim.checks.tensor_maps import TensorMapChecker

        threads = self.block[0] * self.block[1] * self.block[2]
        warps = -(-threads // 32)
        homes = Homes(self.grid, self.cluster)
        return [
            SharedChecker(self.program, warps, self.shared_end, initialized=prepared, homes=homes),
            ProxyChecker(self.program, warps, self.shared_end, homes),
            TensorMapChecker(self.program),
            *([GlobalChecker()] if self.grid != (1, 1, 1) else []),
            *([ClusterChecker(threads, homes)] if self.cluster != (1, 1, 1) else []),
        ]


def _nowhere(text: str) -> None:
    pass


def initial_symbol(module: Module, variable: ast.Variable) -> bytes:
    """The initial bytes of a module variable, from its initialiser (addresses resolve only inside a launch)."""
    return initial_bytes(variable, {}, {}) if variable.initializer is not None else b""

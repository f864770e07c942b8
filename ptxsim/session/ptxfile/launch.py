"""How a file with directives is launched: on what data, with which options, under which seeds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.launch_checks import shape
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.arguments import Arguments
from ptxsim.session.ptxfile.before import run_before
from ptxsim.session.ptxfile.directives import Dim3, Directives
from ptxsim.session.ptxfile.expressions import METRICS
from ptxsim.source import Source, Span
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    from ptxsim.checks.in_flight import Prior
    from ptxsim.engine.program.operation import Program
    from ptxsim.session.launch import Launch
    from ptxsim.session.module import Kernel
    from ptxsim.session.run import Run

DEFAULT_BLOCK = 32
# Warp instructions after which a file's run is taken for endless, a few minutes either way; --max-steps raises it.
STEPS_OF_A_FILE = {"compiled": 4_000_000_000, "interpreter": 20_000_000}
# Bytes of device memory that a file's run may take: the process needs about four times as much. --max-memory raises it.
MEMORY_OF_A_FILE = 256 << 20
LARGE = 1 << 24  # bytes of arrays of which no more copies are held than are looked at
SECONDS_OF_A_FILE = 600  # on the clock, each run; --max-seconds raises it
ACCESS_NOTES = {"bank-conflict", "uncoalesced"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LaunchOptions):
    """What a caller says over the file's directives.

    arguments: NAME or position -> initialiser, as `--arg NAME=VALUE`. expects: as directives have it, `C == A @ B`. schedules: how
    many seeds to run. prints: LINE:OPERAND, operands to show. notes: bank-conflict, uncoalesced, advice that is a finding
    only where it is asked for.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    expects: tuple[str, ...] = ()
    schedules: int = 1
    prints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class FileLaunch:
    """A kernel of a file, what its directives and the caller say of its launch, and data made anew each time."""

    source: Source
    written: Source  # where the directives stand
    directives: Directives
    options: Options
    kernel: Kernel

    def launch_options(self) -> LaunchOptions:
        """What the caller says, then the file, then the defaults of a file."""
        named = {name for value in self.directives.values for name in value.comparison.names}
        defaults = LaunchOptions(
            block=self._default_block(), seed=0, checks="all", profile=int("cycles" in named),
            banks=True if self.notes() or "banks" in named else None,
            max_steps=STEPS_OF_A_FILE[self.options.engine or "compiled"], max_memory=MEMORY_OF_A_FILE,
            max_seconds=SECONDS_OF_A_FILE,
        )  # fmt: skip
        return self.options.or_else(self.directives.launch).or_else(defaults)

    def program(self) -> Program:
        """The kernel, decoded for the target that the caller names."""
        return self.kernel.program(self.options.target)

    def arguments(self) -> Arguments:
        """What makes the data of the parameters."""
        most = self.launch_options().max_memory
        return Arguments(self.source, self.written, self.directives, self.kernel, self.options.arguments, most)

    def bound(
        self, options: LaunchOptions, change: Callable[[dict[str, Any]], None] | None = None
    ) -> tuple[dict[str, Any], list[Any], Prior | None, list[Finding]]:
        """Fresh data, changed if need be, by name and for the parameters, as the kernels leave it that run before; what the launch may meet
        of these, and what they do wrong."""
        values, parameters = self.arguments().bind(self.seeds()[0])
        if change is not None:
            change(values)
        if not self.directives.after:
            return values, parameters, None, []
        return values, parameters, *run_before(self.kernel, self.directives.after, parameters, options)

    def seeds(self) -> range:
        """One for each schedule."""
        first = self.launch_options().seed or 0
        return range(first, first + max(1, self.options.schedules))

    def repeat(self, run: Run) -> tuple[Launch, dict[str, Any]]:
        """The launch of a run on fresh data, to be inspected, and the data."""
        values, parameters, *_ = self.bound(replace(self.launch_options(), seed=run.seed, checks="none"))
        if sum(getattr(value, "nbytes", 0) for value in values.values()) > LARGE:
            gc.collect()  # a launch refers to itself: the memory of the one inspected before would stay until Python looks
        options = replace(self.launch_options(), seed=run.seed, max_steps=self.options.max_steps)
        return self.kernel.repeat(parameters, options), values

    def watched(self) -> Launch:
        """The launch on fresh data, in the interpreter, with the checks that need no observer."""
        options = replace(self.launch_options().for_inspection(), checks="memory")
        _, parameters, *_ = self.bound(options)
        return self.kernel.prepare(parameters, options)

    def notes(self) -> set[str]:
        """The advice that the caller or the file names."""
        return ACCESS_NOTES & {*self.options.notes, *(finding.name for finding in self.directives.findings)}

    def check_names(self, values: Mapping[str, Any]) -> None:
        """Raises PtxError where an expectation is of an argument that the kernel has not."""
        for expectation in self.directives.values:
            for name in sorted(expectation.comparison.names - values.keys() - set(METRICS)):
                problem = Finding(
                    "bad-directive", f"no argument is called {name!r}", help=did_you_mean(name, [*values, *METRICS])
                )
                raise PtxError(problem.at(expectation.span).of(self.written))

    def place_of(self, name: str) -> Span:
        """Where the file names an argument."""
        given = (argument.span for argument in self.directives.arguments if argument.name == name)
        return next(given, Span(self.kernel.function.line))

    def advice(self) -> list[Finding]:
        """A note on how it is launched where neither the file nor the caller says so."""
        if self.directives.has_launch or self.options.block or self.options.grid:
            return []
        block = ",".join(map(str, self._default_block())).removesuffix(",1").removesuffix(",1")
        return [
            Finding(
                "bad-directive",
                f"nothing says how to launch {demangle(self.kernel.name)}: it ran with grid=1 block={block}",
                line=self.kernel.function.line,
                level="note",
                help=f"add a comment: // ptxsim: launch grid=1 block={block}",
            )
        ]

    def _default_block(self) -> Dim3:
        """The block that the kernel's .reqntid or .maxntid names, else one warp."""
        for wanted in ("reqntid", "maxntid"):
            for directive in self.kernel.function.directives:
                if directive.name == wanted:
                    sizes = [int(argument, 0) for argument in directive.arguments]
                    return shape(sizes)
        return (DEFAULT_BLOCK, 1, 1)

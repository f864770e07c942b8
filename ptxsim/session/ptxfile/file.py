"""A PTX file as a whole test: its directives say how to launch it and what to expect."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import bad
from ptxsim.demangle import demangle, is_named, is_part
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.launch_checks import shape
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.arguments import Arguments
from ptxsim.session.ptxfile.before import run_before
from ptxsim.session.ptxfile.directives import Dim3, Directives, ExpectedValue, parse_directives
from ptxsim.session.ptxfile.expectations import not_judged
from ptxsim.session.ptxfile.expressions import BANK_COUNTS, METRICS
from ptxsim.session.ptxfile.verdict import blamed, depends, judged, same, sort_out
from ptxsim.source import Source, Span
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    from ptxsim.checks.in_flight import Prior
    from ptxsim.session.inspect.operands import Shown
    from ptxsim.session.inspect.writers import Writers
    from ptxsim.session.launch import Launch
    from ptxsim.session.module import Kernel, Module
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


@dataclass(slots=True, repr=False)
class FileRun:
    """What came of running a file.

    `run` is None where the file did not get as far as running. `findings` are the unexpected ones, together with
    failed expectations; `expected` are the findings that appeared as the file said. `values` maps argument names to
    what they hold after the run, `NAME_in` to what they held before. `checked` counts the expectations. `shown`
    are the operands that `prints` asked for. Findings and failed expectations come from all of `seeds`, results from the
    first of them.
    """

    source: Source
    run: Run | None
    findings: list[Finding]
    expected: list[Finding] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    checked: int = 0
    shown: list[Shown] = field(default_factory=list)
    seeds: range = range(1)

    def __repr__(self) -> str:
        return f"FileRun({self.source.name}, passed={self.passed}, {len(self.findings)} findings, run={self.run!r})"

    @property
    def passed(self) -> bool:
        """Whether nothing of level error or warning is left."""
        return all(finding.level == "note" for finding in self.findings)


def run_file(file: str | Path | Source, entry: str | None = None, options: Options | None = None) -> FileRun:
    """Launch a file as its directives say, then compare with what they expect.

    Raises OSError where the file cannot be read, and PtxError where a directive cannot be understood.
    """
    options = options or Options()
    source = file if isinstance(file, Source) else Source.from_file(file)
    written, directives = _directives(source, options)
    try:
        return _launch_of(source, entry, options, written, directives).run()
    except PtxError as error:
        findings = [finding if finding.source else finding.of(source) for finding in error.findings]
        left, expected = sort_out(findings, directives, written)
        # Where the text itself is wrong, what the run was expected to show is beside the point.
        left = [finding for finding in left if finding in findings] or left
        return FileRun(source, None, left, expected)


def launches(source: Source, entry: str | None = None, options: Options | None = None) -> Callable[[], Launch]:
    """What makes the launch that a file's directives describe, on fresh data each time, for the interpreter, which can be watched.

    Addresses and alignment are checked while it runs. Raises PtxError.
    """
    options = options or Options()
    return _launch_of(source, entry, options, *_directives(source, options)).watched


def described(
    source: Source, entry: str | None, options: Options
) -> tuple[Kernel, list[Any], list[str], LaunchOptions]:
    """A file's kernel, fresh values of its parameters, their names in expectations, and how it is launched. Raises PtxError."""
    launch = _launch_of(source, entry, options, *_directives(source, options))
    _, parameters = launch._arguments().bind(launch._seeds()[0])
    return launch.kernel, parameters, launch._arguments().names(), launch._launch_options()


def _launch_of(source: Source, entry: str | None, options: Options, written: Source, directives: Directives) -> _Launch:
    from ptxsim.session.module import Module

    module = Module(source)
    kernel = module.kernel(_entry_name(module, entry or directives.entry))
    return _Launch(source, written, directives, options, module, kernel)


def _directives(source: Source, options: Options) -> tuple[Source, Directives]:
    """What a file, or the .launch file beside it, says; and which of the two it is. Expectations of the caller come after its own."""
    written = source.written
    directives = parse_directives(written)
    beside = written.path.with_suffix(".launch") if written.path else None
    if directives == Directives() and beside is not None and beside.is_file():
        written = Source.from_file(beside)
        directives = parse_directives(written)
    for expected in options.expects:
        more = parse_directives(Source(f"// ptxsim: expect {expected}", "--expect"))
        directives.values += [replace(value, span=Span(0)) for value in more.values]
        directives.findings += [replace(finding, span=Span(0)) for finding in more.findings]
    return written, directives


def _entry_name(module: Module, wanted: str | None) -> str:
    """The kernel that is meant. Raises PtxError if that is none, or not clear."""
    entries = module.entries
    if wanted is None and len(entries) == 1:
        return entries[0]
    if wanted in entries:
        return wanted
    for meant in (is_named, is_part):
        found = [entry for entry in entries if wanted is not None and meant(entry, wanted)]
        if len(found) == 1:
            return found[0]
    if not entries:
        raise bad("the file has no .entry, so there is nothing to run", "ptxsim check reads files without kernels")
    if wanted is None:
        message = f"the file has {len(entries)} entries: {', '.join(map(demangle, entries))}"
        raise bad(message, f"write ptxsim run FILE {entries[0]}, or // ptxsim: launch entry={entries[0]}")
    if found:
        raise bad(f"{len(found)} entries match {wanted!r}: {', '.join(map(demangle, found))}", "write more of the name")
    raise bad(f"no entry is called {wanted!r}", did_you_mean(wanted, [demangle(entry) for entry in entries]))


@dataclass(slots=True)
class _Launch:
    source: Source
    written: Source  # where the directives stand
    directives: Directives
    options: Options
    module: Module
    kernel: Kernel

    def run(self) -> FileRun:
        """Run and judge every schedule, all on the same data. What is wrong is reported of the first that shows it."""
        options, seeds = self._launch_options(), self._seeds()
        findings: dict[tuple[str, int], Finding] = {(f.name, f.line): f for f in self._advice()}
        unmet: dict[int, list[Finding]] = {}
        differing: dict[str, Finding] = {}
        first: tuple[Run, dict[str, Any]] | None = None
        # What is right, where a value may come out in several ways, is for expectations to say.
        judged_here = set().union(*(value.comparison.names for value in self.directives.values))
        for seed in seeds:
            values, parameters, prior, of_before = self._bound(replace(options, seed=seed))
            self._check_names(values)
            run = self.kernel.run(parameters, replace(options, seed=seed, prior=prior))
            notes = () if first is None else (f"seen with --seed {seed}",)
            told = {(each.name, self._written_at(each)) for each in findings.values()} if notes else set()
            for finding in of_before + run.findings + self._access_notes(run):
                if (finding.name, self._written_at(finding)) not in told:
                    findings.setdefault((finding.name, finding.line), replace(finding, notes=(*finding.notes, *notes)))
            for place, expectation in enumerate(self.directives.values):
                if place not in unmet and (found := self._unmet(expectation, run, values)):
                    unmet[place] = [replace(one, notes=(*notes, *one.notes)) for one in found]
            first = first or (run, values)
            for name in values.keys() - judged_here - differing.keys():
                if not same(first[1][name], values[name]):
                    differing[name] = depends(name, first[1][name], values[name], (seeds[0], seed), self._writers(run))
        assert first is not None
        run, values = first
        if len(seeds) == 1 and not unmet and all(finding.level == "note" for finding in findings.values()):
            unmet = self._unmet_on_others(run)
        found = [finding if finding.source else finding.of(self.source) for finding in findings.values()]
        if not unmet and all(finding.level != "error" for finding in found):  # else that is why
            found += [differing[name].at(self._place_of(name)).of(self.written) for name in sorted(differing)]
        left, expected = sort_out(found, self.directives, self.written)
        left += [finding.of(self.written) for place in sorted(unmet) for finding in unmet[place]]
        checked = len(self.directives.values) + len(self.directives.findings)
        return FileRun(self.source, run, left, expected, values, checked, self._look(run), seeds)

    def _unmet_on_others(self, first: Run) -> dict[int, list[Finding]]:
        """What is wrong with results on other schedules, of a small launch whose warps can tell in which order they run."""
        from ptxsim.session.inspect.interleaved import other_seeds

        options = replace(self._launch_options(), checks="none", banks=False, profile=0, progress=None)
        expected = {
            place: value
            for place, value in enumerate(self.directives.values)
            if not value.comparison.names & set(METRICS)
        }
        found: dict[int, list[Finding]] = {}
        for seed in other_seeds(self.kernel.program(self.options.target), options, first) if expected else ():
            values, parameters, prior, _ = self._bound(replace(options, seed=seed))
            run = self.kernel.run(parameters, replace(options, seed=seed, prior=prior))
            note = f"on another schedule (--seed {seed})"
            for place, expectation in expected.items() if run.stopped_at is None else ():
                if unmet := self._unmet(expectation, run, values):
                    found[place] = [replace(one, notes=(note, *one.notes)) for one in unmet]
            if found:
                break
        return found

    def _written_at(self, finding: Finding) -> Hashable:
        """The line of a finding as its author has written it, one for all copies of a loop."""
        return self.source.origin(finding.line) or finding.line

    def _unmet(self, expectation: ExpectedValue, run: Run, values: dict[str, Any]) -> list[Finding]:
        """What is wrong with a run by one expectation of the file."""
        writer = self._writers(run)
        found = judged(expectation, values | metrics(run), writer)
        if run.banks_counted and (counts := expectation.comparison.counts):
            found = [blamed(finding, run.banks, counts, self.source) for finding in found]
        if run.stopped_at is not None:
            place = self.source.place(run.stopped_at) if run.stopped_at else ""
            return [not_judged(finding, expectation.comparison, place) for finding in found]
        if any(finding.name == "expectation-failed" and finding.level == "error" for finding in found):
            tried = writer.told() + self._tried(expectation, run, values, not writer.misses_first)
            found = [
                replace(
                    finding,
                    notes=(*finding.notes, *tried),
                    labels=(*finding.labels, *writer.labels(self.written)),
                    help=finding.help or self._look_at(),
                )
                for finding in found
            ]
        return found

    def _look_at(self) -> str | None:
        """How to see what a kernel multiplies, where it multiplies matrices."""
        op = next((op for op in self.kernel.program(self.options.target).ops if op.facts.product is not None), None)
        if op is None:
            return None
        at = self.source.place(op.line)
        where = f" at {at}" if "PTX" in at else ""
        return f"--print {op.line}:a and --print {op.line}:b show as matrices what {op.name} multiplies{where}"

    def _place_of(self, name: str) -> Span:
        """Where the file names an argument."""
        given = (argument.span for argument in self.directives.arguments if argument.name == name)
        return next(given, Span(self.kernel.function.line))

    def _tried(self, expectation: ExpectedValue, run: Run, values: dict[str, Any], is_stored: bool) -> list[str]:
        """What would correct the results, or from what they are computed, found by trying. is_stored: of the first wrong element."""
        from ptxsim.session.inspect import dependence, neighbours, swizzle_trials

        if expectation.comparison.names & set(METRICS):
            return []
        found: list[str | None] = []
        if run.warp_instructions <= swizzle_trials.SHORT:
            found.append(
                swizzle_trials.other_swizzle(lambda: self._repeat(run), lambda values: not judged(expectation, values))
            )
        if run.warp_instructions <= neighbours.SHORT:
            found += neighbours.in_neighbours(self._repeat(run)[0], self.source)
        sides = expectation.comparison.operands
        if is_stored and run.warp_instructions <= dependence.SHORT and len(sides) == 2 and not run.has_errors:
            tolerances = expectation.comparison.rtol, expectation.comparison.atol
            found += dependence.tried(*sides, values, partial(self._on_others, run), *tolerances)
        return [each for each in found if each]

    def _on_others(self, run: Run, change: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
        """What arguments hold after a run on changed data; None where it does not come to its end."""
        options = replace(
            self._launch_options(), seed=run.seed, engine=None, checks="memory", banks=False, profile=0, progress=None
        )
        values, parameters, *_ = self._bound(options, change)
        return values if self.kernel.run(parameters, options).stopped_at is None else None

    def _access_notes(self, run: Run) -> list[Finding]:
        from ptxsim.session.bank_table import access_notes

        return access_notes(run.banks, self._notes()) if self._notes() else []

    def _launch_options(self) -> LaunchOptions:
        """What the caller says, then the file, then the defaults of a file."""
        named = {name for value in self.directives.values for name in value.comparison.names}
        defaults = LaunchOptions(
            block=self._default_block(), seed=0, checks="all", profile=int("cycles" in named),
            banks=True if self._notes() or "banks" in named else None,
            max_steps=STEPS_OF_A_FILE[self.options.engine or "compiled"], max_memory=MEMORY_OF_A_FILE,
            max_seconds=SECONDS_OF_A_FILE,
        )  # fmt: skip
        return self.options.or_else(self.directives.launch).or_else(defaults)

    def _arguments(self) -> Arguments:
        most = self._launch_options().max_memory
        return Arguments(self.source, self.written, self.directives, self.kernel, self.options.arguments, most)

    def _bound(
        self, options: LaunchOptions, change: Callable[[dict[str, Any]], None] | None = None
    ) -> tuple[dict[str, Any], list[Any], Prior | None, list[Finding]]:
        """Fresh data, changed if need be, by name and for the parameters, as the kernels leave it that run before; what the launch may meet
        of these, and what they do wrong."""
        values, parameters = self._arguments().bind(self._seeds()[0])
        if change is not None:
            change(values)
        if not self.directives.after:
            return values, parameters, None, []
        return values, parameters, *run_before(self.kernel, self.directives.after, parameters, options)

    def _seeds(self) -> range:
        """One for each schedule."""
        first = self._launch_options().seed or 0
        return range(first, first + max(1, self.options.schedules))

    def _repeat(self, run: Run) -> tuple[Launch, dict[str, Any]]:
        """The launch of a run on fresh data, to be inspected, and the data."""
        values, parameters, *_ = self._bound(replace(self._launch_options(), seed=run.seed, checks="none"))
        if sum(getattr(value, "nbytes", 0) for value in values.values()) > LARGE:
            gc.collect()  # a launch refers to itself: the memory of the one inspected before would stay until Python looks
        options = replace(self._launch_options(), seed=run.seed, max_steps=self.options.max_steps)
        return self.kernel.repeat(parameters, options), values

    def watched(self) -> Launch:
        """The launch on fresh data, in the interpreter, with the checks that need no observer."""
        options = replace(self._launch_options().for_inspection(), checks="memory")
        _, parameters, *_ = self._bound(options)
        return self.kernel.prepare(parameters, options)

    def _writers(self, run: Run) -> Writers:
        """Who stored an element of an output; the run is repeated when they are first asked."""
        from ptxsim.session.inspect.writers import Arrays, Writers

        def again() -> tuple[Launch, Arrays]:
            launch, values = self._repeat(run)
            own = zip(self.kernel.parameters, self._arguments().names())
            return launch, {
                name: (parameter.name, values[name]) for parameter, name in own if hasattr(values[name], "shape")
            }

        return Writers(again, self.source)

    def _notes(self) -> set[str]:
        """The advice that the caller or the file names."""
        return ACCESS_NOTES & {*self.options.notes, *(finding.name for finding in self.directives.findings)}

    def _look(self, run: Run) -> list[Shown]:
        if not self.options.prints:
            return []
        from ptxsim.session.inspect.operands import look, parse_place

        return look(self._repeat(run)[0], [parse_place(text) for text in self.options.prints])

    def _check_names(self, values: Mapping[str, Any]) -> None:
        for expectation in self.directives.values:
            for name in sorted(expectation.comparison.names - values.keys() - set(METRICS)):
                problem = Finding(
                    "bad-directive", f"no argument is called {name!r}", help=did_you_mean(name, [*values, *METRICS])
                )
                raise PtxError(problem.at(expectation.span).of(self.written))

    def _advice(self) -> list[Finding]:
        if self.directives.has_launch or self.options.block or self.options.grid:
            return []
        block = ",".join(map(str, self._default_block())).removesuffix(",1").removesuffix(",1")
        return [
            Finding(
                "bad-directive",
                f"nothing says how to launch {demangle(self.kernel.name)}: it ran with grid=1 block={block}",
                line=self._line(),
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

    def _line(self) -> int:
        return self.kernel.function.line


def metrics(run: Run) -> dict[str, Any]:
    """The counts of a run that expectations and `--fail-on` may name; None for what was not measured."""
    return {
        "banks": {name: getattr(run.banks, name) for name in BANK_COUNTS} if run.banks_counted else None,
        "cycles": None if run.cycles is None else run.cycles.cycles,
        "findings": len(run.findings),
        "warp_instructions": run.warp_instructions,
    }

"""The expectations of a file against its runs, and what further runs tell about those that are not met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxsim.diagnostic import Finding
from ptxsim.session.ptxfile.directives import ExpectedValue
from ptxsim.session.ptxfile.expectations import not_judged
from ptxsim.session.ptxfile.expressions import METRICS
from ptxsim.session.ptxfile.launch import FileLaunch
from ptxsim.session.ptxfile.results import metrics
from ptxsim.session.ptxfile.verdict import blamed, judged

if TYPE_CHECKING:
    from ptxsim.session.inspect.schedules.schedule import Schedule
    from ptxsim.session.inspect.writers import Writers
    from ptxsim.session.launch import Launch
    from ptxsim.session.options import LaunchOptions
    from ptxsim.session.run import Run


@dataclass(slots=True)
class Judge:
    """Holds runs of a launch against what its file expects."""

    launch: FileLaunch

    def unmet_on_others(self, first: Run) -> dict[int, list[Finding]]:
        """What is wrong with results on other schedules, of a small launch whose warps can tell in which order they run."""
        from ptxsim.session.inspect.schedules.interleaved import has_others, longest, schedules

        options = self.launch.launch_options()
        options = replace(options, engine=None, checks="none", banks=False, profile=0, progress=None)
        most = longest(first.warp_instructions)  # who waits asks again, and may do so slowly
        options = replace(options, max_steps=min(most, options.max_steps or most))
        expected = {
            place: value
            for place, value in enumerate(self.launch.directives.values)
            if not value.comparison.names & set(METRICS)
        }
        program = self.launch.program()
        if not expected or not has_others(program, options.seed, first):
            return {}
        for one in schedules(program, first):
            found = self._unmet_on(options, expected, one)
            if found and one.is_so(partial(self._unmet_on, options, {})):
                note = one.says(program)
                return {place: [replace(f, notes=(note, *f.notes)) for f in each] for place, each in found.items()}
        return {}

    def _unmet_on(
        self, options: LaunchOptions, expected: dict[int, ExpectedValue], one: Schedule
    ) -> dict[int, list[Finding]]:
        """What is wrong with results on another schedule."""
        from ptxsim.session.execution import execute

        values, parameters, prior, _ = self.launch.bound(replace(options, seed=one.seed, max_steps=None))
        tried = self.launch.kernel.prepare(parameters, replace(options, prior=prior, seed=one.seed, held=one.held))
        with tried.with_program(one.program(tried.program)):
            run = execute(tried, observers=one.observers)
        one.count(run)
        found = dict[int, list[Finding]]()
        for place, expectation in expected.items() if one.is_judged and run.stopped_at is None else ():
            if unmet := self.unmet(expectation, run, values):
                found[place] = unmet
        return found

    def unmet(self, expectation: ExpectedValue, run: Run, values: dict[str, Any]) -> list[Finding]:
        """What is wrong with a run by one expectation of the file."""
        writer = self.writers(run)
        # Who stored what a run left that has stopped explains nothing, and would be asked of one that may never end.
        found = judged(expectation, values | metrics(run), writer if run.stopped_at is None else None)
        if run.banks_counted and (counts := expectation.comparison.counts):
            found = [blamed(finding, run.banks, counts, self.launch.source) for finding in found]
        if run.stopped_at is not None:
            place = self.launch.source.place(run.stopped_at) if run.stopped_at else ""
            return [not_judged(finding, expectation.comparison, place) for finding in found]
        if any(finding.name == "expectation-failed" and finding.level == "error" for finding in found):
            tried = writer.told() + self._tried(expectation, run, values, not writer.misses_first)
            found = [
                replace(
                    finding,
                    notes=(*finding.notes, *tried),
                    labels=(*finding.labels, *writer.labels(self.launch.written)),
                    help=finding.help or self._look_at(),
                )
                for finding in found
            ]
        return found

    def _look_at(self) -> str | None:
        """How to see what a kernel multiplies, where it multiplies matrices."""
        op = next((op for op in self.launch.program().ops if op.facts.product is not None), None)
        if op is None:
            return None
        at = self.launch.source.place(op.line)
        where = f" at {at}" if "PTX" in at else ""
        return f"--print {op.line}:a and --print {op.line}:b show as matrices what {op.name} multiplies{where}"

    def _tried(self, expectation: ExpectedValue, run: Run, values: dict[str, Any], is_stored: bool) -> list[str]:
        """What would correct the results, or from what they are computed, found by trying. is_stored: of the first wrong element."""
        from ptxsim.session.inspect import dependence, neighbours, swizzle_trials

        if expectation.comparison.names & set(METRICS):
            return []
        found: list[str | None] = []
        if run.warp_instructions <= swizzle_trials.SHORT:
            found.append(
                swizzle_trials.other_swizzle(
                    lambda: self.launch.repeat(run), lambda values: not judged(expectation, values)
                )
            )
        if run.warp_instructions <= neighbours.SHORT:
            found += neighbours.in_neighbours(self.launch.repeat(run)[0], self.launch.source)
        sides = expectation.comparison.operands
        if is_stored and run.warp_instructions <= dependence.SHORT and len(sides) == 2 and not run.has_errors:
            tolerances = expectation.comparison.rtol, expectation.comparison.atol
            found += dependence.tried(*sides, values, partial(self._on_others, run), *tolerances)
        return [each for each in found if each]

    def _on_others(self, run: Run, change: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
        """What arguments hold after a run on changed data; None where it does not come to its end."""
        options = replace(
            self.launch.launch_options(),
            seed=run.seed,
            engine=None,
            checks="memory",
            banks=False,
            profile=0,
            progress=None,
        )
        values, parameters, *_ = self.launch.bound(options, change)
        return values if self.launch.kernel.run(parameters, options).stopped_at is None else None

    def writers(self, run: Run) -> Writers:
        """Who stored an element of an output; the run is repeated when they are first asked."""
        from ptxsim.session.inspect.writers import Arrays, Writers

        def again() -> tuple[Launch, Arrays]:
            launch, values = self.launch.repeat(run)
            own = zip(self.launch.kernel.parameters, self.launch.arguments().names())
            return launch, {
                name: (parameter.name, values[name]) for parameter, name in own if hasattr(values[name], "shape")
            }

        return Writers(again, self.launch.source)

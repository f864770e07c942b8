"""A PTX file as a whole test: its directives say how to launch it and what to expect."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import bad
from ptxsim.demangle import demangle, is_named, is_part
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.options import LaunchOptions
from ptxsim.session.ptxfile.directives import Directives, parse_directives
from ptxsim.session.ptxfile.judge import Judge
from ptxsim.session.ptxfile.launch import FileLaunch, Options
from ptxsim.session.ptxfile.results import FileRun, metrics
from ptxsim.session.ptxfile.verdict import depends, same, sort_out
from ptxsim.source import Source, Span
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    from ptxsim.session.inspect.operands import Shown
    from ptxsim.session.launch import Launch
    from ptxsim.session.module import Kernel, Module
    from ptxsim.session.run import Run

__all__ = ["FileRun", "Options", "described", "launches", "metrics", "run_file"]


def run_file(file: str | Path | Source, entry: str | None = None, options: Options | None = None) -> FileRun:
    """Launch a file as its directives say, then compare with what they expect.

    Raises OSError where the file cannot be read, and PtxError where a directive cannot be understood.
    """
    options = options or Options()
    source = file if isinstance(file, Source) else Source.from_file(file)
    written, directives = _directives(source, options)
    try:
        return _run(_launch_of(source, entry, options, written, directives))
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
    _, parameters = launch.arguments().bind(launch.seeds()[0])
    return launch.kernel, parameters, launch.arguments().names(), launch.launch_options()


def _launch_of(
    source: Source, entry: str | None, options: Options, written: Source, directives: Directives
) -> FileLaunch:
    from ptxsim.session.module import Module

    module = Module(source)
    kernel = module.kernel(_entry_name(module, entry or directives.entry))
    return FileLaunch(source, written, directives, options, kernel)


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
    if not entries and module.source.made_from is not None:
        message = "the file has no __global__ function that becomes a kernel, so there is nothing to run"
        raise bad(message, "a template does where it is instantiated: template __global__ void k<float>(float*);")
    if not entries:
        raise bad("the file has no .entry, so there is nothing to run", "ptxsim check reads files without kernels")
    if wanted is None:
        message = f"the file has {len(entries)} entries: {', '.join(map(demangle, entries))}"
        raise bad(message, f"write ptxsim run FILE {entries[0]}, or // ptxsim: launch entry={entries[0]}")
    if found:
        raise bad(f"{len(found)} entries match {wanted!r}: {', '.join(map(demangle, found))}", "write more of the name")
    raise bad(f"no entry is called {wanted!r}", did_you_mean(wanted, [demangle(entry) for entry in entries]))


def _run(launch: FileLaunch) -> FileRun:
    """Run and judge every schedule, all on the same data. What is wrong is reported of the first that shows it."""
    options, seeds, expects = launch.launch_options(), launch.seeds(), launch.directives.values
    source, written, judge = launch.source, launch.written, Judge(launch)

    def written_at(finding: Finding) -> Hashable:
        """The line of a finding as its author has written it, one for all copies of a loop."""
        return source.origin(finding.line) or finding.line

    findings: dict[tuple[str, int], Finding] = {(f.name, f.line): f for f in launch.advice()}
    unmet: dict[int, list[Finding]] = {}
    differing: dict[str, Finding] = {}
    first: tuple[Run, dict[str, Any]] | None = None
    # What is right, where a value may come out in several ways, is for expectations to say.
    judged_here = set().union(*(value.comparison.names for value in expects))
    for seed in seeds:
        values, parameters, prior, of_before = launch.bound(replace(options, seed=seed))
        launch.check_names(values)
        run = launch.kernel.run(parameters, replace(options, seed=seed, prior=prior))
        notes = () if first is None else (f"seen with --seed {seed}",)
        told = {(each.name, written_at(each)) for each in findings.values()} if notes else set()
        for finding in of_before + run.findings + _access_notes(launch, run):
            if (finding.name, written_at(finding)) not in told:
                findings.setdefault((finding.name, finding.line), replace(finding, notes=(*finding.notes, *notes)))
        for place, expectation in enumerate(expects):
            if place not in unmet and (found := judge.unmet(expectation, run, values)):
                unmet[place] = [replace(one, notes=(*notes, *one.notes)) for one in found]
        first = first or (run, values)
        for name in values.keys() - judged_here - differing.keys():
            if not same(first[1][name], values[name]):
                differing[name] = depends(name, first[1][name], values[name], (seeds[0], seed), judge.writers(run))
    assert first is not None
    run, values = first
    if len(seeds) == 1 and not unmet and all(finding.level == "note" for finding in findings.values()):
        unmet = judge.unmet_on_others(run)
    found = [finding if finding.source else finding.of(source) for finding in findings.values()]
    if not unmet and all(finding.level != "error" for finding in found):  # else that is why
        found += [differing[name].at(launch.place_of(name)).of(written) for name in sorted(differing)]
    left, expected = sort_out(found, launch.directives, written)
    left += [finding.of(written) for place in sorted(unmet) for finding in unmet[place]]
    checked = len(expects) + len(launch.directives.findings)
    return FileRun(source, run, left, expected, values, checked, _look(launch, run), seeds)


def _access_notes(launch: FileLaunch, run: Run) -> list[Finding]:
    from ptxsim.session.bank_table import access_notes

    return access_notes(run.banks, notes) if (notes := launch.notes()) else []


def _look(launch: FileLaunch, run: Run) -> list[Shown]:
    if not launch.options.prints:
        return []
    from ptxsim.session.inspect.operands import look, parse_place

    return look(launch.repeat(run)[0], [parse_place(text) for text in launch.options.prints])

"""What run, banks and profile do alike: run a file, print in the format asked for, and settle the exit code."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptxsim import __version__
from ptxsim.cli.exits import CLEAN, FINDINGS, exit_code
from ptxsim.cli.options import Request
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.report import formats, records, text
from ptxsim.report.operands import operand_text
from ptxsim.report.selection import chosen, fails_on, parse_names
from ptxsim.report.style import Paint, paint_for
from ptxsim.report.summary import summary
from ptxsim.session.ptxfile.file import FileRun, Options, described, metrics, run_file
from ptxsim.source import LARGEST, Source
from ptxsim.spelling import did_you_mean

if TYPE_CHECKING:
    from ptxsim.profile.cycles import Cycles
    from ptxsim.programs.why import Remembered


def read(
    file: str, entry: str | None = None, target: str | None = None, compiler: str | None = None, flags: str = ""
) -> Source:
    """The PTX of a file in any form, or of standard input for `-`. Raises OSError, and PtxError where it has none."""
    if file == "-":
        given = sys.stdin.buffer.read(LARGEST + 1)
        if len(given) > LARGEST:
            raise OSError(errno.EFBIG, f"has more than {LARGEST >> 20} MiB", "<stdin>")
        return Source(given.decode("utf-8-sig", errors="replace"), "<stdin>")
    if file.endswith(".ptx"):
        return Source.from_file(file)
    from ptxsim.cuda.files import read_file

    return read_file(file, entry, target, compiler, shlex.split(flags))


def perform(
    request: Request, more: Callable[[FileRun, Paint], str] | None = None, *, banks: bool = False, profile: int = 0
) -> int:
    """Run the file, print the result, write what was asked for, and return the exit code.

    more: adds text to the full format; banks: count wavefronts; profile: on how many SMs cycles are predicted. Raises PtxError and
    OSError.
    """
    earlier = _earlier(request, banks, profile) if request.against else None
    return _finish(_execute(request, banks, profile), request, earlier, more)


def _earlier(request: Request, banks: bool, profile: int) -> Mapping[str, Any]:
    """The document to compare with: that of an earlier run, or of another file's, which is run in the same way, but for what is said of the
    file's own lines and machine code."""
    assert request.against is not None
    from ptxsim.report.against import is_document, load

    if is_document(Path(request.against)):
        return load(Path(request.against))
    options = replace(request.options, prints=(), cubin=None)
    other = _execute(replace(request, file=request.against, options=options, try_fixes=False, why=()), banks, profile)
    if other.run is None:
        raise PtxError(other.findings)
    return records.run_record(other, __version__)


def _execute(request: Request, banks: bool, profile: int) -> FileRun:
    """Run the file; findings that are not wanted are left out. Raises PtxError and OSError."""
    select, ignore = parse_names(request.select), parse_names(request.ignore)
    from ptxsim.report.progress import Progress

    if request.why:
        from ptxsim.programs.why import parse_question

        for question in request.why:
            parse_question(question)
    with Progress() as progress:
        source = read(request.file, request.entry, request.options.target, request.compiler, request.compiler_flags)
        source = replace(source, has_lines=request.lineinfo)
        options = _options(request, banks, profile, progress)
        try:
            result = run_file(source, request.entry, options)
        except PtxError as error:
            if request.format == "full":
                raise
            # Machine formats carry what kept the file from running, too.
            result = FileRun(source, None, [f if f.source else f.of(source) for f in error.findings])
    if request.try_fixes:
        from ptxsim.session.inspect.fix_trials import with_tried_fixes

        with Progress(doing="trying fixes"):
            result = with_tried_fixes(result, request.entry, options)
    result.findings = chosen(result.findings, select, ignore)
    return result


def _options(request: Request, banks: bool, profile: int, progress: Callable[[int, int], None] | None) -> Options:
    """The options of a launch, and what the wanted output needs of it."""
    fail_on = request.fail_on or ""
    banks = banks or "banks" in fail_on or request.report is not None
    profile = profile or int("cycles" in fail_on or request.trace is not None or request.report is not None)
    notes = parse_names(request.select)
    return replace(request.options, banks=banks or None, profile=profile or None, progress=progress, notes=notes)


def _finish(
    result: FileRun, request: Request, earlier: Mapping[str, Any] | None, more: Callable[[FileRun, Paint], str] | None
) -> int:
    """Print the result, write what was asked for, and return the exit code."""
    from ptxsim.report import against
    from ptxsim.report.progress import Progress

    paint = paint_for()
    with Progress(doing="counting, comparing"):
        record = records.run_record(result, __version__) if earlier or request.format == "json" else {}
        changed = against.document(earlier, record) if earlier else None
        if request.format == "json":
            body = records.to_json(record | {"against": changed} if changed else record)
        else:
            body = render(result, request.format, paint, more)
    if body:
        click.echo(body)
    for answer in _answers(result, request):
        click.echo(answer, err=request.format != "full")
    _write_outputs(result, request.outputs)
    if request.report:
        with Progress(doing="writing the page"):
            _write_report(result, request.report, (request.against, changed) if request.against and changed else None)
        click.echo(f"wrote {request.report}", err=True)
    if request.trace and result.run is not None and result.run.cycles is not None:
        with Progress(doing="writing the trace"):
            _write_trace(result.run.cycles, request.trace)
        click.echo(f"wrote {request.trace}", err=True)
    code = exit_code(result.findings)
    if changed:
        told = [f"\nagainst {request.against}:", *against.lines(changed)]
        click.echo("\n".join(told), err=request.format != "full")
        code = max(code, FINDINGS if changed["worse"] else CLEAN)
    if request.fail_on and result.run is not None and (reason := fails_on(request.fail_on, metrics(result.run))):
        click.echo(reason, err=True)
        code = max(code, FINDINGS)
    return code


def _answers(result: FileRun, request: Request) -> Iterator[str]:
    """What there is to say of the elements that are asked about. Raises PtxError where a question names none."""
    if not request.why or result.run is None:
        return
    if result.run.stopped_at is not None:
        yield "--why: the launch did not come to its end"
        return
    from ptxsim.programs.why import Remembered

    kernel, args, names, options = described(result.source, request.entry, request.options)
    launch = Remembered(kernel, args, options, 0, names)
    yield from (_answer(launch, text) for text in request.why)


def _answer(launch: Remembered, text: str) -> str:
    from ptxsim.arrays import bad
    from ptxsim.programs.why import parse_question

    question = parse_question(text)
    try:
        found = launch.lineage_of(question)
    except IndexError as error:
        raise bad(f"--why {text}: {error}") from None
    if found is None:
        help = did_you_mean(question.name, [*launch.pointers()])
        raise bad(f"--why {text}: no array argument is called {question.name!r}", help)
    return launch.told(found)


def render(result: FileRun, format: str, paint: Paint, more: Callable[[FileRun, Paint], str] | None = None) -> str:
    """A result in one of FORMATS."""
    if format == "full":
        parts = [operand_text(shown) for shown in result.shown]
        if result.expected:  # what a broken sample is there to show
            parts += ["as the file expects:", text.render_all(result.expected, paint)]
        parts += [text.render_all(result.findings, paint), more(result, paint) if more else "", summary(result, paint)]
        return "\n\n".join(part for part in parts if part)
    if format == "json":
        return records.to_json(records.run_record(result, __version__))
    return render_findings(result.findings, format, paint, result.run.entry if result.run else None)


def render_findings(findings: Sequence[Finding], format: str, paint: Paint, entry: str | None = None) -> str:
    """Findings alone in one of FORMATS but json."""
    if format == "concise":
        return text.render_concise(findings, paint)
    if format == "github":
        return formats.to_github(findings)
    if format == "sarif":
        return formats.to_sarif(findings, __version__)
    if format == "sanitizer":
        return formats.to_sanitizer(findings, __version__, entry)
    return text.render_all(findings, paint)


def _write_outputs(result: FileRun, outputs: Sequence[tuple[str, str]]) -> None:
    from ptxsim.arrays import bad, save

    for name, file in outputs:
        if result.run is None:
            return
        if name not in result.values or not hasattr(result.values[name], "dtype"):
            arrays = [known for known, value in result.values.items() if hasattr(value, "dtype")]
            raise bad(f"--out: no array argument is called {name!r}", did_you_mean(name, arrays))
        click.echo(f"wrote {save(Path(file), result.values[name])}", err=True)


def _write_report(result: FileRun, file: str, against: tuple[str, Mapping[str, Any]] | None) -> None:
    from ptxsim.report.page.document import write_page

    write_page(Path(file), result, __version__, against)


def _write_trace(cycles: Cycles, file: str) -> None:
    from ptxsim.report.trace import write_trace

    write_trace(Path(file), cycles)

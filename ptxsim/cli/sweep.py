"""`ptxsim sweep`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptxsim.cli.options import ArgumentValue, Count, Dim3, TargetName

if TYPE_CHECKING:
    from ptxsim.session.ptxfile.file import Options

MOST_FINDINGS = 100  # of one run that are kept
MOST_FILES = 100_000  # in a folder that is looked through


@dataclass(frozen=True, slots=True)
class Task:
    """One run: a file, its entry, and what is said over its directives; `varied` is what tells it from others."""

    file: str
    entry: str | None
    options: Options
    varied: tuple[tuple[str, str], ...]


@click.command("sweep")
@click.argument("files", nargs=-1, required=True)
@click.option("--seeds", type=Count(), default=1, help="Run with seeds 0 to N - 1.")
@click.option("--entry", help="The kernel of files that have several.")
@click.option("--target", "targets", type=TargetName(), multiple=True, help="Run on this machine; give several.")
@click.option(
    "--engine", "engines", type=click.Choice(["compiled", "interpreter"]), multiple=True, help="How; give several."
)
@click.option("--grid", "grids", type=Dim3(), multiple=True, help="CTAs in the grid; give several.")
@click.option("--block", "blocks", type=Dim3(), multiple=True, help="Threads in a CTA; give several.")
@click.option(
    "--arg",
    "arguments",
    type=ArgumentValue(),
    multiple=True,
    help="NAME=VALUE; a name that is given several times is varied.",
)
@click.option("--checks", type=click.Choice(["all", "memory", "none"]), default="all", help="What to watch for.")
@click.option("--max-steps", type=Count(), help="Stop each run after N warp instructions.")
@click.option("--max-memory", type=Count(), metavar="BYTES", help="Device memory of each run.")
@click.option(
    "--workers",
    default="0",
    metavar="N|dask://HOST:PORT",
    help="Processes (0: one per core; 1: this one), or a Dask scheduler.",
)
@click.option("--format", "format", type=click.Choice(["full", "json"]), default="full", help="How to print.")
def command(
    files: tuple[str, ...], seeds: int, entry: str | None, targets: tuple[str, ...], engines: tuple[str, ...], grids: tuple[Any, ...],
    blocks: tuple[Any, ...], arguments: tuple[tuple[str, str], ...], checks: str, max_steps: int | None, max_memory: int | None,
    workers: str, format: str,
) -> int:  # fmt: skip
    """Run files with directives many times: seeds, targets, engines, shapes and arguments, all with all.

    FILES may be folders: every .ptx file in them that says how to launch it. Runs are spread over processes or machines; what is
    printed is the same wherever they ran. A run that fails is a result, and so is one whose process dies.
    """
    from ptxsim import __version__
    from ptxsim.cli.exits import exit_code
    from ptxsim.report.progress import Progress
    from ptxsim.report.records import to_json
    from ptxsim.session.ptxfile.file import Options
    from ptxsim.session.workers import spread

    wanted = Options(checks=checks, max_steps=max_steps, max_memory=max_memory, jobs=1)
    axes = {"target": targets, "engine": engines, "grid": grids, "block": blocks, "seed": range(seeds)}
    work = list(tasks(_files(files), entry, wanted, axes, arguments))
    records = []
    with Progress() as progress:
        for record in spread(perform, work, workers, batch=4, lost=lost):
            records.append(record)
            if progress is not None:
                progress(len(records), len(work))
    found = [finding for record in records for finding in record.pop("judged")]
    if format == "json":
        click.echo(to_json({"version": __version__, "runs": records}))
    else:
        click.echo("\n".join(_lines(records)))
    return exit_code(found)


def _files(names: Sequence[str]) -> Iterator[str]:
    """The files that are meant. Raises OSError for one that is not there."""
    from ptxsim.session.ptxfile.directives import says_launch

    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(_inside(path))
            yield from (str(file) for file in inside if says_launch(file.read_text(errors="replace")))
        else:
            path.stat()
            yield name


def _inside(folder: Path) -> Iterator[Path]:
    """The files of PTX in a folder and those below. Raises click.UsageError where there are too many to look through."""
    seen = 0
    for place, folders, names in os.walk(folder):
        seen += len(folders) + len(names)
        if seen > MOST_FILES:
            raise click.UsageError(f"{folder} holds more than {MOST_FILES} files; name the folders that are meant")
        yield from (Path(place, name) for name in names if name.endswith(".ptx"))


def tasks(
    files: Iterator[str], entry: str | None, wanted: Options, axes: dict[str, Any], arguments: Sequence[tuple[str, str]]
) -> Iterator[Task]:
    """Every file with every choice of what is varied; axes that are not named stay what the file says."""
    from dataclasses import replace

    by_name: dict[str, list[str]] = {}
    for position, (name, text) in enumerate(arguments):
        by_name.setdefault(name or str(position), []).append(text)
    named = {axis: list(values) for axis, values in axes.items() if len(values) > 1 or (values and axis != "seed")}
    for file in files:
        for values in itertools.product(*named.values(), *by_name.values()):
            chosen: dict[str, Any] = dict(zip(named, values))
            given = dict(zip(by_name, values[len(named) :]))
            many = {axis for axis, choices in (*named.items(), *by_name.items()) if len(choices) > 1}
            varied = tuple((axis, _shown(value)) for axis, value in {**chosen, **given}.items() if axis in many)
            yield Task(file, entry, replace(wanted, **chosen, arguments=given), varied)


def _shown(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def perform(task: Task) -> dict[str, Any]:
    """One run as a record of plain values, bounded in size: outputs are digests, and there are not too many findings."""
    from ptxsim.cli.running import read
    from ptxsim.diagnostic import PtxError
    from ptxsim.session.ptxfile.file import run_file

    try:
        result = run_file(read(task.file, task.entry, task.options.target), task.entry, task.options)
        run, findings = result.run, result.findings
    except PtxError as error:
        run, findings = None, error.findings
    except OSError as error:
        return _record(task, [_finding(f"cannot read {task.file}: {error.strerror or error}")], {})
    counts = {} if run is None else run.to_dict() | {"banks": None}
    return _record(task, findings, counts)


def lost(task: Task) -> dict[str, Any]:
    """The record of a run whose process ended each time."""
    return _record(task, [_finding("the process of this run ended without a result, three times", "limit-reached")], {})


def _finding(message: str, name: str = "bad-directive") -> Any:
    from ptxsim.diagnostic import Finding

    return Finding(name, message)


def _record(task: Task, findings: Sequence[Any], counts: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import replace

    kept = [finding.to_dict() for finding in findings[:MOST_FINDINGS]]
    names = ("entry", "target", "engine", "seed", "warp_instructions", "outputs", "fidelity")
    return {
        "file": task.file, "varied": dict(task.varied), **{name: counts.get(name) for name in names},
        "findings": kept, "left_out": len(findings) - len(kept), "judged": [replace(one, source=None) for one in findings[:MOST_FINDINGS]],
    }  # fmt: skip


def _lines(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One line for every finding that is no note, and what there was in all."""
    failed = 0
    for record in records:
        serious = [finding for finding in record["findings"] if finding["level"] != "note"]
        failed += bool(serious)
        place = " ".join([record["file"], *(f"{name}={value}" for name, value in record["varied"].items())])
        for finding in serious[:3]:
            yield f"{place}: {finding['level']} {finding['name']} at line {finding['line']}: {finding['message']}"
        if len(serious) > 3:
            yield f"{place}: and {len(serious) - 3 + record['left_out']} more"
    steps = sum(record["warp_instructions"] or 0 for record in records)
    yield f"{len(records)} runs: {len(records) - failed} clean, {failed} with findings; {steps} warp instructions"

"""`ptxsim exec`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptxsim.cli.exits import CLEAN, FINDINGS, INTERRUPTED, NOT_MODELED, USAGE
from ptxsim.cli.options import Count, Pattern, Size, TargetName

if TYPE_CHECKING:
    from ptxsim.programs.start import Command

PATIENCE = 10  # seconds that a program has to end after Ctrl-C, before it is told once more


@click.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--target", type=TargetName(), help="The machine: what Triton compiles for, what runs it.")
@click.option("--checks", type=click.Choice(["all", "memory", "none"]), default="all", help="What to watch for.")
@click.option("--only", type=Pattern(), help="Look at kernels whose names fit; the others run unwatched.")
@click.option("--skip", type=Size(), default=0, help="Of these, pass over the first N launches.")
@click.option("--count", type=Count(), help="Look at N launches.")
@click.option("--launches", type=Count(), help="End the program after N launches.")
@click.option("--quick", is_flag=True, help="Triton: take the times of benchmarks, do not make their results.")
@click.option("--untuned", is_flag=True, help="Triton: take an autotuner's first configuration that runs.")
@click.option("--why", multiple=True, metavar="NAME[INDEX]", help="Say who wrote an element, and what it depends on.")
@click.option("--banks", is_flag=True, help="Count shared-memory wavefronts.")
@click.option("--profile", is_flag=True, help="Predict cycles.")
@click.option("--engine", type=click.Choice(["compiled", "interpreter"]), help="How to run it.")
@click.option("--seed", type=Size(), help="Chooses the order of warps.")
@click.option("--jobs", type=Count(), help="Threads for independent CTAs.")
@click.option("--max-steps", type=Count(), help="Stop a launch after N warp instructions.")
@click.option(
    "--cuda-is-cpu/--no-cuda-is-cpu", default=True, help="Python: what asks torch for device 'cuda' gets the CPU."
)
@click.option(
    "--format", "format", type=click.Choice(["full", "concise", "json"]), default="full", help="How to print."
)
@click.option("--report", metavar="OUT.html", help="Write one offline page about all launches.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(program: str, arguments: Sequence[str], format: str, report: str | None, cuda_is_cpu: bool, **asked: Any) -> int:  # fmt: skip
    """Run a program whose kernels go to ptxsim: Triton (PROGRAM.py, or -m MODULE), or an executable that was linked
    with `nvcc -cudart shared`. Options of ptxsim stand before PROGRAM.

    Findings are written to standard error as they come, a summary at the end. With --format json the runs are an array on
    standard output, and what the program prints there goes to standard error.

    \b
    ptxsim exec train.py
    ptxsim exec --only matmul --banks ./gemm --m=128
    ptxsim exec --why 'out_ptr[3,5]' train.py
    """
    from ptxsim.programs import records, start
    from ptxsim.programs.wanted import Telling, Wanted
    from ptxsim.programs.why import parse_question

    for question in asked["why"]:
        parse_question(question)

    telling: dict[str, Telling] = {"full": "full", "concise": "concise", "json": "nothing"}
    if report is not None:
        asked |= {"banks": True, "profile": True, "page": True}
    wanted = Wanted(told=telling[format], **asked)
    with tempfile.TemporaryDirectory(prefix="ptxsim-") as folder:
        wanted = replace(wanted, results=folder)
        found = start.command(program, arguments, wanted, cuda_is_cpu=cuda_is_cpu)
        code = _execute(found, to_error=format == "json")
        launches, unfinished = records.read(Path(folder)), records.unfinished(Path(folder))
    if report is not None:
        from ptxsim.programs.page import write_page
        from ptxsim.report.progress import Progress

        with Progress(doing="writing the page"):
            write_page(Path(report), " ".join([program, *arguments]), launches)
    if format == "json":
        from ptxsim.report.records import to_json

        click.echo(
            to_json(
                [{key: value for key, value in record.items() if key not in ("text", "part")} for record in launches]
            )
        )
    else:
        click.echo(records.summary(launches, unfinished), err=True)
        for remark in records.remarks(launches, asked["why"]):
            click.echo(remark, err=True)
    names = {name for level, name in records.finding_names(launches) if level != "note"}
    if "not-modeled" in names:
        return NOT_MODELED
    return FINDINGS if names else code or (USAGE if records.unanswered(launches, asked["why"]) else CLEAN)


def _execute(found: Command, to_error: bool) -> int:
    """Run the program to its end; its exit code, as a shell would say it."""
    sys.stdout.flush()
    variables, output = {**os.environ, **found.variables}, sys.stderr if to_error else None
    with subprocess.Popen(found.arguments, env=variables, stdout=output) as program:
        # Whoever ends ptxsim (a time limit) ends the program, and is told what came of its launches until then.
        before = signal.signal(signal.SIGTERM, lambda number, frame: program.terminate())
        try:
            code = program.wait()
        except KeyboardInterrupt:
            _end(program)
            return INTERRUPTED
        finally:
            signal.signal(signal.SIGTERM, before)
    if code >= 0:
        return code
    click.echo(f"ptxsim: the program was ended by {signal.Signals(-code).name}", err=True)
    return 128 - code


def _end(program: subprocess.Popen[bytes]) -> None:
    """Let a program end that Ctrl-C has reached, too: what it does then is its own affair. Another Ctrl-C, or too long a time, ends it."""
    try:
        for end in (program.terminate, program.kill):
            with suppress(subprocess.TimeoutExpired):
                program.wait(PATIENCE)
                return
            end()
    except KeyboardInterrupt:
        program.kill()

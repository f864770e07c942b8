"""`ptxsim check`."""

from __future__ import annotations

import click

from ptxsim import __version__
from ptxsim.cli.options import TargetName
from ptxsim.cli.watch import OPTION
from ptxsim.report.formats import FORMATS


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--target", type=TargetName(), help="Check for this machine (default: the file's .target).")
@click.option("--select", metavar="NAMES", help="Report only these findings.")
@click.option("--ignore", metavar="NAMES", help="Leave these findings out.")
@click.option("--format", "format", type=click.Choice(FORMATS), default="full", help="How to print.")
@OPTION
def command(files: tuple[str, ...], target: str | None, select: str | None, ignore: str | None, format: str) -> int:
    """Parse files and check instructions, operands, target and directives without running anything."""
    from ptxsim.cli.exits import exit_code
    from ptxsim.cli.running import read, render_findings
    from ptxsim.report.progress import Progress
    from ptxsim.report.records import check_record, to_json
    from ptxsim.report.selection import chosen, parse_names
    from ptxsim.report.style import paint_for
    from ptxsim.report.summary import tally
    from ptxsim.session.ptxfile.check import check_file

    names, ignored = parse_names(select), parse_names(ignore)
    findings = []
    with Progress() as progress:
        for number, file in enumerate(files):
            if progress is not None:
                progress.doing = f"{file} ({number + 1} of {len(files)})"
            findings += chosen(check_file(read(file), target), names, ignored)
    paint = paint_for()
    if format == "json":
        click.echo(to_json(check_record(list(files), findings, __version__)))
    elif body := render_findings(findings, format, paint):
        click.echo(body)
    if format == "full":
        click.echo(("\n" if findings else "") + f"{len(files)} file{'' if len(files) == 1 else 's'}: {tally(findings)}")
    return exit_code(findings)

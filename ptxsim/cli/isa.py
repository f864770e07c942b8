"""`ptxsim isa`."""

from __future__ import annotations

import json
import sys

import click

from ptxsim.cli.options import TargetName


@click.command("isa")
@click.argument("pattern", required=False)
@click.option("--target", type=TargetName(), help="Only forms that this target has.")
@click.option("--missing", is_flag=True, help="Forms of the manual that are not modeled.")
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(pattern: str | None, target: str | None, missing: bool, format: str) -> int:
    """List the instruction forms that are modeled, per type and target. PATTERN is a part of a name, * allowed.

    Where the output is no terminal each form is one line.
    """
    from ptxsim.session.listing import entries, line, nearest_pattern, paragraph

    found = list(entries(pattern, target, missing))
    if format == "json":
        click.echo(json.dumps(found, indent=1))
        return 0 if found else 1
    show = paragraph if sys.stdout.isatty() else line
    for entry in found:
        click.echo(show(entry))
    if pattern and not found and (close := nearest_pattern(pattern)):
        click.echo(f"did you mean {close}?", err=True)
    count = len(found)
    click.echo(f"{count} form{'' if count == 1 else 's'}", err=True)
    return 0 if count else 1

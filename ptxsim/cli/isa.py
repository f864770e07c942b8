"""`ptxsim isa`."""

from __future__ import annotations

import click

from ptxsim.cli.options import TargetName


@click.command("isa")
@click.argument("pattern", required=False)
@click.option("--target", type=TargetName(), help="Only forms that this target has.")
@click.option("--missing", is_flag=True, help="Forms of the manual that are not modeled.")
def command(pattern: str | None, target: str | None, missing: bool) -> int:
    """List the instruction forms that are modeled, per type and target. PATTERN is a part of a name, * allowed."""
    from ptxsim.session.listing import listing

    count = 0
    for row in listing(pattern, target, missing):
        click.echo(row)
        count += 1
    click.echo(f"{count} form{'' if count == 1 else 's'}", err=True)
    return 0 if count else 1

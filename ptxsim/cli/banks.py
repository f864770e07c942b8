"""`ptxsim banks`."""

from __future__ import annotations

import click

from ptxsim.cli.options import Request, launches


@click.command("banks")
@launches
def command(request: Request) -> int:
    """Run a kernel; its shared-memory wavefronts per instruction, why there are more than needed, and what would help."""
    from ptxsim.cli.running import perform
    from ptxsim.report.banks import table

    return perform(request, table, banks=True)

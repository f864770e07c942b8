"""`ptxsim run`."""

from __future__ import annotations

import click

from ptxsim.cli.options import Request, launches


@click.command("run")
@launches
def command(request: Request) -> int:
    """Run a kernel; findings, a summary, results asked for.

    FILE may be - for standard input. ENTRY picks the kernel where there are several.
    """
    from ptxsim.cli.running import execute, finish

    return finish(execute(request), request)

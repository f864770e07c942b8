"""`ptxsim profile`."""

from __future__ import annotations

import click

from ptxsim.cli.options import Request, launches


@click.command("profile")
@click.option("--sms", default="1", metavar="N|all", help="SMs to simulate.")
@click.option("--sass", is_flag=True, help="Show the lowered instructions.")
@click.option("--explain-model", is_flag=True, help="Say where each figure comes from.")
@launches
def command(request: Request, sms: str, sass: bool, explain_model: bool) -> int:
    """Run a kernel; cycles, stall reasons, pipes."""
    from ptxsim.cli.running import execute, finish, not_modeled

    result = execute(request, profile=True)
    if result.run is not None and result.run.cycles is None:
        return not_modeled("cycles; ptxsim run and ptxsim banks say what is known")
    return finish(result, request)

"""`ptxsim profile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ptxsim.cli.options import OptionType, Request, launches

if TYPE_CHECKING:
    from ptxsim.report.style import Paint
    from ptxsim.session.ptxfile.file import FileRun


class Sms(OptionType):
    """A count, or `all`."""

    name = "N|all"

    def convert(self, value: str | int, parameter: click.Parameter | None, context: click.Context | None) -> int:
        if value == "all":
            return 1024
        if isinstance(value, int) or (value.isdigit() and int(value) > 0):
            return int(value)
        self.fail(f"{value!r} is neither a count nor `all`", parameter, context)


@click.command("profile")
@click.option("--sms", type=Sms(), default="1", help="SMs to simulate, the busiest first.")
@click.option("--sass", is_flag=True, help="Show the lowered instructions.")
@click.option("--explain-model", is_flag=True, help="Say what is modeled, from which figures, and what is not.")
@launches
def command(request: Request, sms: int, sass: bool, explain_model: bool) -> int:
    """Run a kernel; cycles, stall reasons, pipes."""
    from ptxsim.cli.running import perform
    from ptxsim.report.profile import machine_code_text, model_text, profile_text

    def more(result: FileRun, paint: Paint) -> str:
        parts = [profile_text(result, paint)]
        if result.run is not None and result.run.cycles is not None:
            profile = result.run.cycles.machine_code
            if sass and profile is not None:
                parts.insert(0, machine_code_text(profile))
            if explain_model and profile is not None:
                parts.append(model_text(profile.figures))
        return "\n\n".join(part for part in parts if part)

    return perform(request, more, profile=sms)

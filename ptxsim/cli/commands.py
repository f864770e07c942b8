"""The list of commands; each lives in a module of its name, so that one command does not load what another needs."""

from __future__ import annotations

from importlib import import_module

import click

from ptxsim.spelling import did_you_mean

COMMANDS = {
    "run": "Run a kernel; findings, a summary, results asked for.",
    "check": "Parse and check files without running them.",
    "banks": "Run a kernel; its shared-memory wavefronts per instruction.",
    "profile": "Run a kernel; cycles, stall reasons, pipes.",
    "exec": "Run a program: Triton, or CUDA with a shared runtime.",
    "layout": "Show where a matrix operand's elements live.",
    "desc": "Decode or build a matrix descriptor.",
    "explain": "Explain a finding, with a bad and a good example.",
    "debug": "Step through a kernel, backwards too.",
    "dap": "Serve the debugger to an editor.",
    "isa": "List the instruction forms that are modeled.",
    "lsp": "Serve an editor: findings as you type, hover, completion, rename.",
}


class Commands(click.Group):
    """A group that knows its commands by name and loads them when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return import_module(f"ptxsim.cli.{name}").command if name in COMMANDS else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments and arguments[0] not in COMMANDS and not arguments[0].startswith("-"):
            raise click.UsageError(f"No command {arguments[0]!r}; {did_you_mean(arguments[0], COMMANDS)}", context)
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

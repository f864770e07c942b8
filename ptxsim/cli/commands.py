"""The list of commands; each lives in a module of its name, so that one command does not load what another needs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ptxsim.spelling import did_you_mean

COMMANDS = {
    "run": "Run a kernel; findings, a summary, results asked for.",
    "check": "Parse and check files without running them.",
    "banks": "Run a kernel; its shared-memory wavefronts per instruction.",
    "profile": "Run a kernel; cycles, stall reasons, pipes.",
    "exec": "Run a program: Triton, or CUDA with a shared runtime.",
    "sweep": "Run files many times, over processes or machines.",
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
        name, command, rest = super().resolve_command(context, arguments)
        if name is not None and command is not None:
            context.default_map = {name: self._defaults(context, name, command)}
        return name, command, rest

    def _defaults(self, context: click.Context, name: str, command: click.Command) -> dict[str, Any]:
        """What the nearest pyproject.toml says of a command's options."""
        path = Path.cwd() / "pyproject.toml"
        while not path.is_file() and path.parent != path.parent.parent:
            path = path.parent.parent / path.name
        try:
            if b"tool.ptxsim" not in path.read_bytes():
                return {}
        except OSError:
            return {}
        from ptxsim.cli.settings import defaults, read

        commands = {other: found for other in COMMANDS if (found := self.get_command(context, other)) is not None}
        return defaults(command, name, read(path), commands, path)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

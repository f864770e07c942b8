"""`[tool.ptxsim]` of the nearest pyproject.toml: defaults for options, which the command line overrides.

[tool.ptxsim]
target = "sm_90a"
ignore = ["uncoalesced"]
[tool.ptxsim.run]
schedules = 4
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from ptxsim.spelling import did_you_mean

_NOT_OPTIONS = {"help", "file", "files", "entry"}


def read(path: Path) -> dict[str, Any]:
    """Its table, as it stands. Raises UsageError where the file is no TOML or the table is none."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8", errors="replace")).get("tool", {}).get("ptxsim", {})
    except (tomllib.TOMLDecodeError, RecursionError, AttributeError) as problem:
        raise click.UsageError(f"{path}: {problem}") from None
    if not isinstance(table, dict):
        raise click.UsageError(f"{path}: [tool.ptxsim] is not a table")
    return table


def defaults(
    command: click.Command, name: str, table: dict[str, Any], commands: dict[str, click.Command], path: Path
) -> dict[str, Any]:
    """What the table gives for the options of a command. Raises UsageError for an option that no command has."""
    own = table.get(name, {})
    options = {option: parameter for c in commands.values() for option, parameter in _options(c).items()}
    mine = _options(command)
    if not isinstance(own, dict):
        raise click.UsageError(f"{path}: tool.ptxsim.{name} is not a table")
    found: dict[str, Any] = {}
    for place, values in (("tool.ptxsim", table), (f"tool.ptxsim.{name}", own)):
        for key, value in values.items():
            if isinstance(value, dict) and key in commands:
                continue
            option = key.replace("_", "-")
            if option not in (mine if values is own else options):
                known = mine if values is own else [*options, *commands]
                raise click.UsageError(f"{path}: [{place}] has no option {key!r}; {did_you_mean(option, known)}")
            if option in mine and mine[option].name:
                found[str(mine[option].name)] = _value(mine[option], value)
    return found


def _options(command: click.Command) -> dict[str, click.Parameter]:
    """The options of a command by their long names, without the dashes."""
    return {
        text.removeprefix("--"): parameter
        for parameter in command.params
        for text in parameter.opts
        if text.startswith("--") and parameter.name not in _NOT_OPTIONS
    }


def _value(parameter: click.Parameter, value: Any) -> Any:
    """A value of TOML as the command line would give it: several texts where an option may be repeated, else one."""
    if parameter.multiple:
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)

"""`--watch`: do it again whenever a file that the command names has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

EVERY = 0.2  # seconds between looks
OPTION = click.option(
    "--watch", is_flag=True, expose_value=False, help="Do it again whenever the file changes; Ctrl-C ends it."
)


def repeat(
    arguments: Sequence[str], run: Callable[[Sequence[str]], int], sleep: Callable[[float], None] = time.sleep
) -> int:
    """Run a command, and again after each change of its files, until Ctrl-C. Returns the last exit code."""
    files = [path for word in arguments for path in (Path(word), Path(word).with_suffix(".launch")) if path.is_file()]
    if not files:
        raise click.UsageError("--watch needs a file that is there")
    code = 0
    try:
        while True:
            seen = _states(files)
            code = run(arguments)
            click.echo(f"-- exit code {code}; waiting for changes of {', '.join(map(str, files))} --", err=True)
            while _states(files) == seen:
                sleep(EVERY)
    except KeyboardInterrupt:
        return code


def _states(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    """What changes with a file: time and size; None while an editor replaces it."""
    states: list[tuple[int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
            states.append((status.st_mtime_ns, status.st_size))
        except OSError:
            states.append(None)
    return states

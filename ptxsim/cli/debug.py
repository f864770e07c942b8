"""`ptxsim debug`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ptxsim.cli.options import ArgumentValue, Dim3, Size, TargetName

if TYPE_CHECKING:
    from ptxsim.debugger.session import Session


@click.command("debug")
@click.argument("file")
@click.argument("entry", required=False)
@click.option("--grid", type=Dim3(), help="CTAs in the grid.")
@click.option("--block", type=Dim3(), help="Threads in a CTA.")
@click.option("--cluster", type=Dim3(), help="CTAs in a cluster.")
@click.option("--shared-mem", type=Size(), metavar="BYTES", help="Dynamic shared memory.")
@click.option("--arg", "arguments", type=ArgumentValue(), multiple=True, help="As for run: A=ints(64,16):f16.")
@click.option("--target", type=TargetName(), help="The machine that runs it (default: the file's).")
@click.option("--seed", type=Size(), help="Chooses data and the order of warps.")
@click.option("-x", "--execute", "commands", multiple=True, metavar="COMMAND", help="Do this and end; may be repeated.")
@click.option(
    "--screen", is_flag=True, help="Source, warps, operands and barriers in view; keys step (extra `screen`)."
)
def command(file: str, entry: str | None, commands: tuple[str, ...], screen: bool, **given: object) -> int:
    """Step through a kernel: breakpoints with conditions, registers by lane, fragments, shared memory, backwards too.

    FILE is launched as its directives say, in the interpreter. `help` lists the commands of the debugger.
    """
    from ptxsim.cli.options import in_order
    from ptxsim.cli.running import read
    from ptxsim.debugger.session import Session
    from ptxsim.debugger.terminal import Terminal
    from ptxsim.report.progress import Progress
    from ptxsim.report.style import paint_for
    from ptxsim.session.ptxfile.file import Options

    if file == "-":
        raise click.UsageError("debug reads commands from standard input: give it a file")
    given["arguments"] = dict(in_order(given["arguments"]))  # type: ignore[arg-type]  # as click has read them
    target = given["target"]
    with Progress():
        source = read(file, entry, target if isinstance(target, str) else None)
        session = Session(source, entry, Options(**given))  # type: ignore[arg-type]  # the same
    if screen:
        return _show(session)
    terminal = Terminal(session, paint_for(), stdin=None if sys.stdin.isatty() else sys.stdin)
    try:
        if commands:
            for line in commands:
                if terminal.onecmd(line):
                    break
        else:
            if not sys.stdin.isatty():
                terminal.prompt = ""
            terminal.cmdloop()
    except KeyboardInterrupt:
        terminal.say("")
    finally:
        session.close()
    return 0


def _show(session: Session) -> int:
    try:
        from ptxsim.debugger.screen import Screen
    except ModuleNotFoundError:
        raise click.UsageError("--screen needs Textual: pip install 'ptxsim[screen]'") from None
    try:
        Screen(session).run()
    finally:
        session.close()
    return 0

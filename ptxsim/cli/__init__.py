"""The command `ptxsim`: one file per command, loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from ptxsim import __version__
from ptxsim.cli.commands import Commands
from ptxsim.cli.exits import INTERNAL, INTERRUPTED, USAGE, exit_code
from ptxsim.diagnostic import PtxError


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"ptxsim {__version__}")
        context.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show it and exit."
)
def ptxsim() -> None:
    """Run, check and explain PTX kernels on an ordinary CPU.

    A file whose comments say how to launch it (// ptxsim: launch grid=1 block=128) needs no options: ptxsim run FILE.

    Exit codes: 0 clean, 1 findings or failed expectations, 2 bad usage or unreadable input, 3 not modeled, 4 internal error.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 clean, 1 findings, 2 usage, 3 not modeled, 4 internal error."""
    try:
        code = ptxsim.main(list(sys.argv[1:] if arguments is None else arguments), "ptxsim", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except PtxError as error:
        from ptxsim.report.style import paint_for
        from ptxsim.report.text import render_all

        click.echo(render_all(error.findings, paint_for(sys.stderr)), err=True)
        return exit_code(error.findings) or USAGE
    except BrokenPipeError:
        # The reader of the output has gone; keep the interpreter from complaining about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        click.echo(f"Error: {error.filename or 'input'}: {error.strerror or error}", err=True)
        return USAGE
    except Exception as error:
        return _internal(error)


def _internal(error: Exception) -> int:
    if os.environ.get("PTXSIM_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    text = (str(error).strip().splitlines() or [""])[0]
    click.echo(
        f"ptxsim: internal error: {type(error).__name__}: {text[:200]}\n"
        "This is a defect of ptxsim, not of your file. Please report it with the file, the command, and what it prints "
        "with PTXSIM_DEBUG=1 set.",
        err=True,
    )
    return INTERNAL

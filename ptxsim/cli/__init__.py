"""The command `ptxsim`: one file per command, loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from ptxsim import __version__
from ptxsim.cli.commands import Commands
from ptxsim.cli.exits import INTERNAL, INTERRUPTED, USAGE, exit_code
from ptxsim.cli.watch import repeat
from ptxsim.diagnostic import PtxError


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"ptxsim {__version__}")
        context.exit()


FIRST = """\
ptxsim runs PTX on an ordinary CPU and checks what it does. To try first:

  ptxsim run FILE.ptx           a kernel, launched as its comments say
  ptxsim run FILE.cu            kernels of CUDA C++ (pip install 'ptxsim[cuda]')
  ptxsim exec PROGRAM           a program of Triton, or one linked with -cudart shared
  ptxsim check FILE.ptx         is it legal PTX for its target?
  ptxsim layout mma.m16n8k16.f16 --operand A --lane 5
                                where the elements of a fragment live
  ptxsim explain race-shared    what a finding means, with a bad and a good example

A FILE.ptx of one's own without comments that launch it: ptxsim run FILE.ptx --grid 1 --block 128 --arg 'zeros(1024):f32'
All commands: ptxsim --help"""


@click.command(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show it and exit."
)
@click.pass_context
def ptxsim(context: click.Context) -> None:
    """Run, check and explain PTX kernels on an ordinary CPU.

    A file whose comments say how to launch it (// ptxsim: launch grid=1 block=128) needs no options: ptxsim run FILE.

    Exit codes: 0 clean, 1 findings or failed expectations, 2 bad usage or unreadable input, 3 not modeled, 4 internal error.
    """
    if context.invoked_subcommand is None:
        click.echo(FIRST)
        context.exit(USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 clean, 1 findings, 2 usage, 3 not modeled, 4 internal error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if any("\0" in word for word in given):
            raise click.UsageError("an argument holds a NUL character, which no file name, name or number does")
        if "--watch" in given and "--help" not in given:
            return repeat([word for word in given if word != "--watch"], main)
        code = ptxsim.main(given, "ptxsim", standalone_mode=False)
        if not sys.stdout.closed:  # as by a server that has said goodbye
            sys.stdout.flush()
        return code or 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.option_name in ("--json", "--sarif", "--github"):
            meant = f"--format {error.option_name.lstrip('-')}"
            error = click.NoSuchOption(error.option_name, possibilities=[meant], ctx=error.ctx)
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
    except MemoryError as error:
        click.echo(f"Error: not enough memory: {error}", err=True)
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

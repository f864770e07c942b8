"""`ptxsim dap`."""

from __future__ import annotations

import sys

import click


@click.command("dap")
def command() -> int:
    """Serve a debugger to an editor: the Debug Adapter Protocol on standard input and output.

    docs/debugging.md says how VS Code, Neovim and Emacs start it.
    """
    from ptxsim.debugger.dap import Adapter

    sink, sys.stdout = sys.stdout.buffer, sys.stderr  # what the kernel prints must not get between messages
    Adapter(sys.stdin.buffer, sink).serve()
    return 0

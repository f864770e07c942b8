"""`ptxsim lsp`."""

from __future__ import annotations

import click


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output (it always does; editors pass it).")
def command(stdio: bool) -> int:
    """Serve an editor: findings as you type, hover, completion, definitions, rename, fixes, numbers of the last run.

    The Language Server Protocol on standard input and output. docs/editors.md says how VS Code, Neovim and Emacs start it.
    """
    try:
        from ptxsim.editor.server import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise click.ClickException("ptxsim lsp needs pygls: pip install 'ptxsim[editor]'") from None
    serve()
    return 0

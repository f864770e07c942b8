"""`ptxsim explain`."""

from __future__ import annotations

import click


@click.command("explain")
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """Explain a finding (misaligned-address or PTX202): what it means, why it matters, a bad and a good example.

    Without NAME, list all findings.
    """
    from ptxsim.diagnostic import BY_CODE, KINDS, find_kind
    from ptxsim.report.pages import describe
    from ptxsim.spelling import did_you_mean

    if name is None:
        width = max(map(len, KINDS))
        for kind in KINDS.values():
            click.echo(f"{kind.code}  {kind.name:<{width}}  {kind.level:<7}  {kind.title}")
        return 0
    found = find_kind(name)
    if found is None:
        choices = BY_CODE if name.upper().startswith("PTX") else KINDS
        raise click.UsageError(f"No finding is called {name!r}; {did_you_mean(name, choices)}")
    click.echo(describe(found.name))
    return 0

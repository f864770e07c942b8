"""`ptxsim explain`."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem


class FindingName(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """The name of a finding, or its code."""

    name = "NAME"

    def shell_complete(self, context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from ptxsim.diagnostic import KINDS

        return [
            CompletionItem(word, help=kind.title)
            for kind in KINDS.values()
            for word in (kind.name, kind.code)
            if word.lower().startswith(incomplete.lower()) and (incomplete or word == kind.name)
        ]


@click.command("explain")
@click.argument("name", required=False, type=FindingName())
def command(name: str | None) -> int:
    """Explain a finding (misaligned-address or PTX202): what it means, why it matters, a bad and a good example.

    Without NAME, list all findings.
    """
    from ptxsim.diagnostic import KINDS, find_kind
    from ptxsim.report.pages import describe

    if name is None:
        width = max(map(len, KINDS))
        for kind in KINDS.values():
            click.echo(f"{kind.code}  {kind.name:<{width}}  {kind.level:<7}  {kind.title}")
        return 0
    found = find_kind(name)
    if found is None:
        raise click.UsageError(f"No finding is called {name!r}; {_meant(name)}")
    click.echo(describe(found.name))
    return 0


def _meant(name: str) -> str:
    """What may be asked for: what begins so, else the finding that has most of its words in name and title, else nearly that name."""
    from ptxsim.diagnostic import BY_CODE, KINDS
    from ptxsim.instructions import load_families
    from ptxsim.isa import registry
    from ptxsim.spelling import did_you_mean

    if begun := [word for word in (*KINDS, *BY_CODE) if word.lower().startswith(name.lower())]:
        return f"these begin so: {', '.join(begun)}"
    load_families()
    if name.split(".")[0] in {known.split(".")[0] for known in registry.names()}:
        return f"forms of an instruction: ptxsim isa {name}"
    words = set(name.lower().replace("_", "-").split("-"))
    count = {
        kind.name: len(words & set(f"{kind.name} {kind.title}".replace("-", " ").split())) for kind in KINDS.values()
    }
    fitting = [kind for kind in KINDS if count[kind] == max(count.values())]
    if len(fitting) == 1:
        return f"did you mean {fitting[0]}?"
    return did_you_mean(name, BY_CODE if name.upper().startswith("PTX") else KINDS)

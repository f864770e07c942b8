"""`ptxsim run`."""

from __future__ import annotations

import click

from ptxsim.cli.options import Request, launches


@click.command("run")
@launches
def command(request: Request) -> int:
    """Run a kernel; findings, a summary, results asked for.

    FILE may be - for standard input. ENTRY picks the kernel where there are several.

    Comments of the file say how to launch it and what to expect, with a tolerance where floats are rounded:

    \b
    // ptxsim: launch grid=1 block=128
    // ptxsim: arg A = normal(64,64,seed=1):f16
    // ptxsim: arg D = zeros(64,64):f32
    // ptxsim: expect D == A @ A.T rtol=1e-3 atol=0

    All that they can say: ptxsim explain bad-directive.
    """
    from ptxsim.cli.running import perform

    return perform(request)

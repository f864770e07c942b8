"""Kernels of a file that are launched before the one that is meant: `launch after=NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ptxsim.arrays import bad
from ptxsim.checks.in_flight import Prior, Streams
from ptxsim.diagnostic import Finding
from ptxsim.session.options import LaunchOptions

if TYPE_CHECKING:
    from ptxsim.session.module import Kernel


def run_before(
    kernel: Kernel, names: Sequence[str], args: Sequence[Any], options: LaunchOptions
) -> tuple[Prior, list[Finding]]:
    """Launch kernels with the arguments and options of another, each a programmatic dependent launch of the one before; what that other one
    may meet of them, and their findings. Raises PtxError for one that takes parameters of other types."""
    streams, findings = Streams(), list[Finding]()
    for name in names:
        first = kernel.module.kernel(name)
        if [p.type for p in first.parameters] != [p.type for p in kernel.parameters]:
            message = f"{name} takes parameters of other types than {kernel.name}, which is launched after it"
            raise bad(message, "give both the same: they get the same arguments")
        prior = streams.prior(None, True)
        run = first.run(args, replace(options, prior=prior))
        streams.launched(None, name, prior, run.left)
        findings += run.findings
    return streams.prior(None, True), findings

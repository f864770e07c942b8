"""Triton kernels on ptxsim: a driver for Triton that launches what its own compiler has made, on CPU tensors.

It is inactive unless it is asked for: by `active`, by PTXSIM_TRITON=1, or by `ptxsim exec`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.programs.collector import Collector
from ptxsim.programs.wanted import Wanted
from ptxsim.session.module import known_target
from ptxsim.session.run import Run
from ptxsim.source import Source

DEFAULT = "sm_90"


@contextmanager
def active(target: str = DEFAULT, checks: str = "all", **options: Any) -> Iterator[list[Run]]:
    """Within it Triton launches go to ptxsim; gives the list of their runs, which grows with every launch.

    target: the GPU that Triton compiles for and that runs it, sm_80 and up. checks and other options: as `Kernel.launch` takes
    them (engine, numerics, seed, jobs, max_steps, banks, profile). Findings are in the runs, and not printed. Raises PtxError
    where Triton is not installed or the target unknown.
    """
    known_target(target, Source(""))
    collector = Collector(Wanted(target=target, checks=checks, told="nothing", **options), keep=True)
    driver = _driver(collector)
    with driver.installed():
        yield collector.runs


def _driver(collector: Collector) -> Any:
    try:
        from ptxsim.triton.driver import PtxsimDriver
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("triton", "torch"):
            raise
        message = f"Triton programs need {missing.name}, which is not installed"
        raise PtxError(Finding("bad-directive", message, help="pip install ptxsim[triton]")) from None
    return PtxsimDriver(collector)

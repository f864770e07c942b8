"""Called by the stand-in CUDA runtime (ptxsim.cuda.runtime) in a program's process: launches go to the collector."""

from __future__ import annotations

from ptxsim.cuda.runtime import process
from ptxsim.programs.collector import Collector
from ptxsim.programs.comparisons import ask


def start(table: int, registered: int, version: int, is_python: int) -> None:
    """The program needs the runtime for the first time."""
    collector = Collector.from_environment()
    ask(collector.answers)
    process.start(collector, table, registered, version, bool(is_python))

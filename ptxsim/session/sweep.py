"""Many launches of a kernel: seeds, shapes, targets, data; on one machine or many, with the same results in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.initialiser import parse_initialiser
from ptxsim.session.module import Kernel, Module
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run
from ptxsim.session.workers import BATCH, spread
from ptxsim.source import Source
from ptxsim.spelling import did_you_mean

_OPTIONS = {field.name for field in fields(LaunchOptions)} - {"progress"}


@dataclass(frozen=True, slots=True)
class _Text:
    """A kernel as it travels: its text, and what the host has written into its variables."""

    text: str
    name: str
    path: Path | None
    entry: str
    symbols: tuple[tuple[str, np.ndarray], ...]

    def kernel(self) -> Kernel:
        module = Module(Source(self.text, self.name, self.path))
        for name, values in self.symbols:
            module.symbol(name)[...] = values
        return module.kernel(self.entry)


@dataclass(frozen=True, slots=True)
class _Launch:
    """One configuration."""

    text: _Text
    args: tuple[Any, ...]
    options: LaunchOptions
    outputs: bool


def sweep(
    kernel: Kernel, configurations: Iterable[Mapping[str, Any]], executor: Executor | str | int | None = None, *,
    outputs: bool = True, batch: int = BATCH,
) -> list[Run]:  # fmt: skip
    """Launch a kernel once for each configuration; the runs, in their order.

    configurations: keywords of `Kernel.launch` (grid, block, args, seed, target, checks, ...). Arrays among `args` stay as they are:
    what a launch wrote is in `run.outputs`. An argument may be a text as in directives, 'ints(64,64,seed=1):f16': it is made where
    it is used, and costs nothing on the way. executor: any concurrent.futures.Executor, a number of processes, dask://HOST:PORT;
    None is this process. The runs are equal wherever they are made. outputs=False leaves outputs out. batch: launches that
    travel together.

    A launch that cannot start, that finds errors, or that ends its process (after three times) is a run with findings. `run.banks`
    is there where the configuration says banks=True. Raises PtxError for a configuration that is none, or too large to travel.
    """
    module = kernel.module
    if module.home is not None:
        message = "a sweep works on memory of its own, and this module is loaded into a device"
        raise PtxError(Finding("bad-directive", message, help="sweep the kernel of Module.from_file(path)"))
    text = _Text(module.source.text, module.source.name, module.source.path, kernel.name, tuple(module.symbols.items()))
    launches = (_configured(text, given, outputs) for given in configurations)
    return [_at_home(run, module.source) for run in spread(_perform, launches, executor, batch, _lost)]


def _configured(text: _Text, given: Mapping[str, Any], outputs: bool) -> _Launch:
    if not isinstance(given, Mapping):
        message = f"a configuration is a {type(given).__name__}, not a dict of keywords of Kernel.launch"
        raise PtxError(Finding("bad-directive", message, help='write {"grid": 1, "block": 32, "args": [...]}'))
    options = dict(given)
    args = options.pop("args", ())
    for name in options:
        if name not in _OPTIONS:
            help = did_you_mean(str(name), sorted({*_OPTIONS, "args"}))
            raise PtxError(Finding("bad-directive", f"a launch has no option {name!r}", help=help))
    defaults = LaunchOptions(checks="memory", banks=False, jobs=1)  # threads would want the cores of other processes
    return _Launch(text, tuple(args), LaunchOptions(**options).or_else(defaults), outputs)


def _perform(launch: _Launch) -> Run:
    """One launch, in whatever process; its run as plain values."""
    text, options = launch.text, launch.options
    try:
        args = [_made(value, (options.seed or 0, place)) for place, value in enumerate(launch.args)]
        run = text.kernel().run(args, options)
    except PtxError as error:
        return _not_run(launch, error.findings)
    run.bank_source = run.banks if run.banks_counted else None
    run.findings = [replace(finding, source=None) for finding in run.findings]
    run.outputs = {name: np.array(array) for name, array in run.outputs.items()} if launch.outputs else {}
    if run.cycles is not None:
        run.cycles.machine_code = None
    return run


def _made(value: Any, seed: tuple[int, int]) -> Any:
    """An argument of its own, as the launch takes it."""
    if isinstance(value, str):
        return parse_initialiser(value).build(seed)
    return value.copy() if isinstance(value, np.ndarray) else value


def _not_run(launch: _Launch, findings: list[Finding]) -> Run:
    options = launch.options
    return Run(
        launch.text.name, launch.text.entry, options.target or "", options.engine or "compiled", options.seed or 0,
        [replace(finding, source=None) for finding in findings], stopped_at=0,
    )  # fmt: skip


def _lost(launch: _Launch) -> Run:
    """The run of a launch whose process ended each time."""
    message = "the process of this launch ended without a result, three times"
    help = "run it alone to see why; it may need more memory than there is, or native code crashes on it"
    return _not_run(launch, [Finding("limit-reached", message, help=help)])


def _at_home(run: Run, source: Source) -> Run:
    run.findings = [finding.of(source) for finding in run.findings]
    return run

"""Many launches of a kernel: seeds, shapes, targets, data; on one machine or many, with the same results in the same order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.given import a_number
from ptxsim.session.initialiser import parse_initialiser
from ptxsim.session.module import Kernel, Module
from ptxsim.session.options import LaunchOptions
from ptxsim.session.run import Run, SlowPath
from ptxsim.session.workers import BATCH, spread
from ptxsim.source import Source
from ptxsim.spelling import did_you_mean

_OPTIONS = {field.name for field in fields(LaunchOptions)} - {"progress", "part"}


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
    text = _text_of(kernel)
    launches = (_configured(text, given, outputs) for given in configurations)
    return [_at_home(run, kernel.module.source) for run in spread(_perform, launches, executor, batch, _lost)]


def split_grid(
    kernel: Kernel, configuration: Mapping[str, Any], executor: Executor | str | int | None = None, *, parts: int = 8
) -> Run:
    """One launch, whose CTAs are spread over processes or machines; the run is that of one process.

    configuration: as of `sweep`, without checks="all", banks and profile, which look at all CTAs together. What the parts wrote is put
    together byte by byte. Where one of them finds anything, the whole is run once more as one, since an error keeps the CTAs after it
    from running. Raises PtxError where CTAs may find out in which order they run.
    """
    text = _text_of(kernel)
    launch = _configured(text, configuration, outputs=True)
    options = launch.options
    if options.checks == "all" or options.banks or options.profile or a_number("parts", parts) < 1:
        message = "a grid is split into one part or more, without checks='all', banks and profile"
        raise PtxError(Finding("bad-directive", message, help="these look at all CTAs together"))
    works = [replace(launch, options=replace(options, part=(number, parts))) for number in range(parts)]
    runs = list(spread(_perform, works, executor, 1, _lost))
    if any(run.findings or run.stopped_at is not None for run in runs):
        refused = next((run for run in runs if any(one.name == "bad-directive" for one in run.findings)), None)
        if refused is not None:
            raise PtxError([finding.of(kernel.module.source) for finding in refused.findings])
        return _at_home(next(spread(_perform, [launch], executor, 1, _lost)), kernel.module.source)
    whole = runs[0]
    given = [_made(value, (options.seed or 0, place)) for place, value in enumerate(launch.args)]
    before = dict(zip((parameter.name for parameter in kernel.parameters), given))
    for name, output in whole.outputs.items():
        old, merged = _bytes(before[name]), _bytes(output)
        for run in runs[1:]:
            new = _bytes(run.outputs[name])
            np.copyto(merged, new, where=new != old)
    whole.warp_instructions = sum(run.warp_instructions for run in runs)
    whole.fidelity = {kind: said for run in runs for kind, said in run.fidelity.items()}
    slow = [one for run in runs for one in run.slow_path]
    counts = Counter[Any]()
    for one in slow:
        counts[one.instruction, one.line, one.why] += one.count
    whole.slow_path = [SlowPath(name, line, count, why) for (name, line, why), count in counts.items()]
    return _at_home(whole, kernel.module.source)


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _text_of(kernel: Kernel) -> _Text:
    """The kernel as it travels. Raises PtxError for one whose memory is a device's."""
    module = kernel.module
    if module.home is not None:
        message = "a sweep works on memory of its own, and this module is loaded into a device"
        raise PtxError(Finding("bad-directive", message, help="sweep the kernel of Module.from_file(path)"))
    return _Text(module.source.text, module.source.name, module.source.path, kernel.name, tuple(module.symbols.items()))


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

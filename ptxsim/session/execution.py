"""A launch carried out: one pass over the grid with its observers, the repetitions that its findings ask for, the Run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.checks.covered import without_overflows_of_missing_waits
from ptxsim.checks.echoes import without_echoes
from ptxsim.checks.registers.active_masks import uses_of_active_masks
from ptxsim.checks.registers.unfenced import with_writers
from ptxsim.checks.registers.unwritten import unwritten_reads
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.analysis.written_parameters import maps_are_parameters
from ptxsim.engine.grid import Hook
from ptxsim.engine.program.operation import Program, families
from ptxsim.engine.turns import Limits
from ptxsim.machine.event import Observer
from ptxsim.machine.memory import GlobalMemory
from ptxsim.machine.state import Machine, shared_start
from ptxsim.numerics.host import with_ieee
from ptxsim.session.fidelity import fidelity
from ptxsim.session.inspect.schedules.interleaved import is_worth_it, on_another_schedule
from ptxsim.session.inspect.schedules.schedule import Schedule
from ptxsim.session.inspect.uninitialized import Repetitions
from ptxsim.session.launch import Launch
from ptxsim.session.left_memory import left_memory
from ptxsim.session.run import BankRow, BankTable, GlobalRow, Run, SlowPath

if TYPE_CHECKING:
    from ptxsim.checks.banks.counter import BankCounter
    from ptxsim.checks.cluster import ClusterChecker
    from ptxsim.checks.cluster_shared import Homes
    from ptxsim.checks.in_flight import Left
    from ptxsim.checks.narrow_waits import NarrowWaitChecker
    from ptxsim.checks.order.checker import OrderChecker
    from ptxsim.checks.overtaken import OvertakenChecker
    from ptxsim.checks.proxies.checker import ProxyChecker
    from ptxsim.checks.proxies.tensor_maps import TensorMapChecker
    from ptxsim.checks.registers.counts import RegisterCountChecker
    from ptxsim.checks.tiles.checker import TileLayoutChecker
    from ptxsim.profile.profiler import Profile

    Checker = (
        OrderChecker | ProxyChecker | RegisterCountChecker | TensorMapChecker | TileLayoutChecker | ClusterChecker
        | OvertakenChecker | NarrowWaitChecker
    )  # fmt: skip


@with_ieee
def execute(
    launch: Launch, start: Hook | None = None, stop: Hook | None = None, *,
    shared_is_set: bool = False, observers: Sequence[Observer] = (),
) -> Run:  # fmt: skip
    """Run a launch to its end.

    start, stop: called with every warp and the engine, before and after it runs. shared_is_set: `start` fills shared
    memory. observers: further listeners of the first pass.
    """
    source, program = launch.code.source, launch.program
    again = _Again(launch, start)
    checkers = _checkers(launch, shared_is_set, left_memory(program, launch.memory), again)
    counter = _bank_counter(launch, keep=stop is not None) if launch.want_banks else None
    repetitions = Repetitions(launch, start)
    is_repeated = bool(checkers) or launch.want_banks is None or repetitions.are_wanted
    before = again.before = launch.memory.copy() if is_repeated else None
    profile = _profile(launch)
    if profile is not None and launch.may_be_sampled:
        launch.sampled = profile.take_sample()
    listeners = [*checkers, *([counter] if counter else []), *([profile.tracer] if profile else []), *observers]
    try:
        machine = launch.run_grid(listeners, start=start, stop=stop, before=before)
        if before is not None:
            checkers = _with_all_reads(launch, checkers, before, start, shared_is_set)
        left = _leaves(launch, checkers)
        findings = _found(program, checkers, machine)
        if launch.checks != "none" and launch.given is not None:
            findings += unwritten_reads(program, launch.given)
        if launch.checks == "all":
            findings += uses_of_active_masks(program)
        findings = without_echoes(program, source, findings, has_stopped=machine.stopped_at is not None)
        if before is not None:
            findings = without_overflows_of_missing_waits(program, _with_waits(launch, findings, before, start))
            findings = repetitions.settled(findings, before, machine)
            if is_worth_it(launch, machine, findings):
                look = partial(_look, launch, before, start, shared_is_set)
                findings += on_another_schedule(launch, machine, look)
        else:
            findings = [finding for finding in findings if finding.level != DOUBTFUL]
        outputs = launch.copy_out()
    finally:
        launch.release()
    return Run(
        source.name, launch.code.function.name, launch.target.name, launch.engine_name, launch.seed,
        findings=sorted((f.of(source) for f in findings), key=lambda f: (f.line, f.column)),
        bank_source=_bank_source(launch, counter, before, start), banks_counted=counter is not None,
        warp_instructions=machine.warp_instructions, polled=machine.polled, fidelity=dict(fidelity(program, launch.target, launch.numerics)),
        outputs=outputs, grid=launch.grid, block=launch.block, cycles=profile.cycles() if profile else None,
        stopped_at=machine.stopped_at, slow_path=_slow_path(program, machine),
        is_sample=launch.sampled is not None, left=left,
    )  # fmt: skip


@dataclass
class _Again:
    """Runs a launch once more, on memory as it was before the first time. seed: None is the launch's."""

    launch: Launch
    start: Hook | None
    before: GlobalMemory | None = None
    seed: int | None = None

    def __call__(self, observer: Observer) -> None:
        assert self.before is not None
        self.launch.run_grid([observer], memory=self.before.copy(), start=self.start, seed=self.seed)


def _found(program: Program, checkers: Sequence[Checker], machine: Machine) -> list[Finding]:
    """What a pass has found; nobody asks its checkers again."""
    found = [*machine.findings.values(), *chain.from_iterable(checker.findings(program) for checker in checkers)]
    for checker in checkers:
        checker.release()
    return with_writers(program, found)


def _leaves(launch: Launch, checkers: Sequence[Checker]) -> Left | None:
    """What the launch means for others in its stream."""
    from ptxsim.checks.order.checker import OrderChecker

    order = next((each for each in checkers if isinstance(each, OrderChecker)), None)
    if order is None or launch.prior is None or launch.sampled is not None:
        return None
    return order.leaves(launch.code.function.name, launch.program, launch.code.source)


def _look(
    launch: Launch, before: GlobalMemory, start: Hook | None, shared_is_set: bool, limits: Limits, one: Schedule
) -> tuple[Machine, list[Finding]]:
    """A pass on another schedule, with checkers of its own if it is judged, and all that they find. There may be many, so native code is wanted."""
    with launch.with_program(one.program(launch.program)):
        again = _Again(launch, start, before, one.seed)
        checkers = _checkers(launch, shared_is_set, None, again) if one.is_judged else []
        machine = launch.run_grid(
            [*checkers, *one.observers], memory=before.copy(), start=start, limits=limits, seed=one.seed, natively=True
        )
        return machine, _found(launch.program, checkers, machine)


def _with_waits(launch: Launch, findings: list[Finding], before: GlobalMemory, start: Hook | None) -> list[Finding]:
    """Findings told with the wait on an mbarrier that is their cause, where a repetition shows that its phase was over."""
    from ptxsim.checks.cluster_shared import Homes
    from ptxsim.session.inspect.phases import Phases, may_be_of_phases, places_of, with_waits

    program, source = launch.program, launch.code.source
    is_cut = any(finding.name == "limit-reached" for finding in findings)
    if launch.checks != "all" or is_cut or not may_be_of_phases(program, findings):
        return findings
    phases = Phases(program, Homes(launch.grid, launch.cluster), places_of(program, source, findings))
    launch.run_grid([phases], memory=before.copy(), start=start)
    return with_waits(program, source, findings, phases, launch.shared_variables)


def _with_all_reads(
    launch: Launch, checkers: list[Checker], before: GlobalMemory, start: Hook | None, shared_is_set: bool
) -> list[Checker]:
    """The checkers; where memory was written that was to be left as it is, the order of accesses is that of a repetition that looks at all."""
    from ptxsim.checks.cluster_shared import Homes
    from ptxsim.checks.order.checker import OrderChecker

    if not any(isinstance(each, OrderChecker) and each.has_strayed for each in checkers):
        return checkers
    order = _order_checker(
        launch, Homes(launch.grid, launch.cluster), shared_is_set, None, _Again(launch, start, before)
    )
    launch.run_grid([order], memory=before.copy(), start=start)
    return [order if isinstance(each, OrderChecker) else each for each in checkers]


def _slow_path(program: Program, machine: Machine) -> list[SlowPath]:
    """What took the slow path, in the order of the text."""
    rows: Counter[SlowPath] = Counter()  # rows that would read alike are one
    for (site, why), count in sorted(machine.slow_path.items()):
        rows[SlowPath(program.ops[site].opcode, program.ops[site].line, 0, why)] += count
    return [replace(row, count=count) for row, count in sorted(rows.items(), key=lambda item: item[0].line)]


def _bank_counter(launch: Launch, keep: bool) -> BankCounter:
    from ptxsim.checks.banks.counter import BankCounter

    return BankCounter(launch.program, keep, launch.grid, launch.cluster)


def _bank_table(launch: Launch, counter: BankCounter) -> BankTable:
    from ptxsim.session.bank_table import bank_table

    found = bank_table(counter, launch.program, launch.shared_variables)
    rows: list[BankRow | GlobalRow] = [*found.rows, *found.global_rows]
    for row in rows:
        if (origin := launch.code.source.origin(row.line)) is not None:
            row.source_file, row.source_line = origin.file, origin.line
    return found


def _bank_source(
    launch: Launch, counter: BankCounter | None, before: GlobalMemory | None, start: Hook | None
) -> Callable[[], BankTable] | None:
    """How to make the bank table when it is asked for: of what was counted, or by a pass over the memory as it was."""
    if counter is not None:
        return lambda: _bank_table(launch, counter)
    if launch.want_banks is False or before is None:
        return None

    @with_ieee
    def count() -> BankTable:
        late = _bank_counter(launch, keep=False)
        launch.run_grid([late], memory=before.copy(), start=start)
        return _bank_table(launch, late)

    return count


def _profile(launch: Launch) -> Profile | None:
    """The cycle model, where it is asked for."""
    if not launch.profiled_sms:
        return None
    from ptxsim.profile.lowering.spills import most_registers
    from ptxsim.profile.profiler import Profile

    shared = launch.shared_end - shared_start(launch.target)
    return Profile(
        launch.program, launch.target, launch.grid, launch.block, launch.cluster, shared, launch.profiled_sms,
        launch.registers, launch.every, launch.code.source.text,
        launch.code.function.name, most_registers(launch.code.function.directives), launch.gpu, launch.cubin,
    )  # fmt: skip


def _order_checker(
    launch: Launch, homes: Homes, shared_is_set: bool, left: np.ndarray | None, again: _Again
) -> OrderChecker:  # fmt: skip
    """left: memory that the launch leaves as it is."""
    from ptxsim.checks.order.checker import OrderChecker
    from ptxsim.checks.order.sites import site_bits

    begins_others = launch.prior is not None and "griddepcontrol" in families(launch.program)
    return OrderChecker(
        site_bits(launch.program), launch.block[0] * launch.block[1] * launch.block[2], launch.shared_end, homes,
        initialized=shared_is_set, variables=launch.shared_variables, reserved=shared_start(launch.target),
        cooperative=launch.is_cooperative, left=None if begins_others else left, prior=launch.prior, begins_others=begins_others,
        repeat=again,
    )  # fmt: skip


def _checkers(launch: Launch, shared_is_set: bool, left: np.ndarray | None, again: _Again) -> list[Checker]:
    """left: memory that the launch leaves as it is."""
    if launch.checks != "all":
        return []
    from ptxsim.checks.cluster import ClusterChecker, has_flags
    from ptxsim.checks.cluster_shared import Homes
    from ptxsim.checks.narrow_waits import NarrowWaitChecker, narrow_waits
    from ptxsim.checks.order.dataflow.data_with_flags import awaited_data
    from ptxsim.checks.overtaken import OvertakenChecker
    from ptxsim.checks.proxies.checker import ProxyChecker, concerns_proxies
    from ptxsim.checks.proxies.tensor_maps import TensorMapChecker
    from ptxsim.checks.registers.counts import RegisterCountChecker
    from ptxsim.checks.tiles.checker import TileLayoutChecker
    from ptxsim.profile.lowering.spills import registers_at_entry

    threads = launch.block[0] * launch.block[1] * launch.block[2]
    warps = -(-threads // 32)
    homes, program = Homes(launch.grid, launch.cluster), launch.program
    tiles = TileLayoutChecker(
        program, str(launch.target), launch.numerics, launch.shared_end, launch.shared_variables, warps
    )
    return [
        _order_checker(launch, homes, shared_is_set, left, again),
        *(
            [ProxyChecker(program, threads, launch.shared_end, homes, variables=launch.shared_variables)]
            if concerns_proxies(program)
            else []
        ),
        *(
            [RegisterCountChecker(program, threads, registers_at_entry(launch.code.function.directives))]
            if "set_registers" in families(program)
            else []
        ),
        *([TensorMapChecker()] if "tensor_copy" in families(program) and not maps_are_parameters(program) else []),
        *([tiles] if tiles.is_of_use else []),
        *([OvertakenChecker(program)] if launch.cluster == (1, 1, 1) and awaited_data(program) else []),
        *(
            [ClusterChecker(threads, homes, len(program.ops), has_flags(program))]
            if launch.cluster != (1, 1, 1)
            else []
        ),
        *([NarrowWaitChecker(program, homes)] if launch.cluster != (1, 1, 1) and narrow_waits(program) else []),
    ]

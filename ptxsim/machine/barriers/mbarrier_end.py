"""What is wrong with a CTA's mbarriers when it ends: an arrival or a transfer too many shows in the phase that it began.

PTX ISA, "mbarrier: Tracking asynchronous operations": a phase is over when its arrivals and its announced bytes have come, and
what comes then belongs to the next one.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from itertools import combinations

from ptxsim.diagnostic import LEFT_OVER, SURPLUS, Finding
from ptxsim.machine.barriers.mbarrier_state import describe, is_left_over
from ptxsim.machine.records import LINES, CtaRecord, MBarrierRecord, MBarrierTable
from ptxsim.machine.shared_names import shared_name
from ptxsim.machine.state import Machine

MANY = -1  # in place of a line, where more of them arrive than are told apart


def look_over(machine: Machine, cta: CtaRecord) -> None:
    """Report phases that have begun and can never be over, now that the CTA's cluster has ended, where all is checked."""
    if machine.checks != "all" or not cta.mbarriers:
        return
    table = MBarrierTable.from_address(cta.mbarriers)
    for barrier in table.all[: table.used]:
        look_at(machine, table, barrier)


def look_at(machine: Machine, table: MBarrierTable, barrier: MBarrierRecord) -> None:
    """The same of one mbarrier of a table, which ends now: it is invalidated, or its CTA ends."""
    if machine.checks != "all":
        return
    if barrier.asked:
        machine.asked.add(barrier.offset)
    if is_left_over(barrier) and not _is_tail(table, barrier):
        if barrier.asked or barrier.bytes or barrier.pending > barrier.expected:
            machine.add_finding(_left(machine, barrier))
        else:
            machine.unasked.append((barrier.offset, _left(machine, barrier)))


def settle(machine: Machine) -> None:
    """The grid is over: report the phases that nobody has waited for, but where others have waited for those of the same mbarrier. A CTA without
    work leaves a ring as it began. Where the grid has ended early, others might still have waited."""
    for offset, finding in machine.unasked:
        if offset not in machine.asked and machine.stopped_at is None:
            machine.add_finding(finding)
    machine.unasked.clear()


def _is_tail(table: MBarrierTable, barrier: MBarrierRecord) -> bool:
    """Whether the phase has begun because a loop is over: what is missing are all the arrivals of instructions that have come in each phase
    before, here or at mbarriers of the same count, and have not come again (a producer that takes the stage no more)."""
    here = set(_arrivals(barrier.lines, barrier.arrivals))
    if barrier.bytes or barrier.pending <= 0 or MANY in here:
        return False
    for other in table.all[: table.used]:
        if other.expected == barrier.expected:
            before = _arrivals(other.lines_before, other.arrivals_before)
            missing = [count for line, count in before.items() if line not in here]
            if MANY not in before and any(
                sum(some) == barrier.pending for n in range(len(missing)) for some in combinations(missing, n + 1)
            ):
                return True
    return False


def _arrivals(lines: MutableSequence[int], arrivals: MutableSequence[int]) -> dict[int, int]:
    found = {line: count for line, count in zip(lines, arrivals) if count}
    return {MANY: 0} if arrivals[LINES - 1] else found


def _left(machine: Machine, barrier: MBarrierRecord) -> Finding:
    variables = machine.shared_variables
    came, name = barrier.expected - barrier.pending, shared_name(variables, barrier.offset)
    if barrier.bytes:
        message = f"{barrier.bytes} bytes never came that were announced for the mbarrier {name}"
        if barrier.bytes < 0:
            message = f"{-barrier.bytes} bytes more came for the mbarrier {name} than were announced"
        help = "announce the bytes of all copies of a phase: expect_tx(rows x columns x bytes of an element)"
    elif came > 0:
        message = f"the mbarrier {name} ends with {came} of {barrier.expected} arrivals in a phase that is never over"
        help = (
            "initialise it with the arrivals of one phase; if the count is right, find who arrives too often or never"
        )
    else:
        message = f"the mbarrier {name} ends with {-came} arrivals expected beyond its count of {barrier.expected}"
        help = "use cp.async.mbarrier.arrive.noinc where the count has these arrivals in it"
    return Finding(
        "mbarrier-phase", message, barrier.last_line, level="error" if barrier.bytes else "warning",
        help=help, notes=(describe(barrier, variables),), case=SURPLUS if barrier.bytes < 0 else LEFT_OVER,
    )  # fmt: skip

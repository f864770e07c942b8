"""Runs: lanes next to each other whose addresses go up in equal steps. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import LINE_BITS
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import are_in_steps

LINE = 1 << LINE_BITS  # bytes of a line of global memory


def next_run(addresses: Array, rest: int) -> tuple[int, int]:
    """Lanes next to each other from the first of some on, whose addresses go up in equal steps, and the step."""
    lane = lowest(rest)
    if not rest >> lane + 1 & 1:
        return 1 << lane, 0
    step = int(addresses[lane + 1]) - int(addresses[lane])
    if step < 0 or step > LINE:
        return 1 << lane, 0
    ones = rest >> lane
    if ones & ones + 1 == 0 and are_in_steps(addresses, rest, int(addresses[lane]) - lane * step, step):
        return rest, step
    end = lane + 2
    while rest >> end & 1 and int(addresses[end & 31]) - int(addresses[end - 1]) == step:
        end += 1
    return ((1 << end) - 1) & ~((1 << lane) - 1), step


def are_apart(addresses: Array, mask: int, width: int) -> bool:
    """Whether lanes access memory in steps, none of them what another one does."""
    run, step = next_run(addresses, mask)
    return run == mask and (step >= width or run & run - 1 == 0)


def last_lane(run: int) -> int:
    return lowest(run) + run.bit_count() - 1


def first_of(run: int, start: int, step: int, width: int) -> int:
    """The first lane of a run that touches the 128 bytes from 0 on."""
    if step == 0 or start + lowest(run) * step + width > 0:
        return lowest(run)
    return (step - width - start) // step


def end_of(run: int, start: int, step: int) -> int:
    """The lane after the last one."""
    if step == 0 or start + last_lane(run) * step < LINE:
        return last_lane(run) + 1
    return (LINE - 1 - start) // step + 1

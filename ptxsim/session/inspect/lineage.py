"""Where an element of global memory comes from: who stored it and what it is computed from, by repetitions of the launch.

A wrong index, mask or stride that stays in its array breaks no rule. What an element depends on says where to look.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.turns import Limits
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.numerics.host import with_ieee
from ptxsim.session.inspect.influence import Trials
from ptxsim.session.inspect.lineage_records import Kinds, Lineage
from ptxsim.session.inspect.steps import Steps
from ptxsim.session.inspect.touches import ElementStores, Loads, Touched
from ptxsim.session.launch import Launch

_SHORT = 50_000  # warp instructions of a grid of which no CTA can be run alone, and that is run in the interpreter
_LONGER = 4  # a repetition on other values may take so many times as long


@with_ieee
def lineage(launch: Launch, before: GlobalMemory, allocation: Allocation, index: int, kinds: Kinds) -> Lineage:
    """Of element `index` of an allocation, which may be negative (from the end). before: the memory as the launch found it.

    Raises IndexError where the allocation has no such element."""
    touched = Touched(launch)
    after = before.copy()
    machine = launch.run_grid([touched], memory=after)
    dtype = kinds(allocation) or touched.dtype_in(allocation) or np.dtype(np.float32)
    count = allocation.size // dtype.itemsize
    if not -count <= index < count:
        raise IndexError(f"it has {count} elements")
    index %= count
    stores = ElementStores(allocation, dtype.itemsize, index)
    launch.run_grid([stores], memory=before.copy())
    old, new = (memory.view(allocation)[: count * dtype.itemsize].view(dtype)[index] for memory in (before, after))
    found = Lineage(allocation, dtype, index, old, new, stores.stored, times=stores.times, ctas=len(stores.ctas))
    if stores.last is not None:
        site, cta, warp, lane = stores.last
        found.by = launch.program.ops[site], _coordinates(cta, launch.grid), warp, lane
        launch.sampled = {cta} if _is_alone(launch) else None
        try:
            limits = Limits(_LONGER * machine.warp_instructions + 10_000)
            is_short = launch.sampled is not None or machine.warp_instructions <= _SHORT
            if is_short and (found.dtype.kind == "f" or "float" in found.dtype.name):
                steps = Steps((cta, warp, lane), found.by[0], stores.part, found.dtype)
                launch.run_grid(memory=before.copy(), watch=steps, limits=limits)
                found.steps = steps.found()
            Trials(launch, before, found, kinds, limits).look(Loads(cta, warp, lane))
        finally:
            launch.sampled = None
    return found


def _is_alone(launch: Launch) -> bool:
    """Whether a CTA computes what it does without the others."""
    from ptxsim.engine.compiled.run.threads import orderless

    return not launch.grid_workspace and orderless(launch.program)


def _coordinates(cta: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return cta % grid[0], cta // grid[0] % grid[1], cta // (grid[0] * grid[1])
